"""Judging beside groups, guarantees, ceilings, lending, priorities and modes, in NumPy alone."""
