"""Instances drawn by hypothesis, shared by the tests of files."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import fairopt as fo
from fairopt.files import folders

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(str.isprintable)
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
        demand, np.reshape(capacity, (i, r)), placement,
        weight=draw(st.lists(positive, min_size=n, max_size=n)),
        limit=draw(st.lists(st.one_of(positive, st.just(np.inf)), min_size=n, max_size=n)),
        count=draw(st.lists(st.integers(1, 10**6), min_size=i, max_size=i)),
        users=names[0], servers=names[1], resources=names[2],
    )  # fmt: skip
