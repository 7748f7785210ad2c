# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---
# %% [markdown]
"""
Three teams, two tables: what should the quotas be?
===================================================

You run six machines. Finance pays for training twice as much as for the web site, so training has
twice the weight. Everybody says it has too little. What is each team due, can it be had in whole
pods on real machines, and what goes into the queues?
"""

# %%
import matplotlib.pyplot as plt
import pandas as pd

import fairopt as fo

nodes = pd.DataFrame(
    {"node": ["dgx", "plain"], "count": [2, 4], "cpu": [64, 32], "gres/gpu": [8, 0]}
)
teams = pd.DataFrame(
    {
        "team": ["train", "tune", "web"],
        "queue": ["ml", "ml", "site"],
        "tasks": [30, 12, None],
        "cpu": ["6", "4", "500m"],
        "gres/gpu": [1, 1, 0],
    }
)
held = pd.DataFrame(
    {"team": ["train", "web", "web"], "node": ["dgx", "plain", "dgx"], "tasks": [5, 100, 120]}
)

# %% [markdown]
# Three tables: what there is, what a task of each team takes and how many it asks for, and what
# runs now. From ``kubectl get nodes,pods -A -o json`` the same three are read by
# ``fo.connect.kubernetes``.

# %%
cluster = fo.connect.tables(nodes, teams, held, weights={"ml": 2})
plan = cluster.plan(whole=True)
plan

# %%
plan.to_frame("queues")[["held", "due", "whole"]]

# %% [markdown]
# The web site fills the CPUs beside the GPUs, and that is why training waits. What is due is
# max-min fair over both queues. Every workload is told in words what stops it:

# %%
for name, says in plan.to_frame("workloads")["says"].items():
    print(f"{name}: {says}")

# %%
shown = plan.to_frame("workloads")[["held", "due", "whole"]]
fig, ax = plt.subplots(figsize=(6.5, 2.8))
shown.plot.barh(ax=ax, logx=True, color=["0.7", "#0072B2", "#009E73"], width=0.8)
ax.set_xlabel("tasks")
ax.set_ylabel("")
ax.legend(frameon=False)
fig.tight_layout()

# %% [markdown]
# ``due`` may be a fraction of a pod, ``whole`` is not, and it is placed machine by machine.
# Integers prove it, no solver. Would another notion say something else? The cluster behind the
# plan is an instance like any other:

# %%
others = {
    "max-min": fo.MaxMin(),
    "proportional": fo.ProportionalFair(),
    "throughput": fo.Throughput(),
}
table = pd.DataFrame(
    {name: fo.solve(cluster.instance, notion).totals for name, notion in others.items()},
    index=cluster.instance.users,
)
table.round(2)

# %% [markdown]
# Throughput counts pods, and pods of the web site are small: it would starve training. The first
# two differ by little here. Keep max-min, which is what the products do, and write it down for the
# scheduler; here as commands of Slurm:

# %%
print(plan.export("slurm"))

# %% [markdown]
# Before the meeting, two questions that will be asked there. What if training had the weight of
# the web site? And what if we bought one more machine with cards?

# %%
even = fo.connect.tables(nodes, teams, held).plan(whole=True)
more = fo.connect.tables(nodes.replace({"count": {2: 3}}), teams, held, weights={"ml": 2}).plan()
due = {"today": plan, "weight 1": even, "a third dgx": more}
pd.DataFrame({name: one.to_frame("queues")["due"] for name, one in due.items()}).round(2)

# %% [markdown]
# The weight that everybody quarrels about changes nothing: the cards are full, and nobody but
# ``ml`` wants them. The machine is worth half as many tasks again.

# %%
assert all(one.certified for one in due.values())
assert abs(plan.to_frame("queues")["due"] - even.to_frame("queues")["due"]).max() < 1e-6
assert abs(more.to_frame("queues")["due"]["ml"] / plan.to_frame("queues")["due"]["ml"] - 1.5) < 1e-6
assert (plan.to_frame("queues")["whole"] <= plan.to_frame("queues")["due"] + 1e-6).all()
assert table["throughput"].iloc[:2].sum() < 1e-6 < table["max-min"].min()
