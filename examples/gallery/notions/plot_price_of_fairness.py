"""
The price of fairness
=====================

More fairness costs tasks. Twelve random clusters, alpha from 0 to 20: how much of the most tasks is
left, against how evenly they are spread (Jain's index). Each line is one cluster.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

alphas = np.array([0, 0.25, 0.5, 1, 2, 5, 20])
kept, even = np.empty((2, 12, len(alphas)))
for seed in range(12):
    cluster = fo.generate.random_instance(8, 3, 2, density=0.7, seed=seed)
    for k, alpha in enumerate(alphas):
        x = fo.solve(cluster, fo.AlphaFair(alpha)).totals
        kept[seed, k], even[seed, k] = x.sum(), x.sum() ** 2 / (len(x) * (x @ x))
kept /= kept[:, :1]

# %%
fig, ax = plt.subplots(figsize=(6, 3.4))
ax.plot(even.T, kept.T, color="0.8", lw=0.8)
for k, alpha in enumerate(alphas):
    ax.plot(even[:, k], kept[:, k], "o", ms=4, color=plt.cm.viridis(k / 6), label=f"{alpha:g}")
ax.set_xlabel("evenness of tasks (Jain)")
ax.set_ylabel("tasks, the most possible = 1")
ax.legend(frameon=False, title="alpha", loc="upper left", bbox_to_anchor=(1, 1))
fig.tight_layout()

assert np.all(np.diff(kept, axis=1) <= 1e-5)  # never more tasks with a larger alpha
assert np.all(even[:, -1] > even[:, 0])
