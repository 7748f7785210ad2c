"""Rows as a frame of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairopt.errors import MissingExtra

if TYPE_CHECKING:
    from pandas import DataFrame


def framed(rows: Sequence[Mapping[str, Any]], index: str) -> DataFrame:
    """A frame with a row for each of the tables, named by one of its columns.

    Raises
    ------
    MissingExtra : without pandas.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtra("to_frame needs pandas: pip install 'fairopt[frame]'") from error
    return pd.DataFrame(list(rows)).set_index(index) if rows else pd.DataFrame()
