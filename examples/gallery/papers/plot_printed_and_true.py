"""
Printed and true
================

Section 4.1 of kesidis2016 prints an allocation of two pools to three users and calls it
proportionally fair. It is feasible, but it is not the optimum of its own program: the certificate
refutes it, and says how much is lost.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

model = fo.read("kesidis2016/no-penalty")
cluster = model.instance
notion = fo.ProportionalFair(criterion="dominant-share")

# dominant shares as printed, users by pools; tasks are shares divided by the share of one task
printed_shares = np.array([[0.4, 0.375], [0.4, 0.375], [0.4, 0.375]])
score = fo.criteria.score(cluster, "dominant-share")
printed = fo.Allocation(cluster, notion, printed_shares / score)
true = fo.solve(cluster, notion)

# %%
# The judge reads tasks and prices, and no solver.

verdict = fo.certify(printed)
print(verdict.verdict)
print(verdict.notes[0])

# %%
fig, axes = plt.subplots(1, 2, figsize=(7, 3), sharey=True)
for ax, answer, title in zip(axes, (printed, true), ("printed", "true"), strict=True):
    shares = answer.tasks * score
    bottom = np.zeros(3)
    for i, (pool, colour) in enumerate(zip(cluster.servers, ("#0072B2", "#E69F00"), strict=True)):
        ax.bar(cluster.users, shares[:, i], bottom=bottom, color=colour, label=pool)
        bottom += shares[:, i]
    ax.set_title(f"{title}: Σ log F = {answer.objective:.4f}", fontsize=10)
axes[0].set_ylabel("dominant share, summed over pools")
axes[0].legend(frameon=False, loc="upper left")
axes[0].set_ylim(0, 1.25)
fig.tight_layout()

assert verdict.verdict == "refuted" and true.certificate.certified
assert np.isclose(true.objective, np.log(8000 / 12393))
