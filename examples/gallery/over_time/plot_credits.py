"""
Lending for credits
===================

Karma gives each of three users two blocks and lets them lend what they do not need for credits,
which buy blocks later. A is away for half of the day and wants everything then; B always wants
everything, C two blocks.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

team = fo.Instance([[1], [1], [1]], [[6]], users=["A", "B", "C"], resources=["block"])
wants = np.array([[6 * (t >= 12), 6, 2] for t in range(24)], float)
runs = {
    "no memory": fo.replay(team, None, wants, 1, "slice"),
    "credits": fo.replay(team, None, wants, 1, "karma:alpha=.5"),
}

# %%
fig, axes = plt.subplots(2, 1, figsize=(6.4, 4), sharex=True)
for ax, (name, run) in zip(axes, runs.items(), strict=True):
    for user, debt in zip(team.users, run.debt.T, strict=True):
        ax.plot(run.starts, debt, drawstyle="steps-post", label=user)
    ax.set_ylabel("owed (block-hours)")
    ax.set_title(f"{name}: {run.ratios['held']:.1%} of hindsight", fontsize=9)
axes[0].legend(frameon=False, ncols=3, fontsize=8)
axes[1].set_xlabel("hours")
fig.tight_layout()

for run in runs.values():
    assert np.all(run.held <= wants + 1e-9) and run.answer.certificate.certified
    assert np.allclose(run.held.sum(axis=1), 6)  # nothing idle
assert runs["credits"].debt[-1, 0] < runs["no memory"].debt[-1, 0]
