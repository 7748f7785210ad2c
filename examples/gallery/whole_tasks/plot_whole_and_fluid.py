"""
Whole tasks against fluid
=========================

A scheduler places whole tasks, one at a time, and takes none back. A fluid notion may split tasks.
On the example of kesidis2018 (two servers, two users) schedulers that look at the pool as a whole
run half the tasks of those that look at each server.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("kesidis2018/example").instance
schedulers = ["drf", "tsf", "bf-drf", "ps-dsf", "rps-dsf"]
whole = {name: fo.fill(cluster, name, seed=0).totals.sum() for name in schedulers}
fluid = {
    "max-min (drf)": fo.solve(cluster, fo.MaxMin("drf")).totals.sum(),
    "ps-dsf": fo.solve(cluster, fo.PerServerDominantShare()).totals.sum(),
    "throughput": fo.solve(cluster, fo.Throughput()).totals.sum(),
}

# %%
fig, ax = plt.subplots(figsize=(6.4, 3.2))
names = list(whole) + [f"{name} " for name in fluid]
values = [*whole.values(), *fluid.values()]
colours = ["#0072B2"] * len(whole) + ["#E69F00"] * len(fluid)
bars = ax.barh(names, values, color=colours)
ax.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
ax.invert_yaxis()
ax.set_xlim(0, 48)
ax.set_xlabel("tasks of both users (blue: whole tasks, orange: fluid)")
fig.tight_layout()

assert whole["rps-dsf"] == 42  # the most that whole tasks can be, as Table II prints
assert whole["ps-dsf"] == 41
assert whole["drf"] < 30 < fluid["max-min (drf)"]  # it fills a random server for every task
assert np.isclose(fluid["throughput"], max(fluid.values()))
