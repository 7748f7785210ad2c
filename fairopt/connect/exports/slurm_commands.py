"""What each account or QOS is due, as commands of sacctmgr: GrpTRES, and fair-share of accounts.

Memory is in megabytes, rounded up, as Slurm counts it; resources without a name in Slurm are told
and left out. GrpTRES are ceilings: what nobody is due of is not mentioned, and stays as it is.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from typing import Any

from fairopt.connect.exports import taking
from fairopt.connect.text.fields import CARD, CPU, GPU, MEGABYTE, MEMORY, PODS

KINDS = ("account", "qos")


def commands(plan: Mapping[str, Any], kind: str = "account") -> tuple[str, list[str]]:
    """One command a queue, as text, and what is worth saying of them.

    Parameters
    ----------
    plan : as `plan_rows.loads` reads it. kind : what a queue is: "account" or "qos".
    """
    use = taking.by_queue(taking.whole(plan))
    lines, unnamed = [], set()
    for row in plan["queues"]:
        queue = str(row["queue"])
        parts = []
        for resource, amount in sorted(use.get(queue, {}).items()):
            name, many = _tres(resource, amount)
            if name:
                parts.append(f"{name}={many}")
            elif resource != PODS:
                unnamed.add(resource)
        if not parts:
            continue
        changes = [f"GrpTRES={','.join(parts)}"]
        if kind == "account":
            changes.append(f"Fairshare={max(1, round(float(row['weight'])))}")
        which = shlex.quote(queue)
        lines.append(f"sacctmgr -i modify {kind} where name={which} set {' '.join(changes)}")
    notes = [f"{name}: no TRES of Slurm that is known; left out" for name in sorted(unnamed)]
    return "\n".join(lines) + "\n", notes


def _tres(resource: str, amount: Fraction) -> tuple[str, str]:
    if resource == CPU:
        return CPU, str(ceil(amount))
    if resource == MEMORY:
        return "mem", f"{ceil(amount / MEGABYTE)}M"
    if resource.startswith(("gres/", "license/")):
        return resource, str(ceil(amount))
    if resource in (CARD, GPU):
        return "gres/gpu", str(ceil(amount))
    return "", ""
