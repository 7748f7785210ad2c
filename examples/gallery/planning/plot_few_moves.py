"""
Few moves
=========

Weights change every hour. Solved anew each time, the shares are right, but most of what runs is
moved; the answer nearest to the last one has the same shares and moves almost nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.generate.random_instance(20, 12, 2, density=0.8, seed=4)
rng = np.random.default_rng(0)
notion = fo.MaxMin()
anew = near = fo.solve(cluster, notion)
moved = {"anew": [], "near the last": []}
for _ in range(12):
    weight = cluster.weight.copy()
    weight[rng.integers(20)] *= rng.choice([0.8, 1.25])
    cluster = cluster.replace(weight=weight)
    steps = fo.solve(cluster, notion), fo.solve(cluster, notion, near=near)
    for name, now, last in zip(moved, steps, (anew, near), strict=True):
        moved[name].append(np.abs(now.tasks - last.tasks).sum() / last.tasks.sum())
    assert np.allclose(steps[0].totals, steps[1].totals, rtol=1e-6)
    anew, near = steps

# %%
fig, ax = plt.subplots(figsize=(6, 3))
for name, style in zip(moved, ("o--", "s-"), strict=True):
    ax.plot(range(1, 13), 100 * np.array(moved[name]), style, ms=4, label=name)
ax.set_xlabel("hour")
ax.set_ylabel("stopped and started (% of all tasks)")
ax.legend(frameon=False)
fig.tight_layout()

assert np.sum(moved["near the last"]) < np.sum(moved["anew"])
