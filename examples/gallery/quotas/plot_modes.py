"""
Which card for whom
===================

Two users can run on A100s or on T4s. A task that can run in several ways has modes, each with its
demand and its speed, and the division decides between them. As T4s get faster for b, it leaves the
A100s to a, who is slow on T4s.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("quotas/m1").instance
speeds = np.linspace(0.1, 1.0, 19)
notions = {"max-min": fo.MaxMin("tasks"), "proportional": fo.ProportionalFair("tasks")}
output = {name: [] for name in notions}
for speed in speeds:
    b = [
        fo.Mode("A100", {"cpu": 2, "a100": 1}),
        fo.Mode("T4", {"cpu": 1, "t4": 1}, speed=speed),
    ]
    changed = cluster.replace(modes={**cluster.modes, "b": b})
    for name, notion in notions.items():
        output[name].append(fo.solve(changed, notion).shares)

# %%
fig, ax = plt.subplots(figsize=(5.6, 3))
for (name, curves), style in zip(output.items(), ("-", "--"), strict=True):
    for n, colour in ((0, "#0072B2"), (1, "#D55E00")):
        curve = np.array(curves)[:, n]
        ax.plot(speeds, curve, style, color=colour, label=f"{cluster.users[n]}, {name}")
ax.set_xlabel("speed of b on a T4 (on an A100: 1)")
ax.set_ylabel("output")
ax.legend(frameon=False, fontsize=8)
fig.tight_layout()

equal = np.array(output["max-min"])
assert np.all(np.diff(equal.min(axis=1)) >= -1e-9)
assert np.allclose(equal[14], 52 / 15, atol=1e-6)  # the model: T4s at 0.8
