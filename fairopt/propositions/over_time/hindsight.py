"""What each slice alone is worth beside hindsight, and what no rule without foresight promises.

The statements and their proofs: docs/maths/over-time.md, 6. An instance gives users and weights;
wants are drawn from the seed.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation.check import Check
from fairopt.instance import Floats, Instance
from fairopt.overtime.ledger import Ledger
from fairopt.overtime.replay import replay
from fairopt.propositions import draws
from fairopt.propositions.over_time.ledgers import ONE, SOURCE
from fairopt.propositions.statement import Undecided, stated

SLICES = 4
POOL = draws.Small(users=(2, 4), servers=(1, 1), resources=(2, 3), density=1.0)
POLICIES = ("slice", "kai:half=2h,k=1", "kueue:half=2h", "condor:half=2h", "karma:alpha=.5")


@stated(
    name="ledgers/slices-alone-keep-a-part",
    words="one resource: max-min of each slice alone gives everybody at least phi_n / sum phi of "
    "what it could have had alone",
    source=SOURCE,
    draw=ONE,
)
def _part_of_alone(inst: Instance, seed: int) -> Check:
    return kept(inst, seed)


@stated(
    name="ledgers/slices-alone-keep-a-part-of-a-pool",
    words="several resources of one server: max-min of each slice alone gives everybody at least "
    "phi_n / sum phi of what it could have had alone, as each slice has sharing incentive",
    source=SOURCE,
    draw=POOL,
)
def _part_of_a_pool(inst: Instance, seed: int) -> Check:
    return kept(inst, seed)


def kept(inst: Instance, seed: int) -> Check:
    """What slices alone give beside the part of what users could have had alone, in tasks."""
    room = inst.alone.sum(axis=1)
    wants = drawn(inst, seed) * room
    book, part = Ledger.of("slice"), inst.weight / inst.weight.sum()
    got = sum(book.due(book.start(inst), inst, row).sum(axis=1) for row in wants if row.any())
    could = np.minimum(wants, room).sum(axis=0)
    there = could > 0
    short = 1 - np.asarray(got)[there] / (part * could)[there]
    return Check.of("part", max(0.0, float(short.max())), 1e-6, "")


@stated(
    name="ledgers/slices-alone-beside-hindsight",
    words="one resource, equal weights: max-min of each slice alone reaches at least 1/N of the "
    "least level of hindsight",
    source=SOURCE,
    draw=ONE,
)
def _beside_hindsight(inst: Instance, seed: int) -> Check:
    equal = inst.replace(weight=np.ones(len(inst.users)))
    found = replay(equal, None, drawn(equal, seed) * equal.alone[:, 0])
    assert found.ratios["held"] is not None
    short = 1 - found.ratios["held"] * len(inst.users)
    return Check.of("ratio", max(0.0, short), 1e-6, f"{found.ratios['held']:.6g}")


@stated(
    name="ledgers/no-foresight-promises-more",
    words="whatever a ledger gives in a slice in which all want everything, wants can follow by "
    "which somebody reaches at most 1/N of the least level of hindsight",
    source=SOURCE,
    draw=ONE,
)
def _no_foresight(inst: Instance, seed: int) -> Check:
    """Who gets least in the first slice never returns; each of the others has a slice alone."""
    n = len(inst.users)
    policy = POLICIES[seed % len(POLICIES)]
    even = Instance(np.ones((n, 1)), [[1.0]], users=inst.users)
    book = Ledger.of(policy)
    state = book.start(even)
    # a past of its own, so that the first slice is not only an equal division
    if book.kind not in ("credits", "budget"):
        use = np.random.default_rng(seed).dirichlet(np.ones(n))
        state = book.after(state, even, use)
    first = book.due(state, even, np.ones(n)).sum(axis=1)
    last = int(np.argmin(first))
    follow = np.delete(np.eye(n), last, axis=0)
    held = np.vstack([first, follow])
    found = replay(even, held, np.vstack([np.ones(n), follow]))
    assert found.ratios["held"] is not None
    over = found.ratios["held"] * n - 1
    return Check.of("ratio", max(0.0, over), 1e-6, f"{policy}: {found.ratios['held']:.6g}")


def drawn(inst: Instance, seed: int) -> Floats:
    """(T, N) wants in parts of what each could run alone; somebody wants something."""
    rng = np.random.default_rng(seed)
    users = len(inst.users)
    wants = rng.uniform(0, 1.2, (SLICES, users)) * (rng.random((SLICES, users)) < 0.7)
    if not wants.any():
        raise Undecided("nobody wants anything")
    return np.asarray(wants)


__all__ = ["drawn", "kept"]
