"""Efficiency against fairness under random demand: the whole family of alpha-fairness.

A question that bonald2015 leaves open beyond DRF, PF and BMF. For the three classes of its Figures
1 and 2 and each alpha: the mean time that a transaction spends in the system (efficiency; by
Little's law the mean number there over the arrivals), the service rate of the worst-off class, and
how unequal the classes are, all exact to the digits printed (docs/results/open-efficiency.md).

Run: python examples/open_efficiency.py [LOAD ...]
"""

from __future__ import annotations

import sys

import numpy as np

import fairopt as fo

PARTS = np.array([[0.1, 1.0], [1.0, 0.1], [1.0, 1.0]])
MIXES = {"balanced": np.ones(3), "4:1:1": np.array([4.0, 1.0, 1.0])}
RULES = [fo.AlphaFair(a) for a in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0)]
NAMES = [f"alpha = {notion.alpha:g}" for notion in RULES] + ["DRF", "BMF"]


def main() -> None:
    loads = [float(given) for given in sys.argv[1:]] or [0.3, 0.6, 0.8, 0.9]
    for name, mix in MIXES.items():
        for load in loads:
            rho = mix * load / (mix @ PARTS).max()
            print(f"{name}, load {load:g}\n| rule | time | gamma | least gamma | least / most |")
            for words, rule in zip(NAMES, [*RULES, "drf", "bmf"], strict=True):
                found = fo.dynamics.service_rates(PARTS, rho, rule)
                gamma = found.rates
                time = found.numbers.sum() / rho.sum()
                each = ", ".join(f"{g:.4f}" for g in gamma)
                print(
                    f"| {words} | {time:.4f} | {each} | {gamma.min():.4f} | "
                    f"{gamma.min() / gamma.max():.4f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
