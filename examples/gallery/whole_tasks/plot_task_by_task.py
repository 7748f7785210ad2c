"""
Task by task
============

A scheduler gives one task at a time to whoever is lowest by its criterion. The levels rise in turns
until nobody fits any more; where they part, somebody was stopped.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("khamse2016/figure-1").instance.replace(capacity=[[9, 12, 100], [12, 12, 0]])
schedulers = ("drf", "ps-dsf")
paths = {}
for name in schedulers:
    trace = fo.fill(cluster, name, trace=True).steps[0]["trace"]
    given = np.array([[step["user"] == user for user in cluster.users] for step in trace])
    paths[name] = np.vstack([np.zeros(3), given.cumsum(axis=0)])

# %%
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.9), sharey=True)
for ax, (name, path) in zip(axes, paths.items(), strict=True):
    for user, curve in zip(cluster.users, path.T, strict=True):
        ax.plot(curve, drawstyle="steps-post", label=user)
    ax.set_title(name, fontsize=9)
    ax.set_xlabel("tasks placed")
axes[0].set_ylabel("tasks of each user")
axes[0].legend(frameon=False)
fig.tight_layout()

for name, path in paths.items():
    assert np.allclose(path[-1], fo.fill(cluster, name).totals)
