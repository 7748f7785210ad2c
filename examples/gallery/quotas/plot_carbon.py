"""
Fairness against carbon
=======================

A cap on carbon is a rule of one's own: a task on hydro counts 1, one on coal 3. As the cap falls,
the user who may run on coal only pays first. Each point is a certified answer; the price of the
rule is what one more unit of carbon is worth.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

cluster = fo.read("rules/r1").instance
caps = np.linspace(10, 60, 26)
answers = []
for cap in caps:
    terms = [fo.Term(servers="hydro"), fo.Term(servers="coal", times=3)]
    capped = cluster.replace(rules=[fo.Rule("carbon", most=float(cap), terms=terms)])
    answers.append(fo.solve(capped, fo.ProportionalFair("tasks")))
tasks = np.array([answer.totals for answer in answers])
price = np.array([answer.rule_prices[0] for answer in answers])

# %%
fig, (top, low) = plt.subplots(2, sharex=True, figsize=(6, 4.2), height_ratios=[2, 1])
for name, values in zip(cluster.users, tasks.T, strict=True):
    top.plot(caps, values, label=name)
top.set_ylabel("tasks")
top.legend(frameon=False)
low.plot(caps, price, c="0.3")
low.set_ylabel("price of carbon")
low.set_xlabel("carbon allowed")
fig.tight_layout()

# %%
# More carbon harms nobody here, and from 42 on nobody wants more: all that coal has is used then.

assert all(answer.certificate.certified for answer in answers)
assert np.all(np.diff(tasks, axis=0) >= -1e-6)
assert np.all(price[caps > 42.5] < 1e-6)
