"""Plans: the example's, what does not change them, and what the judge finds in spoilt ones."""

from __future__ import annotations

import copy
import gzip
import json
import random
from fractions import Fraction
from importlib import resources
from pathlib import Path

import pytest

from fairopt import files
from fairopt.cli import run
from fairopt.connect.cluster import nodes, shapes
from fairopt.connect.cluster.record import Workload
from fairopt.connect.judging import plans as judging
from fairopt.connect.plan import made as plan
from fairopt.connect.plan import problem
from fairopt.connect.plan import rows as plan_rows
from fairopt.connect.readers import sources

EXAMPLE = Path(__file__).parents[2] / "examples" / "kubernetes"
CLUSTER = str(EXAMPLE / "cluster.json")
GPU = "nvidia.com/gpu.product=A100:1,T4:.4"


def made(*paths, **options):
    cards = [nodes.parsed(GPU)]
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
        resources.files("fairopt.connect.plan").joinpath("plan-v1.schema.json").read_text()
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
    apart = problem.problem(found, [nodes.parsed(GPU)], ["kubernetes.io/hostname"])
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
        ("cpu-5", "cordoned", 2),
        ("cpu-6", "not ready", 1),
    ]
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


def _weight_of_a_queue(data):
    data["queues"][0]["weight"] = 1.5


def _asked_by_a_queue(data):
    data["queues"][0]["asked"] += 1


def _any_number_asked_by_a_queue(data):
    data["queues"][0]["asked"] = None


def _guaranteed(data):
    data["queues"][0]["guaranteed"]["cpu"] = 3.0


def _no_queue(data):
    del data["queues"][-1]


def _held_out(data):
    # on a node out of service instead of one in service: all sums stay as they are
    row = next(row for row in data["workloads"] if row["status"] != "stuck" and row["held_on"])
    name = next(iter(row["held_on"]))
    tasks = row["held_on"].pop(name)
    row["held_out"] += tasks


def _part_of_a_task(data):
    row = next(row for row in data["workloads"] if row["workload"] == "data/merge")
    data["answer"]["instance"]["limit"]["data/merge"] = row["asked"] + 0.6


def _no_limit(data):
    del data["answer"]["instance"]["limit"]["data/merge"]


def _says(data):
    data["workloads"][0]["says"] = "satisfied: all 100 tasks have a place"


def _could_hold_more_tasks(data):
    data["queues"][0]["could_hold"]["tasks"] *= 100


def _could_hold_at_infinite_prices(data):
    could = data["queues"][0]["could_hold"]
    for row in could["prices"].values():
        row.update(dict.fromkeys(row, 1e299))


def _fewer_nodes(data):
    next(row for row in data["shapes"] if row["count"] > 1)["nodes"].pop()


def _other_resources(data):
    data["resources"][0] = "CPU"


def _flat(data):
    data["nested"] = not data["nested"]


def _weight_of_who_is_stuck(data):
    next(row for row in data["workloads"] if row["status"] == "stuck")["weight"] = 1.0


SPOILS = (
    _weight_of_a_queue,
    _asked_by_a_queue,
    _any_number_asked_by_a_queue,
    _guaranteed,
    _no_queue,
    _held_out,
    _part_of_a_task,
    _no_limit,
    _says,
    _could_hold_more_tasks,
    _could_hold_at_infinite_prices,
    _fewer_nodes,
    _other_resources,
    _flat,
    _weight_of_who_is_stuck,
    _quota_fits,
    _slow_cards_count_in_full,
    _could_hold_more,
    _could_hold_less,
    _held,
    _one_more,
    _machine_twice,
    _where_not_allowed,
    _smaller_demand,
    _larger_capacity,
    _other_due,
    _other_queue,
    _other_price,
    _other_use,
    _more_whole,
    _less_stranded,
    _all_is_well,
    _fluid,
    _weight,
)


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
        (lambda d: d["shapes"][0].update(kinds=None), "shapes[0].kinds: found nothing"),
        (lambda d: d["shapes"][0]["kinds"].update(x=[]), "shapes[0].kinds.x: found"),
        (lambda d: d["shapes"][0].update(count=[]), "shapes[0].count: found"),
        (lambda d: d["queues"][0]["could_hold"].update(share=None), "hold.share: found nothing"),
        (lambda d: d["workloads"][2].update(held=None), "workloads[2].held: found nothing"),
        (lambda d: d["workloads"][2].update(held="x"), "workloads[2].held: found"),
        (lambda d: d["workloads"][1].update(asked=float("inf")), "workloads[1].asked: found"),
        (lambda d: d["workloads"][1].update(due=float("nan")), "workloads[1].due: found"),
        (lambda d: d["workloads"][1].update(whole=True), "workloads[1].whole: found"),
        (lambda d: d.pop("out"), "out: found nothing"),
        (lambda d: d["shapes"].append(3), "found 3; wanted a table"),
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


def test_rounds_without_prices_are_judged_without_them(data):
    changed = copy.deepcopy(data)
    for each in changed["answer"]["rounds"]:
        each["prices"].pop("prices", None)
    judged = judging.judge(changed)
    assert not judged.certified


def test_the_words_of_the_schema_are_those_that_are_checked():
    from fairopt.connect.plan import form

    def words(rule):
        for key, value in rule.items():
            yield key
            if key in ("properties", "$defs"):
                for each in value.values():
                    yield from words(each)
            elif key in ("items", "additionalProperties") and isinstance(value, dict):
                yield from words(value)

    assert set(words(form.schema())) <= form.KNOWN


