"""Guarantees and rules that do not fit: who stands against whom, and the cut that would do."""

from __future__ import annotations

import numpy as np

from fairopt.certificates.conflict import impossible
from fairopt.errors import Infeasible
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Bools, Floats, Instance
from fairopt.solving.engines.quotas import conflict, naming


def check(instance: Instance, low: Lowered, floor: Floats) -> None:
    """Raise Infeasible if the guarantees, or the rules, do not fit."""
    if instance.rules is not None:
        _rules_fit(instance, low, floor)
        return
    found = conflict.conflict(low, floor)
    if found is None:
        return
    users = named(instance, found.users)
    asked = np.where(found.users, floor, 0.0)
    message = naming.conflict(instance, low, users, asked, found.price, found.cut)
    cut = naming.number(found.all_cut)
    raise Infeasible(
        f"{message}; all guarantees would fit if every one were cut to {cut}",
        {
            "users": users,
            "cut": found.all_cut,
            "cut_of_users": found.cut,
            "prices": naming.priced(low, found.price),
        },
    )


def _rules_fit(instance: Instance, low: Lowered, floor: Floats) -> None:
    """Raise Infeasible if the rules and guarantees do not fit, with an irreducible set of them."""
    found = conflict.clash(low, floor)
    if found is None:
        return
    most = instance.alone[instance.ways.owner[low.way], low.server]
    if instance.modes is not None:
        most = most / instance.ways.speed[low.way]
    proved, _ = impossible(low, floor, found.price, found.floors, most)
    cut = naming.number(found.cut)
    said = naming.clash(instance, low, floor, found.rows, found.users)
    sure = "" if proved else " (found, but not proved in fractions)"
    raise Infeasible(
        f"{said}; all would fit if what is asked were cut to {cut}{sure}",
        {
            "conflict": naming.things(instance, low, found.rows, found.users),
            "cut": found.cut,
            "cut_of_conflict": found.own_cut,
            "proved": proved,
            "proof": naming.proof(instance, low, floor, found.price, found.floors),
        },
    )


def named(instance: Instance, users: Bools) -> list[str]:
    """The users' names."""
    return [instance.users[n] for n in np.flatnonzero(users).tolist()]
