"""Every shipped model at every alpha: gap, residual and time; and how wide each solver's proof is.

    python benchmarks/alpha_grid.py [--write docs/results]

Prints one Markdown row per (model, alpha, weighting), then the answers that are not certified.
With --write, writes alpha-grid.md (the worst of each model) and solver-intervals.md (the
intervals proved from each general solver's own answer, before polish).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fairopt as fo
from fairopt.allocation import Allocation

ALPHAS = (0.0, 0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 5.0, 10.0, 50.0, 100.0)
INTERVAL_ALPHAS = (0.5, 1.0, 2.0, 10.0)
SOLVERS = ("clarabel", "ecos", "scs")
SMALL = 60
"""most eligible pairs of a model whose intervals are compared"""


@dataclass(frozen=True)
class Row:
    """One answer."""

    model: str
    alpha: float
    inside: bool
    alloc: Allocation
    seconds: float

    @property
    def error(self) -> float:
        judged = self.alloc.certificate
        assert judged is not None
        return max(judged.gap, judged.residual)

    @property
    def certified(self) -> bool:
        return self.alloc.certificate is not None and self.alloc.certificate.certified

    @property
    def weighting(self) -> str:
        return "inside" if self.inside else "outside"


def weightings(inst: fo.Instance, alpha: float) -> tuple[bool, ...]:
    """Inside and outside, where they differ: not with equal weights, nor at alpha = 1."""
    differs = alpha != 1 and float(np.ptp(inst.weight)) > 0
    return (False, True) if differs else (False,)


def grid() -> list[Row]:
    """Every model at every alpha, printed as it goes."""
    rows = []
    print("| model | alpha | weighting | gap | residual | seconds |\n|---|---|---|---|---|---|")
    for shipped in fo.models():
        inst = fo.read(shipped.name).instance
        if not inst.linear:  # alpha-fairness refuses such demand by name
            continue
        for alpha in ALPHAS:
            for inside in weightings(inst, alpha):
                start = time.perf_counter()
                notion = fo.AlphaFair(alpha, weight_inside=inside)
                alloc = fo.solve(inst, notion, uncertified="return")
                row = Row(shipped.name, alpha, inside, alloc, time.perf_counter() - start)
                rows.append(row)
                judged = alloc.certificate
                print(
                    f"| {row.model} | {alpha:g} | {row.weighting} | {judged.gap:.1e} "
                    f"| {judged.residual:.1e} | {row.seconds:.2f} |",
                    flush=True,
                )
    return rows


def uncertified_lines(rows: list[Row]) -> list[str]:
    """The answers that are not certified, with the users whose share is not pinned."""
    lines = [
        "| model | alpha | weighting | verdict | gap | residual | users not pinned |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        judged = row.alloc.certificate
        if not row.certified:
            lines.append(
                f"| {row.model} | {row.alpha:g} | {row.weighting} | {judged.verdict} "
                f"| {judged.gap:.1e} | {judged.residual:.1e} | {', '.join(judged.undetermined)} |"
            )
    return lines if len(lines) > 2 else ["None: every answer of the grid is certified."]


def grid_page(rows: list[Row]) -> str:
    """The worst of each model."""
    many = sum(row.certified for row in rows)
    worst = max(row.error for row in rows if row.certified)
    wide = sum(row.error > 1e-9 for row in rows)
    lines = [
        "# Every model at every alpha",
        "",
        "Made by `python benchmarks/alpha_grid.py --write docs/results`: alpha in "
        f"{', '.join(f'{a:g}' for a in ALPHAS)}, criterion `tasks`, weights outside, and inside "
        "where that differs.",
        "",
        f"{many} of {len(rows)} answers are certified (gap and residual at most 1e-6); the worst "
        f"of these has {worst:.1e}, and {wide} answers are above 1e-9.",
        "",
        "| model | answers | certified | worst gap | worst residual | slowest (s) |",
        "|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row.model for row in rows):
        own = [row for row in rows if row.model == name]
        gap = max(row.alloc.certificate.gap for row in own)
        residual = max(row.alloc.certificate.residual for row in own)
        good, slowest = sum(row.certified for row in own), max(row.seconds for row in own)
        lines.append(
            f"| {name} | {len(own)} | {good} | {gap:.1e} | {residual:.1e} | {slowest:.1f} |"
        )
    lines += ["", "## Not certified", ""]
    if many < len(rows):
        lines += ["`fairopt solve` ends with exit code 4 on these and names the users.", ""]
    return "\n".join([*lines, *uncertified_lines(rows), ""])


def intervals_page() -> str:
    """How wide the interval of a user's share is, proved from each solver's own answer."""
    lines = [
        "# Three solvers, one answer",
        "",
        "Clarabel, ECOS and SCS each solve a model alone and without polish. From the prices of "
        "each answer an interval is proved in which the share of each user lies at any optimum "
        "(criterion `tasks`, weights outside). Where the true share is the same, the three "
        "intervals of every user overlap. The width is (high - low)/low of the user with the "
        "widest; `inf` means that the answer does not pin every user.",
        "",
        "Made by `python benchmarks/alpha_grid.py --write docs/results`; models of at most "
        f"{SMALL} eligible pairs.",
        "",
        "| model | alpha | " + " | ".join(SOLVERS) + " | overlap |",
        "|---|---|" + "---|" * (len(SOLVERS) + 1),
    ]
    for shipped in fo.models():
        inst = fo.read(shipped.name).instance
        if len(inst.pairs[0]) > SMALL or not inst.linear:
            continue
        for alpha in INTERVAL_ALPHAS:
            widths, spans = [], []
            for solver in SOLVERS:
                try:
                    alloc = fo.solve(
                        inst, fo.AlphaFair(alpha), solver=solver, polish=False, uncertified="return"
                    )
                except fo.FairoptError as error:
                    widths.append(type(error).__name__)
                    continue
                low, high = np.array(alloc.certificate.intervals).T
                with np.errstate(divide="ignore", invalid="ignore"):
                    width = np.nan_to_num((high - low) / low, nan=np.inf, posinf=np.inf)
                spans.append((low, high))
                widths.append(f"{width.max():.1e}" if np.isfinite(width.max()) else "inf")
            lows = np.max([low for low, _ in spans], axis=0)
            highs = np.min([high for _, high in spans], axis=0)
            overlap = "yes" if (lows <= highs * (1 + 1e-12)).all() else "NO"
            lines.append(f"| {shipped.name} | {alpha:g} | {' | '.join(widths)} | {overlap} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", type=Path, help="folder of the two pages")
    folder = parser.parse_args().write
    rows = grid()
    print("\nNot certified:\n\n" + "\n".join(uncertified_lines(rows)))
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "alpha-grid.md").write_text(grid_page(rows), encoding="utf-8")
        (folder / "solver-intervals.md").write_text(intervals_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
