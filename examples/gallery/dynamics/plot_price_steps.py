"""
Prices that find the answer by themselves
=========================================

No centre solves anything: a full resource raises its price by a step, an idle one lowers it, and
users react. Small steps take long, large ones never settle; between them is a best step.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

exact = fo.solve(fo.read("bonald2015/prices").instance, fo.ProportionalFair())
thetas = np.logspace(-2.5, 1, 15)
runs = [fo.dynamics.by_prices(exact, theta, most=10_000) for theta in thetas]
settled = np.array([run.ended == "settled" for run in runs])
steps = np.array([run.steps or np.nan for run in runs], float)

# %%
fig, ax = plt.subplots(figsize=(6, 3))
ax.loglog(thetas, steps, "o-", ms=4, color="#0072B2", label="settles")
ax.plot(
    thetas[~settled], np.full((~settled).sum(), np.nanmax(steps)), "x", c="#D55E00", label="never"
)
ax.set_xlabel("size of a step")
ax.set_ylabel("steps until settled")
ax.legend(frameon=False)
fig.tight_layout()

assert settled.any() and not settled.all()
assert not settled[-1]  # too large a step never settles
