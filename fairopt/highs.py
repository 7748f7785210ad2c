"""A HiGHS model that prints nothing, and keeps the time limit.

Since 1.16 a model of highspy prints a banner on stdout while it is made, before any option of it
can be set, and results are on stdout.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from fairopt import clock


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


def run(model: Any) -> None:
    """Run a model within the seconds that are left.

    Raises
    ------
    OutOfTime : they were not enough.
    """
    import highspy

    left = clock.left()
    model.setOptionValue("time_limit", model.getRunTime() + left if left < math.inf else left)
    model.run()
    if model.getModelStatus() == highspy.HighsModelStatus.kTimeLimit:
        raise clock.OutOfTime("the time limit was reached")
