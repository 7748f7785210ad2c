"""Max-min of several rounds in groups and beside rules: forged where errors are multiplied.

Five users, two of whom change places up to 2^25 times for a unit that a third one gets, leave a
fourth one a thousandth too much (`test_nearby.changing_places`): here they are in groups, borrow,
have guarantees, are in classes, or meet rules that take the place of a row of capacity.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import rounds
from fairopt.formulas.entitled import entitled
from fairopt.formulas.targets import Jump, PathPoint
from tests.certificates.test_nearby import changing_places
from tests.oracles import nested

USERS = list("acbdz")
SCORE = np.ones((5, 2))
STRENGTHS = [(2.0**10, 2.0**10), (2.0**20, 2.0**10), (2.0**24, 2.0**10), (2.0**25, 1.0)]
"""how often two users change places, and what c needs of what is z's"""


def five(much: float, factor: float) -> fo.Instance:
    """The five users by name."""
    inst = changing_places(much, factor, 0)
    inst = inst.select(range(5), range(2))
    return inst.replace(users=USERS, resources=["r0", "r1", "r2", "r3"], servers=["s0", "s1"])


def groups(**of: str) -> Callable[[fo.Instance], fo.Instance]:
    """Users in groups; group -> users or groups below it."""

    def put(inst: fo.Instance) -> fo.Instance:
        above = {child: parent for parent, below in of.items() for child in below.split()}
        weight = dict(zip(inst.users, inst.weight.tolist(), strict=True))
        for g in reversed(of):
            weight[g] = sum(weight[child] for child in of[g].split())
        named = [fo.Group(g, above.get(g), weight=weight[g]) for g in of]
        member = {user: above[user] for user in inst.users if user in above}
        return inst.replace(quotas=fo.Quotas(named, member))

    return put


def lent(inst: fo.Instance) -> fo.Instance:
    """Of r3, z is lent what the others leave."""
    right = float(inst.capacity[1, 3])
    put = groups(g="a c b d", h="z")(inst)
    lends = [fo.Quota("g", "r3", right - 0.25), fo.Quota("h", "r3", 0.25)]
    return _wide(put, 3).replace(quotas=fo.Quotas(put.quotas.groups, put.quotas.group, quotas=lends))


def lent_to_users(inst: fo.Instance) -> fo.Instance:
    """The same without groups, beside a bound of what is lent."""
    right = float(inst.capacity[1, 3])
    lends = [fo.Quota("c", "r3", right - 0.25, lend=2.0**40), fo.Quota("z", "r3", 0.25)]
    return _wide(inst, 3).replace(quotas=fo.Quotas(quotas=lends))


def _wide(inst: fo.Instance, r: int) -> fo.Instance:
    """A resource that a rule counts in the place of its capacity."""
    capacity = inst.capacity.copy()
    capacity[1, r] *= 4
    return inst.replace(capacity=capacity)


def ceiling(inst: fo.Instance) -> fo.Instance:
    """What c and z hold of r2 is bounded by a rule and not by capacity."""
    put = groups(g="a b d", h="c z")(inst)
    bound = fo.Bound("h", "r2", float(inst.capacity[1, 2]))
    old = put.quotas
    return _wide(put, 2).replace(quotas=fo.Quotas(old.groups, old.group, bounds=[bound]))


def own(inst: fo.Instance) -> fo.Instance:
    """A rule of one's own in the place of a row of capacity: what c holds there, and z."""
    terms = [fo.Term("c", servers="s1", times=float(inst.demand[1, 1, 2])), fo.Term("z")]
    return _wide(inst, 2).replace(
        rules=[fo.Rule("of c and z", most=float(inst.capacity[1, 2]), terms=terms)]
    )


def beside(inst: fo.Instance) -> fo.Instance:
    """A rule of one's own that binds nobody."""
    return inst.replace(rules=[fo.Rule("loose", most=99, terms=[fo.Term(["a", "z"])])])


def guaranteed(inst: fo.Instance) -> fo.Instance:
    """Guarantees below what is due anyway."""
    put = groups(g="a c b d", h="z")(inst)
    promised = [fo.Guarantee(user, "r2", 0.01) for user in "cz"]
    return put.replace(quotas=fo.Quotas(put.quotas.groups, put.quotas.group, guarantees=promised))


def later(inst: fo.Instance) -> fo.Instance:
    """z is a class later."""
    return inst.replace(quotas=fo.Quotas(priority=dict.fromkeys("acbd", 1) | {"z": 0}))


def on_server(inst: fo.Instance) -> fo.Instance:
    """Limits on servers, that bind nobody."""
    most = np.full((5, 2), 50.0)
    return inst.replace(limit_on=most)


