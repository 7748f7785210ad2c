"""The largest gain from lying under random demand, looked for.

bonald2015 section 4 finds at most 9.8 % for one liar and one class (Figure 3), says that gains are
small in mixed demand, and proves nothing. Here the requirements of the liar and of one or two
classes, their loads and the claim are all searched: random starts, then Nelder and Mead's method on
the best (docs/results/open-lying.md). Short transactions under proportional fairness.

Run: python examples/open_lying.py [CLASSES [STARTS [SEED]]]
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.optimize import minimize

from fairopt.dynamics import Others
from fairopt.errors import FairoptError
from fairopt.instance import Floats

EDGE = 1e-6


def unpacked(z: Floats, classes: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Requirements (K, 2), loads (K,), what the liar needs and what it claims, of any numbers z."""
    unit = 1 / (1 + np.exp(-z))
    part = unit[: 2 * classes].reshape(classes, 2)
    part = part / part.max(axis=1, keepdims=True)
    part = np.where(part < 1e-3, 0.0, part)
    share = unit[2 * classes : 3 * classes]
    rho = share / (share @ part).max() * 0.97 * unit[3 * classes]
    need = unit[3 * classes + 1 : 3 * classes + 3]
    need = need / need.max()
    need = np.where(need < 1e-3, 0.0, need)
    return part, rho, need, need + 3 * unit[3 * classes + 3 :]


def gain(z: Floats, classes: int) -> float:
    """What a short transaction gains by the claim; 0 where that cannot be computed."""
    try:
        part, rho, need, claim = unpacked(z, classes)
        others = Others(part, rho, "pf", edge=EDGE, flow=1e-6, most=200_000)
        return others.short(need, claim) / others.short(need, need) - 1
    except FairoptError:
        return 0.0


def main() -> None:
    given = [int(word) for word in sys.argv[1:]]
    classes, starts, seed = given + [1, 200, 0][len(given) :]
    rng = np.random.default_rng([seed, classes])
    size = 3 * classes + 5
    tried = sorted((gain(z, classes), tuple(z)) for z in rng.normal(0, 2.5, (starts, size)))
    best = []
    for value, z in tried[-4:]:
        found = minimize(
            lambda z: -gain(z, classes),
            np.array(z),
            method="Nelder-Mead",
            options={"maxfev": 900, "xatol": 1e-4, "fatol": 1e-7},
        )
        best.append((-found.fun, found.x))
        print(f"from {value:.4%} to {-found.fun:.4%}", flush=True)
    value, z = max(best, key=lambda pair: pair[0])
    part, rho, need, claim = unpacked(z, classes)
    print(
        f"largest gain {value:.4%}: classes {part.round(4).tolist()}, "
        f"loads {rho.round(4).tolist()}, liar needs {need.round(4).tolist()}, "
        f"claims {claim.round(4).tolist()}"
    )


if __name__ == "__main__":
    main()
