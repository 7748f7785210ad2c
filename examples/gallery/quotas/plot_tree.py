"""
Groups first, then users
========================

300 cards, two organisations, half each; inside the first, one team has three times the weight of
the others (Kueue's story of fair sharing). Without the groups the four would share by weight alone.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("quotas/h1").instance
tree = fo.solve(cluster, fo.MaxMin()).totals
flat = fo.solve(cluster.replace(quotas=fo.Quotas()), fo.MaxMin()).totals

# %%
fig, ax = plt.subplots(figsize=(6.4, 2.4))
colours = ("#56B4E9", "#0072B2", "#003f66", "#D55E00")
for y, totals in ((1, flat), (0, tree)):
    left = 0.0
    for user, cards, colour in zip(cluster.users, totals, colours, strict=True):
        ax.barh(y, cards, left=left, color=colour, edgecolor="white")
        words = f"{user}\n{cards:g}"
        ax.text(left + cards / 2, y, words, ha="center", va="center", color="white", fontsize=8)
        left += cards
ax.set_yticks((1, 0), ("all in one", "in two groups"))
ax.set_xlabel("cards")
ax.spines[["top", "right", "left"]].set_visible(False)
fig.tight_layout()

assert np.allclose(tree, (30, 30, 90, 150))
assert np.allclose(flat, (50, 50, 150, 50))
