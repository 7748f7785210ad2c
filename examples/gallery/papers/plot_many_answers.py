"""
A notion with many answers
==========================

Bottleneck max fairness asks that every user has a full resource of which it uses most. Two
resources have one answer; three may have a whole family (bonald2015, section 2.5). Its two ends are
the answers of DRF and of proportional fairness.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("bonald2015/example-2-5").instance
ends = fo.fixed_points(cluster, notion=fo.BottleneckMaxFair())
drf = fo.solve(cluster, fo.MaxMin("drf")).totals
pf = fo.solve(cluster, fo.ProportionalFair()).totals

# %%
t = np.linspace(0, 1, 11)
family = np.array([[2 / 5 - k / 15, 2 / 5 + 2 * k / 45, 2 / 5 + 2 * k / 45] for k in t])
judged = [
    fo.certify(fo.Allocation(cluster, fo.BottleneckMaxFair(), x[:, None])).verdict for x in family
]
outside = fo.Allocation(cluster, fo.BottleneckMaxFair(), (family[0] * [1.05, 0.97, 0.97])[:, None])

fig, ax = plt.subplots(figsize=(5.4, 3.4))
ax.plot(family[:, 0], family[:, 1], "-", color="0.6", zorder=0)
ax.plot(family[:, 0], family[:, 1], "o", color="#009E73", label="certified answers of BMF")
ax.plot(drf[0], drf[1], "s", ms=11, mfc="none", color="#D55E00", label="DRF")
ax.plot(pf[0], pf[1], "D", ms=11, mfc="none", color="#0072B2", label="PF")
ax.set_xlabel("tasks of user 1")
ax.set_ylabel("tasks of users 2 and 3")
ax.legend(frameon=False)
fig.tight_layout()

assert set(judged) == {"certified"} and not fo.certify(outside).certified
totals = np.array([point.tasks.sum(axis=1) for point in ends])
assert any(np.allclose(x, drf, atol=1e-5) for x in totals)
assert any(np.allclose(x, pf, atol=1e-5) for x in totals)
