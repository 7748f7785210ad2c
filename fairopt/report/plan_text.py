"""A plan as text: queues, what becomes of each workload, the shapes, and what was set aside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from fairopt.connect.plan.status import BLOCKED, FRAGMENTED, SATISFIED, STUCK
from fairopt.files.quantities import short
from fairopt.report.folding import folded_table
from fairopt.report.tables import ROWS, table_text
from fairopt.report.words import count as counted
from fairopt.report.words import folded, number

_FIRST = (STUCK, FRAGMENTED, BLOCKED, SATISFIED)
"""order in which workloads are told: those with the most to complain of first"""


def plan_text(plan: Mapping[str, Any], rows: int = ROWS) -> str:
    """A plan (fairopt/plan/v1) as text of 100 columns, without colour.

    Parameters
    ----------
    rows : most rows of each table.
    """
    parts = [
        head(plan),
        _queues(plan, rows),
        _workloads(plan, rows),
        _shapes(plan, rows),
        "\n".join(aside(plan)),
        _frontier(plan.get("stay", {}).get("frontier", ())),
        _verdict(plan),
    ]
    return "\n\n".join(part for part in parts if part)


def head(plan: Mapping[str, Any]) -> str:
    """The notion, and how many queues, workloads and nodes there are."""
    nodes = sum(row["count"] for row in plan["shapes"])
    out = f", {len(plan['out'])} out of service" if plan["out"] else ""
    notion = plan["answer"]["notion"]
    return folded(
        f"{notion['name']}: {counted(len(plan['queues']), 'queue')}, "
        f"{counted(len(plan['workloads']), 'workload')}, {counted(nodes, 'node')} in service of "
        f"{counted(len(plan['shapes']), 'shape')}{out}"
    )


def _amount(value: float | None) -> str:
    return "any" if value is None else number(value)


def _queues(plan: Mapping[str, Any], most: int) -> str:
    could = any(row.get("could_hold") is not None for row in plan["queues"])
    columns = [
        "queue",
        "weight",
        "asked",
        "held",
        "due",
        *(["could hold"] if could else []),
        "whole",
        "due - held",
    ]
    rows = [
        [
            row["queue"],
            number(row["weight"]),
            _amount(row["asked"]),
            number(row["held"]),
            number(row["due"]),
            *([_could(row)] if could else []),
            number(row["whole"]),
            difference(row["difference"]),
        ]
        for row in plan["queues"]
    ]
    return folded_table(columns, rows, most, (0, len(columns) - 1), [len(columns) - 1])


def _could(row: Mapping[str, Any]) -> str:
    return "" if row["could_hold"] is None else number(row["could_hold"]["tasks"])


def difference(amounts: Mapping[str, float]) -> str:
    """What a queue is due above what it holds, by resource."""
    words = [
        f"{'+' if x > 0 else '-'}{short(key, abs(x))} {key}"
        for key, x in amounts.items()
        if key != "pods" and abs(x) >= 5e-4
    ]
    return ", ".join(words) or "none"


def _workloads(plan: Mapping[str, Any], most: int) -> str:
    order = sorted(plan["workloads"], key=lambda row: _FIRST.index(row["status"]))
    told = [row for row in order if row["status"] != SATISFIED]
    fine = len(order) - len(told)
    # sentences are not cut: their end is what the reader needs
    lines = [f"{row['workload']}: {row['says']}" for row in told[:most]]
    if len(told) > most:
        lines.append(f"... {len(told) - most} more")
    if fine:
        lines.append(f"{counted(fine, 'workload')} satisfied")
    touched = [
        folded(f"{name}: not modelled, {row['what']} ({counted(many, row.get('noun', 'pod'))})")
        for row in plan["not_modelled"]
        for name, many in row.get("workloads", {}).items()
    ]
    lines += sorted(touched)[:most]
    if len(touched) > most:
        lines.append(f"... {len(touched) - most} more bound by what is not modelled")
    return "\n".join(lines)


def _shapes(plan: Mapping[str, Any], most: int) -> str:
    columns = ["shape", "nodes", "use (price of all of it)", "stranded"]
    rows = []
    for row in plan["shapes"]:
        use = [
            f"{key} {100 * part:.0f}%" + _price(row, key)
            for key, part in row["use"].items()
            if float(_float(row["capacity"].get(key, "0"))) > 0
        ]
        rows.append([row["shape"], number(row["count"]), ", ".join(use), stranded(row)])
    return folded_table(columns, rows, most, (0, 2, 3), [2, 3])


def stranded(row: Mapping[str, Any]) -> str:
    """What whole tasks leave idle on a shape that no waiting task can use."""
    lost = [f"{short(key, x)} {key}" for key, x in _floats(row["stranded"]) if x and key != "pods"]
    return ", ".join(lost) or "none"


def _price(row: Mapping[str, Any], key: str) -> str:
    """The price of all of a resource on the shape, as a part of all money; empty where it is 0."""
    money = row["price"][key] * row["count"] * _float(row["capacity"].get(key, "0"))
    return f" ({money:.2g})" if money > 5e-7 else ""


def _float(text: str) -> float:
    top, _, bottom = text.partition("/")
    return float(top) / float(bottom or 1)


def _floats(amounts: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    for key, text in amounts.items():
        yield key, _float(text)


def aside(plan: Mapping[str, Any]) -> Iterator[str]:
    """What was set aside, a line for each reason."""
    yield from _other_mixes(plan)
    out: dict[str, list[str]] = {}
    for row in plan["out"]:
        named = f": {_few(row['pods'])}" if row.get("pods") else ""
        held = f" (holds {counted(row['held'], 'pod')}{named})" if row["held"] else ""
        out.setdefault(row["why"], []).append(row["node"] + held)
    for why, names in out.items():
        yield folded(f"out of service, {why}: {_few(names)}")
    fixed: dict[str, int] = {}
    for row in plan["undivided"]:
        fixed[row["why"]] = fixed.get(row["why"], 0) + 1
    if fixed:
        words = ", ".join(f"{counted(k, 'pod')} ({why})" for why, k in sorted(fixed.items()))
        yield folded(f"taken off the nodes first: {words}")
    for row in plan["quotas"]:
        if row["above"]:
            most, there = [short(row["resource"], _float(row[key])) for key in ("most", "there")]
            has = f"but the nodes in service have {there}"
            yield folded(f"quota {row['queue']}/{row['quota']}: {most} {row['resource']}, {has}")
    if plan["quotas"]:
        yield f"{counted(len(plan['quotas']), 'quota')} read; the plan does not keep to them"
    if not plan["nested"]:
        yield "many workloads: the weight of a queue is divided among its workloads, not its part"
    if plan["overfull"]:
        yield folded(f"nodes whose own pods ask for more than they have: {_few(plan['overfull'])}")
    for words in plan.get("kueue", {}).get("notes", ()):
        yield folded(words)
    borrowing = [row for row in plan.get("kueue", {}).get("shares", ()) if row["borrowing"]]
    if borrowing:
        told = [
            f"{row['name']} {'infinite' if row['shown'] is None else row['shown']}"
            for row in borrowing
        ]
        yield folded(f"Kueue's own share, 0 for the others: {_few(told)}")
    for row in plan["not_modelled"]:
        if not row.get("workloads"):
            many = counted(row["pods"], row.get("noun", "pod"))
            yield folded(f"not modelled, {row['what']}: {many}, {_few(row['names'])}")


def shares_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Kueue's own share of queues and cohorts, where there is nothing to divide."""
    known = any(row["ratio"] is not None for row in rows)
    told = [
        [
            row["name"],
            row["kind"],
            number(row["weight"]),
            "unknown" if not known else "infinite" if row["shown"] is None else str(row["shown"]),
            row["resource"] or "-",
            ("yes" if row["borrowing"] else "no") if known else "unknown",
        ]
        for row in rows
    ]
    columns = ["name", "kind", "weight", "Kueue's share", "resource", "borrows"]
    why = "" if known else ": no ClusterQueue has a status, and no Workload is admitted"
    head = f"nothing runs or waits in these files, so that nobody is due anything{why}"
    return f"{folded(head)}\n\n{table_text(columns, told, 0, (0, 1, 4, 5))}"


