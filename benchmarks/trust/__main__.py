"""Ask thousands of small instances, judge every certified answer against a reference, write a page.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.trust --write docs/results/trust.md

A run that was stopped goes on where it was with --resume: every instance leaves a line in
--journal. Truths are the same whatever the code is: `python -m benchmarks.trust.truths` proves
them, and `--truths` names their file.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from dataclasses import asdict
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import fairopt as fo
from benchmarks.trust import pages
from benchmarks.trust.asking import answer
from benchmarks.trust.draws import FAMILIES, KINDS, Asked, all_asked
from benchmarks.trust.references import fault
from benchmarks.trust.truths import Truths

LONGEST = 30
"""seconds after which an instance counts as crashed"""
EACH = 45
"""instances of every family, kind and decades: 35,505 in all"""


TRUTHS = Truths()
"""of this process; those that `--truths` names are read once"""


class TooLong(BaseException):
    """Not an Exception, so that no rung of a ladder takes it for a failure of its own."""


@contextmanager
def limited(seconds: int) -> Any:
    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(asked: Asked) -> dict[str, Any]:
    """right, wrong, refused or crashed, with a word where not right; seconds to the answer."""
    inst, notion = asked.drawn()
    start, found, word, by = time.perf_counter(), "right", "", ""
    try:
        with warnings.catch_warnings(), limited(LONGEST):
            warnings.simplefilter("error", RuntimeWarning)
            alloc = answer(asked.family, inst, notion, asked.seed)
    except fo.NotCertified as refused:
        found, word = "refused", str(refused).split(";")[0]
    except TooLong:
        found, word = "crashed", f"no answer in {LONGEST} s"
    except Exception as error:
        said = " ".join(str(error).split())
        found, word = "crashed", f"{type(error).__name__}: {said[:120]}"
    took = time.perf_counter() - start
    if found == "right":
        with warnings.catch_warnings(), suppress(TooLong), limited(LONGEST):
            warnings.simplefilter("ignore")
            word, by = fault(inst, notion, alloc, asked.seed, TRUTHS, asked.key)
        found = "wrong" if word else "right"
    told = {"outcome": found, "word": word, "reference": by, "seconds": round(took, 4)}
    return {**asdict(asked), **told}


def read(journal: Path) -> list[dict[str, Any]]:
    """The outcomes written so far; a line cut short is left out, and asked again."""
    rows = []
    for line in journal.read_text(encoding="utf-8").splitlines() if journal.exists() else ():
        with suppress(json.JSONDecodeError):
            rows.append(json.loads(line))
    return rows


def begin(kept: Path | None) -> None:
    """A process of the campaign begins: truths that are known, or none."""
    global TRUTHS
    TRUTHS = Truths(kept)


def run(
    asked: Iterable[Asked], journal: Path, workers: int, kept: Path | None = None
) -> list[dict[str, Any]]:
    """Outcomes of all that is asked, those of the journal not asked again."""
    wanted = {one.key: one for one in asked}
    rows = {Asked(r["family"], r["kind"], r["decades"], r["seed"]).key: r for r in read(journal)}
    left = [one for key, one in wanted.items() if key not in rows]
    with journal.open("a", encoding="utf-8") as out, Pool(workers, begin, (kept,)) as pool:
        for row in pool.imap(outcome, left, chunksize=8):
            rows[Asked(row["family"], row["kind"], row["decades"], row["seed"]).key] = row
            out.write(json.dumps(row) + "\n")
            out.flush()
            if row["outcome"] in ("wrong", "crashed"):
                print(json.dumps(row), file=sys.stderr)
    return [rows[key] for key in wanted]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust", description=__doc__)
    parser.add_argument("--each", type=int, default=EACH, help="instances of every cell")
    parser.add_argument("--only", nargs="+", help="families (beginnings of their names)")
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--decades", nargs="+", type=int, choices=(0, 6, 12), default=(0, 6, 12))
    parser.add_argument("--seed", type=int, help="this seed alone, the instance and answer shown")
    parser.add_argument("-j", type=int, default=1, help="processes")
    parser.add_argument("--journal", type=Path, default=Path("trust.jsonl"))
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on where the journal ends; else it must not be there",
    )
    parser.add_argument("--truths", type=Path, help="proved optima, kept for later campaigns")
    parser.add_argument("--write", type=Path, help="the page")
    given = parser.parse_args(arguments)
    asked = [
        one
        for one in all_asked(given.each if given.seed is None else given.seed + 1)
        if (not given.only or one.family.startswith(tuple(given.only)))
        and one.kind in given.kind
        and one.decades in given.decades
        and given.seed in (None, one.seed)
    ]
    if not asked:
        parser.error(f"--only: found {given.only}; wanted beginnings of {', '.join(FAMILIES)}")
    if given.seed is not None:
        for one in asked:
            inst, notion = one.drawn()
            print(
                notion,
                *(
                    f"{k} = {v.tolist()!r}"
                    for k, v in inst._fields().items()
                    if hasattr(v, "tolist")
                ),
                sep="\n",
            )
            print(outcome(one))
        return 0
    if given.journal.exists() and not given.resume:
        parser.error(f"--journal: found {given.journal}; wanted --resume, or no such file")
    rows = run(asked, given.journal, given.j, given.truths)
    print(dict(Counter(row["outcome"] for row in rows)))
    if given.write:
        given.write.write_text(pages.page(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
