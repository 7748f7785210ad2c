"""
Whole tasks matter less on large clusters
=========================================

The same two kinds of machines, one to thirty-two of each. What three schedulers of whole tasks run
beside the most fluid tasks: one loses a third to edges on two machines and a twelfth on sixty-four,
one sees each machine and loses little, and one loses much whatever the size.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

one = fo.read("kesidis2018/example").instance
one = one.replace(capacity=one.capacity / 5)
sizes = np.array([1, 2, 4, 8, 16, 32])
schedulers = ("drf", "bf-drf", "rps-dsf")
part = np.zeros((3, len(sizes)))
for k, size in enumerate(sizes):
    cluster = one.replace(count=[size, size])
    most = fo.solve(cluster, fo.Throughput()).totals.sum()
    for j, name in enumerate(schedulers):
        runs = [fo.fill(cluster, name, seed=seed).totals.sum() for seed in range(5)]
        part[j, k] = np.mean(runs) / most

# %%
fig, ax = plt.subplots(figsize=(6, 3.2))
for name, curve, marker in zip(schedulers, part, "os^", strict=True):
    ax.plot(sizes, curve, marker + "-", label=name)
ax.axhline(1, color="0.6", lw=0.8)
ax.set_xscale("log", base=2)
ax.set_xlabel("machines of each kind")
ax.set_ylabel("tasks, fluid optimum = 1")
ax.legend(frameon=False)
fig.tight_layout()

assert np.all(part <= 1 + 1e-9) and np.all(part[2] >= part[0])
