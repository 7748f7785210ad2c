"""A notion written in a user's own file: solved by general solvers, judged as far as can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import fairopt as fo
from fairopt import notions
from fairopt.notions import Notion
from fairopt.notions.notion import SameAs
from fairopt.notions.way import Procedure
from fairopt.program import Program, feasible_set

INST = fo.Instance(
    [[1.0, 4.0], [3.0, 1.0], [1.0, 1.0]],
    [[9.0, 18.0], [4.0, 2.0]],
    placement=[[1, 0], [1, 1], [0, 1]],
    limit=[np.inf, np.inf, 1.5],
    users=["A", "B", "C"],
)


class LogOfOneMore(Notion):
    """max sum phi_n log(1 + x_n): nobody starves, and nobody needs anything to begin with."""

    def program(self, instance: fo.Instance, score: Any, unit: Any) -> Program:
        import cvxpy as cp

        space = feasible_set(instance, score, unit)
        return Program(instance.weight @ cp.log1p(cp.multiply(unit, space.share)), space)


class Judged(LogOfOneMore):
    def gradient(self, instance: fo.Instance, tasks: Any) -> Any:
        one = instance.weight / (1 + tasks.sum(axis=1))
        return np.broadcast_to(one[:, None], tasks.shape)


def test_a_program_is_enough() -> None:
    answer = fo.solve(INST, LogOfOneMore())
    assert answer.certificate.verdict == "unproved" and not answer.certificate.certified
    assert all(check.holds for check in answer.certificate.checks)
    assert "no judge is known for the notion 'log-of-one-more'" in answer.certificate.explain()
    assert answer.notion["name"] == "log-of-one-more"
    assert [step["step"] for step in answer.steps] == ["clarabel"]


@pytest.mark.parametrize("solver", ["auto", "clarabel", "ecos", "scs"])
def test_with_a_gradient_the_answer_is_certified(solver: str) -> None:
    answer = fo.solve(INST, Judged(), solver=solver)
    assert answer.certificate.certified
    assert answer.certificate.gap <= 1e-6 and answer.certificate.residual <= 1e-6
    assert answer.totals == pytest.approx(fo.solve(INST, LogOfOneMore()).totals, rel=1e-5)


@pytest.mark.parametrize("user", range(3))
@pytest.mark.parametrize("factor", [0.999, 0.9, 0.0])
def test_a_spoiled_answer_is_not_certified(user: int, factor: float) -> None:
    good = fo.solve(INST, Judged())
    tasks = good.tasks.copy()
    tasks[user] *= factor
    bad = good.with_(tasks=tasks)
    gradient = Judged().gradient(INST, tasks)
    assert not fo.certify(bad, gradient).certified
    assert fo.certify(good, Judged().gradient(INST, good.tasks)).certified


@pytest.mark.parametrize("size", [1e-8, 1e-5])
def test_the_tolerance_on_both_sides(size: float) -> None:
    """Everything less by one part: the bound is that part, at prices that are exact."""
    good = fo.solve(INST, Judged())
    tasks = good.tasks * (1 - size)
    found = fo.certify(good.with_(tasks=tasks), Judged().gradient(INST, tasks))
    assert found.certified == (size < 1e-6)


@pytest.mark.parametrize("change", [-0.01, 0.01, -1.0])
def test_a_user_whose_money_is_tiny_is_not_passed_over(change: float) -> None:
    """Logarithms of one's own, at weights 1e-9 and 1: the sum does not feel the light user."""

    class Logarithms(Notion):
        family = "own"
        program = fo.ProportionalFair.program

    inst = fo.Instance([[1.0], [1.0]], [[10.0]], weight=[1e-9, 1.0])
    good = fo.solve(inst, fo.ProportionalFair())
    own = fo.Allocation(inst, Logarithms(), good.tasks, good.prices)
    with np.errstate(divide="ignore"):
        assert fo.certify(own, inst.weight[:, None] / own.tasks).certified
        tasks = own.tasks.copy()
        tasks[0] *= 1 + change
        tasks[1] -= tasks[0] - own.tasks[0]
        gradient = np.minimum(inst.weight[:, None] / tasks, 1e300)
    assert not fo.certify(own.with_(tasks=tasks), gradient).certified


