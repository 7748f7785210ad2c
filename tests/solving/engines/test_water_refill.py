"""PS-DSF and per-server DRF: the papers' numbers, and the judges on random instances."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.allocation import Allocation
from fairopt.certificates import certify
from fairopt.errors import BadInput, SolverFailure, UsageError
from fairopt.instance import Floats, Instance
from fairopt.notions.drf_hug import HandOutDRF
from fairopt.notions.notion import SameAs
from fairopt.notions.per_server_drf import PerServerDRF
from fairopt.notions.ps_dsf import PerServerDominantShare, transformed
from fairopt.notions.way import Patterns
from fairopt.solving.engines.water import fixed_points, implicit, per_server, ps_dsf, refill
from tests.per_server_cases import figure_1, figure_2, figure_4, random_instance, section_5

RDM = PerServerDominantShare()
TDM = PerServerDominantShare("tdm")


def solved(instance: Instance, notion: PerServerDominantShare) -> Allocation:
    if notion.division == "tdm":
        servers = list(range(len(instance.servers)))
        tasks, _ = refill.refill(instance, instance.part_of_time(), servers)
    else:
        tasks = ps_dsf.solve(instance, notion).tasks
    return Allocation(instance, notion, tasks)


@pytest.mark.parametrize("notion", [RDM, TDM, PerServerDominantShare(method="algorithm-1")])
def test_khamse2016_figure_1(notion: PerServerDominantShare) -> None:
    alloc = solved(figure_1(), notion)
    assert alloc.totals == pytest.approx([3, 3, 6], abs=1e-9)
    assert certify(alloc).certified


@pytest.mark.parametrize("method", ["refill", "algorithm-1"])
def test_khamse2016_figure_2(method: str) -> None:
    alloc = solved(figure_2(), PerServerDominantShare(method=method))
    assert alloc.totals == pytest.approx([3.6, 3.6, 8, 8], abs=1e-8)
    assert certify(alloc).certified


def test_khamse2016_section_5() -> None:
    inst = section_5()
    alloc = solved(inst, RDM)
    assert alloc.totals == pytest.approx([210, 105, 82.5, 27.5], abs=1e-8)
    # the paper says CPU of classes A and B is fully used; RAM binds there and CPU is at 3/4
    together = alloc.used[:2].sum(axis=0) / inst.pool[:2].sum(axis=0)
    assert together == pytest.approx([0.75, 1.0], abs=1e-9)


@pytest.mark.parametrize("r22", [0.2, 0.7, 1.0, 1.5])
def test_khamse2016_figure_4_family(r22: float) -> None:
    alloc = solved(figure_4(r22), RDM)
    assert alloc.totals == pytest.approx([1.5, 1.0], abs=1e-9)
    assert alloc.utilisation[1] == pytest.approx(1)
    assert alloc.tasks[1, 1] / r22 == pytest.approx(0.5, abs=1e-9)  # channel 2 shared equally


def test_choosy_is_max_min_of_one_resource_and_claim_1() -> None:
    placement = [[1, 1], [1, 1], [0, 1]]
    alloc = solved(Instance(np.ones((3, 1)), [[2.5], [1.7]], placement), RDM)
    assert alloc.tasks[:, 1] == pytest.approx([0.15, 0.15, 1.4], abs=1e-9)
    alloc = solved(Instance(np.ones((3, 1)), [[2.5], [1.0]], placement), RDM)
    assert alloc.totals == pytest.approx([1.25, 1.25, 1.0], abs=1e-9)


def test_rdm_passes_theorem_1_on_150_random_instances() -> None:
    for seed in range(150):
        alloc = solved(random_instance(seed, limits=seed % 2 == 1), RDM)
        assert certify(alloc).certified, f"seed {seed}: {certify(alloc).explain()}"


def test_tdm_passes_theorem_2_and_fits_divided_resources() -> None:
    for seed in range(100):
        inst = random_instance(seed, limits=seed % 2 == 1)
        alloc = solved(inst, TDM)
        assert certify(alloc).certified, f"seed {seed}: {certify(alloc).explain()}"
        assert alloc.utilisation.max() <= 1 + 1e-9  # (11): TDM implies RDM


def test_tdm_is_proportional_fairness_of_the_transformed_instance() -> None:
    """Proposition 2 with a = 1: sum phi x'_n/x_n <= sum phi for every vertex tried."""
    rng = np.random.default_rng(7)
    for seed in range(20):
        inst = random_instance(seed)
        best = solved(inst, TDM).totals
        time = transformed(inst)
        assert np.allclose(time.alone, inst.alone)
        for _ in range(20):
            part = np.where(time.eligible, rng.random(time.eligible.shape), 0)
            part /= np.maximum(part.sum(axis=0), 1e-300)
            other = (part * time.alone).sum(axis=1)
            assert inst.weight @ (other / best) <= inst.weight.sum() * (1 + 1e-9)


