"""
Why a GPU team takes all GPUs, or none
======================================

A machine-learning team needs a GPU and four CPUs for each task. A web team needs two CPUs and no
GPU. Nobody else wants the GPUs, so for the first team they are a resource without competition. What
a notion decides is who gets the CPUs, and with them whether the GPUs run.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.Instance(
    demand={"learning": {"cpu": 4, "gpu": 1}, "web": {"cpu": 2}},
    capacity={"gpu machine": {"cpu": 48, "gpu": 8}, "plain": {"cpu": 64}},
    count={"gpu machine": 2, "plain": 2},
)
notions = {
    "throughput": fo.Throughput(),
    "proportional": fo.ProportionalFair(),
    "max-min (drf)": fo.MaxMin("drf"),
    "ps-dsf": fo.PerServerDominantShare(),
}
answers = {name: fo.solve(cluster, notion) for name, notion in notions.items()}

# %%
fig, axes = plt.subplots(1, 2, figsize=(7.5, 3), sharey=True)
for ax, resource in zip(axes, cluster.resources, strict=True):
    r = cluster.resources.index(resource)
    part = np.array(
        [a.totals * cluster.demand[:, r] / cluster.pool[:, r].sum() for a in answers.values()]
    )
    ax.barh(list(answers), part[:, 0], color="#0072B2", label="learning")
    ax.barh(list(answers), part[:, 1], left=part[:, 0], color="#E69F00", label="web")
    ax.set_xlabel(f"part of all {resource}s")
    ax.set_xlim(0, 1)
axes[0].invert_yaxis()
fig.legend(*axes[0].get_legend_handles_labels(), loc="upper center", ncols=2, frameon=False)
fig.tight_layout(rect=(0, 0, 1, 0.92))

# %%
# Proportional fairness and PS-DSF run all 16 GPUs. Max-min of dominant shares holds the learning
# team back: it counts the GPUs, which nobody else wants, and makes both dominant shares equal.
# Throughput counts tasks alone. A web task takes fewer CPUs, so the web team gets them all.

gpus = {name: round(float(answer.totals[0]), 3) for name, answer in answers.items()}
print(gpus)
assert all(answer.certificate.certified for answer in answers.values())
assert gpus["proportional"] == gpus["ps-dsf"] == 16
assert 12 < gpus["max-min (drf)"] < 13
assert gpus["throughput"] == 0
