# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---
# %% [markdown]
"""
Should we fear lies?
====================

Proportional fairness is not strategy-proof: a team that says it needs more of something than it
does may run more. DRF is. So should everybody use DRF? bonald2015 asks how large the gain is, and
what it costs to exclude it. Follow the question from one lie on one pool to a pool under load.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

needs = np.array([0.5, 1.0])


def runs(claim, others, notion):
    """Tasks that user 1 really runs when it claims so much of both resources."""
    pool = fo.Instance(np.vstack([claim, others]), [[1.0, 1.0]])
    return (fo.solve(pool, notion).totals[0] * claim / needs).min()


# %% [markdown]
# Two users, two resources. User 1 needs (1/2, 1) for a task, user 2 needs (1, 1/2). What does user
# 1 run if it claims more of the first resource?

# %%
claims = np.linspace(0.5, 1.0, 31)
other = np.array([[1.0, 0.5]])
curves = {
    "proportional": [runs(np.array([c, 1.0]), other, fo.ProportionalFair()) for c in claims],
    "DRF": [runs(np.array([c, 1.0]), other, fo.MaxMin("drf")) for c in claims],
}
fig, ax = plt.subplots(figsize=(6, 3))
for (name, curve), style in zip(curves.items(), ("-", "--"), strict=True):
    ax.plot(claims, np.array(curve) / curve[0], style, label=name)
ax.set_xlabel("claimed of resource 1 (true: 0.5)")
ax.set_ylabel("tasks it really runs, truth = 1")
ax.legend(frameon=False)
fig.tight_layout()

# %% [markdown]
# An eighth more, at a claim of 2/3. Under DRF the lie only loses. So far DRF wins. But two users
# are few. Who lies among more moves prices less:

# %%
crowds = {}
for many in (1, 2, 8):  # so many users of each kind, the liar among them
    others = np.vstack([np.tile(other, (many, 1)), np.tile(needs, (many - 1, 1))])
    found = [runs(np.array([c, 1.0]), others, fo.ProportionalFair()) for c in claims]
    crowds[many] = np.array(found) / found[0]
fig, ax = plt.subplots(figsize=(6, 3))
for many, curve in crowds.items():
    ax.plot(claims, curve, label=f"{2 * many} users")
ax.axhline(1, color="0.6", lw=0.8)
ax.set_xlabel("claimed of resource 1 (true: 0.5)")
ax.set_ylabel("tasks it really runs, truth = 1")
ax.legend(frameon=False)
fig.tight_layout()

# %% [markdown]
# Among four users of these two kinds no such claim gains anything, and among sixteen it loses from
# the first bit on: the prices hardly move, and the liar pays for what it does not need.
#
# Now the cost of excluding lies. Let transactions come and go at random, as in section 4 of the
# paper, and compare the mean service rates under both notions. The pool has two resources, and
# three classes: two need mostly one of them, the third needs both.

# %%
requirements = np.array([[0.1, 1.0], [1.0, 0.1], [1.0, 1.0]])
mix = np.ones(3) / requirements.sum(axis=0).max()
loads = np.array([0.2, 0.4, 0.6, 0.8])
rates = {
    name: np.array(
        [fo.dynamics.service_rates(requirements, load * mix, notion).rates for load in loads]
    )
    for name, notion in {"proportional": fo.ProportionalFair(), "DRF": fo.MaxMin("drf")}.items()
}
lost = rates["DRF"] / rates["proportional"] - 1
fig, ax = plt.subplots(figsize=(6, 3))
for k, words in enumerate(("mostly resource 2", "mostly resource 1", "both")):
    ax.plot(loads, 100 * lost[:, k], "os^"[k] + "-", label=words)
ax.axhline(0, color="0.6", lw=0.8)
ax.set_xlabel("load of the fullest resource")
ax.set_ylabel("service rate of DRF beside\nproportional fairness (%)")
ax.legend(frameon=False)
fig.tight_layout()

# %%
for load, row in zip(loads, lost, strict=True):
    print(load, *(f"{x:+.1%}" for x in row))

# %% [markdown]
# Under load DRF costs the users who need little of the contested resource more than a lie in a
# crowd could take from them. That is the paper's case for proportional fairness where users are
# many and come and go; on a pool of two large teams that know one another it is the other way
# round.

# %%
assert np.isclose(max(curves["proportional"]) / curves["proportional"][0], 1.125, atol=2e-3)
assert max(curves["DRF"]) <= curves["DRF"][0] * (1 + 1e-9)
assert crowds[1].max() > 1.12 and all(crowds[k].max() <= 1 + 1e-9 for k in (2, 8))
assert lost[-1].min() < -0.1