def test_tdm_program_agrees_with_its_refill_on_100_random_instances() -> None:
    """Without limits x_n is unique; with limits the program is certified and has the larger sum."""
    for seed in range(100):
        inst = random_instance(seed, limits=seed % 2 == 1)
        program, level = fo.solve(inst, TDM), solved(inst, TDM)
        assert program.certificate is not None
        assert program.certificate.certified
        if seed % 2 == 0:
            assert program.totals == pytest.approx(level.totals, rel=1e-7)
        ours = inst.weight @ np.log(program.totals)
        assert ours >= inst.weight @ np.log(level.totals) - 1e-9


def test_algorithm_one_in_rounds_and_asynchronous_is_certified() -> None:
    settled = 0
    for seed in range(40):
        inst = random_instance(seed, limits=seed % 2 == 1)
        for start in (None, 3):
            try:
                tasks, _ = ps_dsf.run(inst, list(range(len(inst.servers))), start, steps=3000)
            except SolverFailure:  # rare, and said so; never a wrong answer
                continue
            settled += 1
            assert certify(Allocation(inst, RDM, tasks)).certified
    assert settled >= 72


def test_a_bound_that_is_hit_is_an_error() -> None:
    inst = random_instance(4)
    with pytest.raises(SolverFailure, match="did not settle in 1 rounds"):
        refill.refill(inst, inst.part_of_row(), list(range(len(inst.servers))), rounds=1)


def test_search_finds_several_fixed_points_and_marks_the_dominated() -> None:
    several = dominated = 0
    for seed in range(14):
        inst = random_instance(seed, limits=True)
        points = fixed_points.fixed_points(inst, trials=10)
        several += len(points) > 1
        for point in points:
            assert certify(Allocation(inst, RDM, point.tasks)).certified
            for k in point.dominated_by:
                dominated += 1
                better, worse = points[k].tasks.sum(axis=1), point.tasks.sum(axis=1)
                assert (better >= worse * (1 - 1e-9)).all()
                assert (better > worse * (1 + 1e-7)).any()
    assert several >= 1
    assert dominated >= 1


def test_parameters_and_order() -> None:
    inst = figure_1()
    back = PerServerDominantShare(order=("s2", "s1"))
    assert solved(inst, back).totals == pytest.approx([3, 3, 6])
    assert ps_dsf.solve(inst, back).steps[0]["order"] == ["s2", "s1"]
    assert isinstance(RDM.way(inst), Patterns)
    same = TDM.way(inst)
    assert isinstance(same, SameAs) and same.instance.resources == ("time",)
    with pytest.raises(UsageError, match="every server once"):
        ps_dsf.solve(inst, PerServerDominantShare(order=("s1",)))
    with pytest.raises(BadInput, match="division"):
        PerServerDominantShare("cpu")
    with pytest.raises(BadInput, match="tdm has one answer"):
        PerServerDominantShare("tdm", method="algorithm-1")


