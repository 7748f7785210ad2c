# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---
# %% [markdown]
"""
Our machines are not alike: does DRF still do what it promises?
===============================================================

On one pool dominant-resource fairness keeps four promises: nobody envies anybody, nothing is
wasted, everybody is at least as well off as with its own part, and lies do not pay. A cluster is
not one pool. Here are 24 machines of four kinds and six teams, and the question of kesidis2018 and
khamse2016: which way to carry DRF over to them?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("real/ec2-gpu").instance
cluster

# %% [markdown]
# Three ways are proposed. DRF on every machine by itself is what a node-local scheduler does. DRF
# on the sum of all machines counts a GPU nobody else wants as if it were scarce. PS-DSF measures
# each user on each server by what it could run there alone. Proportional fairness stands beside
# them.

# %%
ways = {
    "on every machine": fo.PerServerDRF(),
    "on the sum": fo.MaxMin("drf"),
    "ps-dsf": fo.PerServerDominantShare(),
    "proportional": fo.ProportionalFair(),
}
answers = {name: fo.solve(cluster, notion) for name, notion in ways.items()}
for name, answer in answers.items():
    print(f"{name:17} {answer.certificate.verdict:10}", *(f"{x:8.2f}" for x in answer.totals))

# %%
fig, ax = plt.subplots(figsize=(7.5, 3.2))
place = np.arange(len(cluster.users))
best = np.max([answer.totals for answer in answers.values()], axis=0)
for k, (name, answer) in enumerate(answers.items()):
    ax.bar(place + 0.2 * k - 0.3, answer.totals / best, 0.2, label=name)
ax.set_xticks(place, cluster.users)
ax.set_ylabel("tasks, most of the four = 1")
ax.set_ylim(0, 1.3)
ax.legend(frameon=False, ncols=4, fontsize=8, loc="upper center")
fig.tight_layout()

# %% [markdown]
# Which promises hold? Each *no* comes with a witness that can be checked by hand.

# %%
asked = {
    "nobody envies": fo.properties.envy_free,
    "nothing wasted": fo.properties.pareto_optimal,
    "own part": fo.properties.sharing_incentive,
    "own part of the pool": fo.properties.pool_sharing_incentive,
}
kept = {name: [ask(answer).holds for ask in asked.values()] for name, answer in answers.items()}
fig, ax = plt.subplots(figsize=(6, 2.4))
ax.imshow(list(kept.values()), cmap="RdYlGn", vmin=-0.6, vmax=1.6, aspect="auto")
for k, row in enumerate(kept.values()):
    for j, holds in enumerate(row):
        ax.text(j, k, "yes" if holds else "no", ha="center", va="center")
ax.set_xticks(range(len(asked)), asked)
ax.set_yticks(range(len(kept)), kept)
fig.tight_layout()

# %%
verdict = fo.properties.pareto_optimal(answers["on every machine"])
print(verdict.witness)

# %% [markdown]
# DRF on every machine wastes: somebody could run more and nobody less. The others waste nothing
# here. What about lies? A search tries forty false demands of users chosen at random. That it
# finds no lie that pays proves nothing; that it finds one would.

# %%
lies = {
    name: fo.properties.strategy_proof(cluster, notion, trials=40) for name, notion in ways.items()
}
for name, found in lies.items():
    print(f"{name:17} {'no lie found' if found.holds else found.witness}")

# %% [markdown]
# The choice, then, is between notions that waste nothing, by what they promise beyond that. One
# cluster proves only the noes; the page of mechanisms and properties has a counterexample for each
# no over all clusters, and a theorem for the yeses that have one.

# %%
assert all(answer.certificate.certified for answer in answers.values())
assert not kept["on every machine"][1]
assert all(kept[name][1] for name in ("on the sum", "ps-dsf", "proportional"))
