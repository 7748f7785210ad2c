"""Definitions run exactly, slowly and independently of the package, to test answers against."""
