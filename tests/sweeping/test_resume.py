"""Resume files: the same bytes whatever was interrupted, cut lines repaired, keys that change."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairopt as fo
from fairopt.errors import UsageError
from fairopt.files.journal import head
from fairopt.notions import NOTIONS
from fairopt.storage import JournalWarning, encoded
from fairopt.sweeping import points, run, worker
from fairopt.sweeping.run import OLDER, SCHEMA, journal_of
from fairopt.sweeping.worker import differing
from tests.started import started
from tests.sweep_cases import ENVIRONMENT, alphas, own_scores, three_users

HEAD, OLD = head(SCHEMA), head(OLDER)
ALPHAS = (0.5, 1.0, 2.0, 3.0)
GRID = ["sweep", "kesidis2016/no-penalty", "--over", "t_drf=0:900:50", "--over", "t_pf=0,1,10"]
SIZE = 150


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The points that are really solved, as they are."""
    seen: list[Any] = []
    real = worker.row_of

    def row_of(instance: Any, order: Any, *rest: Any) -> Any:
        plain = order if isinstance(order, dict) else order.plain()
        seen.append(plain["parameters"].get("alpha", plain["name"]))
        return real(instance, order, *rest)

    monkeypatch.setattr(worker, "row_of", row_of)
    return seen


@pytest.fixture(scope="module")
def inst() -> fo.Instance:
    return three_users()


