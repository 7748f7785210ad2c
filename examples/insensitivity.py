"""How much service rates hang on the law of the work: the table of docs/dynamics/random-demand.md.

Classes (.1, 1), (1, .1), (1, 1) with equal loads, as in Figure 1 of bonald2015. Once the mean works
of the classes are 1, 10 or 100 each, in all 18 unequal ways; once the work of a class is a mixture
of two exponential laws, means .2 and 1.8, half of the transactions each, so that its mean stays 1.

Run: python examples/insensitivity.py [LOAD ...]
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np

from fairopt.dynamics import service_rates

PARTS = np.array([[0.1, 1.0], [1.0, 0.1], [1.0, 1.0]])
MIXED = 0.5
"""largest load of the mixtures: four classes need a large box"""


def main() -> None:
    for load in [float(given) for given in sys.argv[1:]] or [0.3, 0.5]:
        rho = np.full(3, load / 2.1)
        for notion in ("pf", "bmf", "drf"):
            plain = service_rates(PARTS, rho, notion)
            worst = max(
                float(
                    np.abs(
                        service_rates(PARTS, rho, notion, np.array(m)).rates / plain.rates - 1
                    ).max()
                )
                for m in product((1.0, 10.0, 100.0), repeat=3)
                if min(m) == 1 < max(m)
            )
            print(f"load {load:g}, {notion}: other means change a rate by {worst:.2%}", flush=True)
            if load > MIXED:
                continue
            worst = 0.0
            for k in range(3):
                # half of the transactions bring a tenth of the work
                means, loads = np.append(np.ones(3), 1.8), np.append(rho, 0.9 * rho[k])
                means[k], loads[k] = 0.2, 0.1 * rho[k]
                both = service_rates(np.vstack([PARTS, PARTS[k]]), loads, notion, means, edge=1e-6)
                numbers = both.numbers[:3].copy()
                numbers[k] += both.numbers[3]
                worst = max(worst, float(np.abs(plain.numbers / numbers - 1).max()))
            print(f"load {load:g}, {notion}: a mixture by {worst:.3%}", flush=True)


if __name__ == "__main__":
    main()
