"""Every error has its exit code, survives a process boundary, and says everything at once."""

from __future__ import annotations

import pickle

import pytest

import fairopt as fo
from fairopt import errors
from fairopt.errors import BadInput, FairoptError, Fault, NotCertified

CODES = {
    "FairoptError": 1,
    "BadInput": 2,
    "UsageError": 2,
    "MissingExtra": 2,
    "Infeasible": 3,
    "NotCertified": 4,
    "SolverFailure": 5,
}


def test_the_tree_is_complete():
    tree = {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type)
        and issubclass(value, Exception)
        and not issubclass(value, Warning)
    }
    assert {name: kind.exit_code for name, kind in tree.items()} == CODES
    assert all(issubclass(kind, FairoptError) for kind in tree.values())


@pytest.mark.parametrize("name", CODES)
def test_public(name):
    assert getattr(fo, name) is getattr(errors, name)


def test_all_faults_in_one_message():
    error = BadInput([Fault("a", "1", "2"), Fault("b.c", "nothing", "something")])
    assert str(error) == "2 faults\n  a: found 1; wanted 2\n  b.c: found nothing; wanted something"
    assert str(error.within("m.toml")).startswith("m.toml: 2 faults\n")
    assert str(BadInput([Fault("a", "1", "2")])).startswith("1 fault\n")


def test_errors_cross_processes():
    bad = BadInput([Fault("a", "1", "2")], "m.toml")
    back = pickle.loads(pickle.dumps(bad))
    assert (back.faults, back.source, str(back)) == (bad.faults, "m.toml", str(bad))
    alloc = fo.Allocation(fo.Instance([[1]], [[2]]), fo.ProportionalFair(), [[1]])
    back = pickle.loads(pickle.dumps(NotCertified("no", alloc)))
    assert str(back) == "no" and back.allocation == alloc


def test_caught_as_what_they_are_in_python():
    with pytest.raises(ValueError):
        fo.Instance([[1, 2]], [[1]])
    with pytest.raises(ImportError):
        raise fo.MissingExtra("pip install 'fairopt[plot]'")
