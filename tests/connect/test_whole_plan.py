"""Whole tasks of a plan with their proof: what the judge asks again, and what it refuses."""

from __future__ import annotations

import copy
import json
from collections import Counter
from fractions import Fraction
from importlib import resources
from pathlib import Path

import pytest

from fairopt.cli import run
from fairopt.connect.judging import plans as judging
from fairopt.connect.plan import made as plan
from fairopt.connect.plan import problem
from fairopt.connect.plan import rows as plan_rows
from fairopt.connect.plan.staying import Moving
from fairopt.connect.plan.whole_tasks import Proving
from fairopt.connect.readers import sources
from fairopt.errors import BadInput, UsageError

CLUSTER = str(Path(__file__).parents[2] / "examples" / "kubernetes" / "cluster.json")


@pytest.fixture(scope="module")
def made():
    own = problem.problem(sources.cluster([CLUSTER]))
    return plan.make(own), plan.make(own, proving=Proving())


@pytest.fixture
def data(made):
    return json.loads(plan.dumps(made[1]))


def judged(data):
    return judging.judge(plan_rows.loads(json.dumps(data), "plan"))


def test_the_proof_is_judged_from_the_plan_alone(data):
    found = judged(data)
    assert found.certified, found.explain()
    assert found.whole is not None
    assert found.whole.verdict.proved
    assert "proved: 2 tasks short of whole parts, the least there can be" in found.explain()
    assert found.plain()["whole"]["state"] == "proved"


def test_nobody_is_worse_off_than_with_the_heuristic(made):
    plain, whole = made

    def lowest(own):
        return min(
            min(1, row["whole"] / int(row["due"] + 1e-6))
            for row in own["workloads"]
            if row["due"] >= 1
        )

    assert "proof" not in plain
    assert lowest(whole) >= lowest(plain)


def test_the_schema_knows_the_proof(data, stays):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(
        resources.files("fairopt.connect.plan").joinpath("plan-v1.schema.json").read_text()
    )
    jsonschema.Draft202012Validator(schema).validate(data)
    jsonschema.Draft202012Validator(schema).validate(json.loads(plan.dumps(stays)))


def test_what_a_plan_claims_of_its_whole_tasks_is_checked(data):
    proof = data["proof"]
    name = next(iter(proof["due"]))
    for key, value in (
        ("state", "gap"),
        ("short", proof["short"] + 1),
        ("least", proof["least"] + 1),
        ("due", {**proof["due"], name: "1/7"}),
        ("due", {}),
    ):
        other = copy.deepcopy(data)
        other["proof"][key] = value
        found = judged(other)
        assert not found.certified, key
        assert any(c.name.startswith("whole tasks") for c in found.checks if not c.holds)


def test_prices_that_prove_less_are_no_proof(data):
    rows = data["proof"]["certificate"]["prices"]
    assert rows
    for row in rows:
        row["sigma"] = [max(0, x - 1) for x in row["sigma"]]
    assert not judged(data).certified
    data["proof"]["certificate"] = []
    with pytest.raises(BadInput, match="proof"):
        judged(data)


def test_one_task_taken_away_is_found(data):
    for shape in data["shapes"]:
        for own in shape["machines"]:
            if own["tasks"]:
                name = next(iter(own["tasks"]))
                own["tasks"][name] -= 1
                found = judged(data)
                assert not found.certified
                return


def test_on_the_command_line(capsys, tmp_path):
    path = tmp_path / "plan.json"
    assert run(["plan", CLUSTER, "--whole", "-o", str(path)]) == 0
    said = "whole tasks proved: 2 tasks short of whole parts, the least there can be"
    assert said in capsys.readouterr().out
    assert run(["verify", str(path)]) == 0
    assert "whole tasks:\n  proved" in capsys.readouterr().out
    assert run(["plan", CLUSTER, "--whole", "--seconds", "1e-9"]) == 0
    assert "ended before its end: another run may end elsewhere" in capsys.readouterr().out
    assert run(["plan", CLUSTER, "--seconds", "3"]) == 2
    assert "--seconds belongs to --whole" in capsys.readouterr().err


def test_cards_of_several_speeds_are_refused():
    from fairopt.connect.cluster import nodes

    cards = [nodes.parsed("nvidia.com/gpu.product=A100:1,T4:.4")]
    own = problem.problem(sources.cluster([CLUSTER]), cards)
    with pytest.raises(UsageError, match="several speeds"):
        plan.make(own, proving=Proving())


@pytest.fixture(scope="module")
def stays():
    own = problem.problem(sources.cluster([CLUSTER]))
    return plan.make(own, proving=Proving(), moving=Moving())


def running(own):
    """{node: {workload: tasks}} of the plan's machines, in the order of its nodes."""
    found = {}
    for shape in own["shapes"]:
        names = iter(shape["nodes"])
        for row in shape["machines"]:
            for _ in range(row["count"]):
                found[next(names)] = row["tasks"]
    return found


