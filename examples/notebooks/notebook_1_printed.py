# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---
# %% [markdown]
"""
Is the allocation in the paper what it says it is?
==================================================

A technical report of 2016 divides two pools among three users and prints the result as
*proportionally fair*. You want to cite it. Before you do, you want to know three things: does the
printed allocation fit, is it the optimum of its own program, and if not, what is?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("kesidis2016/no-penalty").instance
cluster

# %% [markdown]
# The report prints dominant shares: the part of a pool that a user's most needed resource takes
# there. Every user holds 0.4 of the first pool and 0.375 of the second. Divided by the share of
# one task these are tasks, and tasks are what can be checked.

# %%
score = fo.criteria.score(cluster, "dominant-share")
printed_shares = np.tile([0.4, 0.375], (3, 1))
notion = fo.ProportionalFair(criterion="dominant-share")
printed = fo.Allocation(cluster, notion, printed_shares / score)
verdict = fo.certify(printed)
print(verdict.explain())

# %% [markdown]
# It fits: no pool is overrun. But it is refuted, and the judge needed no optimum to say so: it
# found an allocation that is better by more than any rounding. So what is the optimum?

# %%
true = fo.solve(cluster, notion)
print(true.certificate.verdict, true.objective, printed.objective)
true.to_frame("users")

# %%
fig, ax = plt.subplots(figsize=(6, 3))
place = np.arange(3)
ax.bar(place - 0.2, printed.shares, 0.4, label="printed", color="#E69F00")
ax.bar(place + 0.2, true.shares, 0.4, label="optimum", color="#0072B2")
ax.set_xticks(place, cluster.users)
ax.set_ylabel("dominant share over both pools")
ax.legend(frameon=False)
fig.tight_layout()

# %% [markdown]
# The second user gains much, the first a little, and the third loses a little. The sum of
# logarithms rises from -0.765 to -0.438.
#
# Where does the printed point come from? All users hold the same share within each pool. That is
# what DRF gives in each pool by itself, a different notion:

# %%
alone = fo.solve(cluster, fo.PerServerDRF())
print(np.round(alone.tasks * score, 4))

# %% [markdown]
# The numbers are those of the report, to every printed digit. The report compares proportional
# fairness with penalties that draw the shares within a pool together; the printed point is where
# that penalty has won completely. A sweep shows the way from the one to the other:

# %%
weights = np.concatenate([[0.0], np.logspace(-2, 4, 25)])
found = fo.sweep(cluster, [fo.Tradeoff(t_drf=w) for w in weights])
shares = np.array([list(row["levels"].values()) for row in found.rows])
fig, ax = plt.subplots(figsize=(6, 3))
for user, curve in zip(cluster.users, shares.T, strict=True):
    ax.plot(weights, curve, label=user)
ax.axhline(0.775, color="0.5", lw=0.8, ls="--")
ax.text(0.0, 0.79, "printed", color="0.4", fontsize=8)
ax.set_xscale("symlog", linthresh=0.01)
ax.set_xlabel("weight of the penalty within pools")
ax.set_ylabel("level")
ax.legend(frameon=False)
fig.tight_layout()

# %% [markdown]
# What to cite, then: the printed numbers as DRF in each pool, the optimum as proportional
# fairness, and the certificate as the reason. The same check refutes two more allocations of the
# report, and confirms one; the page of the paper lists them.

# %%
assert verdict.verdict == "refuted" and true.certificate.certified and found.certified
assert np.isclose(true.objective, np.log(8000 / 12393))
assert np.allclose(alone.tasks * score, printed_shares)
assert np.allclose(shares[-1], 0.775, atol=1e-2)
