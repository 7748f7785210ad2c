"""The command line as a program of its own, which signals can end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def started(*arguments: str, **how: Any) -> subprocess.Popen[Any]:
    """A run of `fairopt` with these arguments, which SIGINT ends."""
    # a shell lets its background jobs ignore SIGINT, and what they start inherits that
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "fairopt.cli", *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **how,
        )
    finally:
        signal.signal(signal.SIGINT, before)
