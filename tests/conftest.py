"""What every test shares: the same hypothesis settings on every machine, and how many cases."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

# derandomised, so that the same commit gives the same verdict everywhere; time limits say more
# about the machine than about the code
settings.register_profile(
    "fairopt", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fairopt")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-cases", action="store_true", help="run all cases of tests marked every(k)"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the cases of a test marked `every(k)`, run the first and every k-th after it."""
    if config.getoption("--all-cases") or any("[" in name for name in config.args):
        return
    seen, kept, left = Counter[str](), list[pytest.Item](), list[pytest.Item]()
    for item in items:
        name = item.nodeid.partition("[")[0]
        mark = item.get_closest_marker("every")
        (left if mark and seen[name] % mark.args[0] else kept).append(item)
        seen[name] += 1
    config.hook.pytest_deselected(items=left)
    items[:] = kept
