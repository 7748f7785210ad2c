"""
What a weight buys
==================

One user's weight goes from an eighth to eight. Its tasks rise with it, but never in proportion for
long: what it takes becomes dear, and at last nothing is left to take.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("khamse2016/figure-1").instance
weights = np.logspace(-3, 3, 25, base=2)
notions = {
    "proportional": fo.ProportionalFair(),
    "max-min (drf)": fo.MaxMin("drf"),
    "ps-dsf": fo.PerServerDominantShare(),
}
curves = {
    name: np.array([fo.solve(cluster.replace(weight=[w, 1, 1]), notion).totals[0] for w in weights])
    for name, notion in notions.items()
}

# %%
fig, ax = plt.subplots(figsize=(6, 3.2))
for (name, curve), style in zip(curves.items(), ("-", "--", ":"), strict=True):
    ax.plot(weights, curve, style, label=name)
ax.set_xscale("log", base=2)
ax.set_xlabel("weight of user n1, others 1")
ax.set_ylabel("tasks of n1")
ax.legend(frameon=False)
fig.tight_layout()

for curve in curves.values():
    assert np.all(np.diff(curve) >= -1e-6)  # more weight is never less
    assert curve[-1] / curve[0] < 64
