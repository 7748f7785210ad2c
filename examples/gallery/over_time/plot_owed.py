"""
What is owed under five policies
================================

Three teams share eight cards for three weeks. Research is away in the first week and wants twice as
much later; the night crew runs only every third slice. Beside what was due in hindsight, each
policy owes something: what is owed at the end differs by what it remembers.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.Instance(
    [[1], [1], [1]], [[8]], users=["operations", "research", "night"], resources=["gpu"]
)
rng = np.random.default_rng(8)
slices = 63  # of eight hours
wants = np.array(
    [[6, 0 if t < 21 else 8, 6 if t % 3 == 0 else 0] for t in range(slices)]
) * rng.uniform(0.8, 1.2, (slices, 3))

# %%
# Without a log the policy itself is run, and what it gives is what is held.
policies = ("slice", "kai:half=2d,k=1", "kueue:half=2d", "condor:half=2d", "karma:alpha=.5")
runs = {policy: fo.replay(cluster, None, wants, 8, policy) for policy in policies}

fig, panels = plt.subplots(1, len(runs), figsize=(11, 2.9), sharey=True)
for ax, (policy, run) in zip(panels, runs.items(), strict=True):
    ax.axhline(0, color="0.8", lw=0.8)
    days = (run.starts + run.hours) / 24
    for user, debt in zip(cluster.users, run.debt.T, strict=True):
        ax.plot(days, debt, label=user)
    ax.set_title(policy, fontsize=9)
    ax.set_xlabel("days")
panels[0].set_ylabel("owed (card-hours)")
panels[0].legend(frameon=False, fontsize=8)
fig.tight_layout()

# %%
# How much of hindsight each reached, proved by its certificate: never above 1.
ratios = {policy: run.ratios["held"] for policy, run in runs.items()}
assert all(0 < ratio <= 1 + 1e-6 for ratio in ratios.values())
assert all(run.answer.certificate.certified for run in runs.values())
# what is owed adds up to what was left idle, nothing else is created
for run in runs.values():
    idle = (run.hindsight - run.held).sum() * run.hours
    assert np.isclose(run.debt[-1].sum(), idle)
assert ratios["slice"] < max(ratios.values())
