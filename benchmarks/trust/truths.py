"""Proved optima of the campaign's alpha-fair instances, computed once and kept in a file.

    python -m benchmarks.trust.truths --each 45 --kept truths.jsonl

goes on where it was. A truth depends on its instance alone (`tests/oracles/optimum.py`), so that
every later campaign, whatever the code, is held against the same.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.trust.draws import Asked, all_asked
from fairopt import criteria
from fairopt.notions import Notion
from tests.oracles import by_class
from tests.oracles.optimum import optimum
from tests.oracles.rows import of_instance


class Truths:
    """Shares (N,) of every optimum, by key; those of a file are not computed again."""

    def __init__(self, kept: Path | None = None) -> None:
        self.kept = kept
        self.known: dict[str, dict[str, Any]] = {}
        if kept is not None and kept.exists():
            for line in kept.read_text(encoding="utf-8").splitlines():
                with suppress(json.JSONDecodeError):
                    row = json.loads(line)
                    self.known[row["key"]] = row

    def share(
        self, key: str, inst: fo.Instance, notion: Notion, hint: np.ndarray | None = None
    ) -> np.ndarray | None:
        """The shares; None where none were proved. hint: tasks (N, I), not believed."""
        row, digest = self.known.get(key), inst.digest()[:16]
        if row is None or row["digest"] != digest or (row["share"] is None and hint is not None):
            row = {"key": key, "digest": digest, "share": computed(inst, notion, hint)}
            self.known[key] = row
            if self.kept is not None:
                with self.kept.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")
        return None if row["share"] is None else np.array(row["share"])


def computed(inst: fo.Instance, notion: Notion, hint: np.ndarray | None) -> list[float] | None:
    """A proved optimum, or None: also where its digits ran out."""
    score, alpha, inside = (
        criteria.score(inst, notion.criterion),
        notion.alpha,
        notion.weight_inside,
    )
    try:
        if by_class.ranks(inst).any():
            share = by_class.shares(inst, score, alpha, inside, notion.over)
        else:
            found = optimum(of_instance(inst, score, notion.over), alpha, inside, hint)
            share = None if found is None else found.share
    except ArithmeticError:
        share = None
    return None if share is None else share.tolist()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust.truths", description=__doc__)
    parser.add_argument("--each", type=int, default=45, help="instances of every cell")
    parser.add_argument("--kept", type=Path, default=Path("truths.jsonl"))
    given = parser.parse_args(arguments)
    truths, found = Truths(given.kept), 0
    asked = [one for one in all_asked(given.each) if one.family.startswith("alpha-fair")]
    for one in asked:
        found += _of(truths, one) is not None
    print(f"{found} of {len(asked)} proved")
    return 0


def _of(truths: Truths, one: Asked) -> np.ndarray | None:
    if one.key in truths.known:  # drawing it takes as long as many a truth
        return truths.known[one.key]["share"]
    inst, notion = one.drawn()
    return truths.share(one.key, inst, notion)


if __name__ == "__main__":
    sys.exit(main())
