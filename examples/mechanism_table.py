"""Regenerate docs/results/mechanisms.md and models/counterexamples: Table I, extended.

    python examples/mechanism_table.py --lies 10000 -j 2 --work survey

The surveys of the mechanisms run apart and are kept in the folder --work, so that an interrupted
run goes on where it was. The same seed gives the same page.
"""

from __future__ import annotations

import argparse
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from fairopt import mechanisms
from fairopt.mechanisms import counterexamples, page

ROOT = Path(__file__).resolve().parent.parent


def surveyed(mechanism: mechanisms.Mechanism, trials: int, lies: int, seed: int, work: str) -> Any:
    """The survey of one mechanism, from the folder if it is there for these very numbers."""
    plain = "".join(c if c.isalnum() else "-" for c in mechanism.label)
    kept = Path(work) / f"{plain}-{trials}-{lies}-{seed}.pickle"
    if work and kept.exists():
        return pickle.loads(kept.read_bytes())
    cells = mechanisms.survey(mechanism, trials, lies, seed)
    if work:
        kept.write_bytes(pickle.dumps(cells))
    print(f"{mechanism.label} done", flush=True)
    return cells


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100, help="instances for an allocation")
    parser.add_argument("--lies", type=int, default=10_000, help="against strategy-proofness")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes")
    parser.add_argument("--work", default="", help="folder that keeps the surveys")
    parser.add_argument("--only", action="append", help="label of a mechanism; several times")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/results/mechanisms.md")
    parser.add_argument("--models", type=Path, default=ROOT / "models/counterexamples")
    a = parser.parse_args(given)
    rows = [m for m in mechanisms.MECHANISMS if not a.only or m.label in a.only]
    for folder in (a.models, *([Path(a.work)] if a.work else [])):
        folder.mkdir(parents=True, exist_ok=True)
    one = partial(surveyed, trials=a.trials, lies=a.lies, seed=a.seed, work=a.work)
    if a.jobs > 1:
        with ProcessPoolExecutor(a.jobs) as pool:
            cells = list(pool.map(one, rows))
    else:
        cells = [one(m) for m in rows]
    table = {m.label: (m, found) for m, found in zip(rows, cells, strict=True)}
    found = counterexamples.examples(table)
    counterexamples.save(found, a.models)
    command = f"--trials {a.trials} --lies {a.lies} --seed {a.seed}"
    how = (
        f"`python examples/mechanism_table.py {command}`: {a.trials} instances for each\n"
        f"property of an allocation, {a.lies} lies for each mechanism that none of them cheats."
    )
    a.page.write_text(page.text(table, found, how), encoding="utf-8")


if __name__ == "__main__":
    main()