@pytest.fixture(scope="module")
def whole(inst: fo.Instance, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    """What a sweep that ran through says, and its resume file."""
    path = tmp_path_factory.mktemp("whole") / "points.jsonl"
    return fo.sweep(inst, alphas(*ALPHAS), resume=path).to_csv(), path.read_bytes()


def test_what_is_there_is_not_solved_again(
    inst: fo.Instance, tmp_path: Path, whole: tuple[str, bytes], solved: list[Any]
) -> None:
    path = tmp_path / "points.jsonl"
    assert fo.sweep(inst, alphas(*ALPHAS[:2]), resume=path).certified
    assert solved == [0.5, 1.0]
    told: list[int] = []
    found = fo.sweep(inst, alphas(*ALPHAS), resume=path, progress=lambda k, _: told.append(k))
    assert solved == [0.5, 1.0, 2.0, 3.0] and told == [2, 3, 4]
    assert found.to_csv() == whole[0] and path.read_bytes() == whole[1]
    assert found.to_csv() == fo.sweep(inst, alphas(*ALPHAS)).to_csv()
    del solved[:]
    again = fo.sweep(inst, alphas(*reversed(ALPHAS)), resume=path)
    assert solved == [] and again.rows[0]["totals"] == found.rows[3]["totals"]


@pytest.mark.parametrize("cut", [1, 5, len(HEAD) - 1, len(HEAD), len(HEAD) + 7, -1, -2, -200])
def test_a_file_cut_anywhere_is_repaired(
    cut: int, inst: fo.Instance, tmp_path: Path, whole: tuple[str, bytes]
) -> None:
    path = tmp_path / "points.jsonl"
    path.write_bytes(whole[1][:cut])
    assert fo.sweep(inst, alphas(*ALPHAS), resume=path).to_csv() == whole[0]
    assert path.read_bytes() == whole[1]


def test_a_line_of_rubbish_is_solved_again(
    inst: fo.Instance, tmp_path: Path, whole: tuple[str, bytes], solved: list[Any]
) -> None:
    lines = whole[1].splitlines(keepends=True)
    lines[2] = b"\0" * 40 + b"\n"
    path = tmp_path / "points.jsonl"
    path.write_bytes(b"".join(lines))
    with pytest.warns(JournalWarning, match=r"points.jsonl, line 3: no line of a resume file"):
        found = fo.sweep(inst, alphas(*ALPHAS), resume=path)
    assert found.to_csv() == whole[0] and solved == [1.0]


def _edited(whole: bytes, *places: Any, value: Any) -> bytes:
    """The file with one value of its third line (alpha 1) changed."""
    lines = whole.splitlines(keepends=True)
    plain = json.loads(lines[2])
    holder = plain
    for key in places[:-1]:
        holder = holder[key]
    if value is None:
        del holder[places[-1]]
    else:
        holder[places[-1]] = value(holder[places[-1]]) if callable(value) else value
    lines[2] = (encoded(plain) + "\n").encode()
    return b"".join(lines)


EDITS: tuple[tuple[tuple[Any, ...], Any, str], ...] = (
    (("row", "totals", "n1"), lambda x: x * 1.001, "totals not as its tasks and prices say"),
    (("row", "gap"), 1e-9, "gap not as"),
    (("row", "residual"), 0.0, "residual not as"),
    (("row", "verdict"), "unproved", "verdict not as"),
    (("row", "certified"), False, "certified not as"),
    (("row", "objective"), 3.0, "objective not as"),
    (("row", "shares"), {}, "shares not as"),
    (("row", "levels", "u9"), 1.0, "levels not as"),
    (("row", "measures", "jain"), 1.0, "measures not as"),
    (("row", "status"), "refused", "status not as"),
    (("row", "reason"), "because", "reason not as"),
    (("row", "colour"), "red", "colour not as"),
    (("row", "gap"), None, "gap not as"),
    (("row",), 3, "row not as"),
    (("answer", "tasks", "n1", "pool1"), lambda x: x * 1.001, "verdict, certified, gap, residual"),
    (("answer", "tasks", "n1", "pool1"), "many", "found the text 'many'"),
    (("answer", "tasks"), None, "tasks: found nothing; wanted what an answer is judged by"),
    (("answer", "prices", "pool1", "r1"), -1.0, "found -1; wanted a finite number >= 0"),
    (("answer", "score"), {"n1": {"pool1": 9.0}}, "which criterion 'dominant-share' says"),
    (("answer", "instance"), {}, "instance: found an unknown key"),
    (("answer",), 3, "not iterable"),
    (("answer",), None, "no line of a resume file"),
    (("key",), None, "no line of a resume file"),
)


@pytest.mark.parametrize(("places", "value", "says"), EDITS, ids=range(len(EDITS)))
def test_an_edited_line_is_found_named_and_solved_again(
    places: tuple[Any, ...],
    value: Any,
    says: str,
    inst: fo.Instance,
    tmp_path: Path,
    whole: tuple[str, bytes],
    solved: list[Any],
) -> None:
    path = tmp_path / "points.jsonl"
    path.write_bytes(_edited(whole[1], *places, value=value))
    with pytest.warns(JournalWarning) as told:
        found = fo.sweep(inst, alphas(*ALPHAS), resume=path)
    assert len(told) == 1 and says in str(told[0].message)
    assert str(told[0].message).startswith(f"resume: {path}, line 3: ")
    assert found.to_csv() == whole[0] and solved == [1.0]
    # the line written after it is the one that counts from now on
    del solved[:]
    lost = "no line" in says
    with warnings.catch_warnings():
        if lost:
            warnings.simplefilter("ignore", JournalWarning)
        assert fo.sweep(inst, alphas(*ALPHAS), resume=path).to_csv() == whole[0]
    assert solved == []


def test_an_answer_without_its_prices_changes_no_row(
    inst: fo.Instance, tmp_path: Path, whole: tuple[str, bytes], solved: list[Any]
) -> None:
    """The judge finds prices again: the row is the same to the last digit, or it is named."""
    path = tmp_path / "points.jsonl"
    path.write_bytes(_edited(whole[1], "answer", "prices", value=None))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert fo.sweep(inst, alphas(*ALPHAS), resume=path).to_csv() == whole[0]
    named = [str(w.message).startswith(f"resume: {path}, line 3: ") for w in told]
    assert all(named) and solved == [1.0] * len(told)


def test_answer_and_row_forged_together_prove_no_more_than_they_do(
    inst: fo.Instance, tmp_path: Path, whole: tuple[str, bytes], solved: list[Any]
) -> None:
    """The answer of another alpha under this one's key, row and all: its verdict shows it."""
    lines = [json.loads(line) for line in whole[1].splitlines()]
    forged = {**lines[4], "key": lines[2]["key"]}
    lines[2] = forged
    path = tmp_path / "points.jsonl"
    path.write_text("".join(encoded(line) + "\n" for line in lines))
    with pytest.warns(JournalWarning, match="line 3: verdict, certified, gap"):
        found = fo.sweep(inst, alphas(*ALPHAS), resume=path)
    assert found.to_csv() == whole[0] and solved == [1.0]


def test_files_of_version_1_are_solved_again_and_said_so(
    inst: fo.Instance, tmp_path: Path, whole: tuple[str, bytes], solved: list[Any]
) -> None:
    lines = [json.loads(line) for line in whole[1].splitlines()[1:]]
    old = [encoded({k: v for k, v in line.items() if k != "answer"}) + "\n" for line in lines]
    path = tmp_path / "points.jsonl"
    path.write_text(OLD + "".join(old))
    told = "of an earlier version, .*: its 4 entries are done again"
    with pytest.warns(JournalWarning, match=told):
        assert fo.sweep(inst, alphas(*ALPHAS), resume=path).to_csv() == whole[0]
    assert solved == list(ALPHAS)
    # nothing of the old file is lost, and the second time nothing is to be said
    assert path.read_bytes() == (OLD + "".join(old)).encode() + whole[1]
    assert fo.sweep(inst, alphas(*ALPHAS), resume=path).to_csv() == whole[0]
    assert solved == list(ALPHAS)


@pytest.mark.parametrize("name", NOTIONS)
def test_what_is_kept_is_judged_as_it_was(name: str, tmp_path: Path, solved: list[Any]) -> None:
    """To the last digit, for every notion: else every line would be found damaged."""
    notion = NOTIONS[name](**({"alpha": 3} if name == "alpha-fair" else {}))
    inst = fo.Instance([[1, 4], [3, 1], [1, 1]], [[9, 18]], weight=[1, 2, 1])
    first = fo.sweep(inst, [notion], resume=tmp_path / "p.jsonl")
    assert fo.sweep(inst, [notion], resume=tmp_path / "p.jsonl").to_csv() == first.to_csv()
    assert len(solved) == 1


def test_somebody_elses_file_is_left_alone(inst: fo.Instance, tmp_path: Path) -> None:
    for text in ("title = 'a model'\n", '{"schema": "fairopt/allocation/v1"}\n', "x"):
        path = tmp_path / "model.toml"
        path.write_text(text)
        with pytest.raises(UsageError, match="is another kind of file"):
            fo.sweep(inst, alphas(1), resume=path)
        assert path.read_text() == text
    with pytest.raises(UsageError, match="cannot be used"):
        fo.sweep(inst, alphas(1), resume=tmp_path)
    with pytest.raises(UsageError, match="does not exist"):
        fo.sweep(inst, alphas(1), resume=tmp_path / "none" / "points.jsonl")
    with pytest.raises(UsageError, match="cannot be used"):
        fo.sweep(inst, alphas(1), resume="/dev/null")


def test_one_sweep_at_a_time(inst: fo.Instance, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with (
        journal_of(tmp_path / "points.jsonl"),
        pytest.raises(UsageError, match="another run is writing"),
    ):
        fo.sweep(inst, alphas(1), resume=tmp_path / "points.jsonl")
    assert fo.sweep(inst, alphas(1), resume=tmp_path / "points.jsonl").certified


def test_another_version_is_solved_again(
    inst: fo.Instance, tmp_path: Path, solved: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "points.jsonl"
    fo.sweep(inst, alphas(1), resume=path)
    for name in ("fairopt", "clarabel", "numpy"):
        other = {**points.versions(), name: "99"}
        for module in (points, run, worker):
            monkeypatch.setattr(module, "versions", lambda other=other: other)
        fo.sweep(inst, alphas(1), resume=path)
        fo.sweep(inst, alphas(1), resume=path)
        monkeypatch.setattr(points, "versions", points.versions)
    assert solved == [1.0] * 4
    assert len(path.read_text().splitlines()) == 1 + 4


def test_other_settings_and_instances_are_solved_again(
    inst: fo.Instance, tmp_path: Path, solved: list[Any]
) -> None:
    path = tmp_path / "points.jsonl"
    fo.sweep(inst, alphas(1), resume=path)
    fo.sweep(inst, alphas(1), resume=path, gap=1e-7)
    fo.sweep(inst, alphas(1), resume=path, measures=False)
    fo.sweep(inst.replace(limit=[1.0, 9.0, 9.0]), alphas(1), resume=path)
    assert len(solved) == 4


def test_a_callable_criterion_is_refused(inst: fo.Instance, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"notions\[1\] \(alpha-fair\) holds a function"):
        fo.sweep(inst, [*alphas(1), fo.AlphaFair(1, own_scores)], resume=tmp_path / "p.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_answer_is_tried_again(
    inst: fo.Instance, tmp_path: Path, solved: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "points.jsonl"
    wanted = [fo.BottleneckMaxFair(), fo.ProportionalFair()]

    def broken(*_: Any) -> Any:
        raise MemoryError("too little")

    with monkeypatch.context() as patched:
        patched.setattr(worker, "_answered", broken)
        first = fo.sweep(inst, wanted, resume=path)
    assert [row["status"] for row in first.rows] == ["refused", "error"]
    second = fo.sweep(inst, wanted, resume=path)
    assert [row["status"] for row in second.rows] == ["refused", "answered"]
    assert solved == ["bmf", "proportional"] * 2
    third = fo.sweep(inst, wanted, resume=path)
    assert third.rows == second.rows and solved[4:] == ["bmf"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_lines_come_back_bit_for_bit(value: Any) -> None:
    line = encoded({"row": value})
    assert "\n" not in line
    assert differing({"row": value}, json.loads(line)) == []


def test_what_differs_is_named() -> None:
    row = {"gap": math.inf, "totals": {"a": 0.1}, "reason": ""}
    assert differing(row, {"gap": "inf", "totals": {"a": 0.1}, "reason": ""}) == []
    assert differing(row, {"gap": "inf", "totals": {"a": 0.2}, "x": 1}) == ["totals", "reason", "x"]
    assert differing(row, None) == ["row"]


def test_infinities_are_words() -> None:
    assert json.loads(encoded({"gap": math.inf})) == {"gap": "inf"}


# -- killed and interrupted -------------------------------------------------------------------


def begun(*arguments: str) -> subprocess.Popen[str]:
    return started(*GRID, *arguments, text=True, start_new_session=True)


def half_way(path: Path, process: subprocess.Popen[str], least: int = 10) -> None:
    """Wait until the file holds some points, and not all."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") > least:
            return
        time.sleep(0.01)
    raise AssertionError(f"never half-way: {process.communicate()}")


@pytest.fixture(scope="module")
def through(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, set[bytes]]:
    """Output and resume lines of the grid that ran through."""
    folder = tmp_path_factory.mktemp("through")
    process = begun("--resume", f"{folder}/p.jsonl", "-o", f"{folder}/out.csv")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    return (folder / "out.csv").read_bytes(), lines_of(folder / "p.jsonl")


def lines_of(path: Path) -> set[bytes]:
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == len(set(lines)) and all(line.endswith(b"\n") for line in lines)
    return set(lines)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_killed_half_way_and_resumed_is_the_same(
    jobs: str, tmp_path: Path, through: tuple[bytes, set[bytes]]
) -> None:
    arguments = "--resume", f"{tmp_path}/p.jsonl", "-o", f"{tmp_path}/out.csv", "-j", jobs
    process = begun(*arguments)
    half_way(tmp_path / "p.jsonl", process)
    process.kill()
    process.communicate(timeout=60)  # ends only when the workers have closed their ends too
    assert process.returncode == -signal.SIGKILL
    assert 0 < (tmp_path / "p.jsonl").read_bytes().count(b"\n") < SIZE
    assert not (tmp_path / "out.csv").exists()
    process = begun(*arguments)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert (tmp_path / "out.csv").read_bytes() == through[0]
    assert lines_of(tmp_path / "p.jsonl") == through[1]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupted_it_says_how_to_go_on(
    jobs: str, tmp_path: Path, through: tuple[bytes, set[bytes]]
) -> None:
    arguments = "--resume", f"{tmp_path}/p.jsonl", "-o", f"{tmp_path}/out.csv", "-j", jobs
    process = begun(*arguments)
    half_way(tmp_path / "p.jsonl", process, 11)  # the last may be written and not counted yet
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: every process of the group
    out, said = process.communicate(timeout=60)
    assert process.returncode == 130 and out == ""
    assert "interrupted" in said and "the same command goes on from there" in said
    assert "Traceback" not in said
    assert 10 <= int(said.split("interrupted: ")[1].split()[0]) < SIZE
    assert lines_of(tmp_path / "p.jsonl") < through[1]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_told_to_end_it_ends_tidily(
    jobs: str, tmp_path: Path, through: tuple[bytes, set[bytes]]
) -> None:
    """SIGTERM to the one process that was started: one line, no warning of what was left behind."""
    process = begun("--resume", f"{tmp_path}/p.jsonl", "-o", f"{tmp_path}/out.csv", "-j", jobs)
    half_way(tmp_path / "p.jsonl", process)
    process.terminate()
    out, said = process.communicate(timeout=60)  # ends only when the workers have ended too
    assert process.returncode == 130 and out == ""
    assert said.startswith("fairopt: interrupted: ") and len(said.splitlines()) == 1, said
    assert not (tmp_path / "out.csv").exists()
    assert lines_of(tmp_path / "p.jsonl") < through[1]


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_full_disk_ends_with_2_and_what_was_kept_goes_on(
    jobs: str, tmp_path: Path, through: tuple[bytes, set[bytes]]
) -> None:
    arguments = ["--resume", f"{tmp_path}/p.jsonl", "-o", f"{tmp_path}/out.csv", "-j", jobs]
    small = ["bash", "-c", 'ulimit -f 20; exec "$@"', "bash"]  # files of at most 20 KiB
    command = [*small, sys.executable, "-m", "fairopt.cli", *GRID, *arguments]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"fairopt: resume: {tmp_path}/p.jsonl cannot be written (")
    assert len(done.stderr.splitlines()) == 1
    process = begun(*arguments)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert (tmp_path / "out.csv").read_bytes() == through[0]
    assert lines_of(tmp_path / "p.jsonl") == through[1]


def test_the_command_names_a_damaged_line(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    short = [
        sys.executable,
        "-m",
        "fairopt.cli",
        "sweep",
        "kesidis2016/no-penalty",
        "--over",
        "alpha=1,2",
        "--resume",
        str(path),
    ]
    first = subprocess.run(short, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    path.write_text(path.read_text().replace('"verdict": "certified"', '"verdict": "refuted"', 1))
    again = subprocess.run(short, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert again.stdout == first.stdout
    wrong = "verdict not as its tasks and prices say; done again"
    assert again.stderr.startswith(f"fairopt: resume: {path}, line 2: {wrong}\n")
