"""Does PS-DSF kept by servers on their own, or Algorithm I, always settle? A search for a cycle.

khamse2016 proves neither. Random clusters of two to four users and two or three servers; servers
refill themselves one after another, in turn or in an order drawn anew every round, until no user's
tasks move by 1e-11 of what it could run alone, for at most 50,000 rounds; Algorithm I as fairopt
runs it. What has settled is judged by Theorem 1 (docs/results/open-settling.md).

Run: python examples/open_settling.py [CLUSTERS [SEED]]
"""

from __future__ import annotations

import sys

import numpy as np

import fairopt as fo
from fairopt.instance import Floats, Instance
from fairopt.propositions.draws import Small
from fairopt.solving.engines.water.per_server import per_server_drf
from fairopt.solving.engines.water.refill import refill_server

DRAW = Small(users=(2, 4), servers=(2, 3), resources=(1, 3))
MOST_ROUNDS, STILL = 50_000, 1e-11


def rounds(
    inst: Instance, rng: np.random.Generator | None
) -> tuple[int | None, Floats, list[float]]:
    """Rounds until nothing moves (None: never), the last tasks, and how far each round moved."""
    x, part = per_server_drf(inst), inst.part_of_row()
    alone = inst.alone.sum(axis=1)
    members = [np.flatnonzero(inst.eligible[:, i]) for i in range(len(inst.servers))]
    moved = []
    for k in range(MOST_ROUNDS):
        before = x.copy()
        order = range(len(members)) if rng is None else rng.permutation(len(members))
        for i in order:
            if len(members[i]):
                refill_server(inst, part, x, int(i), members[i])
        moved.append(float((np.abs(x - before).max(axis=1) / alone).max()))
        if moved[-1] <= STILL:
            return k + 1, x, moved
    return None, x, moved


def main() -> None:
    clusters, seed = ([int(given) for given in sys.argv[1:]] + [1000, 0])[:2]
    slowest = {"in turn": (0, -1), "random order": (0, -1)}
    never: dict[str, list[int]] = {name: [] for name in slowest}
    late = dict.fromkeys(slowest, 0)
    wrong = dict.fromkeys([*slowest, "Algorithm I"], 0)
    for k in range(clusters):
        inst = DRAW(np.random.default_rng([seed, k]))
        for name in slowest:
            rng = None if name == "in turn" else np.random.default_rng([seed, k, 1])
            taken, x, _ = rounds(inst, rng)
            if taken is None:
                never[name].append(k)
            else:
                late[name] += taken > 300
                slowest[name] = max(slowest[name], (taken, k))
            answer = fo.Allocation(inst, fo.PerServerDominantShare(), x)
            wrong[name] += not fo.certify(answer).certified
        try:
            fo.solve(inst, fo.PerServerDominantShare(method="algorithm-1"))
        except fo.FairoptError as error:
            wrong["Algorithm I"] += 1
            print(f"cluster {k}: Algorithm I: {' '.join(str(error).split())[:90]}")
    for name, (taken, k) in slowest.items():
        print(
            f"{name}: {len(never[name])} of {clusters} never settled {never[name][:5]}, "
            f"{late[name]} after more than 300 rounds; slowest {taken} rounds (cluster {k}); "
            f"{wrong[name]} not PS-DSF"
        )
    print(f"Algorithm I: {wrong['Algorithm I']} of {clusters} without a certified answer")


if __name__ == "__main__":
    main()
