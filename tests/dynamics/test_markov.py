"""Mean service rates: exact oracles, the checked numbers, stability, and what vouches for them."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.dynamics import service_rates
from fairopt.dynamics.markov import _need

PAPER = np.array([[0.1, 1.0], [1.0, 0.1], [1.0, 1.0]])
MIX = {"balanced": np.full(3, 1 / 2.1), "unbalanced": np.array([4, 1, 1]) / 5.1}
# found in two independent ways, to the digits given
CHECKED = {
    ("balanced", 0.3, "drf"): (0.67986, 0.67986, 0.61518),
    ("balanced", 0.3, "pf"): (0.69997, 0.69997, 0.60865),
    ("balanced", 0.3, "bmf"): (0.69352, 0.69352, 0.61633),
    ("unbalanced", 0.3, "drf"): (0.69795, 0.80964, 0.67440),
    ("unbalanced", 0.3, "pf"): (0.69990, 0.85924, 0.67002),
    ("unbalanced", 0.3, "bmf"): (0.69897, 0.85448, 0.67486),
    ("unbalanced", 0.9, "drf"): (0.09957, 0.11392, 0.09893),
    ("unbalanced", 0.9, "pf"): (0.09970, 0.51995, 0.09775),
    ("unbalanced", 0.9, "bmf"): (0.09949, 0.50925, 0.09897),
}


@pytest.mark.parametrize("scenario, load, notion", CHECKED)
def test_checked_numbers(scenario, load, notion):
    found = service_rates(PAPER, load * MIX[scenario], notion)
    want = CHECKED[scenario, load, notion]
    np.testing.assert_allclose(found.rates, want, atol=6e-6)
    assert found.load == pytest.approx(load)
    assert np.abs(found.flow).max() <= 1e-8
    assert found.edge.max() <= 1e-8


@pytest.mark.parametrize("notion", ["drf", "pf", "bmf"])
@pytest.mark.parametrize("means", [(1.0, 1.0), (0.2, 3.0)])
def test_oracles(notion, means):
    alone = service_rates([[0.7, 1.0]], [0.6], notion, means[1:])
    np.testing.assert_allclose(alone.rates, [0.4], rtol=1e-6)
    apart = service_rates([[1, 0], [0, 1]], [0.3, 0.5], notion, means)
    np.testing.assert_allclose(apart.rates, [0.7, 0.5], rtol=1e-6)


@pytest.mark.parametrize("means", [(1.0, 1.0), (1.0, 2.0)])
def test_one_resource_under_pf(means):
    """gamma_k = (1 - sum rho_j a_j) / a_k, whatever the means: PF shares the resource equally."""
    found = service_rates([[1.0], [0.5]], [0.3, 0.4], "pf", means)
    np.testing.assert_allclose(found.rates, [0.5, 1.0], rtol=1e-6)


@pytest.mark.parametrize("means", [(1.0, 1.0, 1.0), (0.5, 2.0, 1.0)])
def test_linear_network(means):
    rho = np.array([0.3, 0.2, 0.25])
    found = service_rates([[1, 0], [0, 1], [1, 1]], rho, "pf", means, edge=1e-9)
    first, second = 1 - rho[0] - rho[2], 1 - rho[1] - rho[2]
    third = (1 - rho[2]) / (1 + rho[0] / first + rho[1] / second)
    np.testing.assert_allclose(found.rates, [first, second, third], rtol=1e-6)
    other = service_rates([[1, 0], [0, 1], [1, 1]], rho, "drf", means)
    assert abs(other.rates[2] / third - 1) > 1e-3  # the oracle tells the rules apart


def test_the_box_given_is_the_box_taken():
    small = service_rates(PAPER, 0.6 * MIX["balanced"], "pf", box=(4, 5, 6))
    assert small.box == (4, 5, 6)
    assert small.states == 120
    assert small.edge.max() > 1e-3
    assert np.abs(small.flow).max() <= 1e-8  # what is blocked never came in
    large = service_rates(PAPER, 0.6 * MIX["balanced"], "pf", box=(30, 30, 30))
    grown = service_rates(PAPER, 0.6 * MIX["balanced"], "pf")
    np.testing.assert_allclose(grown.rates, large.rates, rtol=1e-6)


def test_asking_more_of_the_edge_changes_little():
    rates = [
        service_rates(PAPER, 0.7 * MIX["balanced"], "bmf", edge=edge).rates
        for edge in (1e-6, 1e-8, 1e-10)
    ]
    np.testing.assert_allclose(rates[0], rates[2], rtol=1e-4)
    np.testing.assert_allclose(rates[1], rates[2], rtol=1e-6)


def test_means_matter_little_or_not():
    slow = service_rates(PAPER, 0.5 * MIX["balanced"], "pf", (1.0, 1.0, 4.0)).rates
    equal = service_rates(PAPER, 0.5 * MIX["balanced"], "pf").rates
    assert 1e-6 < np.abs(slow / equal - 1).max() < 0.02


def test_another_notion_is_solved_state_by_state():
    found = service_rates([[1.0, 0.2], [0.3, 1.0]], [0.2, 0.2], fo.AlphaFair(2.0), edge=1e-4)
    pf = service_rates([[1.0, 0.2], [0.3, 1.0]], [0.2, 0.2], "pf", edge=1e-4)
    assert found.stable == "proved"  # alpha-fair rules are stable whenever loads fit
    assert pf.stable == "proved"
    assert 1e-5 < np.abs(found.rates / pf.rates - 1).max() < 0.05


def test_overload_is_refused_with_its_inequality():
    with pytest.raises(fo.Infeasible) as told:
        service_rates(PAPER, 1.05 * MIX["unbalanced"], "drf", resources=("cpu", "net"))
    assert told.value.exit_code == 3
    assert "= 1.05 for net; wanted < 1" in str(told.value)
    assert "0.823529 x 1 + 0.205882 x 0.1" in str(told.value)
    with pytest.raises(fo.Infeasible):
        service_rates([[1.0]], [1.0], "pf")


def test_what_is_known_of_stability():
    rho = 0.2 * MIX["balanced"]
    kinds = {
        name: service_rates(PAPER, rho, name, (1.0, 2.0, 1.0), box=(3, 3, 3)).stable
        for name in ("drf", "pf", "bmf")
    }
    assert kinds == {"drf": "proved", "pf": "proved", "bmf": "not known"}
    assert service_rates(PAPER, rho, "bmf", box=(3, 3, 3)).stable == "proved"
    three = np.hstack([PAPER, [[0.5], [0.5], [0.5]]])
    assert service_rates(three, rho, "bmf", box=(3, 3, 3)).stable == "not known"


def test_a_model_beside_the_edge_says_how_large_a_box_it_needs():
    with pytest.raises(fo.UsageError) as told:
        service_rates(PAPER, 0.99 * MIX["balanced"], "drf", most=100_000)
    said = str(told.value)
    assert "load 0.99 needs a box of about" in said
    states = float(said.split(" = ")[1].split(" states")[0])
    assert 1e8 < states < 1e10
    with pytest.raises(fo.UsageError, match="not known whether the number"):
        service_rates(PAPER, 0.9 * MIX["balanced"], "bmf", (1, 1, 2), most=1000)


def test_a_foreseen_box_is_about_the_one_needed():
    with pytest.raises(fo.UsageError) as told:
        service_rates(PAPER, 0.9 * MIX["unbalanced"], "pf", most=20_000)
    foreseen = float(str(told.value).split(" = ")[1].split(" states")[0])
    needed = service_rates(PAPER, 0.9 * MIX["unbalanced"], "pf").states
    assert 0.3 < foreseen / needed < 6


def test_how_many_states_a_class_needs():
    law = 0.5 ** np.arange(1, 60)
    assert _need(law, 0.5**10) == 10  # the tenth state has it, and is the last
    assert abs(_need(law[:15], 0.5**30) - 31) <= 2  # beyond the box: by its slope
    assert _need(np.ones(10) / 10, 1e-3) == 40


def test_every_fault_at_once():
    with pytest.raises(fo.BadInput) as told:
        service_rates([[0.0, 0.0], [1.0, -1.0]], [0.1], "pf", (1.0, 0.0), flow=1e-3, edge=0)
    places = [fault.place for fault in told.value.faults]
    assert places == ["requirements", "loads", "means", "edge", "flow"]
    with pytest.raises(fo.BadInput, match="classes x resources"):
        service_rates([1.0, 2.0], ["a"], "pf")


def test_plain_data_and_repr():
    found = service_rates([[1.0]], [0.5], "drf", box=(20,))
    plain = found.plain()
    assert plain["box"] == [20]
    assert "chance" not in plain
    assert repr(found) == "ServiceRates(0.500009; 20 states)"


def test_the_boxes_are_told():
    lines: list[str] = []
    service_rates([[1.0]], [0.9], "drf", told=lines.append)
    assert lines[0] == "load 0.5: 6 = 6 states"
    assert lines[-1].startswith("load 0.9: ")
