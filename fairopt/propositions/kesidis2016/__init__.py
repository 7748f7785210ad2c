"""Statements of Kesidis et al. (2016)."""
