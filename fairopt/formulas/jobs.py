r"""What a rate x of jobs needs where a time is promised: section 5 of kesidis2016.

* Tail: a sojourn beyond theta with probability at most mu needs (x/D)^(theta D) = mu.
* (19), (20): a job needs one resource after the other, of which its user holds D_r = alpha_r s_r,

  .. math:: x \sum_r \frac{1}{D_r} \le T ,

  convex in D for fixed x. (19) is that of CPU and disk; (20) of any resources, in turn as well.
* The formula between the two, without a number, is the pipelined one: while the CPU works on a
  part of the data, the disk fills the RAM D_3 < x with the next; only the first filling waits:

  .. math:: \frac{x}{D_1} + \frac{D_3}{D_2} \le T .

(21) to (23) are not determined by the texts at hand and are not built.
"""

from __future__ import annotations

import math

import numpy as np

from fairopt.instance import Floats


def tail_demand(x: float, theta: float, mu: float) -> float:
    """The rate D > x with (x/D)^(theta D) = mu; the left side falls from 1 to 0 in D.

    Parameters
    ----------
    x : jobs a second, > 0. theta : seconds, > 0. mu : probability, > 0 and < 1.
    """

    def too_slow(rate: float) -> bool:
        return theta * rate * math.log(x / rate) > math.log(mu)

    low, high = x, 2 * x + 1
    while too_slow(high):
        low, high = high, 2 * high
    while (middle := low + (high - low) / 2) not in (low, high):
        low, high = (middle, high) if too_slow(middle) else (low, middle)
    return high


def time_in_turn(x: float, held: Floats) -> float:
    """(20), of which (19) is two resources: x sum_r 1/D_r, D (R,) what the user holds."""
    return float(x * (1.0 / held).sum())


def least_use(jobs: Floats, speed: Floats, time: Floats) -> float:
    r"""Least use of the fullest resource when all users meet (20).

    With v[n,r] = x_n / (T_n s[n,r]) a user's parts alpha_r are to meet sum_r v_r/alpha_r <= 1. At
    prices p_r the cheapest cost (sum_r sqrt(p_r v_r))^2, so with q = sqrt(p) the use that all users
    need is q' M q, M = sum_n sqrt(v_n) sqrt(v_n)'. It is largest, over |q| = 1, at the largest
    eigenvalue of M, whose vector has no negative entry: that is the least use (linear duality).

    Parameters
    ----------
    jobs (N,) a second, speed (N, R) jobs a second of the whole resource, time (N,) seconds; > 0.
    """
    root = np.sqrt((jobs / time)[:, None] / speed)
    return float(np.linalg.eigvalsh(root.T @ root)[-1])


def cpu_pipelined(x: float, time: float, disk: float, ram: float) -> float:
    """D_1, the CPU needed by the pipelined formula; with ram = x it is that of (19).

    Parameters
    ----------
    x : jobs a second. time : seconds promised. disk, ram : D_2, D_3 held, ram <= x.

    Returns
    -------
    float : x / (time - ram/disk); infinite where the first filling alone takes all the time.
    """
    left = time - min(ram, x) / disk
    return x / left if left > 0 else math.inf
