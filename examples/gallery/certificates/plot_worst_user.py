"""
What is proved of the worst user, solver by solver
==================================================

Two general solvers and fairopt on 20 users with weights over six decades. Each is asked for
alpha-fair answers. The same judge says how far the worst user may be from what it is due;
below the line an answer counts as certified.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.generate.random_instance(20, 4, 3, density=0.5, seed=2, weight_decades=6)
alphas = [0.5, 1, 2]
solvers = {"clarabel": "^", "scs": "s", "auto": "o"}
residual = {solver: [] for solver in solvers}
for solver, found in residual.items():
    for alpha in alphas:
        settings = {"solver": solver, "polish": solver == "auto", "uncertified": "return"}
        answer = fo.solve(cluster, fo.AlphaFair(alpha), **settings)
        found.append(answer.certificate.residual)

# %%
fig, ax = plt.subplots(figsize=(6, 3.2))
for (solver, values), marker in zip(residual.items(), solvers.values(), strict=True):
    label = "fairopt" if solver == "auto" else solver
    ax.plot(range(3), np.clip(values, 1e-16, 1e3), marker, ms=8, label=label)
ax.axhline(1e-6, color="0.5", lw=0.8)
ax.set_yscale("log")
ax.set_xticks(range(3), alphas)
ax.set_xlabel("alpha")
ax.set_ylabel("worst user's distance, proved")
ax.legend(frameon=False)
fig.tight_layout()

assert max(residual["auto"]) <= 1e-6
