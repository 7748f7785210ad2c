"""Groups, guarantees, ceilings, lending, priorities and modes: what users are promised."""

from __future__ import annotations

from fairopt.instance.quotas.records import Bound, Group, Guarantee, Mode, Quota, Quotas

__all__ = ["Bound", "Group", "Guarantee", "Mode", "Quota", "Quotas"]
