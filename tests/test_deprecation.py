"""Deprecated names work, warn where they are used, and are dropped by the version they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fairopt as fo
from fairopt.deprecation import FairoptDeprecationWarning, deprecated, renamed, warn, words

PACKAGE = Path(fo.__file__).parent


def test_a_deprecated_function_works_and_warns_where_it_is_used() -> None:
    @deprecated("0.2", "0.4", "fo.new(x)", name="fo.old")
    def old(x: int) -> int:
        """Twice x."""
        return 2 * x

    with pytest.warns(FairoptDeprecationWarning, match=r"fo.old .* 0.2 .* 0.4; write fo.new") as w:
        assert old(3) == 6
    assert w[0].filename == __file__
    assert old.__doc__.startswith("Deprecated: fo.old") and "Twice x." in old.__doc__


def test_a_renamed_parameter_is_passed_on() -> None:
    @renamed("0.2", "1.0", colour="color")
    def paint(color: str, coats: int = 1) -> str:
        return color * coats

    with pytest.warns(FairoptDeprecationWarning, match="colour= of .*paint.*; write color=") as w:
        assert paint(colour="x", coats=2) == "xx"
    assert w[0].filename == __file__
    assert paint("x") == "x"  # no warning, which would be an error here
    with pytest.raises(TypeError, match="found colour= and color="):
        paint(colour="x", color="y")


def test_a_name_is_warned_of_at_its_user() -> None:
    def room() -> None:
        warn("fairopt.room", "0.2", "0.4", "fairopt.other")

    with pytest.warns(FairoptDeprecationWarning, match="fairopt.room") as w:
        room()
    assert w[0].filename == __file__


@pytest.mark.parametrize(("since", "until"), [("0.2", "0.3"), ("0.2", "0.2"), ("1.4", "1.5")])
def test_two_minor_versions_at_least(since: str, until: str) -> None:
    with pytest.raises(ValueError, match="wanted 2 minor versions"):
        words("x", since, until, "y")


def test_it_is_shown_by_default() -> None:
    """Python hides a DeprecationWarning outside __main__; operators must see this one."""
    assert issubclass(FairoptDeprecationWarning, FutureWarning)


def test_nothing_stays_beyond_the_version_that_drops_it() -> None:
    here = tuple(map(int, fo.__version__.split(".")[:2]))
    use = re.compile(
        r'(?:(?:deprecated|renamed)\(|warn\(\s*"[\w.]+",)\s*"[\d.]+",\s*"(\d+)\.(\d+)"'
    )
    for path in PACKAGE.rglob("*.py"):
        if path.name == "deprecation.py":
            continue
        for major, minor in use.findall(path.read_text(encoding="utf-8")):
            assert (int(major), int(minor)) > here, path


def test_the_row_of_propositions_has_its_new_name() -> None:
    with pytest.warns(FairoptDeprecationWarning, match="write fairopt.propositions.TrialRow") as w:
        assert fo.propositions.Row is fo.propositions.TrialRow
    assert w[0].filename == __file__
