"""A replay that was saved, judged anew: hindsight by its certificate, and every sum and ratio.

Only the cluster, wants, what was held and due, and the tasks of hindsight are read; what the file
says of them is compared. What was due by the slice and by the ledger is taken as it is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.allocation.check import Certificate, Check
from fairopt.certificates import certify
from fairopt.files import answers
from fairopt.files.answer_instance import as_model
from fairopt.files.tables import arrays_of
from fairopt.instance import Floats, Instance
from fairopt.instance.reading import AMOUNT, FINITE, POSITIVE, Faults, build, listed, number, table
from fairopt.overtime.horizon import horizon, slice_names
from fairopt.overtime.measured import ratio_of

CLOSE = 1e-6
"""part by which what the file says may differ"""
SERIES = ("wants", "held", "alone", "ledger", "hindsight", "debt")
PLANS = ("held", "alone", "ledger")


@dataclass(frozen=True)
class JudgedReplay:
    """The certificate of hindsight, what the file says beside what follows, and the ratios."""

    certificate: Certificate
    checks: tuple[Check, ...]
    ratios: Mapping[str, float | None]

    @property
    def sound(self) -> bool:
        """Whether hindsight is certified and the file says what follows."""
        return self.certificate.certified and all(check.holds for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        checks = [
            {"name": c.name, "holds": c.holds, "margin": c.margin, "witness": c.witness}
            for c in self.checks
        ]
        return {
            "certificate": self.certificate.to_dict(),
            "checks": checks,
            "ratios": dict(self.ratios),
        }

    def explain(self) -> str:
        """The verdict in words."""
        lines = ["hindsight: " + self.certificate.explain()]
        for check in self.checks:
            mark = "ok  " if check.holds else "FAIL"
            lines.append(f"  {mark} {check.name}" + (f": {check.witness}" if check.witness else ""))
        return "\n".join(lines)


def judged(data: Mapping[str, Any], source: str) -> JudgedReplay:
    """Judge a replay as `Replay.to_dict` writes it.

    Raises
    ------
    BadInput : with the faults of the file, each with its place.
    """
    faults = Faults(source)
    hours = number(data.get("hours"), "hours", faults, POSITIVE)
    starts = _numbers(data.get("starts"), "starts", faults)
    inst = _instance(data, faults)
    series = _series(data, inst, len(starts), faults)
    faults.stop()
    wants = series["wants"]
    there = np.flatnonzero((wants > 0).any(axis=0))
    if not len(there):
        faults.add("users", "nobody who wants anything", "at least one")
        faults.stop()
    small = inst.select(there, np.arange(len(inst.servers)))
    whole = horizon(small, wants[:, there], hours, slices=slice_names(starts))
    answer = answers.of(whole.instance, table(data.get("answer"), "answer", faults), source)
    certificate = certify(answer)
    answer = answer.with_(certificate=certificate)
    due = np.zeros_like(wants)
    due[:, there] = small.ways.output(whole.split(answer, by_way=True)).sum(axis=2)
    debt = np.cumsum((series["hindsight"] - series["held"]) * hours, axis=0)
    size = max(1.0, float(wants.max()))
    ways, plans = inst.ways, table(data.get("plans", {}), "plans", faults)
    plan_of = {
        name: _plan(plans.get(name), series[name], inst, f"plans.{name}", faults) for name in PLANS
    }
    faults.stop()
    held = ways.running(plan_of["held"]).sum(axis=2)
    checks = [
        _same("nobody held more than it wanted", held - wants, size),
        _same("hindsight is that of the tasks", np.abs(series["hindsight"] - due), size),
        _same("what is owed is due less held", np.abs(series["debt"] - debt), size * hours),
    ]
    ratios: dict[str, float | None] = {}
    said = table(data.get("ratios"), "ratios", faults)
    faults.stop()
    if inst.modes is not None:
        apart = np.abs(held - series["held_tasks"])
        checks.append(_same("held_tasks: users' tasks are those of their modes", apart, size))
    for name, plan in plan_of.items():
        if plans:
            apart = np.abs(ways.output(plan).sum(axis=2) - series[name])
            checks.append(_same(f"{name}: users' tasks are those on servers", apart, size))
        ratios[name], _ = ratio_of(whole, plan[:, ways.among(there)], answer)
        checks.append(_ratio(name, said.get(name), ratios[name]))
    return JudgedReplay(certificate, tuple(checks), ratios)


def _instance(data: Mapping[str, Any], faults: Faults) -> Instance:
    given = table(data.get("instance"), "instance", faults)
    faults.stop()
    plain = as_model(given, faults)
    plain.pop("names")
    found: Instance = build(faults, **arrays_of(plain, faults, by_server="demand_on" in given))
    return found


def _series(
    data: Mapping[str, Any], inst: Instance, steps: int, faults: Faults
) -> dict[str, Floats]:
    """(T, N) of each of SERIES; with modes, of tasks held as well."""
    users = table(data.get("users"), "users", faults)
    keys = SERIES if inst.modes is None else (*SERIES, "held_tasks")
    found = {key: np.zeros((steps, len(inst.users))) for key in keys}
    for n, name in enumerate(inst.users):
        row = table(users.get(name), f"users.{name}", faults)
        for key in keys:
            here = f"users.{name}.{key}"
            values = _numbers(row.get(key), here, faults)
            if len(values) != steps:
                faults.add(here, f"{len(values)} numbers", f"{steps}, one a slice")
            elif key not in ("debt",) and min(values, default=0.0) < 0:
                faults.add(here, f"{min(values):g}", "numbers >= 0")
            else:
                found[key][:, n] = values
    for name in users:
        if name not in inst.users:
            faults.add(f"users.{name}", "an unknown user", "a user of the instance")
    return found


def _plan(given: Any, totals: Floats, inst: Instance, place: str, faults: Faults) -> Floats:
    """(T, K, I) tasks at once of each way; of one server the totals, where nobody has modes."""
    if len(inst.servers) == 1 and inst.modes is None:
        return totals[:, :, None]
    sizes = (len(totals), len(inst.ways), len(inst.servers))
    plan = np.zeros(sizes)
    for k, row in enumerate(listed(given, place, faults)):
        here = f"{place}[{k}]"
        entry = _numbers(row, here, faults)
        at = tuple(int(x) for x in entry[:3])
        if len(entry) != 4 or not all(0 <= a < s for a, s in zip(at, sizes, strict=True)):
            faults.add(here, f"{row}", "slice, user (or its mode), server and tasks")
            continue
        plan[at] = number(entry[3], here, faults, AMOUNT)
    return plan


def _numbers(given: Any, place: str, faults: Faults) -> list[float]:
    return [
        number(x, f"{place}[{k}]", faults, FINITE)
        for k, x in enumerate(listed(given, place, faults))
    ]


def _same(name: str, apart: Floats, size: float) -> Check:
    return Check.of(name, float(apart.max(initial=0.0)) / size, CLOSE)


def _ratio(name: str, said: Any, found: float | None) -> Check:
    """Whether the file's ratio is what follows, and at most 1."""
    words = f"{name}: ratio to hindsight"
    if found is None or said is None:
        same = found is None and said is None
        return Check.of(words, 0.0 if same else np.inf, CLOSE, f"{said} told, {found} found")
    over = max(abs(float(said) - found), found - 1)
    return Check.of(words, over, CLOSE, f"{found:.6g}")


__all__ = ["CLOSE", "JudgedReplay", "judged"]
