"""Whole tasks: random clusters, spoiled proofs, an exact program, public lists and packings."""

import sys
from pathlib import Path

# the problems of the tests, and every placement looked at, are used here as well
sys.path.append(str(Path(__file__).resolve().parents[2]))
