"""Section 4 of kesidis2016 as one table: printed, what the printed point is, optimum.

Kesidis et al. (tech report CSE-16-009) maximise (16) for three users on two pools and print the
dominant shares of four cases. Three of them are, to every digit, stationary points of "a gradient
step, then every pool rescaled to its fullest resource" (`rescaled_gradient` below), which is not a
maximiser: a step that is undone by the rescaling is not a step of size zero. 4.2.2 agrees with the
optimum to the printed digits. For each, the optimum is solved and certified beside it.

Run: python examples/kesidis2016_section4.py
"""

from __future__ import annotations

import numpy as np

import fairopt as fo
from fairopt.instance import Floats, Instance

# case, model, weights of the penalties, dominant shares as printed
CASES = (
    ("4.1", "no-penalty", {}, ((0.4, 0.375), (0.4, 0.375), (0.4, 0.375))),
    ("4.2.1", "placement", {}, ((0, 0.4574), (0.5, 0.2713), (0.5, 0.2713))),
    ("4.2.2", "t-drf", {"t_drf": 900}, ((0, 1 / 3), (0.5, 1 / 3), (0.5, 1 / 3))),
    ("4.2.3", "t-pf", {"t_pf": 900}, ((0.6, 0.2257), (0, 0.8229), (0.6, 0.2257))),
)


def rescaled_gradient(inst: Instance, notion: fo.Tradeoff, step: float = 3e-4) -> Floats:
    """Where "gradient step, then rescale each pool to its fullest resource" comes to rest."""
    u, who = fo.criteria.dominant_share(inst), inst.eligible
    a = np.where(who, 0.3, 0.0)
    for _ in range(5_000):
        level = a.sum(axis=1)
        slope = 1 / level - 2 * notion.t_pf / len(level) * (level - level.mean())
        away = a - a.sum(axis=0) / who.sum(axis=0)
        slopes = slope[:, None] - 2 * notion.t_drf / who.sum(axis=0) * away
        moved = np.where(who, np.maximum(a + step * slopes, 0), 0)
        use = inst.used(np.divide(moved, u, out=np.zeros_like(a), where=who)) / inst.pool
        moved = moved / use.max(axis=1)
        if np.abs(moved - a).max() < 1e-12:
            break
        a = moved
    return a


def shares(a: Floats) -> str:
    """Dominant shares, pool by pool."""
    return "; ".join(" ".join(f"{value:.4f}" for value in pool) for pool in np.asarray(a).T)


def main() -> None:
    print(f"{'case':6} {'':26} {'dominant shares (pool 1; pool 2)':42} {'objective':>10}  verdict")
    for case, name, weights, printed in CASES:
        inst, notion = fo.read(f"kesidis2016/{name}").instance, fo.Tradeoff(**weights)
        u = fo.criteria.score(inst, "dominant-share")
        rest = rescaled_gradient(inst, notion)
        optimum = fo.solve(inst, notion)
        for label, a in (("printed", np.array(printed)), ("rescaled gradient rests at", rest)):
            tasks = np.divide(a, u, out=np.zeros_like(u), where=u > 0)
            answer = fo.Allocation(inst, notion, tasks)
            found = fo.certify(answer)
            verdict = f"{found.verdict}, gap {found.gap:.2g}"
            print(f"{case:6} {label:26} {shares(a):42} {answer.objective:10.6f}  {verdict}")
            case = ""
        best = optimum.score * optimum.tasks
        verdict = f"{optimum.certificate.verdict}, gap {optimum.certificate.gap:.0e}"
        print(f"{'':6} {'optimum':26} {shares(best):42} {optimum.objective:10.6f}  {verdict}")
        off = float(np.abs(best - np.array(printed)).max())
        agrees = "agree" if off < 5e-3 else "do not agree"
        print(f"{'':6} printed and optimal shares {agrees} to two digits: {off:.4f} apart\n")


if __name__ == "__main__":
    main()
