"""Statements of this project."""
