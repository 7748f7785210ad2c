"""Models and answers in files: TOML, folders of CSV files, JSON."""

from __future__ import annotations

from fairopt.allocation.writing import dumps, save
from fairopt.files.answers import load, loads
from fairopt.files.cases import Case, shipped_root
from fairopt.files.model import Model, models, read, write

__all__ = [
    "Case",
    "Model",
    "dumps",
    "load",
    "loads",
    "models",
    "read",
    "save",
    "shipped_root",
    "write",
]
