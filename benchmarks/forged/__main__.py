"""Forge answers, ask the judge, count what it certifies, refutes and leaves open; write a page.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.forged --write docs/results/forged.md
    python -m benchmarks.forged --source parallel --how ceiling --seed 7

The truth of every question is proved by `tests/oracles/optimum.py`. A run that was stopped goes on
with --resume: every question leaves a line in --journal.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.forged import pages
from benchmarks.forged.draws import HOWS, SOURCES, Case, case
from benchmarks.forged.ways import Forger, forged
from benchmarks.trust.references import NOTHING
from fairopt.certificates import partitions
from tests.oracles import parted

FAR = 1.01e-6
"""off by more is wrong: what certified means, and the rounding of the answer"""
NEARLY = 0.99e-6
"""off by less is right, so that it must not be refuted"""
EACH = {
    "parallel": 2000,
    "just full": 500,
    "light": 300,
    "steep": 300,
    "rules": 300,
    "one price": 20,
    "decades": 40,
}
"""questions of each source"""
TURNS = (
    "whole",
    "ceiling",
    "partitions",
    "group",
    "whole",
    "ceiling",
    "partitions",
    "lending",
    "whole",
    "trade-off",
)
"""how questions are asked, by turns of their seeds"""
ALONE = {"rules": ("whole",), "one price": ("whole",), "decades": ("partitions", "whole")}
"""the same of sources that are asked in fewer ways"""
FEW, PART = 2, 200
"""users of a partition; of many users, which are read in passes"""
FORGED = 4
"""ways to forge each question of few users, with up to five prices each; of more users one"""


def asked(sources: list[str], hows: list[str], each: int | None) -> Iterator[tuple[str, str, int]]:
    """Source, how and seed of every question."""
    for source in sources:
        for seed in range(EACH[source] if each is None else each):
            turns = ALONE.get(source, TURNS)
            how = turns[seed % len(turns)]
            if how in hows:
                yield source, how, seed


def outcome(source: str, how: str, seed: int) -> dict[str, Any]:
    """Counts of one question: the own answer, the truth handed over, and everything forged."""
    row: dict[str, Any] = {"source": source, "how": how, "seed": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = case(source, how, seed)
        if one is None:
            return {**row, "asked": False}
        forger = Forger(one)
        own = own_answer(forger)
        truth = judged(forger, forger.right, forger.prices, own and own[2])
        wrong = [["own answer", own[1]]] if own and own[0] == "certified" and own[1] > FAR else []
        counts: Counter[str] = Counter()
        seconds: list[float] = []
        rng = np.random.default_rng([9, seed])
        for word, x, prices in forged(forger, rng, 1 if one.large else FORGED):
            begun = time.perf_counter()
            verdict, off = judged(forger, x, prices, own and own[2])
            seconds.append(time.perf_counter() - begun)
            right = off <= FAR
            counts[f"right {verdict}" if right else verdict] += 1
            if verdict == "certified" and not right:
                wrong.append([word, off])
            elif verdict == "refuted" and off < NEARLY and fits(forger, x):
                wrong.append([f"refuted, {word}", off])
    own_said = list(own[:2]) if own else ["none", None]
    return {
        **row,
        "asked": True,
        "own": own_said,
        "truth": list(truth),
        "forged": dict(counts),
        "wrong": wrong,
        "milliseconds": round(1e3 * float(np.median(seconds or [0])), 2),
    }


def fits(forger: Forger, x: np.ndarray) -> bool:
    """Whether tasks keep every row without flows, to rounding."""
    return not forger.q.low and bool((forger.g @ x <= forger.h * (1 + 1e-10)).all())


def off(forger: Forger, alloc: fo.Allocation) -> float:
    """How far the worst user is from the truth; shares of next to nothing count as nothing."""
    log_due = forger.log_w / forger.alpha
    due = np.exp(log_due - np.logaddexp.reduce(log_due))
    alone = alloc.score * np.minimum(forger.case.inst.alone, forger.case.inst.limit[:, None])
    floor = np.maximum(NOTHING * due * alone.max(axis=1), 1e-300)
    ours, truth = (np.maximum(s, floor) for s in (alloc.shares, forger.case.truth.share))
    return float(np.abs(np.log(ours / truth)).max())


def own_answer(forger: Forger) -> tuple[str, float, fo.Allocation] | None:
    """Verdict on our own answer, how far it is off, and the answer."""
    one = forger.case
    try:
        if one.how == "partitions":
            with read(one) as users:
                tasks, verdict = parted.solved(one.inst, one.notion, users)
            found = fo.Allocation(one.inst, one.notion, tasks)
        else:
            found = fo.solve(one.inst, one.notion, uncertified="return")
            verdict = found.certificate
    except Exception:  # whatever it is, the campaign goes on, and counts an answer less
        return None
    return verdict.verdict, off(forger, found), found


@contextmanager
def read(one: Case) -> Iterator[int]:
    """How many users a partition has, while many are not judged together."""
    if not one.large:
        yield FEW
        return
    together, partitions.TOGETHER = partitions.TOGETHER, 0
    try:
        yield PART
    finally:
        partitions.TOGETHER = together


def judged(
    forger: Forger, x: np.ndarray, prices: np.ndarray, own: fo.Allocation | None
) -> tuple[str, float]:
    """The verdict on tasks (K,) at these prices, those of other rules as in our answer; how far
    they are off."""
    inst, notion = forger.case.inst, forger.case.notion
    tasks = np.zeros((len(inst.ways.owner), inst.shape[1]))
    tasks[forger.q.way, forger.q.server] = x
    given = fo.Allocation(inst, notion, tasks[: inst.shape[0]], prices)
    far = off(forger, given)
    if forger.case.how == "partitions":
        with read(forger.case) as users:
            return parted.certified(inst, notion, tasks, prices, users).verdict, far
    if own is not None:
        given = own.with_(
            tasks=tasks, prices=prices, certificate=None, objective=None, equivalent=None
        )
    return fo.certify(given).verdict, far


def lines_of(journal: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """The lines of a journal by question; one cut short is left out."""
    rows = {}
    for line in journal.read_text(encoding="utf-8").splitlines() if journal.exists() else ():
        with suppress(json.JSONDecodeError):
            row = json.loads(line)
            rows[row["source"], row["how"], row["seed"]] = row
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forged", description=__doc__)
    parser.add_argument("--source", nargs="+", choices=tuple(SOURCES), default=list(SOURCES))
    parser.add_argument("--how", nargs="+", choices=tuple(HOWS), default=list(HOWS))
    parser.add_argument("--each", type=int, help="questions of every source")
    parser.add_argument("--seed", type=int, help="this one alone, shown")
    parser.add_argument("--journal", type=Path, default=Path("forged.jsonl"))
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on where the journal ends; else it must not be there",
    )
    parser.add_argument("--write", type=Path, help="the page")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        for source in given.source:
            for how in given.how:
                print(json.dumps(outcome(source, how, given.seed)))
        return 0
    if given.journal.exists() and not given.resume:
        parser.error(f"--journal: found {given.journal}; wanted --resume, or no such file")
    known, rows = lines_of(given.journal), []
    with given.journal.open("a", encoding="utf-8") as out:
        for question in asked(given.source, given.how, given.each):
            row = known.get(question)
            if row is None:
                row = outcome(*question)
                out.write(json.dumps(row) + "\n")
                out.flush()
                if row.get("wrong"):
                    print(json.dumps(row), file=sys.stderr)
            rows.append(row)
    options = [f"--source {' '.join(map(repr, given.source))}"] * (given.source != list(SOURCES))
    options += [f"--how {' '.join(given.how)}"] * (given.how != list(HOWS))
    options += [] if given.each is None else [f"--each {given.each}"]
    text = pages.page(rows, (" ".join([*options, "--write docs/results/forged.md"]),))
    print(text)
    if given.write:
        given.write.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
