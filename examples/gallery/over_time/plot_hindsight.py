"""
A day in hindsight
==================

Analytics runs by night and day, the web team by day only. Dividing each hour by itself is fair each
hour; over the whole day the web team has had less. One instance of 24 slices knows both.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.Instance(
    [[1, 4], [3, 1]],
    [[9, 18]],
    users=["analytics", "web"],
    servers=["pool"],
    resources=["cpu", "memory"],
)
day = (np.arange(24) >= 8) & (np.arange(24) < 18)
wants = np.column_stack([np.full(24, 9.0), np.where(day, 9.0, 0.0)])
whole = fo.horizon(cluster, wants)
hindsight = fo.solve(whole.instance, fo.MaxMin())
alone = fo.replay(cluster, None, wants, 1, "slice")
plans = {"hour by hour": alone.held, "in hindsight": whole.split(hindsight).sum(axis=2)}

# %%
fig, axes = plt.subplots(1, 2, figsize=(7.6, 2.8), sharey=True)
for ax, (name, tasks) in zip(axes, plans.items(), strict=True):
    ax.stackplot(np.arange(24), tasks.T, labels=cluster.users, step="mid")
    sums = ", ".join(f"{hours:.0f}" for hours in tasks.sum(axis=0))
    ax.set_title(f"{name}: {sums} task-hours", fontsize=9)
    ax.set_xlabel("hour of the day")
axes[0].set_ylabel("tasks")
axes[0].legend(facecolor="white", fontsize=8)
fig.tight_layout()

assert hindsight.certificate.certified and whole.ratio(alone.plans["held"], hindsight) < 1
