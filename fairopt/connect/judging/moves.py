"""Judge the moves of a plan by making them: a replay in fractions, from the plan's own rows.

Nothing of the search for an order is used. Every pod is told once; each step finds its pod where it
says and room where it goes; and in the end every node runs what the plan says.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from fairopt.connect.cluster.node_room import CardRoom, ZoneCounts
from fairopt.connect.cluster.together import of_row
from fairopt.connect.plan.rows import PlanLists

_STEPS = ("stop", "pause", "move", "start", "resume")


class _MoveReplay:
    """Where every pod is, and what every node has left, step by step."""

    def __init__(self, rows: PlanLists, cards: Sequence[str]) -> None:
        self.demand = {
            name: rows.exact(row, "demand", name) for name, row in rows.workloads.items()
        }
        self.room: dict[str, dict[str, Fraction]] = {}
        for shape, row in rows.shapes.items():
            for node in row["nodes"]:
                self.room[node] = dict(rows.exact(row, "capacity", shape))
        self.capacity = {node: dict(own) for node, own in self.room.items()}
        self.cards = CardRoom(cards, self.demand.values()) if cards else None
        spread = {
            name: own
            for name, row in rows.workloads.items()
            if (own := of_row(row).spread) is not None
        }
        at = {node: key for key, row in rows.shapes.items() for node in row["nodes"]}
        self.zones = ZoneCounts(spread, at)
        self.there: dict[str, dict[str, None]] = defaultdict(dict)
        self.at: dict[str, str] = {}
        self.work: dict[str, str] = {}
        self.wrong: list[str] = []

    def put(self, pod: str, node: str, sign: int) -> None:
        """The pod takes its room of the node (1), or gives it back (-1)."""
        if sign > 0:
            self.there[node][pod] = None
        else:
            self.there[node].pop(pod, None)
        if node in self.room:
            self.zones.put(self.work[pod], node, sign)
        for key, amount in self.demand[self.work[pod]].items() if node in self.room else ():
            self.room[node][key] = self.room[node].get(key, Fraction(0)) - sign * amount

    def step(self, row: Mapping[str, Any]) -> None:
        """Make one step, and say what is wrong with it."""
        words, pod, do = f"step {row['step']}", row["pod"], row["do"]
        source, target = row["from"], row["to"]
        # a start from a node that is gone finds its pod bound to it
        if self.at.get(pod) != source:
            self.wrong.append(f"{words}: {pod} is not on {source or 'no node'}")
            return
        if bool(source) != (do in ("stop", "pause", "move")) and not (do == "start" and source):
            self.wrong.append(f"{words}: a {do} from {source or 'no node'}")
        if bool(target) != (do in ("move", "start", "resume")):
            self.wrong.append(f"{words}: a {do} to {target or 'no node'}")
        if target:
            room = self.room.get(target)
            if room is None:
                self.wrong.append(f"{words}: {target} is no node in service")
                return
            short = [
                key
                for key, amount in self.demand[self.work[pod]].items()
                if amount > room.get(key, 0)
            ]
            if short:
                self.wrong.append(f"{words}: {pod} does not fit on {target}: {short[0]}")
        self.put(pod, source, -1)
        if target and not self.zones.even(self.work[pod], target):
            self.wrong.append(f"{words}: with {pod} on {target} its zones are uneven")
        self.put(pod, target, 1)
        self.at[pod] = target
        if target and self.cards is not None:
            there = [self.demand[self.work[own]] for own in self.there[target]]
            if not self.cards.lie(self.capacity[target], there):
                self.wrong.append(f"{words}: {pod} does not lie on the cards of {target}")


def judge_moves(data: Mapping[str, Any], rows: PlanLists) -> list[str]:
    """What is wrong with the moves of a plan; empty if nothing is."""
    told: Sequence[Mapping[str, Any]] = data["moves"]
    replay = _MoveReplay(rows, data.get("cards", ()))
    wrong = replay.wrong
    unknown = [row["workload"] for row in told if row["workload"] not in rows.workloads]
    if unknown:
        return [f"{unknown[0]} is no workload"]
    _begin(told, replay)
    _held(data, rows, replay)
    steps = sorted((row for row in told if row["step"] is not None), key=lambda row: row["step"])
    if [row["step"] for row in steps] != list(range(1, len(steps) + 1)):
        wrong.append("steps are not numbered from 1, each once")
    last: dict[str, str] = {}
    for row in steps:
        before = last.get(row["pod"])
        if row["do"] not in _STEPS or (row["do"] == "resume") != (before == "pause"):
            wrong.append(f"step {row['step']}: a {row['do']} after {before or 'nothing'}")
        last[row["pod"]] = row["do"]
        replay.step(row)
    paused = [pod for pod, do in last.items() if do == "pause"]
    wrong += [f"{pod} stays stopped" for pod in paused[:1]]
    _end(rows, replay)
    return wrong


def _begin(told: Sequence[Mapping[str, Any]], replay: _MoveReplay) -> None:
    """Every pod where it is before the first step."""
    for row in told:
        pod, do, step = row["pod"], row["do"], row["step"]
        if (do in _STEPS) != (step is not None):
            replay.wrong.append(f"{pod}: {do} {'without a' if step is None else 'as a'} step")
        if do == "resume":
            if replay.work.get(pod, row["workload"]) != row["workload"]:
                replay.wrong.append(f"{pod} is of two workloads")
            continue
        if pod in replay.work:
            replay.wrong.append(f"{pod} is told twice")
            continue
        replay.work[pod], replay.at[pod] = row["workload"], row["from"]
        replay.put(pod, row["from"], 1)
        if do == "stay" and (row["from"] != row["to"] or row["from"] not in replay.room):
            replay.wrong.append(f"{pod} stays on {row['from']} and goes to {row['to']}")
        if do in ("wait", "leave") and (row["to"] or bool(row["from"]) != (do == "leave")):
            replay.wrong.append(f"{pod}: a {do} from {row['from']} to {row['to']}")
        if do == "leave" and row["from"] in replay.room:
            replay.wrong.append(f"{pod} is left on {row['from']}, which is in service")
    missing = [row["pod"] for row in told if row["pod"] not in replay.work]
    replay.wrong += [f"{pod} is resumed and nothing else" for pod in missing[:1]]
    for pod in missing:
        row = next(row for row in told if row["pod"] == pod)
        replay.work[pod], replay.at[pod] = row["workload"], ""


def _held(data: Mapping[str, Any], rows: PlanLists, replay: _MoveReplay) -> None:
    """Pods are as many as are held in all, on each node, and as are asked."""
    out = {row["node"] for row in data["out"]}
    everywhere: Counter[str] = Counter()
    asked: Counter[str] = Counter(replay.work.values())
    by_node: dict[str, Counter[str]] = defaultdict(Counter)
    for pod, node in replay.at.items():
        if node:
            everywhere[replay.work[pod]] += 1
            by_node[node][replay.work[pod]] += 1
        if node and node not in replay.room and node not in out:
            replay.wrong.append(f"{pod} is on {node}, which is no node")
    users = set(data["answer"]["instance"]["users"])
    told = data.get("stay", {}).get("held", {})
    for node in replay.room:
        own = {name: k for name, k in by_node[node].items() if name in users}
        if own != told.get(node, {}):
            replay.wrong.append(f"what runs on {node}")
    for name, row in rows.workloads.items():
        if everywhere[name] != row["held"]:
            replay.wrong.append(
                f"{name}: {everywhere[name]} pods run, where it holds {row['held']}"
            )
        if row["asked"] is not None and asked[name] != row["asked"]:
            replay.wrong.append(f"{name}: {asked[name]} pods, where it asks {row['asked']}")


def _end(rows: PlanLists, replay: _MoveReplay) -> None:
    """Every node runs what the plan's machines say, in their order."""
    there: dict[str, Counter[str]] = defaultdict(Counter)
    for pod, node in replay.at.items():
        there[node][replay.work[pod]] += 1
    for row in rows.shapes.values():
        each = [own["tasks"] for own in row["machines"] for _ in range(own["count"])]
        if len(row["nodes"]) != len(each):
            replay.wrong.append(f"nodes of {row['shape']} without names")
            continue
        for node, tasks in zip(row["nodes"], each, strict=True):
            if dict(there[node]) != dict(tasks):
                replay.wrong.append(f"what runs on {node} in the end")
