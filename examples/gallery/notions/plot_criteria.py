"""
What a share is measured in
===========================

Max-min raises the lowest share. Shares can be tasks, the dominant share of the pool, or tasks
beside what the user could run alone in several senses. The same cluster of EC2 machines under each
criterion: tasks of each team, its most under any of them being 1.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("real/ec2-gpu").instance
names = ["tasks", "drf", "drf-use", "tsf", "cdrf", "ps-dsf-sum"]
totals = np.array([fo.solve(cluster, fo.MaxMin(name)).totals for name in names])
part = totals / totals.max(axis=0)

# %%
fig, ax = plt.subplots(figsize=(6.4, 3.2))
ax.imshow(part, cmap="Blues", vmin=0, vmax=1.3, aspect="auto")
for (k, n), value in np.ndenumerate(totals):
    ax.text(n, k, f"{value:.3g}", ha="center", va="center", fontsize=8)
ax.set_xticks(range(len(cluster.users)), cluster.users)
ax.set_yticks(range(len(names)), names)
ax.set_ylabel("criterion")
fig.tight_layout()

assert len(np.unique(part.round(3), axis=0)) >= 4  # the choice matters
