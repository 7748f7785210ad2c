"""
Servers on old news
===================

Servers that divide themselves know of one another only what they heard some rounds ago. All at once
and on old news they overshoot; going only a part of the way each time calms them.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("khamse2016/section-v").instance
settled = fo.dynamics.by_themselves(cluster, 30).totals[-1]
ways = {
    "in turn, fresh news": {},
    "at once, news up to 3 rounds old": {"order": "at-once", "delay": 3},
    "the same, half of the way": {"order": "at-once", "delay": 3, "damping": 0.5},
}
off = {}
for name, given in ways.items():
    run = fo.dynamics.by_themselves(cluster, 60, seed=1, **given)
    off[name] = np.abs(run.totals / settled - 1).max(axis=1)

# %%
fig, ax = plt.subplots(figsize=(6, 3.2))
for (name, curve), style in zip(off.items(), ("-", "--", "-."), strict=True):
    ax.semilogy(np.maximum(curve, 1e-9), style, label=name)
ax.set_xlabel("round")
ax.set_ylabel("worst user's distance from rest")
ax.legend(frameon=False, fontsize=8)
fig.tight_layout()

assert off["in turn, fresh news"][20] < 1e-3
assert off["the same, half of the way"][-1] < 0.05
