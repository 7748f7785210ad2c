"""cvxpy with SCS, otherwise as with Clarabel."""

from benchmarks.fairbench.entrants import cvxpy_clarabel


def solve(problem):
    return cvxpy_clarabel.solve(problem, solver="SCS")
