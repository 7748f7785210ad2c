"""
One cluster under every notion
==============================

Figure 1 of khamse2016: two servers, three users, and user 3 has twice the weight. Only server 1 has
a network, which users 1 and 2 need. RAM is what all of them need most. Every notion divides the
same cluster; the numbers are tasks.
"""

import matplotlib.pyplot as plt

import fairopt as fo

cluster = fo.read("khamse2016/figure-1").instance
notions = {
    "throughput": fo.Throughput(),
    "proportional": fo.ProportionalFair(),
    "alpha-fair, 2": fo.AlphaFair(2),
    "max-min (drf)": fo.MaxMin("drf"),
    "max-min (tsf)": fo.MaxMin("tsf"),
    "max-min (cdrf)": fo.MaxMin("cdrf"),
    "tradeoff 1, 1": fo.Tradeoff(1, 1),
    "ps-dsf (rdm)": fo.PerServerDominantShare("rdm"),
    "ps-dsf (tdm)": fo.PerServerDominantShare("tdm"),
    "per-server-drf": fo.PerServerDRF(),
    "drf-hug": fo.HandOutDRF(),
    "equal-m": fo.EqualTasks(),
}
answers = {name: fo.solve(cluster, notion) for name, notion in notions.items()}

# %%
fig, axes = plt.subplots(3, 4, figsize=(8, 5), sharex=True, sharey=True)
for ax, (name, answer) in zip(axes.flat, answers.items(), strict=True):
    bars = ax.bar(cluster.users, answer.totals, color=("#0072B2", "#D55E00", "#009E73"))
    ax.bar_label(bars, fmt="%.3g", fontsize=8)
    ax.set_title(name, fontsize=9)
    ax.set_ylim(0, 14.5)
    ax.spines[["top", "right"]].set_visible(False)
fig.supylabel("tasks", fontsize=9)
fig.tight_layout()

# %%
# Bottleneck fairness asks that the one resource which all need most, RAM, goes by weight: 3, 3, 6.
# Of the notions built on dominant shares only PS-DSF does so, as the paper says.

assert all(answer.certificate.certified for answer in answers.values())
fair = {name for name, a in answers.items() if fo.properties.bottleneck_fair(a).holds}
print(sorted(fair))
assert {"ps-dsf (rdm)", "ps-dsf (tdm)", "proportional"} <= fair
assert not {"max-min (drf)", "max-min (tsf)"} & fair
