"""
A counterexample drawn: envy
============================

CDRF (``max-min`` with the criterion ``cdrf``) is not envy-free. In the smallest counterexample
found, one user would run more tasks with the share of another, scaled by weight, than with its own.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("counterexamples/envy-free-3").instance
answer = fo.solve(cluster, fo.MaxMin("cdrf"))
verdict = fo.properties.envy_free(answer)
print(verdict.witness)

# %%
# Entry (n, m): the tasks that user n would run with what user m has, by weight, as a part of its
# own. Above 1 is envy.

n, i, _ = cluster.shape
envy = np.zeros((n, n))
for a in range(n):
    needed = cluster.demand[a] > 0
    for b in range(n):
        held = answer.tasks[b][:, None] * cluster.demand[b]  # (I, R), what b holds
        alike = (held[:, needed] / cluster.demand[a, needed]).min(axis=1)
        could = (alike * cluster.eligible[a]).sum() * cluster.weight[a] / cluster.weight[b]
        envy[a, b] = could / answer.totals[a]

fig, ax = plt.subplots(figsize=(4.2, 3.4))
picture = ax.imshow(envy, cmap="PuOr_r", vmin=0.0, vmax=2.0)
for a in range(n):
    for b in range(n):
        ink = "white" if envy[a, b] < 0.4 else "black"
        ax.text(b, a, f"{envy[a, b]:.2f}", ha="center", va="center", color=ink)
ax.set_xticks(range(n), cluster.users)
ax.set_yticks(range(n), cluster.users)
ax.set_xlabel("with the share of")
ax.set_ylabel("tasks of")
fig.colorbar(picture, label="part of its own tasks")
fig.tight_layout()

assert answer.certificate.certified and not verdict.holds
assert envy.max() > 1.05 and np.allclose(np.diag(envy), 1)
