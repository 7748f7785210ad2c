"""Every shipped model gives the answers it states; every invalid one its message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairopt as fo
from fairopt import files, notions
from fairopt.auditing import Audit, audit
from fairopt.auditing.changes import changed
from fairopt.files import answer_rules, cases
from fairopt.instance.reading import Faults

ROOT = files.shipped_root()
SHIPPED = [row.name for row in fo.models()]
INVALID = sorted((ROOT / "invalid").glob("*.txt"))
TOLERANCE = 1e-6


def _cases() -> list[Any]:
    """Every case whose notion is known."""
    found = []
    for name in SHIPPED:
        model = fo.read(name)
        for k, case in enumerate(model.cases):
            if case.kind == "notion" and case.name in notions.NOTIONS:
                found.append(pytest.param(model, case, id=f"{name}[{k}]-{case.name}"))
    return found


def _table(given: dict[str, dict[str, float]], rows: Any, columns: Any) -> np.ndarray:
    array = np.full((len(rows), len(columns)), np.nan)
    for row, cells in given.items():
        array[rows.index(row)] = 0.0
        for column, value in cells.items():
            array[rows.index(row), columns.index(column)] = value
    return array


def _agrees(found: np.ndarray, wanted: np.ndarray, tolerance: float, what: str) -> None:
    """Entries that are not named (NaN) are free."""
    named = ~np.isnan(wanted)
    np.testing.assert_allclose(found[named], wanted[named], rtol=0, atol=tolerance, err_msg=what)


def check_case(model: files.Model, case: files.Case) -> None:
    """Solve a case and compare with everything its model says about the answer."""
    inst, notion = model.instance, notions.make(case.name, **case.parameters)
    if case.exit:
        check_refusal(inst, notion, case)
        return
    alloc = fo.solve(inst, notion)
    assert alloc.certificate is not None and alloc.certificate.certified
    assert fo.certify(alloc).certified
    users, servers, resources = inst.users, inst.servers, inst.resources
    tolerance = case.expect.get("tolerance", TOLERANCE)
    today = audit(inst, case.held, notion) if case.held else None
    for key, value in case.expected.items():
        if key == "objective":
            assert alloc.objective == pytest.approx(value, rel=0, abs=tolerance)
        elif key in ("totals", "shares", "levels", "floor_prices"):
            wanted = np.array([value.get(name, np.nan) for name in users])
            _agrees(getattr(alloc, key), wanted, tolerance, key)
        elif key == "tasks":
            _agrees(alloc.tasks, _table(value, users, servers), tolerance, key)
        elif key == "dominant_shares":
            dominant = fo.criteria.score(inst, "dominant-share") * alloc.tasks
            _agrees(dominant, _table(value, users, servers), tolerance, key)
        elif key == "prices":
            assert alloc.prices is not None
            _agrees(alloc.prices, _table(value, servers, resources), tolerance, key)
        elif key in ("bound_prices", "node_prices"):
            wanted = answer_rules.read_rules(inst, {key: value}, Faults("expect"))[key]
            _agrees(getattr(alloc, key), wanted, tolerance, key)
        elif key == "rule_prices":
            own = [row.name for row in inst.own_rows]
            wanted = np.array([value.get(name, np.nan) for name in own])
            _agrees(alloc.rule_prices, wanted, tolerance, key)
        elif today is not None and key in ("could_hold", "gap", "moved"):
            check_today(today, key, value, tolerance)
        else:
            assert key in ("tolerance", "source", "why"), f"{key} is stated but not compared"
    if case.change:
        check_change(inst, notion, case.change)
    for row in case.accepts:
        tasks = np.nan_to_num(_table(row["tasks"], users, servers))
        verdict = fo.certify(fo.Allocation(inst, notion, tasks))
        assert verdict.certified, verdict.explain()
    for row in case.refuses:
        tasks = np.nan_to_num(_table(row["tasks"], users, servers))
        verdict = fo.certify(fo.Allocation(inst, notion, tasks))
        assert not verdict.certified
        if "gap" in row:
            # the gap stated is what can be gained, so no proof may claim less
            assert verdict.gap >= row["gap"] * (1 - 1e-9)
            assert verdict.verdict == "refuted", verdict.explain()


def _ruled() -> list[Any]:
    """Every case of an instance with groups, quotas or modes that has an answer."""
    return [row for row in _cases() if not row.values[0].instance.plain and not row.values[1].exit]


@pytest.mark.parametrize(("model", "case"), _ruled())
def test_a_general_solver_agrees_with_rules(model: files.Model, case: files.Case) -> None:
    """The declarative program: linear ones certified, a conic solver to its own digits."""
    inst, notion = model.instance, notions.make(case.name, **case.parameters)
    linear = notion.family == "max-min"
    solver = "highs" if linear else "clarabel"
    other = fo.solve(inst, notion, solver=solver, uncertified="return")
    assert other.certificate is not None
    assert other.certificate.certified or not linear
    np.testing.assert_allclose(other.shares, fo.solve(inst, notion).shares, rtol=1e-5, atol=1e-9)


def check_refusal(inst: fo.Instance, notion: Any, case: files.Case) -> None:
    """Solving ends with the exit code stated, for the reason stated."""
    with pytest.raises(fo.FairoptError) as error:
        fo.solve(inst, notion)
    assert error.value.exit_code == case.exit
    proof = getattr(error.value, "proof", None) or {}
    if "conflict" in case.expect:
        found = proof["users"] if "users" in proof else sorted(proof["conflict"])
        assert found == case.expect["conflict"]
    if "cut" in case.expect:
        assert proof["cut"] == pytest.approx(case.expected["cut"], rel=0, abs=TOLERANCE)


def check_today(today: Audit, key: str, value: Any, tolerance: float) -> None:
    """What is held today, beside the answer."""
    if key == "moved":
        assert today.moved == pytest.approx(value, rel=0, abs=tolerance)
    elif key == "gap":
        assert today.judged.gap == pytest.approx(value, rel=0, abs=tolerance)
    else:
        found = {team.user: team.could_hold for team in today.teams if team.proved}
        assert found == pytest.approx(value, rel=0, abs=tolerance)


def check_change(inst: fo.Instance, notion: Any, change: dict[str, Any]) -> None:
    """The change can be made, and what comes of it is certified."""
    settings = [f"{key}={value}" for key, value in change.get("set", {}).items()]
    servers = [f"{key}={value}" for key, value in change.get("add_server", {}).items()]
    after = fo.solve(changed(inst, settings, servers, change.get("drop", [])), notion)
    assert after.certificate is not None and after.certificate.certified


@pytest.mark.parametrize(("model", "case"), _cases())
def test_case(model: files.Model, case: files.Case) -> None:
    check_case(model, case)


@pytest.mark.parametrize("name", SHIPPED)
def test_has_title_and_source_and_round_trips(name: str, tmp_path: Path) -> None:
    model = fo.read(name)
    assert model.title and model.source and model.cases and model.name == name
    # the first case is what `fairopt solve MODEL` solves
    assert model.cases[0].kind == "notion"
    assert model.cases[0].name in notions.NOTIONS
    fo.write(model, tmp_path / "again.toml")
    assert fo.read(tmp_path / "again.toml") == model
    fo.write(model, tmp_path / "folder")
    assert fo.read(tmp_path / "folder") == model


@pytest.mark.parametrize("name", SHIPPED)
def test_prices_stated_are_normalised(name: str) -> None:
    """sum count p c = sum phi where nobody has a limit."""
    model = fo.read(name)
    inst = model.instance
    for case in model.cases:
        prices = case.expect.get("prices")
        if prices and not np.isfinite(inst.limit).any() and inst.plain:
            prices = cases.numeric(prices)
            p = np.nan_to_num(_table(prices, inst.servers, inst.resources))
            assert (p * inst.pool).sum() == pytest.approx(inst.weight.sum(), rel=1e-12)


@pytest.mark.parametrize("name", SHIPPED)
def test_stated_allocations_use_known_servers_and_fit(name: str) -> None:
    model = fo.read(name)
    inst = model.instance
    for case in model.cases:
        for row in (*case.accepts, *case.refuses):
            tasks = np.nan_to_num(_table(row["tasks"], inst.users, inst.servers))
            assert (inst.used(tasks) <= inst.pool * (1 + 1e-9)).all()
            assert (tasks[~inst.eligible] == 0).all()


def test_models_are_sorted_and_leave_out_the_invalid() -> None:
    assert sorted(SHIPPED) == SHIPPED
    assert not any(name.startswith("invalid") for name in SHIPPED)
    assert {"kesidis2016/no-penalty", "real/google2011", "edge/one-user"} <= set(SHIPPED)


def test_every_invalid_model_has_its_message_beside_it() -> None:
    given = {p.stem for p in (ROOT / "invalid").iterdir() if p.suffix != ".txt"}
    assert given == {p.stem for p in INVALID} and len(INVALID) >= 20


@pytest.mark.parametrize("message", INVALID, ids=lambda p: p.stem)
def test_invalid_gives_its_message(message: Path) -> None:
    path = message.with_suffix(".toml")
    with pytest.raises(fo.BadInput) as caught:
        fo.read(path if path.exists() else message.with_suffix(""))
    assert str(caught.value) == message.read_text(encoding="utf-8").rstrip("\n")
    assert caught.value.exit_code == 2


def test_google2011_follows_its_stated_rule() -> None:
    inst = fo.read("real/google2011").instance
    assert inst.count.sum() == 12583
    np.testing.assert_allclose(inst.pool.sum(axis=0), [6659.0, 5921.8], atol=0.05)
    cpu, memory = inst.capacity.T
    for k in range(1, 41):
        n = inst.users.index(f"u{k:02d}")
        need = (1, 2, 4, 8, 16)[k % 5] / 640
        ratio = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8)[k % 7]
        assert inst.demand[n].tolist() == [need, min(need * ratio, 1 / 32)]
        assert inst.weight[n] == (1, 2, 4)[k % 3]
        assert inst.limit[n] == (2000.0 if k % 10 == 9 else np.inf)
        where = {3: memory >= 0.5, 5: cpu == 1, 7: cpu == 0.5}.get(k % 8, cpu > 0)
        assert inst.placement[n].tolist() == where.tolist()
