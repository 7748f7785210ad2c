"""Whole tasks on random clusters and on machine shapes of a public trace: short, proved, seconds.

`python -m benchmarks.whole` prints the table of docs/results/whole.md. The machine shapes are
those of the Google cluster-usage trace of May 2011 (J. Wilkes and C. Reiss, CC-BY 4.0), counted as
in Reiss et al., SoCC 2012, Table 1; users are made up, as the trace has none that may be shipped.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.whole.draws import drawn, google
from fairopt.whole.asking import searched
from fairopt.whole.proof.answer import Asked
from fairopt.whole.proof.judging import judge


def told(name: str, asked: Asked, seconds: float, fewest: bool) -> tuple[bool, bool]:
    """Print a row of the table; whether the fewest short, and all levels, are proved."""
    begun = time.perf_counter()
    found = searched(asked, seconds=seconds, fewest=fewest)
    taken = time.perf_counter() - begun
    begun = time.perf_counter()
    verdict = judge(found)
    judged = time.perf_counter() - begun
    want = sum(asked.problem.whole)
    print(
        f"| {name} | {want:,} | {verdict.short} | {verdict.least} | "
        f"{float(min(found.parts())):.4f} | {taken:.1f} | {judged:.2f} |",
        flush=True,
    )
    return verdict.short == verdict.least, verdict.proved


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    print("| what | want | short | least proved | worst part | seconds | judge |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    told("google2011, fewest short", google(), given.seconds, True)
    told("google2011, levels", google(), given.seconds, False)
    told("google2011 times 8, fewest short", google(times=8), given.seconds, True)
    rows = [
        (
            told(f"random {k}", drawn(k), given.seconds, True)[0],
            told(f"random {k}, levels", drawn(k), given.seconds, False)[1],
        )
        for k in range(given.clusters)
    ]
    short, levels = (sum(row[k] for row in rows) for k in range(2))
    print(f"fewest short proved in {short} of {len(rows)}, all levels in {levels}")


if __name__ == "__main__":
    main()
