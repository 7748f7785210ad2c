"""
A Kubernetes cluster: held and due
==================================

What ``kubectl get nodes,pods -A -o json`` prints, read and planned. For each workload the pods that
run, those it is due, and those that fit on the nodes.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import fairopt as fo

here = Path("../../kubernetes/cluster.json")  # examples/kubernetes
plan = fo.connect.kubernetes(here).plan(whole=True)
table = plan.to_frame("workloads").query("due > 0")
print(plan)

# %%
fig, ax = plt.subplots(figsize=(6.6, 3.4))
shown = table[["held", "due", "whole"]].rename(columns={"whole": "due, in whole pods"})
shown.plot.barh(ax=ax, color=["0.7", "#0072B2", "#009E73"], width=0.8)
ax.set_xlabel("pods")
ax.set_ylabel("")
ax.legend(frameon=False)
fig.tight_layout()

assert plan.certified
assert (table["whole"] - table["due"]).abs().max() < 2  # proved: no whole pods leave less short
