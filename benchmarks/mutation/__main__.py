"""Mutation run over the judges: is every change of fairopt/certificates/ seen by a test?

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.mutation --write docs/results/mutation.md
    OPENBLAS_NUM_THREADS=1 python -m benchmarks.mutation --only meant ruled --sample 40

draws a seeded sample of small changes (`changes`), makes each in a copy of the package and runs the
tests of that module (`running`) until one fails. A change that no test notices survives;
survivors.toml says of survivors why they change nothing. A run that was stopped goes on where it
was: every mutant leaves a line in --journal, and what the tests take beside it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

# what the tests load, loaded before the first fork; fairopt itself is loaded in the fork
import cvxpy  # noqa: F401
import scipy.optimize
import scipy.sparse.linalg  # noqa: F401

from benchmarks.mutation.changes import ROOT, sample
from benchmarks.mutation.running import killed, watched

JUDGE = (
    "asked_users",
    "asking",
    "bound",
    "compiled",
    "decimals",
    "dense",
    "digits",
    "bounds",
    "enclosed",
    "enclosed_groups",
    "enclosed_levels",
    "enclosed_lines",
    "enclosed_prices",
    "enclosed_products",
    "enclosed_search",
    "exact_floors",
    "exact_case",
    "exact_parts",
    "exact_search",
    "exact_tree",
    "exact_verdict",
    "filled",
    "filled_loop",
    "filled_rows",
    "follows",
    "groups_claim",
    "in_passes",
    "losses",
    "one_price",
    "partitioned",
    "partitions",
    "places",
    "pooled",
    "question",
    "rounds",
    "rounds_proof",
    "rounds_verdict",
    "search_prices",
    "search_tasks",
    "strict",
    "tasks_claim",
)
"""what the theorem stands on, and what is proved of rounds of max-min, in fractions: the
modules that are changed if no other is named"""


def key(mutant: dict[str, object]) -> str:
    """The name of a mutant in the journal."""
    return "{module}:{line}: {before} -> {after}".format(**mutant)


def page(rows: list[dict[str, object]], options: str) -> str:
    """Markdown: how many of each module, and every survivor with its word."""
    words = tomllib.loads(Path(__file__).with_name("survivors.toml").read_text(encoding="utf-8"))
    tried = Counter(row["module"] for row in rows)
    lived = [row for row in rows if not row["killed"]]
    left = Counter(row["module"] for row in lived)
    lines = [
        "# Mutation run over the judges\n\n",
        f"{len(rows)} small changes of `fairopt/certificates/`, drawn by a seed, each "
        "made alone: a\ncomparison turned, a number made 100 times as large, a sign or product "
        "turned, a term or bound\nleft out, a condition negated. Made by\n\n```sh\n"
        f"OPENBLAS_NUM_THREADS=1 python -m benchmarks.mutation {options} "
        "--write docs/results/mutation.md\n```\n\n",
        f"{len(rows) - len(lived)} fail a test, {len(lived)} survive.\n\n",
        "| module | tried | survive |\n|---|---:|---:|\n",
        *(f"| {module} | {tried[module]} | {left[module]} |\n" for module in sorted(tried)),
        "\n## Survivors\n\nA change of a guess, of a search or of a shortcut can make no verdict "
        "wrong: any prices prove a\nbound. Each survivor, and why no test sees it:\n\n",
    ]
    for row in sorted(lived, key=lambda row: (str(row["module"]), int(str(row["line"])))):
        module, line = row["module"], row["line"]
        text = f"{row['before']} -> {row['after']}"
        why = words.get(str(module), {}).get(text, "not explained")
        lines.append(f"- `{module}` line {line}: `{text}`: {why}\n")
    return "".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="how many changes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=list(JUDGE), help="modules, rooms, or all")
    parser.add_argument("--journal", type=Path, default=Path("mutation.jsonl"))
    parser.add_argument("--write", type=Path, help="the page")
    given = parser.parse_args(arguments)
    given.only = [] if given.only == ["all"] else given.only
    done: dict[str, dict[str, object]] = {}
    if given.journal.exists():
        for line in given.journal.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            done[key(row)] = row
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        where = Path(temporary).resolve()
        for name in ("fairopt", "tests", "benchmarks", "models", "pyproject.toml"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, where / name)
        drawn = sample(given.sample, given.seed, given.only)
        kept = given.journal.with_suffix(".tests.json").resolve()
        known = watched(sorted({str(mutant["module"]) for mutant in drawn}), where, kept)
        known.failed.update(str(row["killed"]) for row in done.values() if row["killed"])
        for mutant in drawn:
            if key(mutant) not in done:
                row = {**mutant, "killed": killed(mutant, known, where)}
                del row["source"]
                known.failed[str(row["killed"])] += 1
                done[key(mutant)] = row
                with given.journal.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")
                if not row["killed"]:
                    print("survives:", key(row), flush=True)
            rows.append(done[key(mutant)])
    print(f"{len(rows)} tried, {sum(not row['killed'] for row in rows)} survive")
    if given.write:
        only = f" --only {' '.join(given.only or ['all'])}"
        only = "" if given.only == list(JUDGE) else only
        options = f"--sample {given.sample} --seed {given.seed}{only}"
        given.write.write_text(page(rows, options), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
