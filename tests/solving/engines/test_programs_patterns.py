"""Mixed-integer programs: BMF and PS-DSF (rdm) exactly, and the whole set of their answers."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.solving.engines.programs import conic
from tests.per_server_cases import figure_1, figure_2, random_instance

FAMILY = fo.Instance([[1, 1, 1], [1, 0.5, 0.75], [0.5, 1, 0.75]], [[1, 1, 1]], users=list("abc"))
RDM = fo.PerServerDominantShare()


def small(seed: int) -> fo.Instance:
    inst = random_instance(seed, limits=seed % 2 == 1)
    return inst.select(range(min(4, inst.shape[0])), range(min(3, inst.shape[1])))


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", range(12))
def test_every_end_of_the_set_is_certified_and_holds_the_engine_s_answer(seed: int) -> None:
    try:
        inst = small(seed)
    except fo.BadInput:
        pytest.skip("a user of the cut has no server")
    points = fo.fixed_points(inst, exact=True)
    totals = np.array([point.tasks.sum(axis=1) for point in points])
    for point in points:
        assert fo.certify(fo.Allocation(inst, RDM, point.tasks)).certified
    engine = fo.solve(inst, RDM).totals
    assert (engine <= totals.max(axis=0) * (1 + 1e-6)).all()
    assert (engine >= totals.min(axis=0) * (1 - 1e-6)).all()
    for other in fo.fixed_points(inst, trials=6):  # nor does any run of the refill end beyond
        found = other.tasks.sum(axis=1)
        assert (found <= totals.max(axis=0) * (1 + 1e-6)).all()
        assert (found >= totals.min(axis=0) * (1 - 1e-6)).all()
    assert sum(point.hits for point in points) == 2 + 2 * len(inst.users)


@pytest.mark.parametrize("inst", [figure_1(), figure_2()], ids=["figure-1", "figure-2"])
def test_the_figures_of_khamse2016_have_one_answer(inst: fo.Instance) -> None:
    (only,) = fo.fixed_points(inst, exact=True)
    assert only.tasks.sum(axis=1) == pytest.approx(fo.solve(inst, RDM).totals, rel=1e-7)


def test_two_answers_of_one_instance_are_told() -> None:
    """The refill ends in several points on some of these; the program finds the extreme ones."""
    several = 0
    for seed in range(1, 30, 2):
        inst = random_instance(seed, limits=True)
        if inst.shape[0] * inst.shape[1] > 12:
            continue
        by_refill = fo.fixed_points(inst, trials=8)
        if len(by_refill) < 2:
            continue
        several += 1
        points = fo.fixed_points(inst, exact=True)
        assert len(points) >= 2
        alone = inst.alone.sum(axis=1)
        best, worst = ((p.tasks.sum(axis=1) / alone).sum() for p in (points[0], points[-1]))
        for point in by_refill:
            value = (point.tasks.sum(axis=1) / alone).sum()
            assert worst * (1 - 1e-6) <= value <= best * (1 + 1e-6)
        chosen = [
            fo.solve(inst, fo.PerServerDominantShare(objective=word))
            for word in ("most-tasks", "fewest-tasks", inst.users[0])
        ]
        assert chosen[0].totals.sum() >= chosen[1].totals.sum() * (1 - 1e-9)
        assert chosen[2].totals[0] >= max(a.totals[0] for a in chosen) * (1 - 1e-9)
    assert several


def test_the_family_of_bonald2015_is_a_segment() -> None:
    """(2/5 - t/15, 2/5 + 2t/45, 2/5 + 2t/45): its two ends, and nothing else."""
    points = fo.fixed_points(FAMILY, notion=fo.BottleneckMaxFair())
    ends = sorted(point.tasks[:, 0].tolist() for point in points)
    assert len(ends) == 2
    assert ends[0] == pytest.approx([1 / 3, 4 / 9, 4 / 9], abs=1e-9)
    assert ends[1] == pytest.approx([2 / 5, 2 / 5, 2 / 5], abs=1e-9)
    for point in points:
        answer = fo.Allocation(FAMILY, fo.BottleneckMaxFair(), point.tasks)
        assert fo.certify(answer).certified


def test_two_resources_have_one_bmf() -> None:
    """bonald2015 Proposition 4, asked of the whole set."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        inst = fo.Instance(rng.uniform(0.1, 1, (4, 2)), [[1, 1]], weight=rng.uniform(0.5, 2, 4))
        assert len(fo.fixed_points(inst, notion=fo.BottleneckMaxFair())) == 1


@pytest.mark.parametrize("notion", [fo.MaxMin(), fo.PerServerDominantShare("tdm")], ids=repr)
def test_a_notion_without_a_set_is_refused(notion: fo.MaxMin) -> None:
    for exact in (True, False):
        with pytest.raises(fo.UsageError, match="wanted ps-dsf with division rdm, or bmf"):
            fo.fixed_points(figure_1(), notion=notion, exact=exact)


def test_a_program_too_large_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    options = dict(conic.INTEGER.options) | {"mip_max_nodes": 0}
    none = conic.Settings("highs", "HIGHS", tuple(options.items()))
    monkeypatch.setattr(conic, "INTEGER", none)
    with pytest.raises(fo.SolverFailure, match="too large for the mixed-integer"):
        fo.solve(random_instance(0), RDM, solver="highs")


@pytest.mark.parametrize(
    "parameters",
    [{"division": "tdm"}, {"method": "algorithm-1"}, {"order": ("s1",)}, {"objective": 3}],
)
def test_an_objective_stands_alone(parameters: dict[str, object]) -> None:
    given = {"objective": "most-tasks", **parameters}
    with pytest.raises(fo.BadInput, match="objective"):
        fo.PerServerDominantShare(**given)  # type: ignore[arg-type]


def test_an_unknown_user_is_refused() -> None:
    with pytest.raises(fo.BadInput, match="objective"):
        fo.solve(figure_1(), fo.PerServerDominantShare(objective="nobody"))