def claim_3(instance: Instance) -> Floats:
    """Dominant shares (N, I) of weighted DRF when every user demands every resource of a server.

    alpha_n = phi_n / max_r sum_m phi_m b[m,r], b = B / max_r B; kesidis2016 prints 1/phi_n.
    """
    part = instance.part_of_row()
    most = part.max(axis=2, keepdims=True)
    shape = np.divide(part, most, out=np.zeros_like(part), where=most > 0)
    load = np.einsum("n,nir->ir", instance.weight, shape).max(axis=1)
    share = instance.weight[:, None] / np.where(load > 0, load, 1.0)[None, :]
    return np.where(instance.eligible, share, 0.0)


def test_claim_3_with_the_weight_the_right_way_up() -> None:
    for seed in range(50):
        inst = random_instance(seed, zeros=False)
        share = claim_3(inst)
        assert per_server.per_server_drf(inst) == pytest.approx(share * inst.alone, rel=1e-9)
    heavy = Instance([[1, 1], [1, 1]], [[3, 3]], weight=[2, 1])
    assert per_server.per_server_drf(heavy)[:, 0] == pytest.approx([2, 1])  # printed form: 1, 2


def test_per_server_drf_kesidis2016_section_4_1() -> None:
    inst = Instance([[1, 4], [3, 1], [3, 4]], [[9, 18], [18, 9]])
    alloc = Allocation(inst, PerServerDRF(), per_server.per_server_drf(inst))
    assert alloc.tasks / inst.alone == pytest.approx(np.array([[0.4, 0.375]] * 3))
    assert certify(alloc).certified
    moved = alloc.tasks.copy()
    moved[0, 0] *= 0.99
    assert not certify(alloc.with_(tasks=moved)).certified


def test_per_server_drf_with_limits_and_zero_demand_is_certified() -> None:
    for seed in range(100):
        inst = random_instance(seed, limits=True)
        alloc = Allocation(inst, PerServerDRF(), per_server.per_server_drf(inst))
        assert certify(alloc).certified, certify(alloc).explain()


def test_two_phase_hand_out_by_hand() -> None:
    """A (1,2), B (1,1) on (10, 8): memory decides, the CPU that is left is handed out.

    Dominant shares per task: A 2/8, B 1/8; memory fills at A 2, B 4 (half each). CPU used 6 of 10:
    A .2, B .4. The 4 left raise A first: to .4 with 2 units, then both to .5 with the other two.
    """
    inst = Instance([[1, 2], [1, 1]], [[10, 8]])
    answer = per_server.solve(inst, HandOutDRF())
    assert answer.tasks[:, 0] == pytest.approx([2, 4])
    given = answer.steps[1]["resources"]
    assert given["u1"]["s1"] == pytest.approx({"r1": 5, "r2": 4})
    assert given["u2"]["s1"] == pytest.approx({"r1": 5, "r2": 4})
    assert certify(Allocation(inst, HandOutDRF(), answer.tasks)).certified


@pytest.mark.parametrize("reduce", [True, False])
def test_a_pair_that_may_but_need_not_be_used_leaves_no_error(reduce: bool) -> None:
    """Figure 1 under tdm: user 3 could run on server 1 at the same price, and need not."""
    found = fo.solve(figure_1(), TDM, reduce=reduce)
    assert found.certificate is not None
    assert found.certificate.residual <= 1e-12
    assert found.totals == pytest.approx([3, 3, 6], rel=1e-13)
    assert found.steps[-1]["engine"] == "refill"


def test_closing_keeps_what_it_cannot_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    inst = random_instance(4)
    settled, _ = refill.refill(inst, inst.part_of_time(), list(range(len(inst.servers))))
    closed, step = ps_dsf.close(inst, settled * (1 + 1e-9))
    assert closed.sum(axis=1) == pytest.approx(settled.sum(axis=1), rel=1e-12)
    assert step["rounds"] >= 1
    far, step = ps_dsf.close(inst, settled * 0.9)
    assert far is not settled and (far == settled * 0.9).all()
    assert "not used" in step["status"]
    monkeypatch.setattr(ps_dsf, "CLOSING", 0)
    same, step = ps_dsf.close(inst, settled)
    assert same is settled and "did not settle" in step["status"]


