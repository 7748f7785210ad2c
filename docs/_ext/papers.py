"""The tables of docs/papers: the cases of the models solved now, and the statements as tried.

    python docs/_ext/papers.py

writes them between their marks. A test says when they are stale.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fairopt as fo
from fairopt import notions
from fairopt.propositions import PROPOSITIONS

DOCS = Path(__file__).parents[1]
PAPERS = ("kesidis2016", "kesidis2018", "khamse2016", "bonald2015")
QUANTITIES = ("objective", "totals", "shares", "levels", "tasks", "dominant_shares")
BEGIN, END = "<!-- {}: made by `python docs/_ext/papers.py` -->", "<!-- end of {} -->"


def number(value: float) -> str:
    """Six digits at most; a zero has no sign."""
    return f"{value + 0.0:.6g}" if abs(value) > 1e-9 else "0"


def flat(given: Any) -> list[float]:
    """The numbers of a nested table, in its order."""
    if isinstance(given, dict):
        return [value for inner in given.values() for value in flat(inner)]
    return [float(given)]


def shown(given: Any) -> str:
    """Numbers, users apart by semicolons where each has several."""
    if isinstance(given, dict) and any(isinstance(inner, dict) for inner in given.values()):
        return "; ".join(", ".join(map(number, flat(inner))) for inner in given.values())
    return ", ".join(map(number, flat(given)))


def found(answer: fo.Allocation, key: str, given: Any) -> Any:
    """Our value of a quantity, in the form of the one given."""
    inst = answer.instance
    if key == "objective":
        return answer.objective
    if key in ("totals", "shares", "levels"):
        values = dict(zip(inst.users, getattr(answer, key), strict=True))
        return {user: values[user] for user in given}
    table = answer.tasks
    if key == "dominant_shares":
        table = table * fo.criteria.score(inst, "dominant-share")
    return {
        user: {server: table[inst.users.index(user), inst.servers.index(server)] for server in row}
        for user, row in given.items()
    }


def solved(model: Any, case: Any) -> fo.Allocation:
    if case.kind == "scheduler":
        return fo.fill(model.instance, case.name, seed=0, **case.parameters)
    return fo.solve(model.instance, notions.make(case.name, **case.parameters))


def case_rows(paper: str) -> list[str]:
    """One row for each quantity that a case of a model of this paper states."""
    rows = []
    for entry in fo.models():
        if not entry.name.startswith(f"{paper}/"):
            continue
        model = fo.read(entry.name)
        for case in model.cases:
            keys = [k for k in QUANTITIES if k in case.expect or k in case.printed]
            if not keys or case.kind not in ("notion", "scheduler"):
                continue
            answer = solved(model, case)
            verdict = fo.certify(answer).verdict
            settings = ", ".join(map(str, case.parameters.values()))
            name = f"`{case.name}`" + (f" ({settings})" if settings else "")
            for key in keys:
                printed = case.printed.get(key)
                wanted = case.expect.get(key, printed)
                ours = shown(found(answer, key, wanted))
                if key not in case.expect and key in ("tasks", "dominant_shares"):
                    ours = "totals are unique, the split is not"
                why = (case.printed if printed is not None else case.expect).get("why", "")
                if printed is not None:
                    said = shown(printed)
                    note = f"**printed otherwise**: {why}"
                else:
                    said = shown(wanted)
                    note = case.expect.get("source", "") or why
                words = key.replace("_", " ")
                if verdict != "certified":
                    note = f"{verdict}. {note}"
                example = f"{model.name.removeprefix(paper + '/')}: {name}"
                cells = (example, words, said, ours, note)
                rows.append("| " + " | ".join(cells) + " |")
    return rows


def statement_rows(paper: str) -> list[str]:
    """One row for each statement, with what the stored run of all propositions says of it."""
    text = (DOCS / "results" / "propositions.md").read_text(encoding="utf-8")
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if "/" in line]
    tried = {row[0]: (row[2], row[5]) for row in cells if len(row) == 6}
    without = _without(text)
    rows = []
    for name, statement in PROPOSITIONS.items():
        if not name.startswith(f"{paper}/"):
            continue
        given = ", ".join(
            hypothesis.name + without.get((name, hypothesis.name), "")
            for hypothesis in statement.hypotheses
        )
        held, verdict = tried.get(name, ("-", "not in the stored run"))
        place = statement.source.removeprefix(f"{paper} ")
        words = statement.words.replace("|", "\\|")
        short = name.removeprefix(f"{paper}/")
        rows.append(f"| `{short}` | {place} | {words} | {given or '-'} | {held} | {verdict} |")
    return rows


def _without(text: str) -> dict[tuple[str, str], str]:
    """(statement, hypothesis) -> in how many trials it failed without the hypothesis."""
    found, name = {}, ""
    for line in text.splitlines():
        row = line.strip("| ").split(" | ")
        if "/" in row[0] and len(row) == 6:
            name = row[0]
        elif row[0].startswith("without ") and row[-1].startswith("needed"):
            found[name, row[0].removeprefix("without ")] = " (**fails without**)"
    return found


def tables(paper: str) -> dict[str, str]:
    """mark -> table."""
    cases = [
        "| example: solved as | quantity | in the source | ours | note |",
        "|---|---|---|---|---|",
        *case_rows(paper),
    ]
    statements = [
        "| statement | place | in words | given | held | outcome |",
        "|---|---|---|---|---|---|",
        *statement_rows(paper),
    ]
    return {"cases": "\n".join(cases), "statements": "\n".join(statements)}


def filled(text: str, paper: str) -> str:
    """The page with its tables made anew."""
    for mark, table in tables(paper).items():
        begin, end = BEGIN.format(mark), END.format(mark)
        before, rest = text.split(begin)
        after = rest.split(end)[1]
        text = f"{before}{begin}\n\n{table}\n\n{end}{after}"
    return text


if __name__ == "__main__":
    for paper in PAPERS:
        page = DOCS / "papers" / f"{paper}.md"
        page.write_text(filled(page.read_text(encoding="utf-8"), paper), encoding="utf-8")
