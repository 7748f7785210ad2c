"""A rule that a feature does not know is refused at its door by name, whatever rule it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import fairopt as fo
from fairopt import properties
from fairopt.allocation.writing import instance_plain
from fairopt.certificates import certify
from fairopt.compare import rows
from fairopt.connect.plan import models
from fairopt.files import folder_writing
from fairopt.files.tables import tables_of
from fairopt.formulas.limits import limited
from fairopt.formulas.room import Room
from fairopt.formulas.started import before
from fairopt.instance import Floats
from fairopt.instance.alike import servers_alike, users_alike
from fairopt.instance.fields import Fields
from fairopt.instance.known import KNOWN, rules_of
from fairopt.solving import again
from fairopt.solving.planner import Planner
from tests import composes
from tests.notions.test_own import LogOfOneMore

BASIC = {
    *("demand", "capacity", "placement", "weight", "limit", "count"),
    *("users", "servers", "resources", "demand_fixed", "demand_power"),
}
"""fields that are no rules: what is in them is never None"""
FAIR, MAX_MIN = fo.ProportionalFair(), fo.MaxMin(criterion="tasks")


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Ruled(fo.Instance):
    """An instance with a rule of a kind that nobody has heard of."""

    made_up: Floats | None

    def replace(self, **changes: Any) -> fo.Instance:
        own = {x.name: getattr(self, x.name) for x in fields(fo.Instance)}
        return ruled(fo.Instance(**{**own, **changes}))


def ruled(inst: fo.Instance) -> Ruled:
    """The instance with the made-up rule."""
    found: Ruled = object.__new__(Ruled)
    found.__dict__.update({x.name: getattr(inst, x.name) for x in fields(fo.Instance)})
    found.__dict__["made_up"] = np.ones(len(inst.users))
    return found


@cache
def made() -> Ruled:
    return ruled(composes.cluster())


def answered(inst: fo.Instance, notion: Any = MAX_MIN) -> fo.Allocation:
    """Tasks as an answer, whatever they are."""
    plain = fo.solve(composes.cluster(), notion)
    of = inst.ways.owner
    ways = None if inst.modes is None else plain.tasks[of] / np.bincount(of)[of][:, None]
    return fo.Allocation(inst, notion, plain.tasks, plain.prices, way_tasks=ways)


def planned(inst: fo.Instance, patch: pytest.MonkeyPatch) -> object:
    read = fo.read("kesidis2018/example")
    object.__setattr__(read, "instance", inst)
    patch.setattr(models.files, "read", lambda path: read)
    return models.problem("model")


DOORS: dict[str, list[Callable[[fo.Instance], object]]] = {
    "select": [lambda inst: inst.select([0], [0])],
    "solve": [partial(fo.solve, notion=own) for own in (MAX_MIN, FAIR, fo.Throughput())],
    "judge": [lambda inst: certify(answered(inst))],
    "write": [
        instance_plain,
        tables_of,
        lambda inst: folder_writing.write_folder(inst, None, ""),  # type: ignore[arg-type]
    ],
    "own": [
        lambda inst: fo.solve(inst, LogOfOneMore()),
        lambda inst: certify(answered(inst, LogOfOneMore()), np.ones((3, 2))),
    ],
    "limits": [
        lambda inst: limited(inst, "somebody"),
        lambda inst: answered(inst).kkt("rows"),
        lambda inst: fo.solve(inst, fo.PerServerDominantShare()),
        lambda inst: fo.solve(inst, fo.CommonTasks()),
        lambda inst: fo.solve(inst, fo.Tradeoff(1.0)),
    ],
    "kkt": [lambda inst: answered(inst, FAIR).kkt("rows")],
    "had": [lambda inst: before(inst, np.ones((3, 2)), FAIR.plain())],
    "again": [lambda inst: again.checked(fo.solve(composes.cluster(), FAIR), inst, FAIR)],
    "change": [lambda inst: Planner(inst, FAIR)],
    "properties": [
        *(
            lambda inst, own=own: own(answered(inst))  # type: ignore[misc]
            for own in properties.PROPERTIES.values()
        ),
        *(
            lambda inst, name=name: getattr(properties, name)(inst, MAX_MIN, trials=1)  # type: ignore[misc]
            for name in properties.NOTION_PROPERTIES.values()
        ),
        lambda inst: composes.envy(answered(inst)),
    ],
    "explain": [
        lambda inst: answered(inst).explain("A", again=False),
        lambda inst: answered(inst).blocked,
    ],
    "audit": [
        lambda inst: fo.audit(inst, {"A": {"x": 1}}),
        lambda inst: composes.losses(inst, MAX_MIN, whole=False),
    ],
    "fill": [lambda inst: Room(inst, "filling"), lambda inst: fo.fill(inst, "drf")],
    "whole": [lambda inst: fo.whole(inst, [1, 1, 1])],
    "horizon": [lambda inst: fo.horizon(inst, [[1, 1, 1], [2, 2, 2]])],
}
"""feature -> its doors, each asked by itself"""
NO_DOOR = {"parts", "alike", "plan"}
"""features that refuse nothing, or are asked below"""
ASKED = [(name, k) for name, doors in DOORS.items() for k in range(len(doors))]


def known_to_all_but(feature: str, patch: pytest.MonkeyPatch) -> None:
    """Let every other feature know the made-up rule, so that no other door refuses it."""
    for name, own in KNOWN.items():
        if name != feature:
            patch.setitem(KNOWN, name, (*own, "made_up"))


def test_every_field_is_a_rule_or_has_a_default() -> None:
    rules = rules_of(Fields)
    assert {own.name for own in fields(Fields)} == BASIC | set(rules)
    assert not BASIC & set(rules)
    assert {name for own in KNOWN.values() for name in own} <= set(rules)
    assert set(KNOWN) == set(DOORS) | NO_DOOR
    assert not composes.cluster().ruled_by and made().ruled_by == ("made_up",)
    assert not made().plain


@pytest.mark.parametrize(("feature", "k"), ASKED)
def test_every_door_refuses_a_rule_that_it_does_not_know(
    feature: str, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_to_all_but(feature, monkeypatch)
    with pytest.raises(fo.UsageError, match="found made_up"):
        DOORS[feature][k](made())


@pytest.mark.parametrize("feature", DOORS)
@pytest.mark.parametrize("column", composes.INSTANCES)
def test_every_rule_is_refused_where_it_is_not_known(feature: str, column: str) -> None:
    """The instances that there are, by the same table."""
    inst = composes.instance(column)
    unknown = [name for name in inst.ruled_by if name not in KNOWN[feature]]
    assert (unknown == []) == (inst.unknown(feature) == [])
    for door in DOORS[feature] if unknown else ():
        with pytest.raises(fo.UsageError, match="found"):
            door(inst)


def test_plans_have_a_door(monkeypatch: pytest.MonkeyPatch) -> None:
    known_to_all_but("plan", monkeypatch)
    with pytest.raises(fo.UsageError, match="plan: found made_up"):
        planned(made(), monkeypatch)


def test_without_knowing_a_rule_nobody_is_alike_and_nothing_is_apart() -> None:
    inst = fo.Instance([[1], [1]], [[1], [1]], placement=[[1, 0], [0, 1]])
    assert len(inst.parts()) == 2 and users_alike(inst).tolist() == [0, 0]
    other = ruled(inst)
    assert len(other.parts()) == 1
    assert users_alike(other).tolist() == servers_alike(other).tolist() == [0, 1]


LOOKS = {"measures", "plot allocation", "plot prices", "plot levels"}
"""what shows an answer, and says nothing of rules"""
OTHERWISE = {"compare", "equal users solved as one"}
"""what tells its reasons in a table, and what has another instance"""
PUBLIC = [
    (room, name) for room, own in composes.FEATURES.items() for name in own if name not in OTHERWISE
]


def test_a_comparison_tells_it_in_every_row() -> None:
    assert all("found made_up" in row["reason"] for row in rows(made()))


@pytest.mark.parametrize(("room", "name"), PUBLIC, ids=[name for _, name in PUBLIC])
def test_the_whole_public_interface_refuses_it(
    room: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything of `what goes with what`, with an answer that somebody made by hand."""
    monkeypatch.setitem(composes.INSTANCES, "made up", made)
    monkeypatch.setattr(composes, "instance", lambda column: made())
    monkeypatch.setattr(composes, "answer", lambda column, notion=MAX_MIN: answered(made(), notion))
    said = composes.told(composes.FEATURES[room][name], "made up")
    assert (said == "") if name in LOOKS else ("made_up" in said)
