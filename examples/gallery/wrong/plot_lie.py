"""
A counterexample drawn: a lie that pays
=======================================

Proportional fairness is not strategy-proof. In the example of bonald2015, section 2.4, user 1 needs
half of resource 1 for a task and claims more. At a claim of 2/3 it really runs 12.5% more tasks.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

claims = np.linspace(0.5, 1.0, 61)
truth = np.array([0.5, 1.0])


def runs(claim: float) -> float:
    """Tasks that user 1 really runs when it claims this much of resource 1."""
    lie = np.array([claim, 1.0])
    answer = fo.solve(fo.Instance([lie, [1.0, 0.5]], [[1.0, 1.0]]), fo.ProportionalFair())
    return float((answer.totals[0] * lie / truth).min())


real = np.array([runs(claim) for claim in claims])

# %%
fig, ax = plt.subplots(figsize=(5.6, 3.2))
ax.plot(claims, real, color="#0072B2")
best = real.argmax()
ax.plot(claims[best], real[best], "o", color="#D55E00")
ax.annotate(
    f"claims {claims[best]:.3f}, runs {real[best]:.3f}",
    (claims[best], real[best]),
    textcoords="offset points",
    xytext=(8, 4),
)
ax.axhline(real[0], color="0.5", lw=0.8, ls="--")
ax.text(0.83, real[0] + 0.004, "the truth", color="0.4", fontsize=8)
ax.set_ylim(0.48, 0.79)
ax.set_xlabel("claimed demand for resource 1 (true: 0.5)")
ax.set_ylabel("tasks that user 1 really runs")
fig.tight_layout()

assert abs(real[0] - 2 / 3) < 1e-5
assert abs(real.max() - 0.75) < 1e-3  # 12.5% more
