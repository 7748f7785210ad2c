"""Pure NumPy formulas: welfare, penalties, what stops whom; what notions are given."""