@pytest.mark.parametrize("notion", [RDM, TDM, PerServerDRF()])
def test_weights_over_twelve_decades(notion: PerServerDominantShare | PerServerDRF) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        users, servers = int(rng.integers(3, 30)), 1 + seed % 3
        inst = Instance(
            rng.uniform(0.1, 1, (users, 1 + seed % 2)),
            rng.uniform(1, 10, (servers, 1 + seed % 2)),
            weight=10.0 ** rng.integers(-6, 7, users),
        )
        found = fo.solve(inst, notion)
        assert found.certificate is not None
        assert found.certificate.residual <= 1e-10


def crowd(seed: int, users: int = 60, servers: int = 12) -> Instance:
    rng = np.random.default_rng(seed)
    placement = rng.random((users, servers)) < (0.3, 0.6, 1.0)[seed % 3]
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    demand = rng.lognormal(0, 1, (users, 3))
    return Instance(demand, rng.uniform(1, 10, (servers, 3)) * users, placement)


@pytest.mark.parametrize("seed", range(6))
def test_implicit_steps_end_at_theorem_1(seed: int) -> None:
    inst = crowd(seed)
    found = fo.solve(inst, RDM)
    assert found.certificate is not None
    assert found.certificate.gap <= 1e-10
    assert found.steps[-1]["engine"] == "implicit"


@pytest.mark.parametrize("seed", (0, 3))
def test_implicit_steps_end_where_users_demand_not_all_resources(seed: int) -> None:
    """The guesses of who is stopped by what go round in circles here, and softened steps end it."""
    rng = np.random.default_rng(seed)
    demand = rng.lognormal(0, 1, (80, 3)) * (rng.random((80, 3)) < 0.7)
    demand[np.arange(80), rng.integers(0, 3, 80)] += 0.1
    placement = rng.random((80, 20)) < 0.2
    placement[np.arange(80), rng.integers(0, 20, 80)] = True
    inst = Instance(demand, rng.uniform(1, 10, (20, 3)) * 80, placement)
    found = fo.solve(inst, RDM)
    assert found.certificate is not None
    assert found.certificate.gap <= 1e-9
    assert found.steps[-1]["engine"] == "implicit"


def test_long_implicit_steps_end_in_short_ones() -> None:
    """Tasks that go round between two servers by rounding are an answer."""
    inst = crowd(2, 300, 40)
    found = fo.solve(inst, RDM)
    assert found.certificate is not None
    assert found.certificate.gap <= 1e-8
    assert found.steps[-1]["engine"] == "implicit"


def test_implicit_steps_of_one_server_are_the_fill_of_it() -> None:
    """One server has one answer, which the sorting finds."""
    inst = Instance([[1, 4], [3, 1], [2, 2]], [[9, 18]], weight=[1, 2, 1])
    found = implicit.settle(inst, inst.part_of_row(), np.zeros(inst.shape[:2]))
    assert found is not None
    assert found[0][:, 0] == pytest.approx(solved(inst, RDM).totals, rel=1e-9)


def test_implicit_steps_of_time_find_its_only_totals() -> None:
    """With time divided the totals are unique: those of the program."""
    for seed in range(3):
        inst = crowd(seed, 30, 6)
        found = implicit.settle(inst, inst.part_of_time(), np.zeros(inst.shape[:2]))
        assert found is not None
        assert found[0].sum(axis=1) == pytest.approx(fo.solve(inst, TDM).totals, rel=1e-7)


def test_where_the_implicit_steps_fail_the_rounds_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    inst = crowd(0, 20, 4)
    monkeypatch.setattr(ps_dsf, "FEW_PAIRS", 0)
    monkeypatch.setattr(implicit, "MOST_STEPS", 1)
    found = fo.solve(inst, RDM)
    assert found.steps[-1]["engine"] == "refill"
