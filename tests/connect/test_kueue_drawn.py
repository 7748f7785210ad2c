"""Plans of clusters with Kueue's quotas, drawn: certified, within every quota, and asked."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import fairopt as fo
from benchmarks.kueue_cluster import RESOURCES, drawn


def cluster(seed: int):
    rng = np.random.default_rng(seed)
    size = [int(rng.integers(*ends)) for ends in ((10, 90), (5, 50), (3, 20), (1, 6))]
    how = {
        name: bool(rng.random() < part)
        for name, part in (("nested", 0.5), ("lending", 0.5), ("nothing", 0.3))
    }
    return drawn(*size, (2, 30), seed, **how)


def amount(text: str) -> float:
    return float(text.removesuffix("Gi")) * (2**30 if text.endswith("Gi") else 1)


# most of these were unproved where prices of nodes between which nothing stops what is lent
# differed by their last digit, or a queue with a quota of nothing lent a rounding of it
@pytest.mark.parametrize("seed", [4, 7, 10, 14, 15, 17, 21, 23])
def test_a_plan_is_certified_and_within_quotas(seed):
    objects = cluster(seed)
    plan = fo.connect.kubernetes(objects).plan()
    assert plan.certified, plan.verdict
    queues = {one["metadata"]["name"]: one for one in objects["items"]}
    answer = plan.answer
    inst, flavor = answer.instance, {}
    for one in objects["items"]:
        if one["kind"] == "Node":
            cpu, memory, gpu, _ = one["status"]["allocatable"].values()
            kind = one["metadata"]["labels"]["kind"]
            flavor[f"{cpu}cpu-{memory}-{gpu}gpu"] = kind.replace("k", "f")
    assert set(flavor) == set(inst.servers)  # each shape of nodes is one flavor
    limits = 0
    # of each queue what its workloads use of each flavor is at most its own and what it may borrow
    for name, one in queues.items():
        if one["kind"] != "ClusterQueue":
            continue
        mine = [n for n, user in enumerate(inst.users) if user.startswith(f"{name}/")]
        for own in one["spec"]["resourceGroups"][0]["flavors"]:
            there = [i for i, shape in enumerate(inst.servers) if flavor[shape] == own["name"]]
            for row in own["resources"]:
                if "borrowingLimit" in row and row["name"] in inst.resources:
                    need = inst.demand[mine, inst.resources.index(row["name"])]
                    use = answer.tasks[np.ix_(mine, there)].sum(axis=1) @ need
                    most = amount(row["nominalQuota"]) + amount(row["borrowingLimit"])
                    assert use <= most * (1 + 1e-9)
                    limits += len(there) > 0
    assert limits
    # a user that gives a thousandth to nobody is not certified
    tasks = answer.tasks.copy()
    n = int(np.argmax(tasks.sum(axis=1)))
    tasks[n] *= 1 - 1e-3
    assert not fo.certify(answer.with_(tasks=tasks, certificate=None)).certified


def test_what_moves_is_the_least(tmp_path):
    """What a cohort overran by rounding was held against a root that has nothing: all moved."""
    pytest.importorskip("starlette")
    from fairopt.commands import serve_app

    path = tmp_path / "plan.json"
    plan = fo.connect.kubernetes(drawn(120, 40, 8, 4, (5, 30), 0)).plan()
    assert plan.certified
    plan.save(path)
    moves = serve_app.Followed(str(path)).now().moves({"drop": ["node/n3"]})
    assert moves["status"] == "used"
    both = moves["stopped"] + moves["started"]
    assert both == pytest.approx(moves["least"], rel=1e-5, abs=1e-5)
    assert both < 0.1 * plan.answer.tasks.sum()
    assert set(RESOURCES) <= set(plan.answer.instance.resources) | {"pods"}


def test_rows_that_add_up_to_others_are_proved_together():
    """Quotas that add up to what there is: not every row can be asked to be left as little, and
    rows that depend on each other were no system that could be solved."""
    instance = fo.connect.kubernetes(
        drawn(300, 60, 20, 5, (5, 30), 3, nested=True, lending=True)
    ).instance
    answer = fo.solve(instance, fo.AlphaFair(0.5))
    assert answer.certificate.certified
    # the judge's own bound, not that of a few users alone
    assert answer.certificate.residual < 1e-9
    worse = answer.tasks.copy()
    n = int(np.argmax(worse.sum(axis=1)))
    worse[n] *= 1 - 1e-5
    assert not fo.certify(answer.with_(tasks=worse, certificate=None)).certified


def small(seed: int):
    """Six queues in cohorts below cohorts on six nodes, many of which have quotas of nothing."""
    return drawn(12, 6, 6, 3, (2, 9), seed, nested=True, lending=True, nothing=True)


# all of these were unproved where what the rows of quotas keep at 0 was found as a number next to 0
@pytest.mark.parametrize("seed", [1, 8, 11, 14])
def test_what_nobody_can_lend_stands_in_nobodys_way(seed):
    instance = fo.connect.kubernetes(small(seed)).instance
    for notion in (fo.ProportionalFair(), fo.MaxMin("tasks"), fo.MaxMin()):
        assert fo.solve(instance, notion).certificate.certified


# and these where a flow at its bound is as dear on both sides, and the prices of its nodes not tied
@pytest.mark.parametrize("seed", [7, 25, 38, 51, 80])
def test_nodes_between_which_a_flow_at_its_bound_costs_nothing_have_one_price(seed):
    for criterion in ("drf", "tasks"):
        answer = fo.connect.kubernetes(small(seed)).plan(fo.MaxMin(criterion)).answer
        assert answer.certificate.certified
        tasks = answer.tasks.copy()
        n = int(np.argmax(tasks.sum(axis=1)))
        tasks[n] *= 1 - 1e-5
        assert not fo.certify(answer.with_(tasks=tasks, certificate=None)).certified


def test_workloads_for_whom_quotas_leave_nothing_are_set_aside():
    """Proportional fairness divides among the others; max-min among all."""
    read = fo.connect.kubernetes(small(16))
    with pytest.raises(fo.Infeasible) as conflict:
        fo.solve(read.instance, fo.ProportionalFair())
    assert set(conflict.value.nothing) == {"q3/w3", "q3/w9", "q4/w10"}
    assert conflict.value.nothing["q4/w10"] == "the quota of q4: nvidia.com/gpu on f2"
    again = pickle.loads(pickle.dumps(conflict.value))  # as between processes
    assert (str(again), again.nothing) == (str(conflict.value), conflict.value.nothing)
    plan = read.plan(fo.ProportionalFair())
    assert plan.certified
    said = {one["workload"]: one for one in plan.data["workloads"]}
    assert len(said) == 12
    for name, why in conflict.value.nothing.items():
        assert said[name]["says"] == f"nothing is left: {why}" and said[name]["due"] == 0
    assert "says" in said["q3/w3"] and fo.solve(read.instance, fo.MaxMin()).certificate.certified


def test_where_quotas_leave_nobody_anything_nothing_is_planned():
    objects = small(16)
    for one in objects["items"]:
        if one["kind"] in ("ClusterQueue", "Cohort"):
            for group in one["spec"].get("resourceGroups", []):
                for flavor in group["flavors"]:
                    for row in flavor["resources"]:
                        row["nominalQuota"] = "0"
    with pytest.raises(fo.Infeasible, match="nothing is left for"):
        fo.connect.kubernetes(objects).plan(fo.ProportionalFair())
