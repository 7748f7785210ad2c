"""A greedy filler: one slice of a task at a time to the user that is worst off and still fits."""

import heapq

import numpy as np

SLICES = 400
"""of what a user would have alone"""


def solve(problem):
    use, left = problem.rows[0].tocsc(), problem.rows[1].copy()
    tasks, share = np.zeros(len(problem.user)), np.zeros(problem.users)
    mine = [np.flatnonzero(problem.user == n) for n in range(problem.users)]
    step = problem.alone / SLICES
    power = 1.0 if np.isinf(problem.alpha) else 1.0 / problem.alpha
    queue = [(0.0, n) for n in range(problem.users)]
    while queue:
        _, n = heapq.heappop(queue)
        best, room = -1, -1.0
        for k in mine[n]:
            at = slice(use.indptr[k], use.indptr[k + 1])
            after = left[use.indices[at]] - use.data[at] * step[k]
            part = float((after / problem.rows[1][use.indices[at]]).min())
            if part >= 0 and part > room:
                best, room = k, part
        if best >= 0:
            at = slice(use.indptr[best], use.indptr[best + 1])
            left[use.indices[at]] -= use.data[at] * step[best]
            tasks[best] += step[best]
            share[n] += step[best] * problem.share[best]
            heapq.heappush(queue, (share[n] / problem.weight[n] ** power, n))
    return tasks
