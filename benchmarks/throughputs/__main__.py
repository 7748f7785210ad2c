"""Max-min of jobs on kinds of machines with real and with drawn throughputs (see `matrix`).

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.throughputs --write docs/results/throughputs.md

Draws of 50 to 2,588 jobs, with scores normalised by an equal division and as they are: how many
are certified, the largest proved bound of the others, the time of each. With `--journal FILE` a run
that was stopped goes on; with `--each N` only the first N seeds of each row are run.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.throughputs.matrix import draw
from fairopt.errors import FairoptError

SIZES = ((50, 20), (100, 12), (200, 8), (490, 5), (1000, 3), (2588, 2))
"""jobs, and how many seeds of each row: 50, so 200 of all four rows"""
ROWS = ((True, True), (True, False), (False, True), (False, False))
"""ten kinds or three, normalised or not"""


def one(ten: bool, normal: bool, jobs: int, seed: int) -> dict[str, Any]:
    """One draw: seconds, verdict, residual, levels."""
    inst, score = draw(seed, jobs, normal, ten)
    begin = time.process_time()
    try:
        answer = fo.solve(inst, fo.MaxMin(criterion=lambda _: score), uncertified="return")
    except FairoptError as fault:
        found: dict[str, Any] = {"verdict": type(fault).__name__, "residual": None, "levels": 0}
    else:
        assert answer.certificate is not None
        found = {
            "verdict": answer.certificate.verdict,
            "residual": answer.certificate.residual if answer.certificate.bounded else None,
            "levels": len({round(v, 9) for v in answer.levels.tolist()}),
        }
    return {
        "ten": ten,
        "normal": normal,
        "jobs": jobs,
        "seed": seed,
        "seconds": time.process_time() - begin,
        **found,
    }


def page(done: list[dict[str, Any]]) -> str:
    """The page of results."""
    lines = [
        "# Max-min of real throughputs",
        "",
        "Written by `python -m benchmarks.throughputs`. Jobs on kinds of machines: a job of $s$",
        "GPUs takes $s$ machines of one kind at a time and at most all its time; its score on a",
        "kind is its throughput there, as Narayanan et al. measured it on three kinds (OSDI 2020,",
        "MIT licence), or as drawn for ten kinds and 2,588 jobs that look like it",
        "(`benchmarks/throughputs/matrix.py` says how). Normalised: relative to what an equal",
        "part of every kind would give, the policy of that paper.",
        "",
        "Limits bind and throughputs are nearly in one ratio, so the prices of one level span many",
        "decades, and errors of one level are multiplied in the next. Of what is not certified",
        "the proved bound is shown, or that nothing is proved. Levels count as one within nine",
        "decimals. Seconds are of one processor, of a machine that others used too.",
        "",
        "| kinds | scores | jobs | draws | certified | largest bound of the others | levels | "
        "median s | slowest s |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for ten, normal in ROWS:
        for jobs, _ in SIZES:
            mine = [d for d in done if (d["ten"], d["normal"], d["jobs"]) == (ten, normal, jobs)]
            if not mine:
                continue
            right = sum(d["verdict"] == "certified" for d in mine)
            rest = [d["residual"] for d in mine if d["verdict"] != "certified"]
            proved = [one for one in rest if one is not None and one < 1]
            words = [f"{max(proved):.1e}"] if proved else []
            words += [f"nothing of {len(rest) - len(proved)}"] if len(proved) < len(rest) else []
            worst = ", ".join(words)
            seconds = [d["seconds"] for d in mine]
            lines.append(
                f"| {'10, drawn' if ten else '3, measured'} | "
                f"{'normalised' if normal else 'as they are'} | {jobs:,} | {len(mine)} | {right} | "
                f"{worst} | {int(np.median([d['levels'] for d in mine]))} | "
                f"{np.median(seconds):.2f} | {max(seconds):.1f} |"
            )
    for normal, name in ((True, "Normalised"), (False, "As they are")):
        mine = [d for d in done if d["normal"] == normal]
        right = sum(d["verdict"] == "certified" for d in mine)
        lines += ["", f"{name}: {right} of {len(mine)} certified."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--each", type=int, default=1000)
    given = parser.parse_args()
    done: list[dict[str, Any]] = []
    if given.journal and given.journal.exists():
        done = [json.loads(line) for line in given.journal.read_text().splitlines()]
    known = {(d["ten"], d["normal"], d["jobs"], d["seed"]) for d in done}
    for ten, normal in ROWS:
        for jobs, seeds in SIZES:
            for seed in range(min(seeds, given.each)):
                if (ten, normal, jobs, seed) in known:
                    continue
                done.append(one(ten, normal, jobs, seed))
                print(done[-1], flush=True)
                if given.journal:
                    with given.journal.open("a") as file:
                        file.write(json.dumps(done[-1]) + "\n")
    if given.write:
        given.write.write_text(page(done))


if __name__ == "__main__":
    main()
