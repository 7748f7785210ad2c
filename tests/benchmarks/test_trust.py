"""The campaign of trust: its references see faults, its pages count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from benchmarks.trust import __main__ as campaign
from benchmarks.trust import pages
from benchmarks.trust.asking import answer
from benchmarks.trust.draws import (
    BOUND,
    DECADES,
    FAMILIES,
    KINDS,
    Asked,
    all_asked,
    kinds_of,
)
from benchmarks.trust.references import fault

ROOT = Path(__file__).resolve().parents[2]


def test_twenty_thousand_instances_are_asked() -> None:
    asked = list(all_asked(campaign.EACH))
    assert len(asked) == len({one.key for one in asked}) >= 20_000
    assert {one.family for one in asked} == set(FAMILIES)
    first, again = asked[500].drawn(), asked[500].drawn()
    assert first == again and first[0].digest() == again[0].digest()


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_instances_are_of_their_kind(kind: str) -> None:
    drawn = []
    if kind in kinds_of("bmf"):
        drawn = [Asked("bmf", kind, 6, seed).drawn()[0] for seed in range(12)]
    family = "alpha-fair 2" if kind == BOUND else "sum-m"
    drawn += [Asked(family, kind, 6, seed).drawn()[0] for seed in range(24)]
    seen = {
        "ordinary": any(len(set(inst.weight)) > 1 for inst in drawn),
        "gpu": any((inst.capacity == 0).any() for inst in drawn),
        "ties": all((inst.capacity == np.rint(inst.capacity)).all() for inst in drawn),
        "zero demands": any((inst.demand == 0).any() for inst in drawn),
        "limits": any(np.isfinite(inst.limit).any() for inst in drawn),
        "counts": any((inst.count > 1).any() for inst in drawn),
        "placement": any(not inst.placement.all() for inst in drawn),
        "parallel": any(0 < _angle(inst) < 1e-5 for inst in drawn),
        "just full": all(inst.capacity.shape == (1, 2) for inst in drawn),
        BOUND: all(inst.quotas is not None for inst in drawn),
    }
    assert seen[kind]


def _angle(inst: fo.Instance) -> float:
    if inst.demand.shape[1] < 2 or not inst.demand.all():
        return 0.0
    ratio = inst.demand[:, 1] / inst.demand[:, 0]
    return float(np.ptp(ratio) / ratio.max())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reference_passes_what_is_right_and_sees_what_is_not(family: str) -> None:
    asked = Asked(family, "ordinary", 0, 0)
    inst, notion = asked.drawn()
    alloc = answer(family, inst, notion, 0)
    assert fault(inst, notion, alloc, 0)[0] == ""
    n = int(np.argmax(alloc.totals))
    less = np.ones((len(inst.users), 1))
    less[n] -= 1e-3
    assert fault(inst, notion, scaled(alloc, less), 0)[0]
    assert "does not fit" in fault(inst, notion, scaled(alloc, 3 * np.ones_like(less)), 0)[0]


def scaled(alloc: fo.Allocation, factor: np.ndarray) -> fo.Allocation:
    """The answer with a user's tasks times a factor (N, 1)."""
    ways = alloc.way_tasks
    if ways is not None:
        ways = ways * factor[alloc.instance.ways.owner]
    return alloc.with_(tasks=alloc.tasks * factor, way_tasks=ways)


def test_a_run_is_resumed_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, page = tmp_path / "trust.jsonl", tmp_path / "trust.md"
    given = [
        "--each",
        "1",
        "--only",
        "bmf",
        "per-server",
        "--kind",
        "ties",
        "--journal",
        str(journal),
        "--write",
        str(page),
    ]
    assert campaign.main(given) == 0
    with pytest.raises(SystemExit):  # the journal is there
        campaign.main(given)
    given.append("--resume")
    rows = campaign.read(journal)
    assert len(rows) == 2 * len(DECADES) and {row["outcome"] for row in rows} == {"right"}
    assert "| bmf | 3 | 0 | 0 | 0 |" in page.read_text()
    # a line cut short is asked again, the others are not
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join([*lines[:-1], lines[-1][:20]]) + "\n")
    asked = []
    whole = campaign.outcome
    monkeypatch.setattr(campaign, "outcome", lambda one: asked.append(one.key) or whole(one))
    monkeypatch.setattr(campaign, "Pool", _Here)
    assert campaign.main(given) == 0 and len(asked) == 1
    bad = {**rows[0], "outcome": "wrong", "word": "because"}
    assert "wrong: because" in pages.page([bad]) and "1 (1e+02 %)" in pages.page([bad])


class _Here:
    """A pool of this process alone."""

    def __init__(self, workers: int, begin, given) -> None:
        begin(*given)

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *_: object) -> None: ...
    def imap(self, function, given, chunksize):
        return map(function, given)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (fo.SolverFailure("nothing"), "crashed"),
        (RuntimeWarning("0/0"), "crashed"),
        (fo.NotCertified("not pinned", None), "refused"),
    ],
)
def test_errors_are_outcomes(monkeypatch: pytest.MonkeyPatch, error, outcome) -> None:
    def solve(*_: object) -> None:
        raise error

    monkeypatch.setattr(fo, "solve", solve)
    row = campaign.outcome(Asked("bmf", "ties", 0, 0))
    assert row["outcome"] == outcome and row["word"]
