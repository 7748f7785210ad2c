"""How far apart do the PS-DSF allocations of one cluster lie, and is one of them Pareto optimal?

khamse2016 takes the RDM allocation for unique; it is not. For random clusters: the answers found by
40 refills in random orders from random starts, for those with several the ends of the whole set by
the mixed-integer program, the largest ratio of a user's tasks between two of them, and whether any
of them is Pareto optimal (docs/results/open-rdm-points.md).

Run: python examples/open_rdm_points.py [CLUSTERS [SEED]]
"""

from __future__ import annotations

import sys

import numpy as np

import fairopt as fo
from fairopt.propositions.draws import Small

DRAW = Small(users=(2, 4), servers=(2, 3), resources=(1, 3))


def main() -> None:
    clusters, seed = ([int(given) for given in sys.argv[1:]] + [500, 0])[:2]
    several = alone = neither = 0
    ratios = []
    for k in range(clusters):
        inst = DRAW(np.random.default_rng([seed, k]))
        points = fo.fixed_points(inst, trials=40)
        if len(points) > 1:
            points = [*points, *fo.fixed_points(inst, exact=True)]
        totals = np.array([point.tasks.sum(axis=1) for point in points])
        notion = fo.PerServerDominantShare()
        answers = [fo.Allocation(inst, notion, point.tasks) for point in points]
        optimal = [fo.properties.pareto_optimal(answer).holds for answer in answers]
        ratio = float((totals.max(axis=0) / totals.min(axis=0)).max())
        if ratio > 1 + 1e-6:
            several += 1
            ratios.append((ratio, k))
            neither += not any(optimal)
            if not any(optimal):
                print(f"cluster {k}: several, none of {len(points)} Pareto optimal")
        elif not any(optimal):
            alone += 1
            if alone <= 3:
                print(f"cluster {k}: one answer, not Pareto optimal")
    ratios.sort(reverse=True)
    print(
        f"{clusters} clusters: {several} with several answers; of those {neither} with no "
        f"Pareto optimal one among those found; {alone} with one answer found, "
        "not Pareto optimal"
    )
    if ratios:
        middle = float(np.median([ratio for ratio, _ in ratios]))
        print(
            f"a user's tasks between two answers: at most {ratios[0][0]:.4f} times "
            f"(cluster {ratios[0][1]}), in the median cluster {middle:.4f}"
        )


if __name__ == "__main__":
    main()
