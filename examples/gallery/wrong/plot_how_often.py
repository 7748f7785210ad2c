"""
How often it goes wrong
=======================

A counterexample says that something can happen. How often does it? Twelve random clusters of five
users and three unlike servers, five notions, and of four properties the part of clusters on which
they hold.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo
from fairopt import properties

notions = {
    "proportional": fo.ProportionalFair(),
    "max-min (drf)": fo.MaxMin("drf"),
    "max-min (tsf)": fo.MaxMin("tsf"),
    "ps-dsf": fo.PerServerDominantShare(),
    "per-server-drf": fo.PerServerDRF(),
}
asked = ["sharing_incentive", "envy_free", "pareto_optimal", "no_justified_complaints"]
holds = np.zeros((len(notions), len(asked)))
for seed in range(12):
    cluster = fo.generate.random_instance(5, 3, 2, density=0.8, seed=seed)
    for k, notion in enumerate(notions.values()):
        answer = fo.solve(cluster, notion)
        holds[k] += [getattr(properties, name)(answer).holds is not False for name in asked]
holds /= 12

# %%
fig, ax = plt.subplots(figsize=(6.4, 3))
ax.imshow(holds, cmap="RdYlGn", vmin=-0.2, vmax=1.2, aspect="auto")
for (k, j), part in np.ndenumerate(holds):
    ax.text(j, k, f"{part:.0%}", ha="center", va="center", fontsize=9)
ax.set_xticks(range(len(asked)), [name.replace("_", " ") for name in asked], fontsize=8)
ax.set_yticks(range(len(notions)), notions)
fig.tight_layout()

assert np.all(holds[:3, 2] == 1) and np.all(holds[3:, 2] < 1)  # what goes by server may waste