@pytest.mark.parametrize("seed", range(40))
def test_the_form_is_that_of_a_whole_validator(data, seed):
    """Random edits, beside the package that implements all of JSON Schema."""
    from fairopt.connect.plan import form
    from fairopt.instance.reading import Faults

    jsonschema = pytest.importorskip("jsonschema")
    rng, changed = random.Random(seed), copy.deepcopy(data)
    del changed["answer"]["instance"]
    places = []

    def walk(value):
        for key in value if isinstance(value, dict) else range(len(value)):
            places.append((value, key))
            if isinstance(value[key], dict | list):
                walk(value[key])

    walk({key: value for key, value in changed.items() if key != "answer"})
    for value, key in rng.sample(places, 1 + seed % 2):
        value[key] = rng.choice([None, True, -1, 0, 0.5, "x", "", "1/3", [], [1], {}, {"a": "b"}])
    changed["answer"]["instance"] = {}
    faults = Faults("plan")
    form.check(changed, "", faults)
    right = jsonschema.Draft202012Validator(form.schema()).is_valid(changed)
    assert bool(faults) != right


def test_gaps_that_are_no_numbers_are_told():
    from fairopt.report.plan_text import plan_text

    problem_ = problem.problem(sources.cluster([CLUSTER]))
    made_ = plan.make(problem_)
    for gap in ("inf", "nan", 0.5):
        made_["answer"]["certificate"].update(gap=gap, verdict="unproved")
        assert f"fluid answer unproved, gap {gap}" in plan_text(made_)


def test_a_model_asks_for_whole_tasks(tmp_path, capsys):
    model = tmp_path / "m.toml"
    model.write_text(
        'resources = ["cpu"]\n[servers.s]\ncapacity = { cpu = 20 }\n'
        "[users.a]\ndemand = { cpu = 1 }\nlimit = 6.6\n"
        "[users.b]\ndemand = { cpu = 1 }\nlimit = 0.5\n"
    )
    path = tmp_path / "p.json"
    assert run(["plan", str(model), "-o", str(path)]) == 0
    assert "asks for less than one whole task" in capsys.readouterr().out
    rows = {row["workload"]: row for row in json.loads(path.read_text())["workloads"]}
    assert (rows["a"]["asked"], rows["a"]["due"], rows["b"]["due"]) == (6, 6.0, 0.0)
    assert run(["verify", str(path)]) == 0


# -- words that are true --------------------------------------------------------------------------


def test_a_workload_stopped_by_a_quota_is_told_which(tmp_path, capsys):
    """600 cpu of 1000 may be used: 100 of its own and 500 borrowed, 3 for each task."""

    def quota(name, more):
        amount = {"name": "cpu", **more}
        group = {"coveredResources": ["cpu"], "flavors": [{"name": "mig", "resources": [amount]}]}
        spec = {"cohort": "all", "resourceGroups": [group]}
        return kueue("ClusterQueue", {"name": name}, spec)

    def kueue(kind, meta, spec):
        return {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": kind,
            "metadata": meta,
            "spec": spec,
        }

    status = {
        "allocatable": {"cpu": "1000", "pods": "500"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    container = {"resources": {"requests": {"cpu": "3"}}}
    template = {"spec": {"containers": [container]}}
    sets = [{"name": "main", "count": 300, "template": template}]
    items = [
        {
            "kind": "Node",
            "metadata": {"name": "n1", "labels": {"kind": "mig"}},
            "status": status,
        },
        kueue("ResourceFlavor", {"name": "mig"}, {"nodeLabels": {"kind": "mig"}}),
        quota("ml-cq", {"nominalQuota": "100", "borrowingLimit": "500"}),
        quota("web-cq", {"nominalQuota": "600"}),
        kueue("LocalQueue", {"name": "lq", "namespace": "ml"}, {"clusterQueue": "ml-cq"}),
        kueue("Workload", {"name": "job", "namespace": "ml"}, {"queueName": "lq", "podSets": sets}),
    ]
    path, out = tmp_path / "kueue.json", tmp_path / "plan.json"
    path.write_text(json.dumps({"kind": "List", "items": items}))
    assert run(["plan", str(path), "-o", str(out)]) == 0
    (row,) = json.loads(out.read_text())["workloads"]
    reason = "blocked by cpu borrowing limit of ml-cq on flavor mig: 600"
    assert row["says"] == f"{reason}: due 200 of 300 asked, 200 whole"
    assert run(["verify", str(out)]) == 0
    out.write_text(out.read_text().replace("flavor mig: 600", "flavor mig: 700"))
    assert run(["verify", str(out)]) == 4


def test_what_a_queue_could_hold_says_its_mix(data):
    row = next(row for row in data["queues"] if row["queue"] == "data")
    mix = row["could_hold"]["mix"]
    assert sum(mix.values()) == pytest.approx(row["could_hold"]["tasks"], rel=1e-9)
    first = next(iter(mix))
    mix[first] += 1
    judged = judging.judge(data)
    assert not judged.certified and "data.could_hold.mix" in judged.explain()


def test_tasks_of_one_workload_are_told_apart_by_what_they_ask():
    queue = [
        Workload("web", "front", {"cpu": Fraction(1, 2), "memory": Fraction(2**30)}),
        Workload("web", "front", {"cpu": Fraction(2), "memory": Fraction(2**30)}),
        Workload("web", "front", {"cpu": Fraction(2), "memory": Fraction(2**30)}),
        Workload("web", "cache", {"cpu": Fraction(2)}),
    ]
    names = ["web/front (0.5 cpu)", "web/front (2 cpu)", "web/front (2 cpu) (2)", "web/cache"]
    assert problem._names(queue) == names
