"""The table and the sliders of "How long for my size?", from the figures below docs/results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results"
FILES = ("engine-speed", "growth", "placement", "lexicographic-speed")
SHORT = ("engine-speed", "growth")
"""what the table shows; the sliders know all files"""
CLOSE = 1e-5
"""a residual up to which an answer of another solver is called close"""

SCRIPT = """```{raw} html
<form id="size" oninput="nearest()" onsubmit="return false">
<p><label>Users <input type="range" name="users" min="0" max="6" step="0.05" value="3"></label>
<output name="users_said"></output></p>
<p><label>Servers
<input type="range" name="servers" min="0" max="4.1" step="0.05" value="2"></label>
<output name="servers_said"></output></p>
</form>
<table id="near"><caption>The nearest measured clusters</caption>
<thead><tr><th>users</th><th>servers</th><th>question</th><th>seconds</th><th>peak MB</th></tr>
</thead>
<tbody aria-live="polite"></tbody></table>
<noscript><p>Without scripts the table below has the same figures.</p></noscript>
<script>
const MEASURED = DATA;
function nearest() {
  const form = document.getElementById("size").elements, said = new Intl.NumberFormat("en");
  const users = form.users.value, servers = form.servers.value;
  form.users_said.value = said.format(Number((10 ** users).toPrecision(2)));
  form.servers_said.value = said.format(Number((10 ** servers).toPrecision(2)));
  const far = row => Math.abs(Math.log10(row[0]) - users) + Math.abs(Math.log10(row[1]) - servers);
  const rows = [...MEASURED].sort((a, b) => far(a) - far(b)).slice(0, 4);
  const body = document.querySelector("#near tbody");
  body.replaceChildren(...rows.map(row => {
    const line = document.createElement("tr");
    row.forEach((cell, i) => {
      const text = i == 2 ? cell : i == 3 ? cell.toPrecision(2) : said.format(cell);
      line.insertCell().textContent = text;
    });
    return line;
  }));
}
nearest();
</script>
```"""


def _ours(case: dict[str, Any]) -> dict[str, Any] | None:
    row = next(side for side in case["sides"] if side["side"] == "fairopt")
    return row if row.get("verdict") == "certified" and "wall" in row else None


def _beside(case: dict[str, Any], seconds: float) -> str:
    """The fastest of the others whose answer is close."""
    close = [
        (side["wall"], side["side"])
        for side in case["sides"]
        if side["side"].startswith(("cvxpy", "HiGHS"))
        and "wall" in side
        and side.get("residual", 1) <= CLOSE
    ]
    if not close:
        return "-"
    wall, name = min(close)
    return f"{wall / seconds:.2g} ({name})"


def measured(files: tuple[str, ...] = FILES) -> list[tuple[Any, ...]]:
    """Users, servers, question, seconds, MB, pairs and what stands beside, by pairs."""
    rows = []
    for name in files:
        for case in json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["cases"]:
            ours = _ours(case)
            if ours is None or "busy" in case:
                continue
            rows.append(
                (
                    case["users"],
                    case["servers"],
                    case["words"].replace("proportional fairness, ", ""),
                    ours["wall"],
                    round(ours.get("peak", 0)),
                    case["pairs"],
                    _beside(case, ours["wall"]),
                )
            )
    return sorted(rows, key=lambda row: (row[5], row[3]))


def sizes() -> str:
    """Sliders and table, as Markdown."""
    data = json.dumps([row[:5] for row in measured()])
    lines = [
        "| users | servers | pairs | question | seconds | times ours | peak MB |",
        "|---:|---:|---:|---|---:|---|---:|",
    ]
    for users, servers, words, seconds, peak, pairs, beside in measured(SHORT):
        cells = (f"{users:,}", f"{servers:,}", f"{pairs:,}", words, f"{seconds:.2g}", beside)
        lines.append("| " + " | ".join((*cells, f"{peak:,}")) + " |")
    return SCRIPT.replace("DATA", data) + "\n\n" + "\n".join(lines)
