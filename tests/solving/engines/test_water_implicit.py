"""Implicit steps of PS-DSF, where guesses of who is stopped by what go round in circles."""

import numpy as np
import pytest

import fairopt as fo
from fairopt.solving.engines.water.implicit import LevelTaken, Servers


def _cluster(seed: int, users: int = 80, servers: int = 20) -> fo.Instance:
    """Half of all demands are 0, weights over four decades."""
    rng = np.random.default_rng(seed)
    demand = rng.lognormal(0, 1, (users, 3))
    none = rng.random((users, 3)) < 0.5
    none[np.arange(users), rng.integers(0, 3, users)] = False
    demand[none] = 0.0
    placement = rng.random((users, servers)) < 0.3
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    capacity = rng.uniform(1, 10, (servers, 3)) * users
    return fo.Instance(demand, capacity, placement, weight=10 ** rng.uniform(-2, 2, users))


@pytest.mark.parametrize("seed", range(6))
def test_users_who_demand_not_all_resources(seed: int) -> None:
    answer = fo.solve(_cluster(seed), fo.PerServerDominantShare())
    assert answer.certificate.certified and answer.certificate.gap < 1e-7
    assert answer.steps[0]["engine"] == "implicit"


@pytest.mark.parametrize("h", [0.5, 1e3])
def test_the_slope_is_that_of_the_use(h: float) -> None:
    """Beside finite differences, where many pairs hold tasks (h small) and where few do."""
    inst = _cluster(3, users=12, servers=6)
    servers = Servers(inst, inst.demand[:, None, :] / inst.capacity[None])
    rng = np.random.default_rng(1)
    x = np.where(inst.eligible, rng.uniform(0.1, 1, inst.eligible.shape), 0.0)
    price = rng.uniform(0, 1, inst.capacity.shape)

    def use(at: np.ndarray) -> tuple[np.ndarray, LevelTaken]:
        taken = servers.take(at, x, h)
        return np.einsum("nir,ni->ir", servers.part, taken.x).ravel(), taken

    base, taken = use(price)
    pays = taken.stopper[:, :, None] == np.arange(price.shape[1])
    slope = servers.slope(taken, pays)
    for k in range(price.size):
        more = price.copy()
        more.flat[k] += 1e-7
        np.testing.assert_allclose((use(more)[0] - base) / 1e-7, slope[:, k], atol=1e-4)
