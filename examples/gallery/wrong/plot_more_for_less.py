"""
A counterexample drawn: more machines, fewer tasks
==================================================

No notion of fairness here is resource-monotone. Two users, one server; let resource 1 grow and
nothing else. User 1, who needs more of the other resource, loses up to a quarter of its tasks.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("counterexamples/resource-monotone-1").instance
amounts = np.linspace(1, 2, 26)
notions = {"proportional": fo.ProportionalFair(), "max-min (drf)": fo.MaxMin("drf")}
totals = {
    name: np.array([fo.solve(cluster.replace(capacity=[[a, 1.0]]), n).totals for a in amounts])
    for name, n in notions.items()
}

# %%
fig, axes = plt.subplots(1, 2, figsize=(7.2, 2.9), sharey=True)
for ax, (name, curves) in zip(axes, totals.items(), strict=True):
    ax.plot(amounts, curves[:, 0], color="#D55E00", label="user 1, needs (1/2, 1)")
    ax.plot(amounts, curves[:, 1], color="#0072B2", label="user 2, needs (1, 1/2)")
    ax.set_title(name, fontsize=9)
    ax.set_xlabel("there is of resource 1")
axes[0].set_ylabel("tasks")
axes[0].legend(frameon=False, fontsize=8)
fig.tight_layout()

for curves in totals.values():
    assert np.isclose(curves[0, 0], 2 / 3, atol=1e-4) and np.isclose(
        curves[-1, 0], 1 / 2, atol=1e-4
    )
    assert curves[-1, 1] > curves[0, 1]
