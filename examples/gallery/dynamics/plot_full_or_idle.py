"""
What is idle under load
=======================

Transactions come and go on one pool. As load rises, how many of each class are there at a time? A
notion that leaves resources idle has more of them waiting, and close to full load far more.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

requirements = np.array([[0.2, 1.0], [1.0, 0.2]])
loads = np.array([0.2, 0.4, 0.6, 0.7, 0.8, 0.85])
mix = np.array([1.0, 0.6]) / (requirements.T @ [1.0, 0.6]).max()
notions = {"DRF": fo.MaxMin("drf"), "PF": fo.ProportionalFair(), "BMF": fo.BottleneckMaxFair()}
there = {
    name: np.array(
        [fo.dynamics.service_rates(requirements, load * mix, n).numbers.sum() for load in loads]
    )
    for name, n in notions.items()
}

# %%
fig, ax = plt.subplots(figsize=(6, 3))
for (name, curve), style in zip(there.items(), ("o-", "s--", "^:"), strict=True):
    ax.plot(loads, curve, style, label=name)
ax.set_xlabel("load of the fullest resource")
ax.set_ylabel("transactions there, mean")
ax.legend(frameon=False)
fig.tight_layout()

assert all(np.all(np.diff(curve) > 0) for curve in there.values())
assert np.all(there["PF"] <= there["DRF"] * (1 + 1e-6))
