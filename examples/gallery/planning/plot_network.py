"""
Traffic between sites
=====================

132 pairs of sites share 38 links of the network B4, each pair over four paths. Max-min raises all
rates together until demand or a full link stops a pair. Links are sorted by how full they are.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

network = fo.read("real/wan-b4").instance
answer = fo.solve(network, fo.MaxMin("tasks"))
rate, wanted = answer.totals, network.limit
order = np.argsort(wanted)

# %%
fig, axes = plt.subplots(1, 2, figsize=(7.6, 3))
axes[0].loglog(wanted[order], wanted[order], color="0.7", lw=0.8, label="asked")
axes[0].loglog(wanted[order], rate[order], ".", color="#0072B2", label="given")
axes[0].set_xlabel("traffic that a pair asks for")
axes[0].set_ylabel("rate")
axes[0].legend(frameon=False)
axes[1].bar(range(38), 100 * np.sort(answer.utilisation[0]), color="#56B4E9")
axes[1].set_xlabel("link")
axes[1].set_ylabel("used (%)")
fig.tight_layout()

assert answer.certificate.certified
short = rate < wanted * (1 - 1e-9)
assert short.any() and rate[short].min() > np.median(rate[~short])  # the small are served first
