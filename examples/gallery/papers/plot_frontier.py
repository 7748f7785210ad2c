"""
The frontier of the trade-off
=============================

The trade-off of kesidis2016 has two penalties. ``t_pf`` draws the users' levels together, ``t_drf``
draws the shares within each pool together. Each point below is a certified answer. The two spreads
are on the axes, the colour is the welfare that is left.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("kesidis2016/t-pf").instance
weights = np.concatenate([[0.0], np.logspace(-2, 2, 9)])
found = fo.sweep(cluster, [fo.Tradeoff(t_pf=a, t_drf=b) for a in weights for b in weights])

across = np.array([row["measures"]["sqrt_var_f"] for row in found.rows])
within = np.array([row["measures"]["sqrt_sum_v"] for row in found.rows])
welfare = np.array([sum(np.log(list(row["levels"].values()))) for row in found.rows])

# %%
fig, ax = plt.subplots(figsize=(6, 3.6))
points = ax.scatter(across, within, c=welfare, cmap="viridis", s=28)
side = len(weights)
for k in (0, side - 1):  # the curves along which one penalty alone grows
    ax.plot(across[k * side : (k + 1) * side], within[k * side : (k + 1) * side], lw=0.8, c="0.6")
    ax.plot(across[k::side], within[k::side], lw=0.8, c="0.6")
ax.set_xlabel("spread of levels over users, √var F")
ax.set_ylabel("spread of shares in pools, √ΣV")
fig.colorbar(points, label="welfare Σ log F")
fig.tight_layout()

# %%
# No penalty gives the most welfare. One penalty alone lowers its own spread as its weight grows.

assert found.certified
assert np.isclose(welfare.max(), welfare[0])
assert np.all(np.diff(within[:side]) <= 1e-6)  # t_pf = 0, t_drf grows
assert np.all(np.diff(across[::side]) <= 1e-6)  # t_drf = 0, t_pf grows
