"""
Service rates under load
========================

Transactions come and go at random on one pool, and share it by a notion of fairness while they are
there (bonald2015, section 4). What a class gets in the mean is its service rate. Under load DRF
leaves more of the pool unused, and the users who need little pay for it.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

requirements = np.array([[0.1, 1.0], [1.0, 0.1], [1.0, 1.0]])
loads = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
mix = np.ones(3) / requirements.sum(axis=0).max()  # the fullest resource has load 1 at 1
notions = {"DRF": fo.MaxMin("drf"), "PF": fo.ProportionalFair(), "BMF": fo.BottleneckMaxFair()}
rates = {
    name: np.array(
        [fo.dynamics.service_rates(requirements, load * mix, notion).rates for load in loads]
    )
    for name, notion in notions.items()
}

# %%
fig, axes = plt.subplots(1, 2, figsize=(7.5, 3), sharey=True)
for ax, k, title in ((axes[0], 0, "needs little of one resource"), (axes[1], 2, "needs all")):
    for (name, curve), style in zip(rates.items(), ("o-", "s--", "^:"), strict=True):
        ax.plot(loads, curve[:, k] / rates["PF"][:, k], style, ms=4, label=name)
    ax.set_title(f"class {k + 1}: {title}", fontsize=9)
    ax.set_xlabel("load of the fullest resource")
axes[0].set_ylabel("mean service rate, that of PF = 1")
axes[0].legend(frameon=False)
fig.tight_layout()

assert all((np.diff(curve, axis=0) < 0).all() for curve in rates.values())  # load costs everybody
assert (rates["PF"][:, 0] > rates["BMF"][:, 0]).all()
assert (rates["BMF"][:, 0] > rates["DRF"][:, 0]).all()
