"""The methods of benchmarks/traffic.py, on networks whose fair rates are known."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from benchmarks.traffic import METHODS, Network, level_by_level


def limited(name: str) -> fo.Instance:
    """The model with demands that bind nobody, where it has none."""
    inst = fo.read(name).instance
    return inst.replace(limit=np.minimum(inst.limit, 10.0))


def test_levels_of_two_paths_in_fractions() -> None:
    """R8: 3/4, 3/4, 7/4 by hand."""
    net = Network.of(limited("rules/r8"))
    np.testing.assert_allclose(level_by_level(net), [3 / 4, 3 / 4, 7 / 4], rtol=1e-9)


def test_levels_of_a_real_network_are_those_certified() -> None:
    inst = fo.read("real/wan-b4").instance
    rates = level_by_level(Network.of(inst))
    answer = fo.solve(inst, fo.MaxMin("tasks"))
    assert answer.certificate is not None and answer.certificate.certified
    np.testing.assert_allclose(rates, answer.shares, rtol=1e-8)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_links_and_demands_and_wastes_no_level(name: str) -> None:
    net = Network.of(limited("rules/r8"))
    rates = METHODS[name](net)
    assert (rates <= net.demand * (1 + 1e-7)).all()
    # links ac and ab carry A and B, bc carries C and what A sends by b
    assert rates[0] + rates[1] <= 1.5 + 1e-6 and rates[2] <= 2 + 1e-6
    assert rates.min() >= 0.25  # half of the fair level, at the least
