"""Tables of conditions as labelled pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairopt.allocation import Allocation
from fairopt.errors import MissingExtra, UsageError
from fairopt.kkt import tables

if TYPE_CHECKING:
    from pandas import DataFrame


def frame(alloc: Allocation, what: str = "pairs") -> DataFrame:
    """The table of pairs or rows; see `Allocation.kkt`."""
    if what not in ("pairs", "rows"):
        raise UsageError(f"kkt: found {what!r}; wanted pairs or rows")
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtra("kkt needs pandas: pip install 'fairopt[frame]'") from error
    found = tables(alloc)
    index = ["user", "server"] if what == "pairs" else ["server", "resource"]
    frames = [pd.DataFrame(dict(getattr(table, what))).set_index(index) for table in found]
    if alloc.kind["name"] != "max-min":
        return frames[0]
    return pd.concat(frames, keys=range(1, len(frames) + 1), names=["level"])


__all__ = ["frame"]
