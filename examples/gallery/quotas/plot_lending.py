"""
Lending
=======

Team A brings six cards and uses two of them, team B brings three and could use nine. How much of
what A does not need may B have? That is A's lending limit. What is not lent stays idle.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

limits = np.linspace(0, 6, 25)
held = []
for lend in limits:
    brought = fo.Quotas(quotas=[fo.Quota("A", "card", 6, lend=lend), fo.Quota("B", "card", 3)])
    pool = fo.Instance(
        [[1], [1]], [[9]], limit=[2, 9], users=["A", "B"], resources=["card"], quotas=brought
    )
    held.append(fo.solve(pool, fo.MaxMin()).totals)
held = np.array(held)

# %%
fig, ax = plt.subplots(figsize=(5.6, 3))
ax.stackplot(limits, held.T, labels=("A", "B"), colors=("#0072B2", "#E69F00"))
ax.fill_between(limits, held.sum(axis=1), 9, color="0.92", label="idle")
ax.set_xlabel("most that A lends")
ax.set_ylabel("cards")
ax.set_ylim(0, 9)
ax.legend(facecolor="white", loc="lower right", ncols=3)
fig.tight_layout()

assert np.allclose(held[:, 0], 2)  # lending never costs A anything here
assert np.allclose(held[:, 1], 3 + np.minimum(limits, 4))
