"""Every public name is documented, with an example that the tests run."""

from __future__ import annotations

import inspect

import pytest

import fairopt as fo

NAMES = [name for name in fo.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_an_example(name):
    assert ">>> " in (inspect.getdoc(getattr(fo, name)) or "")
