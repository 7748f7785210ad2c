"""
A counterexample drawn: better off alone
========================================

Two users share ten units, and user 2 has twice the weight: two thirds of the pool are its own part.
Alpha-fairness multiplies welfare by the weight; with alpha other than 1 that is not what a weight
means, and one of the two is better off alone. With the weight inside nobody ever is.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

pool = fo.read("counterexamples/sharing-incentive-1").instance
alphas = np.linspace(0.25, 4, 31)
tasks = np.array([fo.solve(pool, fo.AlphaFair(a)).totals for a in alphas])
inside = np.array([fo.solve(pool, fo.AlphaFair(a, weight_inside=True)).totals for a in alphas])
alone = pool.weight / pool.weight.sum() * 5  # five tasks fit

# %%
fig, ax = plt.subplots(figsize=(6, 3.2))
for n, (user, colour) in enumerate(zip(pool.users, ("#D55E00", "#0072B2"), strict=True)):
    ax.plot(alphas, tasks[:, n] / alone[n], color=colour, label=user)
    ax.plot(alphas, inside[:, n] / alone[n], color=colour, ls=":", label=f"{user}, weight inside")
ax.axhline(1, color="0.6", lw=0.8)
ax.set_xlabel("alpha")
ax.set_ylabel("tasks, with its own part = 1")
ax.legend(frameon=False, fontsize=8)
fig.tight_layout()

assert np.all((tasks < alone * (1 - 1e-3)).any(axis=1) == (np.abs(alphas - 1) > 1e-9))
assert np.allclose(inside, alone, rtol=1e-4)
