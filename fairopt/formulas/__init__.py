"""Formulas in NumPy: welfare, penalties, what stops a user; the table of notions' parameters."""
