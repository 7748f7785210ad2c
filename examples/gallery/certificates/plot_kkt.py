"""
Why an answer is right, by eye
==============================

At the optimum a task is worth what it costs wherever it runs, and costs more than it is worth
wherever it does not. A task takes different amounts on each server here. Each point is a user on a
server: filled where it has tasks.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

rng = np.random.default_rng(3)
cluster = fo.Instance(rng.uniform(0.1, 1, (12, 6, 3)), rng.uniform(5, 30, (6, 3)))
answer = fo.solve(cluster, fo.ProportionalFair())
pairs = answer.kkt()
worth, cost = pairs["gain"], pairs["cost"]
runs = pairs["nu"] < 1e-9 * cost

# %%
fig, ax = plt.subplots(figsize=(4.6, 4))
span = [worth.min(), worth.max()]
ax.plot(span, span, color="0.7", lw=0.8)
ax.plot(cost[runs], worth[runs], "o", color="#0072B2", label="runs here")
ax.plot(cost[~runs], worth[~runs], "o", mfc="none", color="#D55E00", label="does not")
ax.set_xlabel("what a task costs at the prices")
ax.set_ylabel("what a task is worth")
ax.legend(frameon=False)
fig.tight_layout()

assert answer.certificate.certified
assert np.all(worth <= cost * (1 + 1e-6)) and 0 < runs.sum() < len(runs)
