"""
Alpha from 0 to 100
===================

One number leads from efficiency (0) over proportional fairness (1) to max-min fairness (large).
Three users share one pool of CPU and memory. At 0 the user with the smallest tasks takes nearly
all; at 100 the three levels are nearly equal.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.Instance(
    demand=[[1, 1], [2, 6], [6, 3]],
    capacity=[[60, 60]],
    users=["small", "memory", "cpu"],
    resources=["cpu", "memory"],
)
alphas = np.array([0, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100])
totals = np.array([fo.solve(cluster, fo.AlphaFair(alpha)).totals for alpha in alphas])
level = fo.solve(cluster, fo.MaxMin("tasks")).totals

# %%
fig, ax = plt.subplots(figsize=(6.4, 3.4))
marks = zip(cluster.users, ("#0072B2", "#D55E00", "#009E73"), "os^", strict=True)
for k, (user, colour, marker) in enumerate(marks):
    ax.plot(alphas, totals[:, k], color=colour, marker=marker, ms=4, label=user)
ax.axhline(level[0], color="0.5", lw=0.8, ls="--")
ax.text(0.1, level[0] * 1.12, "max-min", color="0.4", fontsize=8)
ax.set_xscale("symlog", linthresh=0.1)
ax.set_yscale("symlog", linthresh=1)
ax.set_yticks([0, 1, 10, 60], ["0", "1", "10", "60"])
ax.set_xlim(-0.02, 130)
ax.set_xticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
ax.set_xlabel("alpha")
ax.set_ylabel("tasks")
ax.legend(frameon=False)
fig.tight_layout()

assert totals[0].round(6).tolist() == [60, 0, 0]
assert np.allclose(level, 6) and np.allclose(totals[-1], level, rtol=0.05)
assert np.all(np.diff(totals.sum(axis=1)) <= 1e-5)  # efficiency is paid for, at every step