def test_a_program_with_integers_is_solved_too() -> None:
    class Whole(Notion):
        """Most tasks, whole ones."""

        def program(self, instance: fo.Instance, score: Any, unit: Any) -> Program:
            import cvxpy as cp

            space = feasible_set(instance, score, unit)
            whole = cp.Variable(space.y.size, integer=True)
            same = cp.multiply(space.pair_unit, space.y) == whole
            return Program(cp.sum(whole), space, [same])

    answer = fo.solve(INST, Whole())
    assert answer.totals == pytest.approx(np.round(answer.totals), abs=1e-9)
    assert answer.certificate.verdict == "unproved" and answer.steps[0]["step"] == "highs"
    with pytest.raises(fo.UsageError, match="clarabel cannot state this program; wanted highs"):
        fo.solve(INST, Whole(), solver="clarabel")


def test_cones_that_some_solvers_lack_are_left_to_the_others() -> None:
    class Root(Notion):
        def program(self, instance: fo.Instance, score: Any, unit: Any) -> Program:
            import cvxpy as cp

            space = feasible_set(instance, score, unit)
            return Program(cp.sum(cp.power(space.share, 0.37, approx=False)), space)

    assert fo.solve(INST, Root()).steps[0]["step"] == "clarabel"
    with pytest.raises(fo.UsageError, match="ecos cannot state this program; wanted clarabel, scs"):
        fo.solve(INST, Root(), solver="ecos")


def test_the_table_says_what_it_was_judged_as(capsys: pytest.CaptureFixture[str]) -> None:
    from fairopt.report import tables

    class Mine(Notion):
        family, alpha, weight_inside = "alpha-fair", 0.5, False
        program = fo.AlphaFair.program

    said = tables.headline(fo.solve(INST, Mine()))
    assert said.startswith("mine, judged as alpha-fair (alpha=0.5")


def test_forged_prices_prove_nothing() -> None:
    good = fo.solve(INST, Judged())
    gradient = Judged().gradient(INST, good.tasks)
    for prices in (np.zeros((2, 2)), np.full((2, 2), 1e300), np.ones((2, 2)), None):
        forged = good.with_(prices=prices, limit_prices=None)
        assert not fo.certify(forged, gradient).certified
    beyond = good.with_(tasks=good.tasks * 1.1)
    assert fo.certify(beyond, gradient).verdict == "refuted"


@pytest.mark.parametrize("gradient", [[1.0, 2.0], np.full((3, 2), np.nan)])
def test_a_gradient_that_is_none_is_refused(gradient: Any) -> None:
    with pytest.raises(fo.BadInput, match="gradient"):
        fo.certify(fo.solve(INST, LogOfOneMore()), gradient)


def test_what_the_solver_cannot_state_is_refused_by_name() -> None:
    with pytest.raises(fo.UsageError, match="highs cannot state this program; wanted clarabel"):
        fo.solve(INST, LogOfOneMore(), solver="highs")
    with pytest.raises(fo.UsageError, match="log-of-one-more is solved by auto, clarabel"):
        fo.solve(INST, LogOfOneMore(), solver="interior")


def test_an_answer_that_does_not_fit_is_never_returned_silently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fairopt.solving.engines.point import Point

    monkeypatch.setattr(Point, "tasks", lambda self, instance: instance.alone * 2)
    with pytest.raises(fo.NotCertified, match="refuted"):
        fo.solve(INST, LogOfOneMore())


def test_a_notion_of_a_known_family_needs_no_judge_and_no_engine() -> None:
    @dataclass(frozen=True)
    class SquareRoot(Notion):
        """max sum phi_n sqrt(s_n)."""

        family: ClassVar[str] = "alpha-fair"
        alpha: ClassVar[float] = 0.5
        weight_inside: ClassVar[bool] = False

        program = fo.AlphaFair.program

    ours, same = fo.solve(INST, SquareRoot()), fo.solve(INST, fo.AlphaFair(0.5))
    assert ours.certificate.certified and (ours.tasks == same.tasks).all()
    assert ours.notion["family"]["parameters"]["alpha"] == 0.5
    assert fo.solve(INST, SquareRoot(), solver="clarabel").totals == pytest.approx(same.totals)
    assert SquareRoot().name not in notions.NOTIONS


def test_the_other_ways() -> None:
    class Half(Notion):
        def way(self, instance: fo.Instance) -> Procedure:
            return Procedure(lambda inst: inst.alone / (2 * len(inst.users)))

    class Turned(Notion):
        """Proportional fairness on an instance with the weights upside down."""

        def way(self, instance: fo.Instance) -> SameAs:
            return SameAs(instance.replace(weight=1 / instance.weight), fo.ProportionalFair())

    half = fo.solve(INST, Half())
    assert half.certificate.verdict == "unproved"
    with pytest.raises(fo.UsageError, match="half is solved by auto"):
        fo.solve(INST, Half(), solver="clarabel")
    heavy = INST.replace(weight=[4.0, 1.0, 2.0])
    light = heavy.replace(weight=1 / heavy.weight)
    turned = fo.solve(heavy, Turned())
    assert turned.totals == pytest.approx(fo.solve(light, fo.ProportionalFair()).totals)


