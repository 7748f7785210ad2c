"""What every test shares: the same hypothesis settings on every machine."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# derandomised, so that the same commit gives the same verdict everywhere; time limits say more
# about the machine than about the code
settings.register_profile(
    "fairopt", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fairopt")
