"""Vectors of schedulers beside the definition each follows, and beside one another.

python -m benchmarks.conformance [--write docs/results/conformance.md]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.conformance.pages import page


def main(arguments: list[str] | None = None) -> int:
    """0, or 4 where a vector is not what its definition gives."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.conformance", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="the page; else it is printed")
    asked = parser.parse_args(arguments)
    text, missed = page()
    if asked.write:
        asked.write.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 4 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