def test_what_stays_is_what_the_plan_leaves_where_it_ran(made, stays):
    stay, now = stays["stay"], running(stays)
    kept = sum(
        min(k, now[node].get(name, 0))
        for node, own in stay["held"].items()
        for name, k in own.items()
    )
    assert kept == stay["kept"] == stay["most"]
    assert stay["running"] == sum(sum(row["held_on"].values()) for row in stays["workloads"])
    # and nobody pays for it
    whole = {row["workload"]: row["whole"] for row in made[1]["workloads"]}
    for row in stays["workloads"]:
        assert row["whole"] >= min(whole[row["workload"]], -(-row["due"] // 1))


def test_what_stays_is_judged_from_the_plan_alone(stays):
    data = json.loads(plan.dumps(stays))
    found = judged(data)
    assert found.certified, found.explain()
    assert "stay, the most that can" in found.explain()
    for key, value in (
        ("kept", data["stay"]["kept"] + 1),
        ("most", data["stay"]["most"] - 1),
        ("running", 0),
    ):
        other = copy.deepcopy(data)
        other["stay"][key] = value
        assert not judged(other).certified, key
    other = copy.deepcopy(data)
    other["stay"]["prices"]["sigma"] = [max(0, x - 1) for x in other["stay"]["prices"]["sigma"]]
    assert not judged(other).certified
    other = copy.deepcopy(data)
    other["stay"]["held"]["nowhere"] = {data["workloads"][0]["workload"]: 1}
    assert not judged(other).certified
    other["stay"]["held"] = {}  # other classes of nodes than the prices are of
    with pytest.raises(BadInput, match=r"stay\.prices"):
        judged(other)
    other["stay"]["floor"] = {}
    with pytest.raises(BadInput, match=r"stay\.floor"):
        judged(other)


def test_fewer_moves_where_everybody_may_miss_a_part(stays):
    own = problem.problem(sources.cluster([CLUSTER]))
    none = plan.make(own, moving=Moving(within=Fraction(1)))
    assert none["stay"]["kept"] == none["stay"]["running"]
    some = plan.make(own, moving=Moving(most=10**6))
    assert some["stay"]["within"] == "0"
    assert plan.make(own, moving=Moving(most=0))["stay"]["kept"] == none["stay"]["running"]


def test_moves_on_the_command_line(capsys, tmp_path):
    costs = tmp_path / "costs.csv"
    costs.write_text("workload,cost\nml/train,5\n")
    path = tmp_path / "plan.json"
    assert run(["plan", CLUSTER, "--stay", "--cost", str(costs), "-o", str(path)]) == 0
    assert "stay where they are" in capsys.readouterr().out
    assert json.loads(path.read_text())["stay"]["cost"]["ml/train"] == 5
    assert run(["verify", str(path)]) == 0
    capsys.readouterr()
    for words, said in (
        (["--within", ".1"], "--within belongs to --stay"),
        (["--stay", "--within", "2"], "wanted a part from 0 to 1"),
        (["--stay", "--within", ".1", "--most-moves", "3"], "exclude each other"),
    ):
        assert run(["plan", CLUSTER, *words]) == 2
        assert said in capsys.readouterr().err
    costs.write_text("workload,cost\nml/train,-1\nml/train,x\n")
    assert run(["plan", CLUSTER, "--stay", "--cost", str(costs)]) == 2
    assert "line 2" in capsys.readouterr().err
    costs.write_text("workload,cost\nnobody,1\n")
    assert run(["plan", CLUSTER, "--stay", "--cost", str(costs)]) == 2
    assert "'nobody'; wanted workloads of the plan" in capsys.readouterr().err


def test_costs_of_pods_decide_which_of_them_stay(tmp_path, capsys):
    """A node with three pods of which one has to go: the cheapest."""
    own = problem.problem(sources.cluster([CLUSTER]))
    plain = plan.make(own, moving=Moving())
    gone = [row for row in plain["moves"] if row["do"] in ("stop", "move")]
    costs = {row["pod"]: 7 for row in gone}
    path = tmp_path / "costs.csv"
    lines = [f"{pod},{x}" for pod, x in costs.items()]
    path.write_text("\n".join(["pod,cost", *lines]) + "\n")
    out = tmp_path / "plan.json"
    assert run(["plan", CLUSTER, "--stay", "--cost", str(path), "-o", str(out)]) == 0
    data = json.loads(out.read_text())
    assert judged(data).certified, judged(data).explain()
    stay, away = (
        {row["pod"] for row in data["moves"] if row["do"] in words}
        for words in (("stay",), ("stop", "pause", "move"))
    )
    held = data["stay"]["held"]
    running = {row["pod"] for row in data["moves"] if row["from"] in held} & (stay | away)
    worth = {pod: costs.get(pod, 1) for pod in running}
    assert data["stay"]["running"] == sum(worth.values())
    assert data["stay"]["kept"] == sum(worth[pod] for pod in stay)
    node, names = next(
        (n, c) for n, own in data["stay"]["pods"].items() for c in own.values() if stay & c.keys()
    )
    other = copy.deepcopy(data)
    for own in other["stay"]["pods"][node].values():
        own.update({pod: 10**6 for pod in own if pod not in stay})
        own.update({pod: 0 for pod in own if pod in stay})
    if any(pod not in stay for pod in names):
        assert not judged(other).certified
    other["stay"]["pods"][node] = {"nobody": {}}
    with pytest.raises(BadInput, match=r"stay\.pods"):
        judged(other)
    capsys.readouterr()
    path.write_text("pod,cost\nnobody/x,1\n")
    assert run(["plan", CLUSTER, "--stay", "--cost", str(path)]) == 2
    assert "'nobody/x'; wanted pods that run" in capsys.readouterr().err


@pytest.fixture(scope="module")
def frontier():
    own = problem.problem(sources.cluster([CLUSTER]))
    return json.loads(plan.dumps(plan.make(own, proving=Proving(), moving=Moving(frontier=True))))


def test_the_frontier_goes_on_until_all_that_runs_stays_and_is_proved(frontier):
    found = judged(frontier)
    assert found.certified, found.explain()
    stay, points = frontier["stay"], frontier["stay"]["frontier"]
    assert [stay[key] for key in ("within", "kept")] == [
        points[0][key] for key in ("within", "kept")
    ]
    kept = [point["kept"] for point in points]
    assert kept == sorted(kept)
    assert kept[-1] == stay["running"] > kept[0]
    assert [point["most"] for point in points] == kept
    due = {row["workload"]: int(row["due"] + 1e-6) for row in frontier["workloads"]}
    for point in points:  # counted again, of the machines alone
        total = Counter()
        for machines in point["machines"].values():
            for row in machines:
                total.update({name: row["count"] * m for name, m in row["tasks"].items()})
        assert point["short"] == sum(max(0, d - total[name]) for name, d in due.items())
        assert all(total[name] >= f for name, f in point["floor"].items())


def _fuller(point):
    machines = next(rows for rows in point["machines"].values() if any(r["tasks"] for r in rows))
    row = next(row for row in machines if row["tasks"])
    row["tasks"][next(iter(row["tasks"]))] += 50


@pytest.mark.parametrize(
    "change",
    [
        lambda point: point.update(kept=point["kept"] + 1),
        lambda point: point.update(most=point["most"] - 1),
        lambda point: point.update(short=point["short"] + 1),
        lambda point: point.update(running=point["running"] + 1),
        lambda point: point["prices"].update(sigma=[0] * len(point["prices"]["sigma"])),
        _fuller,
    ],
)
def test_a_point_of_the_frontier_that_is_not_so_is_found(frontier, change):
    other = copy.deepcopy(frontier)
    change(other["stay"]["frontier"][0])
    assert not judged(other).certified


def test_points_of_a_frontier_that_are_none_are_refused_by_name(frontier):
    other = copy.deepcopy(frontier)
    machines = other["stay"]["frontier"][0]["machines"]
    machines[next(iter(machines))] = []
    with pytest.raises(BadInput, match=r"stay\.frontier\[0\]\.machines"):
        judged(other)


def test_the_frontier_is_drawn(frontier, tmp_path, capsys):
    (tmp_path / "plan.json").write_text(json.dumps(frontier))
    picture = tmp_path / "moves.svg"
    assert run(["plot", str(tmp_path / "plan.json"), "--kind", "moves", "-o", str(picture)]) == 0
    assert "fewest there can be" in picture.read_text()
    other = {**frontier, "stay": {**frontier["stay"], "frontier": []}}
    (tmp_path / "plan.json").write_text(json.dumps(other))
    assert run(["plot", str(tmp_path / "plan.json"), "--kind", "moves", "-o", str(picture)]) == 2
    assert "--stay --frontier" in capsys.readouterr().err


def test_the_page_of_a_plan_says_what_is_proved(made):
    from fairopt.report.html import plan_data

    plain, whole = (plan_data.data_of(plan.dumps(own), "plan")["proved"] for own in made)
    assert plain == []
    said = "Whole tasks: proved: 2 tasks short of whole parts, the least there can be"
    assert whole[0] == said
    spoilt = json.loads(plan.dumps(made[1]))
    spoilt["proof"]["certificate"]["prices"][0]["sigma"] = [0] * len(spoilt["shapes"])
    assert plan_data.data_of(json.dumps(spoilt), "plan")["proved"][0].startswith(
        "Whole tasks: unproved"
    )
