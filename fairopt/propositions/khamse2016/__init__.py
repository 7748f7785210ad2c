"""Statements of Khamse-Ashari et al. (2016)."""
