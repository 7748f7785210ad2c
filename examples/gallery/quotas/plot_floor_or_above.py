"""
What a promise means: three readings
====================================

A, B and C are promised 6, 2 and 1 of the cards. What of the rest? A promise can be a floor of the
share (Hadoop), a first part with the rest shared evenly (KAI), or a weight. The lines show what A
and C have as the pool grows.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("quotas/g1").instance
sizes = np.linspace(9, 30, 8)
readings = ("floor", "above", "proportion")
held = {
    over: np.array(
        [fo.solve(cluster.replace(capacity=[[c]]), fo.MaxMin(over=over)).totals for c in sizes]
    )
    for over in readings
}

# %%
fig, axes = plt.subplots(1, 3, figsize=(8, 2.8), sharey=True)
for ax, over in zip(axes, readings, strict=True):
    ax.stackplot(
        sizes, held[over].T, labels=cluster.users, colors=("#0072B2", "#E69F00", "#009E73")
    )
    ax.set_title(over, fontsize=9)
    ax.set_xlabel("cards there are")
axes[0].set_ylabel("cards held")
axes[0].legend(frameon=False, loc="upper left", fontsize=8)
fig.tight_layout()

for totals in held.values():
    assert np.allclose(totals[0], (6, 2, 1))  # nine cards: the promises and no more
    assert np.allclose(totals.sum(axis=1), sizes)
assert np.allclose(held["floor"][-1], 10) and np.allclose(held["above"][-1], (13, 9, 8))
