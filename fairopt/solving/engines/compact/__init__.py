"""Alpha-fairness on small instances: few NumPy calls, one array of unknowns, one dense matrix."""
