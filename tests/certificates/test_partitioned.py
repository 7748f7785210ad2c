"""The judge of files in passes: wherever they are computed, the same verdict."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import partitions
from tests.certificates.test_filled import in_passes, ties


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An answer in five partitions, judged in passes however few its users are."""
    return in_passes(ties(2_000, 4), 1.0, tmp_path, monkeypatch, 400)


@pytest.fixture
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as found:
        yield found


def spoil(answer: Path, part: float) -> None:
    """Give one user so much less, in the file."""
    path = answer / "tasks-00003.npy"
    tasks = np.load(path)
    tasks[7] *= 1 - part
    np.save(path, tasks)


def test_two_processes_say_what_one_says(answer: Path, pool: ProcessPoolExecutor) -> None:
    passes: list[tuple[int, str]] = []
    one = fo.certify_partitions(answer, progress=lambda n, doing: passes.append((n, doing)))
    assert one.certified and passes == [(n + 1, "judge") for n in range(len(passes))]
    assert fo.certify_partitions(answer, None, pool).to_dict() == one.to_dict()
    spoil(answer, 1e-5)
    spoilt = fo.certify_partitions(answer, None, pool)
    assert not spoilt.certified and spoilt.residual >= 1e-5
    assert spoilt.to_dict() == fo.certify_partitions(answer).to_dict()
    assert "user 1208" in str(spoilt.checks[-1])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("at", [1, 3, 4])
def test_a_process_killed_in_the_judge_changes_nothing(
    answer: Path, pool: ProcessPoolExecutor, at: int
) -> None:
    one = fo.certify_partitions(answer)

    def kill(passes: int, doing: str) -> None:
        if passes == at:
            os.kill(next(iter(pool._processes)), signal.SIGKILL)
            while not pool._broken:  # until the pool has seen it, so that the next pass must
                time.sleep(0.01)

    with pytest.warns(RuntimeWarning, match="a worker was killed"):
        found = fo.certify_partitions(answer, None, pool, kill)
    assert found.to_dict() == one.to_dict()


def test_partitions_in_another_order(answer: Path) -> None:
    """Sums in another order: the same verdict, and nearly the same bound."""
    one = fo.certify_partitions(answer)
    for folder in (answer, answer.parent / "in"):
        for path in folder.glob("*-0000?.npy"):
            name, k = path.stem.rsplit("-", 1)
            path.rename(folder / f"{name}-{4 - int(k):05d}.other")
        for path in folder.glob("*.other"):
            path.rename(path.with_suffix(".npy"))
    found = fo.certify_partitions(answer)
    assert found.certified and found.residual == pytest.approx(one.residual, rel=0.5)
    spoil(answer, 1.1e-6)
    assert not fo.certify_partitions(answer).certified


def test_faults_of_files_are_those_that_one_process_finds(
    answer: Path, pool: ProcessPoolExecutor
) -> None:
    (answer / "tasks-00001.npy").unlink()
    np.save(answer / "tasks-00004.npy", np.full((400, 3), 1.0))
    demand = answer.parent / "in" / "demand-00002.npy"
    np.save(demand, -np.load(demand))
    said = []
    for executor in (None, pool):
        with pytest.raises(fo.BadInput) as caught:
            fo.certify_partitions(answer, None, executor)
        said.append([(fault.place, fault.found) for fault in caught.value.faults])
    assert said[0] == said[1] and len(said[0]) >= 3


@pytest.mark.parametrize("size", [1, 7, 64])
def test_the_pieces_of_a_pass_are_not_seen(
    answer: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many users are looked at at once changes the last digits of sums alone."""
    one = fo.certify_partitions(answer)
    monkeypatch.setattr(partitions, "PIECE", size)
    found = fo.certify_partitions(answer)
    assert found.certified and found.residual == pytest.approx(one.residual, rel=0.5)
    spoil(answer, 1e-4)
    spoilt = fo.certify_partitions(answer)
    assert not spoilt.certified and "user 1208" in str(spoilt.checks[-1])
