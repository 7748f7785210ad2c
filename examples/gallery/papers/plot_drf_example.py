"""
The first example of DRF, and where each notion stands
======================================================

One machine of 9 CPUs and 18 GB; a task of A takes (1, 4), one of B (3, 1) (ghodsi2011). Everything
that fits is the grey area. The notions that waste nothing stand at its edge,
two of them at its corner.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("ghodsi2011/example").instance
notions = {
    "DRF": (fo.MaxMin("drf"), "o"),
    "proportional": (fo.ProportionalFair(), "s"),
    "equal tasks": (fo.MaxMin("tasks"), "^"),
    "throughput": (fo.Throughput(), "x"),
}
answers = {name: fo.solve(cluster, notion) for name, (notion, _) in notions.items()}

# %%
fig, ax = plt.subplots(figsize=(5.4, 3.4))
a = np.linspace(0, 4.5, 200)
ax.fill_between(a, np.minimum((9 - a) / 3, 18 - 4 * a).clip(0), color="0.9", label="what fits")
for name, (_, marker) in notions.items():
    ax.plot(*answers[name].totals, marker, ms=8, label=name)
ax.set_xlabel("tasks of A")
ax.set_ylabel("tasks of B")
ax.legend(frameon=False)
fig.tight_layout()

assert np.allclose(answers["DRF"].totals, (3, 2))
assert all(fo.properties.pareto_optimal(answer).holds for answer in answers.values())
