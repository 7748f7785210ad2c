"""Ways to compute an answer: the general solvers, and our own."""
