"""
Max-min as a staircase
======================

Max-min fairness raises all users together until somebody is stopped, then the others, and so on.
The certificate names what stops each level. Here 40 users with random demands and placement share
6 servers.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.generate.random_instance(40, 6, 3, density=0.2, zero_demand=0.4, seed=3)
answer = fo.solve(cluster, fo.MaxMin("drf"))
order = np.argsort(answer.levels)
steps = [step for step in answer.steps if "level" in step]

# %%
fig, ax = plt.subplots(figsize=(7, 3.2))
ax.step(range(len(order)), answer.levels[order], where="mid", color="#0072B2")
for step in steps[:8]:
    stopped = [k for k, n in enumerate(order) if cluster.users[n] in step["users"]]
    if stopped and step["full"]:
        server, resource = step["full"][0]
        ax.annotate(
            f"{server} {resource} full",
            (stopped[-1], step["level"]),
            fontsize=7,
            textcoords="offset points",
            xytext=(4, -9),
        )
ax.set_xlabel("users, lowest level first")
ax.set_ylabel("dominant share / weight")
fig.tight_layout()

assert answer.certificate.certified
found = [step["level"] for step in steps]
assert np.all(np.diff(found) > -1e-9)  # a level is never below the one before
