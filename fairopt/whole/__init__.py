"""Whole tasks: nobody's last job lost to rounding, proved (docs/maths/whole.md).

`fo.whole(instance, due)` is `fairopt.whole.asking.whole`; the room bears the same name, so that the
module itself can be called. `judging` judges an answer in integers, without any solver.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _WholeModule(ModuleType):
    """The room, which is called as the function of the same name."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        from fairopt.whole.asking import whole

        return whole(*given, **named)


sys.modules[__name__].__class__ = _WholeModule
