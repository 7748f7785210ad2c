"""
A counterexample drawn: what DRF on every server wastes
=======================================================

DRF on every server by itself is not Pareto optimal on several servers. A linear program finds an
allocation in which somebody runs more tasks and nobody runs fewer.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("counterexamples/pareto-optimal-1").instance
alone = fo.solve(cluster, fo.PerServerDRF())
verdict = fo.properties.pareto_optimal(alone)
print(verdict.witness)

# %%
# The better allocation by hand: give everybody at least what it had, and solve for the most tasks.

import cvxpy as cp  # noqa: E402

from fairopt.program import feasible_set  # noqa: E402

one = np.ones(len(cluster.users))  # a share is one task, counted in units of 1
space = feasible_set(cluster, one[:, None] * np.ones(len(cluster.servers)), one)
least = space.share >= alone.totals
cp.Problem(cp.Maximize(cp.sum(space.share)), [*space.constraints, least]).solve(solver="CLARABEL")
better = space.share.value

fig, ax = plt.subplots(figsize=(5, 3.2))
place = np.arange(len(cluster.users))
ax.bar(place - 0.2, alone.totals, 0.4, label="DRF on every server", color="#0072B2")
ax.bar(place + 0.2, better, 0.4, label="better for all", color="#E69F00")
ax.set_xticks(place, cluster.users)
ax.set_ylabel("tasks")
ax.legend(frameon=False)
fig.tight_layout()

assert not verdict.holds
assert (better >= alone.totals - 1e-6).all() and (better > alone.totals + 0.1).any()
