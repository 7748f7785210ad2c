"""Rules for quotas of namespaces, for Kueue's configuration and for slurm.conf."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from fairopt.connect.exports.taking import told
from fairopt.connect.lint.findings import Book, Lined
from fairopt.connect.text.fields import COUNTED, REQUESTS
from fairopt.files.quantities import NoQuantity, quantity

_ZERO = re.compile(r"(0+(\.0*)?(ns|us|µs|ms|s|m|h)?)+")
"""a duration of Go that is nothing, such as 0, 0s or 0h0m"""
_SLURM_ZERO = re.compile(r"[0:-]*0[0:-]*")
SLURM = ("PriorityDecayHalfLife", "PriorityWeightFairshare")


def resource_quota(own: Lined, there: Mapping[str, Fraction], book: Book) -> None:
    """A quota that all nodes together do not reach.

    Parameters
    ----------
    there : what the nodes in service have; empty where no file has any.
    """
    hard = (own.data.get("spec") or {}).get("hard") or {}
    for key, value in hard.items():
        resource = key.removeprefix(REQUESTS)
        if not (key in COUNTED or key.startswith(REQUESTS)):
            continue
        path = ("spec", "hard", key)
        try:
            most = quantity(value)
        except NoQuantity as error:
            book.add("bad-value", own, path, str(error), 'a quantity such as "8" or "64Gi"')
            continue
        have = there.get(resource, Fraction(0))
        if there and most >= have:
            found = f"{told(resource, most)}; all nodes have {told(resource, have)}"
            book.add("limit-never-binds", own, path, found, "take it away, or less")


def configuration(own: Lined, book: Book) -> None:
    """Kueue's half-life of usage: with 0 all use is forgotten at once."""
    fair = own.data.get("admissionFairSharing")
    value = fair.get("usageHalfLifeTime") if isinstance(fair, Mapping) else None
    if value is not None and _ZERO.fullmatch(str(value)):
        found = f"{value}: Kueue forgets all use at once, so that nobody is ever ahead"
        fix = "the time after which use counts half, such as 168h; or no admissionFairSharing"
        book.add("half-life-0", own, ("admissionFairSharing", "usageHalfLifeTime"), found, fix)


def slurm_conf(content: str, source: str, book: Book) -> None:
    """Lines of slurm.conf: a half-life of 0 never fades, and a weight of 0 makes shares idle."""
    for k, line in enumerate(content.splitlines()):
        key, mark, value = line.split("#")[0].strip().partition("=")
        own = Lined(source, {"kind": "slurm.conf"}, {(key,): k + 1})
        value = value.strip()
        if not mark or not _SLURM_ZERO.fullmatch(value):
            continue
        if key.lower() == SLURM[0].lower():
            found = f"{value}: use never fades, and whoever used much once stays behind"
            fix = "a time such as 7-0, or a PriorityUsageResetPeriod that is meant"
            book.add("half-life-0", own, (key,), found, fix)
        elif key.lower() == SLURM[1].lower():
            found = f"{value}: shares of accounts count for nothing"
            book.add("weight-0", own, (key,), found, "a weight above 0, if shares are to count")
