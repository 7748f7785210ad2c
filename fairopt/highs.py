"""A HiGHS model that prints nothing.

Since 1.16 a model of highspy prints a banner on stdout while it is made, before any option of it
can be set, and results are on stdout.
"""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def _silent() -> Any:
    import highspy

    class Silent(highspy.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> Any:  # noqa: N802
            """Called by the constructor; it is this that prints."""
            self.setOptionValue("output_flag", False)
            return super().enableCallbacks()

    return Silent


def quiet(**options: Any) -> Any:
    """A HiGHS model without output, on one thread."""
    model = _silent()()
    for key, value in {"output_flag": False, "threads": 1, **options}.items():
        model.setOptionValue(key, value)
    return model
