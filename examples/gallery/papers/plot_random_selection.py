"""
A scheduler that chooses machines at random
===========================================

Of the schedulers in kesidis2018 two visit machines in random order. What they run depends on luck:
80 runs each on the example of the paper, beside three that leave nothing to chance.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("kesidis2018/example").instance
random = {
    name: [int(fo.fill(cluster, name, seed=seed).totals.sum()) for seed in range(80)]
    for name in ("drf", "tsf", "rrr-ps-dsf")
}
fixed = {name: fo.fill(cluster, name).totals.sum() for name in ("bf-drf", "ps-dsf", "rps-dsf")}

# %%
fig, ax = plt.subplots(figsize=(6.4, 3.2))
edges = np.arange(19.5, 44.5)
ax.hist(list(random.values()), edges, label=list(random), stacked=True)
for total in set(fixed.values()):
    ax.axvline(total, color="0.3", lw=0.8, ls="--")
    names = ", ".join(name for name, other in fixed.items() if other == total)
    ax.text(total + 0.2, 90, names, rotation=90, fontsize=8, va="top")
ax.set_xlabel("tasks of both users")
ax.set_ylabel("runs of 80")
ax.legend(frameon=False)
fig.tight_layout()

assert max(random["drf"]) < min(random["rrr-ps-dsf"])
assert np.std(random["drf"]) > 0