def modes(inst: fo.Instance) -> fo.Instance:
    """z may run in a second mode as well, which is no better."""
    two = {"z": [fo.Mode("one"), fo.Mode("two", (1.0, 1.0, 1.0, 2.0), 1.0)]}
    return inst.replace(modes=two)


PUT: dict[str, Callable[[fo.Instance], fo.Instance]] = {
    "one group": groups(g="a c b d z"),
    "a group beside a user": groups(g="a c b d"),
    "two groups": groups(g="a c b d", h="z"),
    "groups across": groups(g="a z", h="c b d"),
    "deep": groups(all="g h", g="a c", h="b d z"),
    "lending": lent,
    "lending without groups": lent_to_users,
    "ceiling": ceiling,
    "own rule": own,
    "own rule that binds nobody": beside,
    "guarantees": guaranteed,
    "classes": later,
    "limits on servers": on_server,
    "modes": modes,
}


def told(alloc: fo.Allocation, stops: list[tuple[list[str], dict[str, np.ndarray]]]) -> list[dict]:
    """Rounds of users and prices, at the levels that the answer's own shares say."""
    asked = entitled(alloc.instance, alloc.score, alloc.kind)
    found, due, rank, point = [], asked.floor - asked.base, -1, None
    for users, prices in stops:
        at = [alloc.instance.users.index(user) for user in users]
        if asked.rank[at[0]] != rank:
            rank = asked.rank[at[0]]
            point = PathPoint.start(asked.tree, due, asked.rank == rank)
        want = alloc.shares[at] - asked.base[at]
        while True:
            piece = point.piece()
            if isinstance(piece, Jump):
                point = piece.end
                continue
            slope = piece.slope[at]
            assert (slope > 0).any()
            t = point.t + float(np.median(((want - point.due[at]) / slope)[slope > 0]))
            if t <= piece.until:
                break
            point = piece.at(piece.until)
        point = piece.at(t).freeze(at)
        due = point.due
        each = {"t": t, "jump": 0.0, "users": tuple(users), "prices": prices}
        found.append({**each, "priority": int(rank)})
    return found


def forged(
    kind: str, much: float, factor: float, dear: tuple[int, ...] = (0, 1)
) -> tuple[fo.Allocation, float]:
    """The forged answer, and by what part z holds too much, in exact terms.

    Parameters
    ----------
    dear : resources with a price in the first round.
    """
    inst = PUT[kind](five(much, factor))
    part = 1 / (much * factor * 2**10)
    leave = (much + 1) * part
    tasks = np.array([[1 - part, 0], [1, 0], [0, 1], [0, 1 + part], [0, 1 + factor * leave]])
    alloc = fo.Allocation(
        inst,
        fo.MaxMin(criterion=lambda _: SCORE, measure="sum"),
        tasks if inst.modes is None else None,
        way_tasks=None if inst.modes is None else np.vstack([tasks, [[0, 0]]]),
        score=SCORE,
    )
    first, second = np.zeros((2, 4)), np.zeros((2, 4))
    first[:, dear] = 1
    last: dict[str, np.ndarray] = {}
    if kind.startswith("lending"):
        last["node_prices"] = np.zeros((len(inst.tree.quotas), len(inst.tree.parent)))
        last["node_prices"][0] = 1
    else:
        second[1, 3] = 1
    stops = [(["a", "c", "b", "d"], {"prices": first}), (["z"], {"prices": second, **last})]
    return alloc.with_(rounds=told(alloc, stops)), float(np.log1p(factor * leave))


if __name__ == "__main__":
    from collections import Counter
    count = bad = 0
    for kind in PUT:
        res = Counter()
        for much, factor in STRENGTHS:
          for dear in [(0,1),(0,),(1,),"own"]:
            try:
                if dear == "own":
                    inst = PUT[kind](five(much, factor))
                    alloc = fo.solve(inst, fo.MaxMin(criterion=lambda _: SCORE if inst.modes is None else SCORE, measure="sum"), uncertified="return")
                    off = abs(np.log(alloc.shares[4] / 1)); 
                    off = max(off, np.abs(np.log(alloc.shares[:4])).max())
                    verdict = alloc.certificate
                else:
                    alloc, off = forged(kind, much, factor, dear)
                    verdict = rounds.judge(alloc)
                wrong = verdict.certified and off > 1e-6
                res[verdict.verdict + (" WRONG" if wrong else "")]+=1
                if verdict.verdict=="unproved" and verdict.bounded and off > verdict.residual: res["BOUND WRONG"]+=1
                if dear!="own": res[str([c.name for c in verdict.checks if not c.holds][:1])]+=1
            except Exception as error:
                import traceback
                res["ERR"+type(error).__name__+str(error)[:100]]+=1
        print(f"{kind:28}", dict(res))
