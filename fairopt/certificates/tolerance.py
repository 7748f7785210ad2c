"""The tolerances of judges, in one place: none is loosened for an answer or an engine."""

TOLERANCE = 1e-6
"""largest distance of a user's share from every optimum's, in the logarithm, and largest gap, of a
certified answer (promise P2)"""
FEASIBLE = 1e-9
"""part by which a rule may be missed (promise P1)"""
ROUNDING = 8 * 2.0**-52
"""part of an amount within which products and sums of floats are rounded"""
