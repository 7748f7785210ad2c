"""
Spoil an answer, and see the certificate fail
=============================================

Take a proportionally fair answer and move a part of one user's tasks to another. The gap is a bound
on the objective, an average over all users. The residual is the worst user's own distance from
what it is due. It finds the error long before the gap does.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.Instance([[1.0], [1.0], [1.0]], [[30.0]], users=["A", "B", "C"])
right = fo.solve(cluster, fo.ProportionalFair())
moved = np.logspace(-8, -1, 15)
gaps, residuals, verdicts = [], [], []
for part in moved:
    tasks = right.tasks.copy()
    tasks[0] *= 1 - part
    tasks[1] += right.tasks[0] * part
    verdict = fo.certify(fo.Allocation(cluster, fo.ProportionalFair(), tasks, right.prices))
    gaps.append(verdict.gap)
    residuals.append(verdict.residual)
    verdicts.append(verdict.verdict)

# %%
fig, ax = plt.subplots(figsize=(6, 3.4))
ax.loglog(moved, np.maximum(residuals, 1e-17), "o-", label="residual", color="#D55E00", ms=4)
ax.loglog(moved, np.maximum(gaps, 1e-17), "s--", label="gap", color="#0072B2", ms=4)
ax.axhline(1e-6, color="0.4", lw=0.8)
ax.text(3e-3, 1.5e-7, "certified: both below", color="0.3", fontsize=8)
ax.set_xlabel("part of A's tasks given to B")
ax.set_ylabel("as the certificate says")
ax.set_ylim(1e-17, 3)
ax.legend(frameon=False, loc="lower right")
fig.tight_layout()

# %%
# The residual is what was moved. The gap is its square: at a thousandth it is still below 1e-6.

assert np.allclose(np.array(residuals)[3:], moved[3:], rtol=0.2)
assert verdicts[0] == "certified" and verdicts[-1] == "refuted"
assert gaps[10] < 1e-6 < residuals[10] and verdicts[10] != "certified"
