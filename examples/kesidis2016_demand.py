"""Section 5 of kesidis2016: demand that is not linear, and constraints on the time a job takes.

How much of a resource x jobs a second need depends on what is promised of their time in it:

* affine: a mean sojourn of q in an M/M/1 queue needs a rate of D = x + 1/q;
* tail: a sojourn beyond theta with probability at most mu needs (x/D)^(theta D) = mu;
* QoS (19): a job visits CPU and disk in turn, of which a user holds the parts alpha_1, alpha_2, and

      x (1 / (alpha_1 s_1) + 1 / (alpha_2 s_2)) <= T,

  convex in the alphas for fixed x; (20) is its pipelined form, where the slower of both decides
  (printed with CPU where disk is meant): x max(1 / (alpha_1 s_1), 1 / (alpha_2 s_2)) <= T.

In (19) and (20) the parts grow in proportion to x: what a user needs is linear in its jobs, and
they can be traded against one another in (19) alone. Weighted DRF is then: all users' x rise
together in proportion to the weights, up to the largest level that fits.

Run: python examples/kesidis2016_demand.py
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq, minimize_scalar

import fairopt as fo
from fairopt.instance import Floats


def tail_demand(x: float, theta: float, mu: float) -> float:
    """The rate D > x with (x/D)^(theta D) = mu; by it the left side falls from 1 to 0."""

    def too_slow(rate: float) -> float:
        return float(theta * rate * np.log(x / rate) - np.log(mu))

    high = 2 * x + 1
    while too_slow(high) > 0:
        high *= 2
    return float(brentq(too_slow, x, high, xtol=1e-14, rtol=1e-15))


def parts_in_turn(level: Floats, speed: Floats, time: Floats) -> float:
    """Least use of the fuller resource under (19), users' jobs `level` (N,).

    With v_n = x_n / (T_n s) the constraint is v_1/alpha_1 + v_2/alpha_2 = 1. For a price ratio p of
    the two resources each user takes alpha_1 = v_1 + sqrt(p v_1 v_2) and alpha_2 = v_2 +
    sqrt(v_1 v_2 / p); the ratio at which both are equally full, or one end, gives the least.
    """
    v = (level / time)[:, None] / speed
    cross = np.sqrt(v.prod(axis=1)).sum()

    def fuller(log_p: float) -> float:
        root = np.exp(log_p / 2)
        return float(max(v[:, 0].sum() + root * cross, v[:, 1].sum() + cross / root))

    return float(minimize_scalar(fuller, bounds=(-40, 40), method="bounded",
                                 options={"xatol": 1e-13}).fun)  # fmt: skip


def parts_pipelined(level: Floats, speed: Floats, time: Floats) -> float:
    """Least use of the fuller resource under (20): alpha = x / (T s) each."""
    return float(((level / time)[:, None] / speed).sum(axis=0).max())


def main() -> None:
    print(f"tail, theta = 1, mu = .05: D(1) = {tail_demand(1, 1, 0.05):.7f}")
    for name in ("demand-set-up", "demand-power"):
        answer = fo.solve(fo.read(f"kesidis2016/{name}").instance, fo.PerServerDRF())
        assert answer.certificate is not None
        level, x = answer.steps[0]["levels"][0], answer.totals
        print(f"{name}: A = {level:.7f}, x = ({x[0]:.6f}, {x[1]:.6f}), "
              f"{answer.certificate.verdict}")  # fmt: skip
    weight, time = np.array([1.0, 2.0]), np.array([1.0, 0.5])
    speed = np.array([[4.0, 20.0], [10.0, 8.0]])
    for words, least in (("(19), in turn", parts_in_turn), ("(20), pipelined", parts_pipelined)):
        # the parts are linear in the jobs: the level that fits is one over the use at level 1
        level = 1 / least(weight, speed, time)
        x = ", ".join(f"{jobs:.6f}" for jobs in weight * level)
        print(f"QoS {words}: x = ({x}) jobs a second, the fuller resource is full")


if __name__ == "__main__":
    main()
