"""The first placement: the fluid answer of the problem itself, spread over the nodes of each class.

min sum y with sum_j x_kj + y_n >= w_n and every class as one pool; then the nodes of a class are
filled with whole tasks near to its part of that answer, as a plan's heuristic fills them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.highs import program, quiet
from fairopt.instance import Floats
from fairopt.whole.machines import LARGEST_INTEGER, MachineRow
from fairopt.whole.proof.placement import Placement
from fairopt.whole.proof.problem import Problem


def spread(problem: Problem) -> Placement:
    """Whole tasks on all nodes near to a fluid answer with the fewest tasks short."""
    found = _fluid(problem)
    nodes = []
    for j, (own, tasks) in enumerate(zip(problem.classes, found, strict=True)):
        if not (own.kinds and own.count):
            continue
        large = max(own.room) * max(1, own.count) >= LARGEST_INTEGER
        exact: Any = object if large else np.int64
        need = np.array([kind.need for kind in own.kinds], dtype=exact)
        room = np.array(own.room, dtype=exact)
        size = np.array(
            [
                max((x / c for x, c in zip(kind.need, own.room, strict=True) if x), default=0.0)
                for kind in own.kinds
            ]
        )
        row = MachineRow(own.count, room, need)
        row.spread(np.floor(tasks + 1e-6).astype(np.int64), size)
        for count, held in row.machines():
            nodes.append((j, count, own.cut([held.get(k, 0) for k in range(len(own.kinds))])))
    return Placement(problem, nodes)


def _fluid(problem: Problem) -> list[Floats]:
    """For each class, tasks of each kind on all its nodes together."""
    users, size = len(problem.users), len(problem.classes[0].room)
    index: list[int] = []
    value: list[float] = []
    starts, cost, most = [0], [], []
    for n, w in enumerate(problem.whole):
        index.append(n)
        value.append(1.0)
        starts.append(len(index))
        cost.append(1.0)
        most.append(float(w))
    for j, own in enumerate(problem.classes):
        for kind in own.kinds:
            index.append(kind.user)
            value.append(1.0)
            for r, x in enumerate(kind.need):
                if x:
                    index.append(users + j * size + r)
                    value.append(x / own.room[r])
            starts.append(len(index))
            cost.append(0.0)
            most.append(float(kind.most * own.count))
    inf = np.inf
    counts = [float(own.count) for own in problem.classes for _ in range(size)]
    rows = [*map(float, problem.whole), *[-inf] * len(counts)], [*[inf] * users, *counts]
    # an interior answer spreads every user over all its classes, which packs better than a vertex
    model = quiet(solver="ipm", run_crossover="off")
    model.passModel(program(cost, (np.zeros(len(cost)), most), rows, (starts, index, value)))
    model.run()
    found = np.array(model.getSolution().col_value)[users:]
    ends = np.cumsum([0, *(len(own.kinds) for own in problem.classes)])
    if len(found) != ends[-1]:
        return [np.zeros(len(own.kinds)) for own in problem.classes]
    return [found[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]
