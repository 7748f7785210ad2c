"""Modules that can be called as the function of `fairopt.connect.api` of the same name."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from fairopt.upstairs import Upstairs

api: Upstairs[ModuleType] = Upstairs()
"""The module `fairopt.connect.api`, which stands above the modules that are called."""


class _Called(ModuleType):
    """A module, called as the function that it is named like."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        return getattr(api(), self.__name__.rpartition(".")[2])(*given, **named)


def as_function(name: str) -> None:
    """Let a module be called."""
    sys.modules[name].__class__ = _Called
