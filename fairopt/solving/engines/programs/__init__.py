"""General solvers: conic through cvxpy, linear, one program a level, compiled once."""
