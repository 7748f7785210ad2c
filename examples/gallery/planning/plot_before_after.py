"""
A cluster before and after
==========================

24 machines of EC2 with three kinds of GPU, and six teams. Before: each machine is divided by DRF on
its own. After: proportional fairness over all machines. The bars are the memory of each kind of
machine, filled by team.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("real/ec2-gpu").instance
before = fo.solve(cluster, fo.PerServerDRF())
after = fo.solve(cluster, fo.ProportionalFair())
colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")

# %%
fig, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True)
r = cluster.resources.index("memory")
for ax, answer, title in zip(axes, (before, after), ("before", "after"), strict=True):
    left = np.zeros(len(cluster.servers))
    for n, (user, colour) in enumerate(zip(cluster.users, colours, strict=True)):
        part = answer.tasks[n] * cluster.demand_by_server[n, :, r] / cluster.pool[:, r]
        ax.barh(cluster.servers, part, left=left, color=colour, label=user)
        left += part
    gain = np.log(answer.totals) @ cluster.weight
    ax.set_title(f"{title}: weighted sum of log tasks {gain:.2f}", fontsize=9)
    ax.set_xlabel("part of the memory")
    ax.set_xlim(0, 1)
axes[0].invert_yaxis()
fig.legend(
    *axes[0].get_legend_handles_labels(), loc="lower center", ncols=6, frameon=False, fontsize=8
)
fig.tight_layout(rect=(0, 0.08, 1, 1))

# %%
for user, a, b in zip(cluster.users, before.totals, after.totals, strict=True):
    print(f"{user:10} {a:6.1f} tasks before, {b:6.1f} after")

assert before.certificate.certified and after.certificate.certified
assert np.log(after.totals) @ cluster.weight > np.log(before.totals) @ cluster.weight