def test_a_notion_without_any_way_says_so() -> None:
    class Nothing(Notion):
        pass

    with pytest.raises(fo.UsageError, match="notion nothing: it states no program"):
        fo.solve(INST, Nothing())


def _square_root(self: Notion, instance: fo.Instance, score: Any, unit: Any) -> Program:
    """max sum sqrt(s): alpha = 1/2 without weights."""
    import cvxpy as cp

    space = feasible_set(instance, score, unit)
    return Program(np.sqrt(unit) @ cp.sqrt(space.share), space)


def test_a_subclass_with_a_program_of_its_own_is_a_notion_of_its_own() -> None:
    class Mine(fo.ProportionalFair):
        program = _square_root

    class Flat(fo.MaxMin):
        program = _square_root
        gradient = Judged.gradient

    class Taken(fo.ProportionalFair):
        program = fo.AlphaFair.program

    even = fo.solve(INST.replace(weight=None), fo.AlphaFair(0.5))
    for notion in (Mine(), Flat("tasks")):
        found = fo.solve(INST, notion, uncertified="return")
        assert found.totals == pytest.approx(even.totals, rel=1e-6)
        assert found.certificate.verdict == "unproved"
        assert found.notion["family"]["name"] == "own" and notion.merging is None
    assert Mine.gradient is None and fo.ProportionalFair.merging is not None
    # the program of a notion of fairopt is not somebody's own
    assert fo.solve(INST, Taken()).certificate.certified


@pytest.mark.parametrize("family", ["alpha-fair", "max-min", "tradeoff", "ps-dsf", "sum-m"])
def test_a_family_does_not_take_the_place_of_a_program(family: str) -> None:
    class Mine(Notion):
        """Says that it is of a family, and is not: its program is solved, and its judge says no."""

        alpha, weight_inside, criterion = 2.0, False, "tasks"
        division, method, objective = "rdm", None, None
        program = _square_root

    Mine.family = family
    even = fo.solve(INST.replace(weight=None), fo.AlphaFair(0.5))
    found = fo.solve(INST, Mine(), uncertified="return")
    assert found.totals == pytest.approx(even.totals, rel=1e-4)
    assert not found.certificate.certified


def test_where_a_program_of_ones_own_is_not_known(tmp_path: Any) -> None:
    class Mine(fo.AlphaFair):
        family = "alpha-fair"
        program = _square_root

    named = fo.Instance([[1], [2]], [[7]], users=["a", "b"], resources=["cpu"])
    ruled = named.replace(quotas=fo.Quotas(bounds=[fo.Bound("a", "cpu", 1)]))
    with pytest.raises(fo.UsageError, match="mine"):
        fo.solve(ruled, Mine(2))
    source = fo.write_partitions(named, tmp_path / "in", 1)
    with pytest.raises(fo.UsageError, match="mine of users in partitions: found a program of its"):
        fo.solve_partitions(source, Mine(2), tmp_path / "out")
    last = fo.solve(named, Mine(0.5), uncertified="return")
    again = fo.solve(named, Mine(0.5), start=last, uncertified="return")
    assert again.steps[0]["status"].startswith("not used, solved anew")


def test_an_own_way_is_not_hurried_by_a_shorter_one() -> None:
    from fairopt.properties.quick import quick

    class Mine(fo.MaxMin):
        family = "max-min"

        def way(self, instance: fo.Instance) -> Any:
            return fo.MaxMin(self.criterion).way(instance.replace(weight=None))

    assert quick(INST, fo.MaxMin("tasks")) is not None
    assert quick(INST, Mine("tasks")) is None


def _own(program: Any) -> Notion:
    class Mine(Notion):
        pass

    Mine.program = program
    return Mine()


