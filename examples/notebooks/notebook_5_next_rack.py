# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---
# %% [markdown]
"""
Which rack should we buy next, and what does a carbon cap cost?
===============================================================

There is money for one more rack: CPUs, memory or GPUs. Everybody waits for something, but not for
the same thing. Prices of a fair division answer before anything is bought. Then the same division
is asked what a cap on carbon would cost, and whom.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.Instance(
    demand={
        "analytics": {"cpu": 4, "memory": 32},
        "training": {"cpu": 8, "memory": 64, "gpu": 1},
        "web": {"cpu": 2, "memory": 4},
    },
    capacity={
        "general": {"cpu": 64, "memory": 256},
        "gpu": {"cpu": 96, "memory": 768, "gpu": 8},
    },
    weight={"training": 2},
    count={"general": 20, "gpu": 4},
)
notion = fo.ProportionalFair()
today = fo.solve(cluster, notion)
today.to_frame("prices").round(5)

# %% [markdown]
# A price is worth money only beside what a unit costs. Here are three racks that cost the same,
# and what each is worth at the prices of today: the equal relative rise of all shares that it is
# as good as, if it were small.

# %%
racks = {
    "cpu": np.array([[640.0, 0, 0], [0, 0, 0]]),
    "memory": np.array([[0, 2048.0, 0], [0, 0, 0]]),
    "gpu": np.array([[0, 0, 0], [96.0, 768.0, 8.0]]),
}
count = cluster.count[:, None]
worth = {name: (today.prices * rack).sum() / cluster.weight.sum() for name, rack in racks.items()}
print({name: f"{100 * value:.1f} %" for name, value in worth.items()})

# %% [markdown]
# No rack is small, so prices only say where to look: what a rack really brings is at most that, as
# later units are worth less. Solve again with each of them:

# %%
bought = {
    name: fo.solve(cluster.replace(capacity=cluster.capacity + rack / count), notion)
    for name, rack in racks.items()
}
rise = {
    name: np.exp(cluster.weight @ np.log(a.totals / today.totals) / cluster.weight.sum()) - 1
    for name, a in bought.items()
}
fig, ax = plt.subplots(figsize=(6, 2.6))
place = np.arange(3)
ax.barh(place - 0.2, [100 * worth[k] for k in racks], 0.4, label="at the prices", color="0.8")
ax.barh(place + 0.2, [100 * rise[k] for k in racks], 0.4, label="solved again", color="#0072B2")
ax.set_yticks(place, racks)
ax.set_xlabel("mean relative rise of all shares, by weight (%)")
ax.legend(frameon=False)
fig.tight_layout()

# %% [markdown]
# At the prices CPUs come first; solved again, the GPU rack is worth more than twice as much. CPUs
# are scarce only until memory stops everybody, and that is soon. Who has the rack in the end?

# %%
for name, answer in bought.items():
    print(f"{name:7}", *(f"{x:+7.1%}" for x in answer.totals / today.totals - 1))

# %% [markdown]
# The GPU rack brings training a quarter more, and analytics a little. With more CPUs the web site
# would grow by 80 %, into the memory that analytics has today: more of a resource is not always
# better for everybody.
#
# Now the cap. A GPU machine burns four times as much as a general one, so a CPU there counts four
# times; the cap is a rule of one's own. Lower it step by step:

# %%
burnt = [
    fo.Term(servers="general", resource="cpu"),
    fo.Term(servers="gpu", resource="cpu", times=4),
]
uncapped = today.used[:, 0] @ [1, 4]
caps = np.linspace(0.4, 1.0, 13) * uncapped
capped = [
    fo.solve(cluster.replace(rules=[fo.Rule("carbon", most=cap, terms=burnt)]), notion)
    for cap in caps
]
tasks = np.array([answer.totals for answer in capped])
fig, ax = plt.subplots(figsize=(6, 3))
for user, curve in zip(cluster.users, (tasks / today.totals).T, strict=True):
    ax.plot(100 * caps / uncapped, 100 * curve, label=user)
ax.set_xlabel("carbon allowed (% of today)")
ax.set_ylabel("tasks (% of today)")
ax.legend(frameon=False)
fig.tight_layout()

# %% [markdown]
# The price of the rule times the cap is the part of all money, here 4, that carbon takes:

# %%
money = np.array([answer.rule_prices[0] * cap for answer, cap in zip(capped, caps, strict=True)])
print(money.round(2))

# %% [markdown]
# At 70 % of today carbon takes it all: machines are not scarce any more, and everybody is held
# back by the cap alone. Down to there the cap is shared with the machines, and falls on some more
# than others.

# %%
assert today.certificate.certified and all(a.certificate.certified for a in capped)
assert all(rise[name] <= worth[name] + 1e-9 for name in racks)
assert max(worth, key=worth.get) == "cpu" and rise["gpu"] > 2 * rise["cpu"]
assert np.allclose(money[:7], 4) and money[-1] < 1
assert np.all(np.diff([answer.rule_prices[0] for answer in capped]) <= 1e-9)
