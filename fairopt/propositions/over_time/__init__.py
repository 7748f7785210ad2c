"""Statements on fairness over time."""
