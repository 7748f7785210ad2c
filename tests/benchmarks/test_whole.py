"""Benchmarks of whole tasks: what they ask is what the files say, and small runs end."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.whole import beside, exact, held, openb, packing
from benchmarks.whole.draws import drawn
from fairopt.whole.asking import searched
from fairopt.whole.proof.judging import judge

ROOT = Path(__file__).resolve().parents[2]


def test_a_run_goes_on_from_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--small", "3", "--spoiled", "0", "--middle", "1", "--journal", str(tmp_path / "j")]
    held.main(given)
    first = capsys.readouterr().out
    assert "3 of 3 are the fairest" in first and "false claims: 0" in first
    monkeypatch.setattr(held, "ask", lambda name: pytest.fail(f"{name} asked again"))
    held.main(given)
    assert capsys.readouterr().out == first


def test_one_program_of_all_nodes_knows_the_least_shortage() -> None:
    found = exact.fewest(drawn(9).problem, 10.0)
    assert found.closed and found.short == 50


def test_other_solvers_are_asked_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    beside.main(["--clusters", "2", "--seconds", "5"])
    said = capsys.readouterr().out
    assert "| fairopt | 2 |" in said and "| HiGHS |" in said and "| best fit |" in said
    assert "2 clusters; a bound above what another found: 0" in said


def test_bins_are_proved_too_few_and_enough(tmp_path: Path) -> None:
    """Five items of which no two fit together: five bins, though their volume is that of three."""
    path = tmp_path / "five.vbp"
    path.write_text("2\n10 10\n2\n6 1 3\n6 2 2\n", encoding="utf-8")
    room, items = packing.read(path)
    assert (room, items) == ((10, 10), Counter({(6, 1): 3, (6, 2): 2}))
    assert packing.volume(room, items) == 3
    found = packing.closed(path, 5, 10.0)
    assert (found["lower"], found["upper"], found["closed"]) == (5, 5, True)


def test_pods_of_a_public_list_lie_on_single_cards() -> None:
    """Two cards hold two of .81 and two of .16, not three of .55, and wait for their model."""
    some = Counter(
        {
            openb.Need(1, 1, 1, 810, ""): 2,
            openb.Need(1, 1, 1, 160, ""): 2,
            openb.Need(1, 1, 1, 550, "T4|P100"): 3,
        }
    )
    there = Counter({openb.Node(9, 9, 2, "V100"): 1, openb.Node(9, 9, 2, "P100"): 1})
    asked = openb.asked(some, there, Fraction(1))
    found = searched(asked)
    assert (found.totals, judge(found).proved) == ((2, 2, 2), True)
    assert not openb.may(openb.Need(1, 1, 1, 1000, "T4"), openb.Node(1, 1, 2, "P100"))


def test_stored_runs_are_averaged_beside_what_is_found_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two cards, pods of one card each: three times asked as many are 6, of which 2 run."""
    pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1,1,1,1000,\nb,1,1,1,1000,\n"
    (tmp_path / "openb_pod_list_tiny.csv").write_text(pods, encoding="utf-8")
    nodes = "sn,cpu_milli,memory_mib,gpu,model\nn,9,9,2,V100\n"
    (tmp_path / "openb_node_list_all_node.csv").write_text(nodes, encoding="utf-8")
    runs = "workload,sc_policy,tune,seed,total_gpus,130,300\n"
    runs += "".join(f"openb_pod_list_tiny,06-FGD,3,{k},2,{k},{90 + k}\n" for k in (0, 2))
    (tmp_path / "stored.csv").write_text(runs, encoding="utf-8")
    assert openb.stored(tmp_path / "stored.csv") == {("tiny", "FGD"): 1.0}
    given = [str(tmp_path), "--stored", str(tmp_path / "stored.csv"), "--arrivals", "3"]
    openb.main([*given, "--journal", str(tmp_path / "j")])
    said = capsys.readouterr().out
    assert "| tiny | 91.00 | 100.00% | 2 | 0 | 0 |" in said
