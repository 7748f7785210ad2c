"""
A budget of card-hours
======================

A may use so many card-hours a week, B is not limited. As A's budget grows, B gives way until both
have half; from then on the budget does not bind.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.Instance([[1], [1]], [[8]], users=["A", "B"], servers=["pool"], resources=["card"])
budgets = np.linspace(50, 1000, 39)
held = []
for most in budgets:
    week = fo.horizon(cluster, np.full((7, 2), 8.0), 24, [fo.Budget("A", "card", most)])
    answer = fo.solve(week.instance, fo.ProportionalFair())
    held.append(answer.totals)
held = np.array(held)

# %%
fig, ax = plt.subplots(figsize=(5.8, 3))
ax.stackplot(budgets, held.T, labels=cluster.users, colors=("#0072B2", "#E69F00"))
ax.axvline(672, color="white", lw=1, ls="--")
ax.set_xlabel("card-hours that A may use in the week")
ax.set_ylabel("card-hours held")
ax.legend(facecolor="white", loc="lower right")
fig.tight_layout()

assert np.allclose(held[:, 0], np.minimum(budgets, 672), rtol=1e-6)  # half of 8 cards for a week
assert np.allclose(held.sum(axis=1), 1344)