def test_a_program_that_is_none_is_refused_by_name() -> None:
    import cvxpy as cp

    def convex(self: Any, instance: Any, score: Any, unit: Any) -> Program:
        space = feasible_set(instance, score, unit)
        return Program(cp.sum(cp.exp(space.share)), space)

    def bent(self: Any, instance: Any, score: Any, unit: Any) -> Program:
        space = feasible_set(instance, score, unit)
        return Program(cp.sum(space.share), space, [cp.sqrt(space.share) <= 1])

    def text(self: Any, instance: Any, score: Any, unit: Any) -> Program:
        return Program("most", feasible_set(instance, score, unit))

    def many(self: Any, instance: Any, score: Any, unit: Any) -> Program:
        space = feasible_set(instance, score, unit)
        return Program(space.share, space)

    for program, said in (
        (convex, "mine: 1 fault\n  program, objective: found .*exp.*; wanted a concave one"),
        (bent, "mine: 1 fault\n  program, constraint: found .*; wanted a convex one"),
        (text, "mine: 1 fault\n  program: found "),
        (many, "mine: 1 fault\n  program: found .*scalar"),
        (lambda *_: "max", "mine: 1 fault\n  program: found the text 'max'; wanted a fair"),
    ):
        with pytest.raises(fo.BadInput, match=said):
            fo.solve(INST, _own(program))
        with pytest.raises(fo.BadInput, match=said):
            fo.solve(INST, _own(program), solver="clarabel")

    class Lost(Notion):
        def way(self, instance: fo.Instance) -> Any:
            return "the long way"

    with pytest.raises(fo.BadInput, match="way of lost: found the text 'the long way'"):
        fo.solve(INST, Lost())


@pytest.mark.parametrize("gradient", ["steep", None, [["a"]], [[1.0], [1.0, 2.0]], {}])
def test_a_gradient_that_is_no_number_is_refused_by_name(gradient: Any) -> None:
    class Steep(LogOfOneMore):
        def gradient(self, instance: fo.Instance, tasks: Any) -> Any:
            return gradient

    with pytest.raises(fo.BadInput, match="gradient of steep: found|gradient: found"):
        fo.solve(INST, Steep())


# -- beside own rules ----------------------------------------------------------------------------


RULED = {
    "r1": [7, 7],  # more money does not help B: carbon stops both
    "r3": [2.5, 7, 2.5],
    "r5": [2, 2, 8],
    "r6": [4, 8],
    "r7": [7.5, 7.5, 3],
    "r7b": [5, 1.5, 1.5],
}
"""the answers of proportional fairness (tests of models), which any welfare of one shape for all
users has where nothing but the sum of tasks of equal users counts"""


@pytest.mark.parametrize("key", RULED)
def test_a_notion_of_ones_own_beside_rules_is_certified(key: str) -> None:
    inst = fo.read(f"rules/{key}").instance
    answer = fo.solve(inst, Judged())
    assert answer.shares == pytest.approx(RULED[key], rel=1e-5)
    assert answer.certificate.certified and answer.rule_prices is not None
    gradient = Judged().gradient(inst, answer.tasks)
    assert fo.certify(answer, gradient).certified
    # prices that are not those
    for part in (0.0, 1.001):
        forged = answer.with_(rule_prices=answer.rule_prices * part)
        assert not fo.certify(forged, gradient).certified


def test_without_a_gradient_a_broken_rule_is_seen_all_the_same() -> None:
    inst = fo.read("rules/r5").instance
    answer = fo.solve(inst, LogOfOneMore())
    assert answer.certificate.verdict == "unproved"
    assert "rules" in {check.name for check in answer.certificate.checks}
    broken = answer.with_(tasks=answer.tasks * [[1 + 1e-6], [1 + 1e-6], [0.9]])
    assert fo.certify(broken).verdict == "refuted"


def test_notions_of_ones_own_refuse_quotas_modes_and_rules_that_do_not_fit() -> None:
    with pytest.raises(fo.UsageError, match="judged: found modes of A, B; wanted an instance"):
        fo.solve(fo.read("rules/r4").instance, Judged())
    inst = fo.read("rules/r5").instance
    quotas = fo.Quotas(guarantee_tasks={"A": 1.0})
    with pytest.raises(fo.UsageError, match="judged: found .* wanted an instance without them"):
        fo.solve(inst.replace(quotas=quotas), Judged())
    with pytest.raises(fo.Infeasible, match="all would fit if what is asked were cut to 4/5"):
        fo.solve(fo.read("rules/r9c").instance, Judged())


def test_a_program_of_ones_own_reads_tasks_beside_rules() -> None:
    """Constraints may be written in tasks (N, I) of the program, with rules as without."""
    inst = fo.read("rules/r1").instance
    program = Judged().program(inst, np.ones((2, 2)), np.ones(2))
    problem = program.problem()
    problem.solve(solver="CLARABEL")
    np.testing.assert_allclose(program.tasks(inst).value.sum(axis=1), [7, 7], rtol=1e-3)
