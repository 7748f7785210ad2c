"""What the tests of sweeps share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

import fairopt as fo

ROOT = Path(fo.__file__).parent.parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def three_users() -> fo.Instance:
    """kesidis2016, section 4.1."""
    return fo.read("kesidis2016/no-penalty").instance


def alphas(*values: float) -> list[Any]:
    return [fo.AlphaFair(alpha, "dominant-share") for alpha in values]


def own_scores(instance: fo.Instance) -> Any:
    """A criterion that only this file knows."""
    return np.where(instance.eligible, 2.0, 0.0)
