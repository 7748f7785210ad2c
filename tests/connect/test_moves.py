"""What becomes of every pod, in an order that overfills no node; and orders that are spoilt."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter, defaultdict
from fractions import Fraction
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from fairopt import files
from fairopt.cli import run
from fairopt.connect.cluster.node_room import ZoneCounts
from fairopt.connect.cluster.together import Zones
from fairopt.connect.judging import plans as judging
from fairopt.connect.plan import made as plan
from fairopt.connect.plan import moves, problem
from fairopt.connect.plan import rows as plan_rows
from fairopt.connect.plan.move_order import Move, in_order
from fairopt.connect.plan.staying import Moving
from fairopt.connect.readers.kubernetes import Collector
from fairopt.instance import Instance
from tests.whole_cases import split_by_none

CLUSTER = str(Path(__file__).parents[2] / "examples" / "kubernetes" / "cluster.json")


def replayed(steps, begin, capacity):
    """Where every pod is in the end; a plain replay, which asserts room at every arrival."""
    at, size = dict(begin), {move.pod: move.demand["cpu"] for move in steps}
    used = defaultdict(Fraction)
    for pod, (node, cpu) in begin.items():
        used[node] += cpu
        size[pod] = cpu
    for move in steps:
        cpu = size[move.pod]
        if move.do in ("stop", "pause", "move"):
            assert at.pop(move.pod)[0] == move.source
            used[move.source] -= cpu
        if move.target:
            assert move.pod not in at
            used[move.target] += cpu
            assert used[move.target] <= capacity[move.target]["cpu"]
            at[move.pod] = move.target, cpu
    return at


def test_two_pods_that_change_places_need_one_pause():
    capacity = {node: {"cpu": Fraction(2)} for node in "ab"}
    cpu = {"cpu": Fraction(2)}
    found = in_order(
        [Move("move", "p", "x", cpu, "a", "b"), Move("move", "q", "y", cpu, "b", "a")],
        [],
        capacity,
    )
    assert [(m.do, m.pod) for m in found] == [("pause", "p"), ("move", "q"), ("resume", "p")]
    assert "makes room for" in found[0].why


def test_stops_come_before_what_needs_their_room_and_chains_are_followed():
    cpu, capacity = {"cpu": Fraction(1)}, {node: {"cpu": Fraction(1)} for node in "abc"}
    found = in_order(
        [
            Move("move", "1", "x", cpu, "a", "b"),
            Move("move", "2", "x", cpu, "b", "c"),
            Move("stop", "3", "y", cpu, "c"),
            Move("start", "0", "z", cpu, "", "a"),
        ],
        [],
        capacity,
    )
    assert [(m.do, m.pod) for m in found] == [
        ("stop", "3"),
        ("move", "2"),
        ("move", "1"),
        ("start", "0"),
    ]


@pytest.mark.parametrize("seed", range(60))
def test_any_two_placements_have_an_order(seed):
    draw = random.Random(seed)
    nodes = [f"n{k}" for k in range(draw.randint(2, 6))]
    capacity = {node: {"cpu": Fraction(draw.randint(4, 9))} for node in nodes}

    def placed():
        room = {node: own["cpu"] for node, own in capacity.items()}
        found = {}
        for pod, cpu in sizes.items():
            free = [node for node in nodes if room[node] >= cpu]
            if free:
                found[pod] = draw.choice(free)
                room[found[pod]] -= cpu
        return found

    sizes = {f"p{k}": Fraction(draw.randint(1, 8), draw.choice((1, 2))) for k in range(25)}
    before, after = placed(), placed()
    made, stay = [], []
    for pod, cpu in sizes.items():
        source, target = before.get(pod, ""), after.get(pod, "")
        if source == target:
            stay += [Move("stay", pod, pod, {"cpu": cpu}, source, source)] if source else []
            continue
        do = "move" if source and target else "stop" if source else "start"
        made.append(Move(do, pod, pod, {"cpu": cpu}, source, target))
    steps = in_order(made, stay, capacity)
    ends = replayed(steps, {pod: (node, sizes[pod]) for pod, node in before.items()}, capacity)
    assert {pod: node for pod, (node, _) in ends.items()} == after
    many = Counter(move.do for move in steps)
    assert many["pause"] == many["resume"] < max(1, sum(move.do == "move" for move in made))


def evenly(steps, begin, zone, skew):
    """A plain replay of one workload, which asserts at every arrival that its zones are even."""
    at = dict(begin)
    for move in steps:
        if move.workload == "web":
            at.pop(move.pod, None)
            if move.target:
                count = Counter({z: 0 for z in zone.values()})
                count.update(zone[node] for node in at.values())
                assert count[zone[move.target]] + 1 <= min(count.values()) + skew
                at[move.pod] = move.target
    return at


@pytest.mark.parametrize("seed", range(80))
def test_zones_are_even_at_every_step(seed):
    draw = random.Random(seed)
    zone = {f"n{k}": "abc"[k % draw.choice((2, 3))] for k in range(draw.randint(3, 7))}
    skew, size = draw.choice((1, 1, 2)), {node: draw.randint(3, 6) for node in zone}
    capacity = {node: {"cpu": Fraction(room)} for node, room in size.items()}
    sizes = {f"o{k}": draw.randint(1, 3) for k in range(6)} | {f"w{k}": 1 for k in range(12)}

    def placed(even):
        room, found = dict(size), {}
        count = Counter({z: 0 for z in zone.values()})
        for pod in draw.sample(sorted(sizes), len(sizes)):
            good = [
                node
                for node in zone
                if room[node] >= sizes[pod]
                and (pod[0] == "o" or not even or count[zone[node]] == min(count.values()))
            ]
            if good and draw.random() < 0.9:
                found[pod] = draw.choice(good)
                room[found[pod]] -= sizes[pod]
                count[zone[found[pod]]] += pod[0] == "w"
        return found

    before, after = placed(draw.random() < 0.5), placed(True)
    made, stay = [], []
    for pod, cpu in sizes.items():
        source, target = before.get(pod, ""), after.get(pod, "")
        given = pod, "web" if pod[0] == "w" else pod, {"cpu": Fraction(cpu)}, source
        if source != target:
            do = "move" if source and target else "stop" if source else "start"
            made.append(Move(do, *given, target))
        elif source:
            stay.append(Move("stay", *given, source))
    names = sorted(set(zone.values()))
    own = Zones("zone", skew, tuple((z, tuple(n for n in zone if zone[n] == z)) for z in names))
    steps = in_order(made, stay, capacity, (), ZoneCounts({"web": own}, {n: n for n in zone}))
    begin = {pod: (node, Fraction(sizes[pod])) for pod, node in before.items()}
    ends = replayed(steps, begin, capacity)
    assert {pod: node for pod, (node, _) in ends.items()} == after
    web = {pod: node for pod, node in before.items() if pod[0] == "w"}
    assert evenly(steps, web, zone, skew).items() <= after.items()


def test_pods_that_change_zones_go_one_by_one():
    """One in each zone: if one leaves, its zone is empty, and the other may not have two."""
    cpu, capacity = {"cpu": Fraction(1)}, {node: {"cpu": Fraction(4)} for node in "ab"}
    own = Zones("zone", 1, (("a", ("a",)), ("b", ("b",))))
    zones = ZoneCounts({"web": own}, {"a": "a", "b": "b"})
    found = in_order(
        [Move("move", "p", "web", cpu, "a", "b"), Move("move", "q", "web", cpu, "b", "a")],
        [],
        capacity,
        (),
        zones,
    )
    assert [(m.do, m.pod) for m in found] == [("pause", "p"), ("move", "q"), ("resume", "p")]
    assert "zones of web" in found[0].why


@pytest.fixture(scope="module")
def made():
    """Pods that a full cluster must move: a node out, one gone, one team over its due."""

    def node(name, **spec):
        amounts = {"cpu": "4", "pods": "20"}
        ready = [{"type": "Ready", "status": "True"}]
        status = {"allocatable": amounts, "conditions": ready}
        return {"kind": "Node", "metadata": {"name": name}, "spec": spec, "status": status}

    def pod(name, team, cpu, on=""):
        own = {"kind": "Job", "name": "j", "controller": True}
        return {
            "kind": "Pod",
            "metadata": {"name": name, "namespace": team, "ownerReferences": [own]},
            "spec": {
                "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
                **({"nodeName": on} if on else {}),
            },
            "status": {"phase": "Running" if on else "Pending"},
        }

    taken = Collector()
    objects = [node("n1"), node("n2"), node("n3"), node("old", unschedulable=True)]
    objects += [pod(f"a{k}", "a", "1", f"n{1 + k % 3}") for k in range(11)]
    objects += [pod("b0", "b", "3"), pod("b1", "b", "3"), pod("b2", "b", "3", "old")]
    objects += [pod("c0", "c", "1", "gone"), pod("c1", "c", "1", "old")]
    for k, data in enumerate(objects):
        taken.take(data, f"items[{k}]", "List")
    return plan.make(problem.problem(taken.cluster()), moving=Moving())


@pytest.fixture
def data(made):
    return json.loads(plan.dumps(made))


def failed(data):
    found = judging.judge(plan_rows.loads(json.dumps(data), "plan"))
    return [check for check in found.checks if not check.holds]


def test_every_pod_is_told_once_and_the_order_is_right(made, data):
    assert not failed(data)
    by_pod = {row["pod"]: row for row in data["moves"]}
    assert len(by_pod) == 11 + 3 + 2
    assert {row["do"] for row in data["moves"]} >= {"stop", "start", "stay"}
    assert by_pod["c/c0"]["from"] == "gone" and by_pod["c/c0"]["do"] == "start"
    assert "old is cordoned" in by_pod["c/c1"]["why"]
    steps = [row["step"] for row in data["moves"] if row["step"]]
    assert steps == list(range(1, len(steps) + 1))


def test_the_schema_knows_moves(data):
    jsonschema = pytest.importorskip("jsonschema")
    text = (
        resources.files("fairopt.connect.plan").joinpath("plan-v1.schema.json").read_text("utf-8")
    )
    jsonschema.Draft202012Validator(json.loads(text)).validate(data)


def _backwards(rows):
    last = max(row["step"] or 0 for row in rows)
    for row in rows:
        row["step"] = row["step"] and last + 1 - row["step"]


def _first(rows, do):
    return next(row for row in rows if row["do"] == do)


SPOILS = {
    "the order turned around": _backwards,
    "a pod left out": lambda rows: rows.remove(_first(rows, "stay")),
    "a step left out": lambda rows: rows.remove(_first(rows, "stop")),
    "a step twice": lambda rows: rows.append(dict(_first(rows, "start"))),
    "another node": lambda rows: _first(rows, "start").update(to="old"),
    "no such node": lambda rows: _first(rows, "start").update(to="moon"),
    "a pod elsewhere": lambda rows: _first(rows, "stop").update({"from": "moon"}),
    "a stop that stays": lambda rows: _first(rows, "stop").update(step=None, do="stay"),
    "a pause without end": lambda rows: _first(rows, "stop").update(do="pause"),
    "a resume of nothing": lambda rows: _first(rows, "start").update(do="resume"),
    "another workload": lambda rows: _first(rows, "stay").update(workload="b/j"),
    "no workload": lambda rows: _first(rows, "stay").update(workload="moon"),
    "a step of what stays": lambda rows: _first(rows, "stay").update(step=1),
    "a number twice": lambda rows: _first(rows, "start").update(step=1),
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_a_spoilt_order_is_refused(data, spoil):
    spoil(data["moves"])
    assert any(check.name.startswith("moves") for check in failed(data))


def test_moves_without_what_ran_before_are_refused(data):
    del data["stay"]
    assert any(check.name.startswith("moves") for check in failed(data))


def test_on_the_command_line(capsys, tmp_path):
    path, out = tmp_path / "moves.csv", tmp_path / "plan.json"
    assert run(["plan", CLUSTER, "--moves", str(path), "-o", str(out)]) == 0
    assert "\npods: stop " in capsys.readouterr().out
    assert run(["verify", str(out)]) == 0
    rows = list(csv.DictReader(path.read_text().splitlines()))
    told = json.loads(out.read_text())["moves"]
    assert rows == [{key: "" if x is None else str(x) for key, x in row.items()} for row in told]
    assert tuple(rows[0]) == moves.COLUMNS


def test_tasks_and_nodes_of_a_model(capsys, tmp_path):
    """Tasks without names are numbered; nodes that only a number of is known are refused."""
    path, out = str(tmp_path / "model.toml"), str(tmp_path / "plan.json")
    words = ["plan", path, "--moves", str(tmp_path / "m.csv"), "-o", out]
    inst = Instance([[1.0], [2.0]], [[5.0], [4.0]], limit=[3, np.inf], users=["A", "B"])
    files.write(files.Model(inst), path)
    assert run(words) == 0
    assert run(["verify", out]) == 0
    told = json.loads(Path(out).read_text())["moves"]
    assert {row["do"] for row in told} == {"start"} and "A #1" in {row["pod"] for row in told}
    files.write(files.Model(inst.replace(count=[3, 1])), path)
    capsys.readouterr()
    assert run(words) == 2
    assert "without names" in capsys.readouterr().err


def lain(parts, cards):
    """Whether parts of cards lie on so many cards, by trying every card for each."""
    return split_by_none(list(parts), cards)


def test_a_pod_waits_until_a_card_has_room_for_it():
    """Two pods of .6 leave .8 of two cards, and no card has .5 of it."""
    capacity = {node: {"card": Fraction(2)} for node in "ab"}
    large, half = {"card": Fraction(3, 5)}, {"card": Fraction(1, 2)}
    going = [Move("move", "q", "x", large, "a", "b"), Move("move", "a", "y", half, "b", "a")]
    stay = [Move("stay", "p", "x", large, "a", "a")]
    assert [move.pod for move in in_order(going, stay, capacity)] == ["a", "q"]
    assert [move.pod for move in in_order(going, stay, capacity, ["card"])] == ["q", "a"]


@pytest.mark.parametrize("seed", range(30))
def test_any_two_placements_on_cards_have_an_order(seed):
    rng = random.Random(seed)
    sizes = [Fraction(k, 10) for k in (2, 3, 4, 5, 6, 7)] + [Fraction(1), Fraction(2)]
    cards = {node: rng.randint(1, 3) for node in "abc"}

    def placed():
        there = {node: {} for node in cards}
        for pod, part in pods.items():
            for node in rng.sample("abc", 3):
                if lain([*there[node].values(), part], cards[node]):
                    there[node][pod] = part
                    break
        return {pod: node for node, own in there.items() for pod in own}

    pods = {f"p{k}": rng.choice(sizes) for k in range(10)}
    before, after = placed(), placed()
    made = [
        Move("move", pod, "x", {"card": pods[pod]}, before[pod], after[pod])
        for pod in pods
        if pod in before and pod in after and before[pod] != after[pod]
    ]
    made += [
        Move("stop", pod, "x", {"card": pods[pod]}, node)
        for pod, node in before.items()
        if pod not in after
    ]
    stay = [
        Move("stay", pod, "x", {"card": pods[pod]}, node, node)
        for pod, node in before.items()
        if after.get(pod) == node
    ]
    capacity = {node: {"card": Fraction(k)} for node, k in cards.items()}
    at = dict(before)
    for move in in_order(made, stay, capacity, ["card"]):
        at.pop(move.pod, None)
        if move.target:
            at[move.pod] = move.target
            there = [pods[pod] for pod, node in at.items() if node == move.target]
            assert lain(there, cards[move.target])
    assert at == {pod: node for pod, node in after.items() if pod in before}


@pytest.fixture(scope="module")
def on_cards(tmp_path_factory):
    """Two nodes of two cards; A takes .6, B .5, and what runs is not what is due."""
    where = tmp_path_factory.mktemp("cards")
    (where / "nodes.csv").write_text("node,card,cpu\nn1,2,16\nn2,2,16\n")
    (where / "teams.csv").write_text("team,tasks,card,cpu\nA,4,0.6,1\nB,4,0.5,1\n")
    (where / "running.csv").write_text("team,node,tasks\nA,n1,2\nA,n2,2\n")
    files_given = [str(where / name) for name in ("nodes.csv", "teams.csv", "running.csv")]
    return [*files_given, "--cards", "card"]


def test_moves_on_cards(on_cards, capsys, tmp_path):
    path = str(tmp_path / "p.json")
    assert run(["plan", *on_cards, "--moves", str(tmp_path / "m.csv"), "-o", path]) == 0
    assert run(["verify", path]) == 0
    found = json.loads(Path(path).read_text())
    assert found["cards"] == ["card"]
    steps = [row for row in found["moves"] if row["step"] is not None]
    assert {row["do"] for row in steps} >= {"stop", "start"}
    capsys.readouterr()


def test_a_step_onto_a_card_that_is_taken_is_found(on_cards, tmp_path, capsys):
    """B starts beside two pods of A before one of them is stopped: .8 of two cards is left, and no
    card has .5 of it."""
    path = str(tmp_path / "p.json")
    assert run(["plan", *on_cards, "--stay", "-o", path]) == 0
    found = json.loads(Path(path).read_text())
    rows = found["moves"]
    stop = next(row for row in rows if row["do"] == "stop")
    start = next(row for row in rows if row["do"] == "start" and row["to"] == stop["from"])
    stop["step"], start["step"] = start["step"], stop["step"]
    rows.sort(key=lambda row: (row["step"] is None, row["step"] or 0))
    verdict = judging.judge(found)
    (check,) = [own for own in verdict.checks if own.name.startswith("moves")]
    assert not check.holds
    assert "does not lie on the cards" in check.witness
    capsys.readouterr()