def _other_mixes(plan: Mapping[str, Any]) -> Iterator[str]:
    """Why a queue could hold fewer tasks than it holds: others, that are worth more."""
    for row in plan["queues"]:
        could = row.get("could_hold")
        if could is None or "mix" not in could or could["tasks"] >= row["held"] * (1 - 1e-6):
            continue
        own = [work for work in plan["workloads"] if work["queue"] == row["queue"]]
        other = [
            f"{work['workload']} {number(could['mix'].get(work['workload'], 0.0))} "
            f"against {work['held'] - work['held_out']}"
            for work in own
            if abs(could["mix"].get(work["workload"], 0.0) - work["held"] + work["held_out"]) > 1e-6
        ]
        out = sum(work["held_out"] for work in own)
        away = f"{counted(out, 'task')} held out of service" if out else ""
        mix = f"a mix of the largest share: {_few(other)}" if other else ""
        words = "; ".join(part for part in (away, mix) if part)
        told = f"{row['queue']} could hold fewer tasks than it holds: {words}"
        yield folded(told)


def _few(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _verdict(plan: Mapping[str, Any]) -> str:
    answer = plan["answer"].get("certificate")
    due = sum(row["due"] for row in plan["workloads"])
    whole = sum(row["whole"] for row in plan["workloads"])
    # a gap that is no number of JSON is one of the texts inf and nan
    fluid = "not judged" if answer is None else f"{answer['verdict']}, gap {_gap(answer['gap'])}"
    told = f"fluid answer {fluid}; {whole:,} whole tasks placed of {due:.6g} due"
    stay = plan.get("stay")
    if stay is not None:
        proved = stay["kept"] == stay["most"]
        most = "the most that can" if proved else f"at most {stay['most']:,} can"
        costs = {*stay["cost"].values(), *([0] if "pods" in stay else [])} != {1}
        by = " (counted by cost)" if costs else ""
        told += (
            f"\nof {stay['running']:,} running{by}, {stay['kept']:,} stay where they are, {most}"
        )
    if "moves" in plan:
        told += f"\n{_moves(plan['moves'])}"
    proof = plan.get("proof")
    if proof is None:
        return told
    if not proof["short"] and proof["state"] == "proved":
        return f"{told}\nwhole tasks proved: nobody is short of a whole task"
    short = f"{counted(proof['short'], 'task')} short of whole parts"
    least = (
        "the least there can be"
        if proof["short"] == proof["least"]
        else (f"at least {proof['least']} in any placement")
    )
    words = {"gap": "right, with a gap"}.get(proof["state"], proof["state"])
    ended = (
        "\nthe search was ended before its end: another run may end elsewhere"
        if proof["stopped"]
        else ""
    )
    return f"{told}\nwhole tasks {words}: {short}, {least}{ended}"


def _frontier(points: Sequence[Mapping[str, Any]]) -> str:
    """What stays, and what it costs in tasks, as a table."""
    if not points:
        return ""
    rows = [
        [
            f"{100 * float(Fraction(point['within'])):g}%",
            f"{point['kept']:,}",
            f"{point['running'] - point['kept']:,}",
            f"{point['running'] - point['most']:,}",
            "yes" if point["kept"] == point["most"] else "no",
            f"{point['short']:,}",
        ]
        for point in points
    ]
    columns = ["may miss", "stay", "moved", "at least", "proved", "short of due"]
    return table_text(columns, rows, 0, ())


def _moves(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many pods there are of each kind of step, and of those that need none."""
    many = Counter(row["do"] for row in rows)
    many["move"] += many.pop("pause", 0)
    paused = many.pop("resume", 0)
    told = [f"{word} {many[word]:,}" for word in ("stop", "move", "start", "stay", "wait", "leave")]
    ring = f"; {paused:,} of those that move stop for a while" if paused else ""
    return f"pods: {', '.join(told)}{ring}"


def _gap(gap: float | str) -> str:
    return f"{float(gap):.2g}"
