"""The unit of an answer's prices, beside that of its objective."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.asking import asked
from fairopt.certificates.begun import scale
from fairopt.certificates.duality import bill
from fairopt.certificates.given import read
from fairopt.formulas import welfare


def log_scale(alloc: Allocation) -> float:
    """log of the number that brings an answer's prices to the unit of its objective, from the
    users between the bounds of their shares; -inf if there are none."""
    with np.errstate(all="ignore"):
        question = asked(alloc)
        answer = read(alloc, question)
        columns = question.columns
        log_q = np.log(columns.least(answer.price))
        if question.alpha:
            return scale(question, answer, log_q) - answer.log_money
        _, budget = bill(question, answer.price)
        worth = welfare.log_sum_exp(question.log_w + np.log(answer.share))
        return worth - float(np.log(budget)) - answer.log_money


__all__ = ["log_scale"]
