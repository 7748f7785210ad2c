# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---
# %% [markdown]
"""
How long should the scheduler remember?
=======================================

Two teams share eight cards. Operations runs every day. Research works in bursts: nothing for most
of the week, then everything at once before a deadline. Schedulers weigh use by what they remember,
and every product has a knob for it, the half-life. What should it be set to?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.Instance(
    [[1], [1]], [[8]], users=["operations", "research"], servers=["pool"], resources=["card"]
)
slices = 56  # four weeks of twelve-hour slices
burst = np.arange(slices) % 14 >= 10  # the last two days of each week
wants = np.column_stack([np.full(slices, 8.0), np.where(burst, 8.0, 0.0)])

# %% [markdown]
# What would be fair, looking back over all four weeks? One instance of 56 slices answers that,
# with a certificate. Research wants 8 cards in 16 of 56 slices.

# %%
whole = fo.horizon(cluster, wants, hours=12)
hindsight = fo.solve(whole.instance, fo.MaxMin())
print(hindsight.certificate.verdict, hindsight.totals, "card-hours")

# %% [markdown]
# Fair in hindsight is all of its burst: operations had the cards for the rest of the time. A
# scheduler does not know what comes. It divides each slice by what it remembers. Run three kinds
# of memory with half-lives from twelve hours to eight weeks:

# %%
halves = np.array([12, 48, 168, 336, 1344])
kinds = {
    "kai": "kai:half={}h,k=1",
    "least used first": "kueue:half={}h",
    "condor": "condor:half={}h",
}
got = {
    kind: [
        fo.replay(cluster, None, wants, 12, policy.format(half)).held[:, 1].sum() * 12
        for half in halves
    ]
    for kind, policy in kinds.items()
}
forgetful = fo.replay(cluster, None, wants, 12, "slice").held[:, 1].sum() * 12

# %%
fig, ax = plt.subplots(figsize=(6.5, 3.4))
for (kind, hours), style in zip(got.items(), ("o-", "s--", "^:"), strict=True):
    ax.plot(halves / 24, hours, style, label=kind)
ax.axhline(hindsight.totals[1], color="0.5", lw=0.8)
ax.text(0.35, hindsight.totals[1] - 35, "due in hindsight", fontsize=8, color="0.4")
ax.axhline(forgetful, color="0.5", lw=0.8, ls="--")
ax.text(0.35, forgetful + 12, "no memory", fontsize=8, color="0.4")
ax.set_xscale("log")
ax.set_xlabel("half-life (days)")
ax.set_ylabel("card-hours of research")
ax.legend(frameon=False)
fig.tight_layout()

# %% [markdown]
# Least used first with a memory of twelve hours alternates between the teams, and research is cut
# to half, as without any memory. From two days on, the length of a burst, it gives research all
# that is due. Weights as KAI's and HTCondor's never give one team everything: they come to 82 % at
# most, and a very long memory is worse for HTCondor's than one of a week.
#
# What does it look like on the way? Who is owed what, slice by slice, with a half-life of a week:

# %%
runs = {
    "kai, a week": fo.replay(cluster, None, wants, 12, "kai:half=7d,k=1"),
    "least used first, a week": fo.replay(cluster, None, wants, 12, "kueue:half=7d"),
}
fig, axes = plt.subplots(1, 2, figsize=(8, 2.8), sharey=True)
for ax, (name, run) in zip(axes, runs.items(), strict=True):
    ax.fill_between(np.arange(slices) / 2, 0, run.debt[:, 1], color="#D55E00", alpha=0.5)
    ax.set_title(name, fontsize=9)
    ax.set_xlabel("days")
axes[0].set_ylabel("owed to research (card-hours)")
fig.tight_layout()

# %% [markdown]
# The rule of thumb for teams like these: a half-life no shorter than the bursts it should make up
# for. Beyond that it matters more which rule the memory feeds than how long the memory is.

# %%
assert hindsight.certificate.certified
assert np.isclose(hindsight.totals[1], 8 * 12 * burst.sum())
assert np.isclose(forgetful, hindsight.totals[1] / 2)
assert all(a >= forgetful - 1e-6 for hours in got.values() for a in hours)
assert np.allclose(got["least used first"][1:], hindsight.totals[1])
assert max(*got["kai"], *got["condor"]) < 0.83 * hindsight.totals[1]
