"""fairopt: its own engines; an answer is taken whether or not it is certified."""

import fairopt as fo
from benchmarks.fairbench import as_fairopt


def solve(problem):
    inst, notion = as_fairopt.instance(problem)
    answer = fo.solve(inst, notion, uncertified="return")
    return as_fairopt.columns(problem, answer), as_fairopt.prices(problem, answer)
