"""Judges of allocations: NumPy alone, no solver, and no engine of ours.

`certify` looks the judge up by the notion's name, in the one table JUDGES.
"""

from __future__ import annotations

import importlib

from fairopt.allocation import Allocation
from fairopt.check import Certificate
from fairopt.errors import UsageError

# notion name -> "module:function"; a new notion of a known family costs one line
JUDGES = {
    "throughput": "alpha_fair:judge",
    "proportional": "alpha_fair:judge",
    "alpha-fair": "alpha_fair:judge",
    "max-min": "levels:judge",
    "tradeoff": "tradeoff:judge",
    "ps-dsf": "per_server:judge",
    "per-server-drf": "per_server_drf:judge",
    "drf-hug": "per_server_drf:judge",
    "bmf": "bottleneck:judge",
    "equal-m": "pools:judge_equal",
    "sum-m": "pools:judge_sum",
    "fill:": "whole_tasks:judge",
}


def certify(alloc: Allocation) -> Certificate:
    """Judge an allocation, whatever made it: feasibility, and optimality from its prices.

    Parameters
    ----------
    alloc : the answer; without prices they are guessed (any prices prove a bound).

    Returns
    -------
    Certificate : verdict "certified", "refuted" or "unproved", gap and residual.

    Raises
    ------
    UsageError : no certificate is known for the notion.
    """
    name = alloc.notion["name"]
    if name.startswith("fill:"):  # one judge for every scheduler
        name = "fill:"
    if name not in JUDGES:
        raise UsageError(f"notion: found {name!r}; certificates are known for {', '.join(JUDGES)}")
    module, function = JUDGES[name].split(":")
    judge = getattr(importlib.import_module(f"fairopt.certificates.{module}"), function)
    verdict: Certificate = judge(alloc)
    return verdict
