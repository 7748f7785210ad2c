"""Statements of Bonald and Roberts (2015)."""
