"""Numbers that the front page quotes, read from the pages of measurements, so that they agree."""

from __future__ import annotations

import re
from pathlib import Path

from fairopt.notions import NOTIONS

RESULTS = Path(__file__).parents[1] / "results"
FACTS = {
    "trust_tried": ("trust.md", r"^([\d,]+) small instances"),
    "statements": ("propositions.md", r"^- (\d+) statements"),
    "refuted": ("propositions.md", r"statements; (\d+) refuted"),
    "alpha_certified": ("alpha-grid.md", r"^(\d+) of \d+ answers are certified"),
    "main_ratio": ("engine-speed.md", r"^\| main \|.*\| (\d+) \| \d+ \|$"),
}
"""name -> page and where the number stands in it"""


def facts() -> dict[str, str]:
    """name -> number as the page has it; a page that no longer says it is an error."""
    found = {}
    for name, (page, pattern) in FACTS.items():
        match = re.search(pattern, (RESULTS / page).read_text(encoding="utf-8"), flags=re.M)
        if match is None:
            raise LookupError(f"docs/results/{page} does not say {name} ({pattern})")
        found[name] = match[1]
    found["counterexamples"] = str(
        sum(
            not p.stem.endswith(("-lied", "-grown", "-left", "-scaled"))
            for p in (Path(__file__).parents[2] / "models" / "counterexamples").glob("*.toml")
        )
    )
    return found


COLUMNS = {
    "SI": "sharing-incentive",
    "PSI": "pool-sharing-incentive",
    "EF": "envy-free",
    "PO": "pareto-optimal",
    "POR": "pareto-optimal",
    "BF": "bottleneck-fair",
    "SRF": "single-resource-fair",
    "SBF": "single-bottleneck-fair",
    "NJC": "no-justified-complaints",
    "SP": "strategy-proof",
    "SC": "scale-invariant",
    "RM": "resource-monotone",
    "PM": "population-monotone",
}
"""column of the table of mechanisms -> the model family of its counterexamples"""


def mechanisms() -> str:
    """The table of mechanisms and properties, each no a link to its counterexample."""
    text = (RESULTS / "mechanisms.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*) \|$", text, flags=re.M)
    head = rows[0].split(" | ")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows[2:]:
        name, *marks = row.split(" | ")
        page = name.strip("`").partition(" ")[0]
        if page not in NOTIONS or len(marks) != len(head) - 1:
            break  # another table
        cells = [f"[{name}](../notions/{page}.md)"]
        for column, mark in zip(head[1:], marks, strict=True):
            number = re.fullmatch(r"\*\*no\*\* (\d+)", mark)
            link = f"../results/mechanisms.md#{COLUMNS[column]}-{number[1]}" if number else ""
            cells.append(f"[no]({link})" if link else {"yes": "·"}.get(mark, mark))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
