"""
What a price says
=================

The price of a resource, divided by the sum of the weights, is the equal relative rise of all shares
that one more unit is as good as. Buy more memory and see: the dashed line is what the price at 18
GB foretells, the curve is what solving again gives.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairopt as fo

here = fo.read("ghodsi2011/example").instance
answer = fo.solve(here, fo.ProportionalFair())
price = float(answer.prices[0, 1]) / here.weight.sum()

memory = np.linspace(12, 40, 29)
share = np.array(
    [
        fo.solve(here.replace(capacity=[[9.0, gb]]), fo.ProportionalFair()).equivalent
        for gb in memory
    ]
)

# %%
fig, ax = plt.subplots(figsize=(5.8, 3.2))
ax.plot(memory, share / answer.equivalent, color="#0072B2", label="solved again")
ax.plot(memory, 1 + price * (memory - 18), "--", color="#D55E00", label="foretold by the price")
ax.plot(18, 1, "o", color="#D55E00")
ax.set_xlabel("memory (GB)")
ax.set_ylabel("equivalent share, today 1")
ax.legend(frameon=False)
fig.tight_layout()

# %%
# Where memory is no longer scarce the curve is flat: the price there is 0.

step = 1e-3
after = fo.solve(here.replace(capacity=[[9.0, 18 + step]]), fo.ProportionalFair()).equivalent
assert np.isclose((after / answer.equivalent - 1) / step, price, rtol=1e-3)
assert (share / answer.equivalent <= 1 + price * (memory - 18) + 1e-9).all()  # concave
plenty = fo.solve(here.replace(capacity=[[9.0, 40.0]]), fo.ProportionalFair())
assert np.isclose(plenty.prices[0, 1], 0)
