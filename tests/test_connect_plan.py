"""Plans: the example's, what does not change them, and what the judge finds in spoilt ones."""

from __future__ import annotations

import copy
import gzip
import json
import random
from importlib import resources
from pathlib import Path

import pytest

from fairopt import files
from fairopt.cli import run
from fairopt.connect import judging, kinds, plan, plan_rows, problem, shapes, sources

EXAMPLE = Path(__file__).parent.parent / "examples" / "kubernetes"
CLUSTER = str(EXAMPLE / "cluster.json")
GPU = "nvidia.com/gpu.product=A100:1,T4:.4"


def made(*paths, **options):
    cards = [kinds.parsed(GPU)]
    return plan.dumps(plan.make(problem.problem(sources.cluster(paths, **options), cards)))


@pytest.fixture(scope="module")
def text():
    return made(CLUSTER)


@pytest.fixture
def data(text):
    return json.loads(text)


def test_golden(capsys):
    assert run(["plan", CLUSTER, "--gpu-kind", GPU]) == 0
    assert capsys.readouterr().out == (EXAMPLE / "plan.txt").read_text()


def test_the_judge_needs_the_plan_alone(text):
    judged = judging.judge(plan_rows.loads(text, "plan"))
    assert judged.certified, judged.explain()


def test_schema(data):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(
        resources.files("fairopt.connect").joinpath("plan-v1.schema.json").read_text()
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(data)
    for key in ("queues", "workloads", "shapes", "answer"):
        assert not validator.is_valid({k: v for k, v in data.items() if k != key})
    data["workloads"][0]["status"] = "fine"
    assert not validator.is_valid(data)


# -- what does not change a plan ------------------------------------------------------------------


def test_order_language_and_files_do_not_matter(text, tmp_path):
    import yaml

    items = json.loads(Path(CLUSTER).read_text())["items"]
    random.Random(3).shuffle(items)
    whole = {"apiVersion": "v1", "kind": "List", "items": items}
    one, two, three = tmp_path / "a.yaml", tmp_path / "b.json.gz", tmp_path / "c.json"
    one.write_text(yaml.safe_dump(whole))
    assert made(str(one)) == text
    two.write_bytes(gzip.compress(json.dumps({**whole, "items": items[:40]}).encode()))
    three.write_text("\n".join(json.dumps(item) for item in items[40:]))
    assert made(str(three), str(two)) == text


def test_merged_nodes_are_the_same_as_listed_ones(data, monkeypatch):
    """Telling every node apart changes no share: identical nodes are one row exactly."""
    found = sources.cluster([CLUSTER])
    apart = problem.problem(found, [kinds.parsed(GPU)], ["kubernetes.io/hostname"])
    assert len(apart.shapes) == 10 > len(data["shapes"])
    rows = plan.make(apart)["workloads"]
    for row, other in zip(rows, data["workloads"], strict=True):
        assert row["due"] == pytest.approx(other["due"], rel=1e-7)


def test_shapes_are_told_apart_by_what_is_asked():
    found = sources.cluster([CLUSTER])
    rules = sorted({w.rules for w in found.workloads}, key=problem._order)
    rows = shapes.shapes(found, rules)
    assert sum(row.count for row in rows) == 10
    assert {row.name for row in rows} == {"a100x8", "c16", "c16-2", "c16-3", "m8", "t4"}
    # what coredns and the static pod take is gone
    small = next(row for row in rows if row.name == "c16" and row.count == 1)
    assert small.capacity["cpu"] < 15.7


# -- sentences ------------------------------------------------------------------------------------


def test_sentences(data):
    says = {row["workload"]: row["says"] for row in data["workloads"]}
    assert says["ml/giant"].startswith("task larger than any node: it asks 16 nvidia.com/gpu")
    assert "nodeSelector nvidia.com/gpu.product=H100 keeps it off" in says["ml/next"]
    assert "offers nvidia.com/gpu" in says["ml/careless"]
    assert says["ml/train"].startswith("blocked by nvidia.com/gpu on a100x8, t4")
    assert says["data/archive"] == "satisfied: all 1 tasks have a place"
    assert says["data/spark"].startswith(("enough in total but fragmented", "blocked by cpu"))


def test_kinds_of_cards_count_by_what_they_do(data):
    """The T4 runs a task at .4 of the speed: that is a mode of those who ask for cards."""
    modes = data["answer"]["instance"]["modes"]["ml/train"]
    found = [(mode.get("speed", 1.0), mode["servers"]) for mode in modes]
    assert found == [(1.0, ["a100x8"]), (0.4, ["t4"])]


def test_queues_are_groups(data):
    """What careless and giant cannot use stays with the others of their queue."""
    instance = files.loads(json.dumps(data["answer"])).instance
    assert {group.name for group in instance.quotas.groups} == {"data", "ml", "web"}
    assert instance.quotas.group["ml/train"] == "ml"
    assert data["nested"] is True


def test_held_on_nodes_that_are_out(data):
    assert [(row["node"], row["why"], row["held"]) for row in data["out"]] == [
        ("cpu-5", "cordoned", 2), ("cpu-6", "not ready", 1),
    ]  # fmt: skip
    front = next(row for row in data["workloads"] if row["workload"] == "web/front")
    assert (front["held"], front["held_out"], front["asked"]) == (10, 2, 12)


# -- spoilt plans ---------------------------------------------------------------------------------


def _one_more(data):
    machine = next(m for m in data["shapes"][0]["machines"] if m["tasks"])
    machine["tasks"][next(iter(machine["tasks"]))] += 1


def _machine_twice(data):
    data["shapes"][1]["machines"][0]["count"] += 1


def _where_not_allowed(data):
    data["shapes"][0]["machines"][0]["tasks"]["web/cache"] = 1


def _smaller_demand(data):
    data["workloads"][0]["demand"]["cpu"] = "0.000000001"


def _larger_capacity(data):
    data["shapes"][0]["capacity"]["cpu"] = "1000"


def _other_due(data):
    data["workloads"][0]["due"] *= 1.001


def _other_queue(data):
    data["queues"][0]["due"] += 1


def _other_price(data):
    price = data["shapes"][0]["price"]
    price["cpu"] += 1e-3


def _other_use(data):
    data["shapes"][0]["use"]["memory"] *= 0.5


def _more_whole(data):
    data["workloads"][0]["whole"] += 1


def _less_stranded(data):
    data["shapes"][0]["stranded"]["cpu"] = "0"


def _all_is_well(data):
    row = next(row for row in data["workloads"] if row["status"] == "blocked")
    row["status"] = "satisfied"


def _fluid(data):
    tasks = data["answer"]["tasks"]["web/front"]
    name = next(iter(tasks))
    tasks[name] *= 0.9


def _weight(data):
    data["workloads"][0]["weight"] = 5.0


def _slow_cards_count_in_full(data):
    modes = data["answer"]["instance"]["modes"]["ml/train"]
    modes[1]["speed"] = 1.0


def _could_hold_more(data):
    data["queues"][0]["could_hold"]["share"] *= 1.01


def _could_hold_less(data):
    # prices that prove too little, and the number that they prove
    could = data["queues"][1]["could_hold"]
    for row in could["prices"].values():
        for key in row:
            row[key] *= 0.5
    could["share"] *= 0.5


def _held(data):
    row = next(row for row in data["workloads"] if row["held_on"])
    row["held"] += 1


def _quota_fits(data):
    row = next(row for row in data["quotas"] if row["above"])
    row["above"] = False


SPOILS = (
    _quota_fits,
    _slow_cards_count_in_full, _could_hold_more, _could_hold_less, _held,
    _one_more, _machine_twice, _where_not_allowed, _smaller_demand, _larger_capacity, _other_due,
    _other_queue, _other_price, _other_use, _more_whole, _less_stranded, _all_is_well, _fluid,
    _weight,
)  # fmt: skip


@pytest.mark.parametrize("spoil", SPOILS)
def test_spoilt_plans_are_refused(data, spoil, tmp_path, capsys):
    spoilt = copy.deepcopy(data)
    spoil(spoilt)
    assert spoilt != data
    assert not judging.judge(spoilt).certified
    path = tmp_path / "plan.json"
    path.write_text(plan.dumps(spoilt))
    assert run(["verify", str(path)]) == 4
    assert "FAIL" in capsys.readouterr().out or spoil is _fluid


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("shapes"), "shapes: found nothing"),
        (lambda d: d.update(more=1), "more: found"),
        (lambda d: d["shapes"][0].update(machines=7), "machines: found 7"),
        (lambda d: d["shapes"][0]["machines"][0].update(count=-1), "count: found -1"),
        (lambda d: d["workloads"][0]["demand"].update(cpu="1/0"), "cpu: found the text '1/0'"),
        (lambda d: d["workloads"][0]["demand"].update(cpu="-1"), "cpu: found the text '-1'"),
        (lambda d: d["workloads"].append(d["workloads"][0]), "twice"),
        (lambda d: d["answer"].pop("notion"), "notion: found nothing"),
    ],
)
def test_plans_that_cannot_be_judged(data, change, said, tmp_path, capsys):
    change(data)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(data))
    assert run(["verify", str(path)]) == 2
    assert said in capsys.readouterr().err


def test_an_answer_that_is_not_certified_is_shown_and_says_so(monkeypatch, capsys, tmp_path):
    from dataclasses import replace

    from fairopt import solving

    answered = solving.solve

    def doubted(*given, **more):
        answer = answered(*given, **more)
        return answer.with_(certificate=replace(answer.certificate, verdict="unproved"))

    monkeypatch.setattr(solving, "solve", doubted)
    assert run(["plan", CLUSTER, "--gpu-kind", GPU]) == 4
    assert "fluid answer unproved" in capsys.readouterr().out
