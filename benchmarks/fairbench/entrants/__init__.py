"""Entrants: a file each, of at most forty lines, with `solve(problem) -> tasks[, prices]`."""
