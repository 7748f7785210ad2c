"""Entrants: a file each, of at most forty lines, with `solve(problem) -> tasks[, prices]`."""

SHIPPED = {
    "ours": "fairopt",
    "cvxpy_clarabel": "cvxpy, Clarabel",
    "cvxpy_ecos": "cvxpy, ECOS",
    "cvxpy_scs": "cvxpy, SCS",
    "cvxpy_plain": "cvxpy as first written",
    "highs_levels": "HiGHS, a program a level",
    "highs_tangents": "HiGHS, 200 tangents",
    "linopy_levels": "linopy, HiGHS",
    "leximin": "cvxpy-leximin",
    "slsqp": "SciPy SLSQP",
    "casadi_ipopt": "IPOPT by CasADi",
    "proximal": "proximal messages",
    "price_updates": "price updates",
    "pop": "POP, four parts",
    "greedy": "greedy filler",
    "equal_parts": "equal parts",
    "dede_adapter": "DeDe",
    "resalloc_adapter": "resalloc",
}
"""what is run, by the name of its file"""
FROM_THE_README = (
    "casadi_ipopt",
    "It was written in three minutes from `benchmarks/fairbench/README.md` and CasADi's manual, "
    "by one who had read other entrants, and ran at the first try.",
)
"""the entrant that the page shows, and how it came about"""
