"""
Filling up to limits
====================

Eight users share 100 cards, and each wants only so many. Max-min raises a level until the cards are
gone: who wants less than the level has all it wants, the others have the level.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

wants = np.array([3.0, 5, 8, 12, 18, 25, 40, 60])
pool = fo.Instance(np.ones((8, 1)), [[100.0]], limit=wants)
answer = fo.solve(pool, fo.MaxMin("tasks"))
level = answer.totals.max()

# %%
fig, ax = plt.subplots(figsize=(6, 3))
ax.bar(pool.users, wants, color="0.9", edgecolor="0.6", label="wanted")
ax.bar(pool.users, answer.totals, color="#56B4E9", label="given")
ax.axhline(level, color="#0072B2", lw=1)
ax.text(-0.4, level + 1, f"level {level:.2f}", color="#0072B2", fontsize=9)
ax.set_ylabel("cards")
ax.legend(frameon=False)
fig.tight_layout()

assert np.isclose(answer.totals.sum(), 100)
assert np.allclose(answer.totals, np.minimum(wants, level))
