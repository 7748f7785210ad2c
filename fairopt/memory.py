"""How much memory there is; what cannot fit is refused before it is begun, with what it needs."""

from __future__ import annotations

import os
from contextlib import suppress

from fairopt.errors import BadInput, Fault

GIBIBYTE = 2.0**30
LITTLE = 2.0**24
"""bytes that there are, whatever the system says"""


def limit() -> float:
    """Bytes that this process may use at most; infinite where the system does not say."""
    found = float("inf")
    with suppress(AttributeError, OSError, ValueError):  # a system that does not say
        found = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource

        own = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (ImportError, OSError, ValueError):
        return found
    return found if own == resource.RLIM_INFINITY else min(found, float(own))


def enough(place: str, size: float, what: str) -> None:
    """Refuse what needs more memory than there is.

    Parameters
    ----------
    place : what the user asked for, by name. size : bytes that it takes at the least.
    what : what takes them, in words.

    Raises
    ------
    BadInput : with the sizes.
    """
    most = limit() if size > LITTLE else size
    if size > most:
        found = f"{what}, which takes {amount(size)} of memory"
        raise BadInput([Fault(place, found, f"at most {amount(most)}, all there is")])


def amount(size: float) -> str:
    """A number of bytes, as people say it."""
    return f"{size / GIBIBYTE:,.1f} GiB" if size < 1e6 * GIBIBYTE else f"{size / GIBIBYTE:.1e} GiB"
