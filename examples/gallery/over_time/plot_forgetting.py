"""
How a burst is forgotten
========================

B takes all sixteen cards for a day, then both want all of them. KAI weighs use by what it
remembers: A is due more, until the memory has faded. How soon depends on the half-life.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

team = fo.Instance([[1], [1]], [[16]], users=["A", "B"], resources=["card"])
hours = 6
due = {}
for half in ("6h", "12h", "1d", "7d"):
    book = fo.Ledger.of(f"kai:half={half},k=1")
    state = book.after(book.start(team), team, np.array([0.0, 16.0]), hours=24)
    curve = []
    for _ in range(40):
        given = book.due(state, team, np.array([16.0, 16.0])).ravel()
        curve.append(given[0])
        state = book.after(state, team, given, hours=hours)
    due[half] = np.array(curve)

# %%
fig, ax = plt.subplots(figsize=(6, 3.2))
for half, curve in due.items():
    ax.plot(np.arange(40) * hours / 24, curve, drawstyle="steps-post", label=half)
ax.axhline(8, color="0.6", lw=0.8)
ax.set_xlabel("days after the burst")
ax.set_ylabel("cards that A is due")
ax.legend(frameon=False, title="half-life")
fig.tight_layout()

assert all(curve[0] > 8 for curve in due.values())
assert np.all(due["6h"] <= due["12h"] + 1e-9) and np.all(due["1d"] <= due["7d"] + 1e-9)
