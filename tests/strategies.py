"""Instances drawn by hypothesis, shared by the tests of files."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import fairopt as fo
from fairopt.files import folders

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(
    lambda name: name.isprintable() and name == name.strip()
)
"""what may stand in a cell of a table"""
AMOUNTS = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))


@st.composite
def instances(draw: st.DrawFn) -> fo.Instance:
    """Small instances of every kind: by server or not, placed, weighted, limited, counted."""
    n, i, r = (draw(st.integers(1, 3)) for _ in range(3))
    shape = (n, i, r) if draw(st.booleans()) else (n, r)
    demand = np.array(
        draw(st.lists(AMOUNTS, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    )
    capacity = draw(st.lists(st.floats(1e-6, 1e6), min_size=i * r, max_size=i * r))
    placement = np.array(draw(st.lists(st.booleans(), min_size=n * i, max_size=n * i))).reshape(
        n, i
    )
    demand = demand.reshape(shape)
    placement[:, 0] = True
    positive = st.floats(1e-9, 1e9)
    reserved = st.sampled_from(folders.RESERVED)
    names = [
        draw(
            st.lists(
                NAMES.filter(lambda x: x not in folders.RESERVED),
                min_size=k,
                max_size=k,
                unique=True,
            )
        )
        for k in (n, i, r)
    ]
    names[0][0] = draw(st.one_of(st.just(names[0][0]), reserved))
    demand[..., 0] = np.where((demand > 0).any(axis=-1), demand[..., 0], 0.1)
    return fo.Instance(
        demand,
        np.reshape(capacity, (i, r)),
        placement,
        weight=draw(st.lists(positive, min_size=n, max_size=n)),
        limit=draw(st.lists(st.one_of(positive, st.just(np.inf)), min_size=n, max_size=n)),
        count=draw(st.lists(st.integers(1, 10**6), min_size=i, max_size=i)),
        users=names[0],
        servers=names[1],
        resources=names[2],
    )


@st.composite
def promised(draw: st.DrawFn) -> fo.Instance:
    """Instances with groups, quotas and modes of every kind, often none of a kind."""
    inst = draw(instances())
    names = st.lists(NAMES.filter(lambda x: x not in inst.users), max_size=3, unique=True)
    groups = [fo.Group(name, None, draw(st.floats(0.5, 9))) for name in draw(names)]
    for k in range(1, len(groups)):
        above = draw(st.sampled_from([None, *(g.name for g in groups[:k])]))
        groups[k] = fo.Group(groups[k].name, above, groups[k].weight)
    groups = draw(st.permutations(groups))
    flavors = {
        name: draw(st.lists(st.sampled_from(inst.servers), unique=True))
        for name in draw(st.lists(NAMES, max_size=2, unique=True))
    }
    members = [*(g.name for g in groups), *inst.users]
    keys = st.tuples(
        st.sampled_from(members), st.sampled_from(inst.resources), st.sampled_from([None, *flavors])
    )
    rows = st.lists(keys, max_size=4, unique=True)
    endless = st.one_of(AMOUNTS, st.just(np.inf))
    some = st.lists(st.sampled_from(inst.users), unique=True)
    last = [name for name in draw(st.lists(st.sampled_from(members), max_size=2, unique=True))]
    groups = [fo.Group(g.name, g.parent, 1.0 if g.name in last else g.weight) for g in groups]
    weight = [1.0 if n in last else w for n, w in zip(inst.users, inst.weight, strict=True)]
    quotas = fo.Quotas(
        groups,
        {user: draw(st.sampled_from(groups)).name for user in draw(some) if groups},
        [fo.Guarantee(m, r, draw(AMOUNTS), f) for m, r, f in draw(rows)],
        [fo.Bound(m, r, draw(endless), f) for m, r, f in draw(rows)],
        [fo.Quota(m, r, draw(AMOUNTS), draw(endless), draw(endless), f) for m, r, f in draw(rows)],
        flavors,
        {user: draw(AMOUNTS) for user in draw(some)},
        {user: draw(st.integers(-3, 3)) for user in draw(some)},
        last,
    )
    modes = {user: draw(_modes(inst)) for user in draw(some)}
    demand = inst.demand.copy()
    for n, user in enumerate(inst.users):
        if all(mode.demand is not None for mode in modes.get(user, [fo.Mode("x")])):
            demand[n] = 0.0
    return inst.replace(quotas=quotas, modes=modes, demand=demand, weight=weight)


@st.composite
def _modes(draw: st.DrawFn, inst: fo.Instance) -> list[fo.Mode]:
    """Modes of one user; the first may run on the first server, so that it is eligible there."""
    found = []
    for k, name in enumerate(draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))):
        size = len(inst.resources)
        demand = draw(st.one_of(st.none(), st.lists(AMOUNTS, min_size=size, max_size=size)))
        if demand is not None and not any(demand):
            demand[0] = 1.0
        servers = draw(st.one_of(st.none(), st.lists(st.sampled_from(inst.servers), unique=True)))
        found.append(fo.Mode(name, demand, draw(st.floats(0.1, 9)), servers if k else None))
    return found
