"""
Machine by machine
==================

What everybody is due is a fraction; tasks are whole and machines have edges. ``fo.whole`` places
whole tasks as near to what is due as they go, and proves it in integers. Each column is a machine.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.Instance(
    demand={"large": {"cpu": 7}, "middle": {"cpu": 4}, "small": {"cpu": 1.5}},
    capacity={"old": {"cpu": 16}, "new": {"cpu": 24}},
    limit={"small": 12},
    count={"old": 5, "new": 3},
)
due = fo.solve(cluster, fo.MaxMin("drf"))
placed = fo.whole(cluster, due)

# %%
fig, ax = plt.subplots(figsize=(6.4, 3))
x = 0
for server, alike, tasks in placed.nodes:
    for _ in range(alike):
        left = 0.0
        for n, many in enumerate(tasks):
            for _ in range(many):
                size = cluster.demand[n, 0]
                ax.bar(x, size, bottom=left, color=f"C{n}", edgecolor="white")
                left += size
        ax.bar(x, cluster.capacity[server, 0], fill=False, edgecolor="0.6")
        x += 1
words = zip(cluster.users, placed.totals, due.totals, strict=True)
ax.set_title(", ".join(f"{u} {w} of {d:.2f}" for u, w, d in words), fontsize=9)
ax.set_xlabel("machine")
ax.set_ylabel("CPUs")
fig.tight_layout()

assert placed.short == 0 and np.all(np.array(placed.totals) >= np.floor(due.totals))
