"""Kueue's own share on the cases of its tests (fair_sharing_test.go), and on two of ours."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from fairopt.connect.readers.kueue import QueueNode, QuotaCell
from fairopt.connect.readers.kueue_share import KueueTree

GPU, CPU = ("default", "example.com/gpu"), ("default", "cpu")


def node(name, parent="", weight="1", **quotas):
    pairs = {"gpu": GPU, "cpu": CPU}
    found = {}
    for key, own in quotas.items():
        nominal, *more = own if isinstance(own, tuple) else (own,)
        limits = dict(zip(("borrow", "lend"), more, strict=False))
        found[pairs.get(key, (key, "cpu"))] = QuotaCell(
            Fraction(nominal), *(None if x is None else Fraction(x) for x in limits.values())
        )
    return QueueNode(name, parent, Fraction(weight), found)


def tree(nodes, cohorts=(), usage=()):
    amounts = {"gpu": GPU, "cpu": CPU}
    used = {amounts.get(k, (k, "cpu")): Fraction(v) for k, v in dict(usage).items()}
    by_name = {n.name: n for n in nodes}
    return KueueTree(by_name, {c.name: c for c in cohorts}, {"cq": used} if used else {})


def pair(cq, lending, weight="1", lending_weight="1"):
    return [
        node("cq", "test-cohort", weight, **cq),
        node("lending-cq", "test-cohort", lending_weight, **lending),
    ]


LARGE = ({"gpu": 500}, {"gpu": 1000})
ALONE = ({"gpu": (2, None, 0)}, {"gpu": (64, None, 0)})
TEN = ({"cpu": 2, "gpu": 5}, {"cpu": 8, "gpu": 5})
CASES = {
    "no cohort": ([node("cq", cpu=2000, gpu=5)], {"cpu": 1, "gpu": 2}, {}, 0, "", False),
    "usage below nominal": (pair(*TEN), {"cpu": 1, "gpu": 2}, {}, 0, "", False),
    "usage above nominal": (pair(*TEN), {"cpu": 3, "gpu": 7}, {}, 200, GPU[1], True),
    "slightly above, large quotas": (pair(*LARGE, "1", "300"), {"gpu": 501}, {}, 1, GPU[1], True),
    "way above, weights": (pair(*LARGE, "300", "300"), {"gpu": 800}, {}, 1, GPU[1], True),
    "one resource above": (pair(*TEN), {"cpu": 3, "gpu": 3}, {}, 100, "cpu", True),
    "with a workload": (pair(*TEN), {"cpu": 1, "gpu": 2}, {CPU: 4, GPU: 4}, 300, "cpu", True),
    "nothing lendable": (
        pair({"cpu": 2, "gpu": (2, None, 0)}, {"cpu": 8, "gpu": (64, None, 0)}),
        {"cpu": 1, "gpu": 1},
        {CPU: 4, GPU: 4},
        300,
        "cpu",
        True,
    ),
    "weight 0, nobody lends": (pair(*ALONE, "0"), {"gpu": 3}, {}, None, "", True),
    "several flavors": (
        [
            node("cq", "test-cohort", **{"on-demand": 20, "spot": 80}),
            node("lending-cq", "test-cohort", default=100),
        ],
        {"on-demand": 15, "spot": 5},
        {("on-demand", "cpu"): 10},
        25,
        "cpu",
        True,
    ),
    "whole weight": (pair({"gpu": 5}, {"gpu": 5}, "2"), {"gpu": 7}, {}, 100, GPU[1], True),
    "decimal weight": (pair({"gpu": 5}, {"gpu": 5}, "1/2"), {"gpu": 7}, {}, 400, GPU[1], True),
    "weight 0": (pair({"gpu": 5}, {"gpu": 10}, "0"), {"gpu": 7}, {}, None, GPU[1], True),
    "against 1E": (pair({"cpu": 0}, {"cpu": 10**18}), {"cpu": 1}, {}, 1, "cpu", True),
}


@pytest.mark.parametrize("name", CASES)
def test_of_a_queue_in_one_cohort(name):
    nodes, usage, asked, shown, resource, borrowing = CASES[name]
    built = tree(nodes, usage=usage)
    found = built.share(("queue", "cq"), {k: Fraction(v) for k, v in asked.items()})
    assert (found.shown, found.resource, found.borrowing) == (shown, resource, borrowing)
    for key in built.nodes:
        if key != ("queue", "cq"):
            assert built.share(key).shown == 0


def cohorts(child, root=50, weight="2"):
    return [node("child-cohort", "root", weight, **child), node("root", gpu=root)]


@pytest.mark.parametrize(
    ("own", "child", "root", "weight", "queue", "cohort"),
    [
        (5, {}, 45, "2", 100, 50),
        (0, {}, 50, "2", 200, 100),
        (0, {"gpu": (0, 10)}, 50, "1", 1000, 200),
    ],
)
def test_of_queues_and_cohorts_in_a_tree(own, child, root, weight, queue, cohort):
    nodes = [node("cq", "child-cohort", gpu=own)]
    built = tree(nodes, cohorts(child, root, weight), {"gpu": 10})
    assert built.share(("queue", "cq")).shown == queue
    assert built.share(("cohort", "child-cohort")).shown == cohort
    assert built.share(("cohort", "root")).shown == 0


def test_a_hierarchy_of_ours():
    """300 GPUs, held 30, 30, 90, 150: Kueue shows 100 three times, and 500."""
    parts = {
        "1A": ("C1", "1", 30),
        "1B": ("C1", "1", 30),
        "1C": ("C1", "3", 90),
        "2A": ("C2", "1", 150),
    }
    queues = {name: node(name, above, w, gpu=0) for name, (above, w, _) in parts.items()}
    built = KueueTree(
        queues,
        {c.name: c for c in (node("C1", "all"), node("C2", "all"), node("all", gpu=300))},
        {name: {GPU: Fraction(held)} for name, (_, _, held) in parts.items()},
    )
    assert [built.share(("queue", name)).shown for name in parts] == [100, 100, 100, 500]
    assert [built.share(("cohort", name)).shown for name in ("C1", "C2")] == [500, 500]


def test_it_cannot_tell_what_is_below_quota():
    """Quotas 6 and 6 on 8 GPUs; (6, 2) and (4, 4) both show 0."""
    for held in ((6, 2), (4, 4)):
        queues = {n: node(n, "all", gpu=6) for n in "ab"}
        usage = {n: {GPU: Fraction(h)} for n, h in zip("ab", held, strict=True)}
        built = KueueTree(queues, {}, usage)
        assert [built.share(("queue", n)).shown for n in "ab"] == [0, 0]


def test_queues_without_work_show_their_share_or_unknown(tmp_path, capsys):
    """By hand: a uses 14 of 10, and its cohort could lend 20 in all: 1000 * 4 / 20."""
    from fairopt.cli import run

    queue = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: NAME}
spec:
  cohortName: all
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 10}]}]
"""
    status = "status: {flavorsUsage: [{name: f, resources: [{name: cpu, total: 14}]}]}\n"
    flavor = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f}\n"
    path = tmp_path / "kueue.yaml"
    for said, share in ((status, 200), ("", None)):
        parts = [flavor, queue.replace("NAME", "a") + said, queue.replace("NAME", "b")]
        path.write_text("---\n".join(parts))
        assert run(["plan", str(path), "--json"]) == 0
        rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["shares"]}
        assert rows["a"]["shown"] == share
        assert rows["b"]["shown"] == (0 if said else None)
        assert run(["plan", str(path)]) == 0
        text = capsys.readouterr().out
        assert ("unknown" in text) == (not said) and text.startswith("nothing runs or waits")
