"""General solvers: conic and linear programs, sequences of programs, compiled programs."""
