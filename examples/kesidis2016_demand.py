"""Section 5 of kesidis2016: demand that is not linear, and constraints on the time a job takes.

How much of a resource x jobs a second need depends on what is promised of their time in it:

* affine: a mean sojourn of q in an M/M/1 queue needs a rate of D = x + 1/q;
* tail: a sojourn beyond theta with probability at most mu needs (x/D)^(theta D) = mu;
* QoS (19): a job visits CPU and disk in turn, of which a user holds the parts alpha_1, alpha_2, and

      x (1 / (alpha_1 s_1) + 1 / (alpha_2 s_2)) <= T;

* QoS (20): the same of any number of resources, x sum_r 1/D_r <= T, not pipelined either;
* the formula between them, without a number, is the pipelined one: with RAM alpha_3 s_3 < x

      alpha_1 = x / (s_1 (T - alpha_3 s_3 / (alpha_2 s_2))).

In (19) and (20) the parts grow in proportion to x. Weighted DRF is then: all users' x rise together
in proportion to the weights, up to the largest level that fits, one over the largest eigenvalue of
sum_n sqrt(v_n) sqrt(v_n)', v[n,r] = x_n / (T_n s[n,r]) at level 1 (`fairopt.formulas.jobs`).

Run: python examples/kesidis2016_demand.py
"""

from __future__ import annotations

import numpy as np

import fairopt as fo
from fairopt.formulas import jobs


def main() -> None:
    print(f"tail, theta = 1, mu = .05: D(1) = {jobs.tail_demand(1, 1, 0.05):.7f}")
    for name in ("demand-set-up", "demand-power"):
        answer = fo.solve(fo.read(f"kesidis2016/{name}").instance, fo.PerServerDRF())
        assert answer.certificate is not None
        level, x = answer.steps[0]["levels"][0], answer.totals
        print(
            f"{name}: A = {level:.7f}, x = ({x[0]:.6f}, {x[1]:.6f}), {answer.certificate.verdict}"
        )
    weight, time = np.array([1.0, 2.0]), np.array([1.0, 0.5])
    speed = np.array([[4.0, 20.0, 9.0], [10.0, 8.0, 30.0]])  # CPU, disk, network; each user's own
    for words, many in (("(19), CPU and disk", 2), ("(20), CPU, disk and network", 3)):
        # the parts are linear in the jobs: the level that fits is one over the use at level 1
        level = 1 / jobs.least_use(weight, speed[:, :many], time)
        x = ", ".join(f"{each:.6f}" for each in weight * level)
        print(f"QoS {words}: x = ({x}) jobs a second, nothing more fits")
    # one user, x = 1 in T = 1, half of a disk of speed 4: what it saves in CPU by overlapping
    for ram in (1.0, 0.5, 0.1):
        cpu = jobs.cpu_pipelined(1.0, 1.0, disk=2.0, ram=ram)
        words = "as (19) without pipelining" if ram == 1.0 else "pipelined"
        print(f"QoS pipelined, RAM for {ram:g} of a job: CPU {cpu:.6f} ({words})")


if __name__ == "__main__":
    main()
