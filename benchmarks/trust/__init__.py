"""How often answers are wrong, refused or missing: thousands of small seeded instances."""

import sys
from pathlib import Path

# references are the oracles of the tests
sys.path.append(str(Path(__file__).resolve().parents[2]))
