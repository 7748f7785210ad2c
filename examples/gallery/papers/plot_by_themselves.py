"""
Servers on their own
====================

Section V of khamse2016: four classes of servers, each of which divides itself once a second by what
it knows of the users. User 4 leaves at 10 s and returns at 20 s. The servers settle within a few
seconds, without a centre.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

model = fo.read("khamse2016/section-v")
cluster = model.instance
run = fo.dynamics.by_themselves(cluster, 30, {"n4": (10, 20)})

# %%
fig, axes = plt.subplots(2, 1, figsize=(6.4, 4.4), sharex=True)
seconds = np.arange(len(run.totals))
for n, user in enumerate(cluster.users):
    axes[0].plot(seconds, run.totals[:, n], drawstyle="steps-post", label=user)
axes[0].set_ylabel("tasks")
axes[0].legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
r = cluster.resources.index("cpu")
for i, server in enumerate(cluster.servers):
    axes[1].plot(seconds, run.used[:, i, r], drawstyle="steps-post", label=server)
axes[1].set_ylabel("part of CPU used")
axes[1].set_xlabel("seconds")
axes[1].legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
fig.tight_layout()

assert np.allclose(run.totals[9], (210, 105, 82.5, 27.5), rtol=1e-3)  # as the paper prints
assert run.totals[15, 3] == 0
assert np.allclose(run.used[9, :, r], (0.75, 0.75, 1, 1), rtol=1e-3)  # RAM binds in A and B
assert np.allclose(run.totals[-1], (210, 105, 82.5, 27.5), rtol=1e-3)
