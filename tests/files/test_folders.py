"""Folders of CSV files: read at once where nothing is wrong, cell by cell where something is."""

from __future__ import annotations

import time

import numpy as np
import pytest

import fairopt as fo
from fairopt.files import columns, folders
from fairopt.files import model as files


@pytest.fixture
def cluster(tmp_path):
    rng = np.random.default_rng(3)
    placement = rng.random((60, 7)) < 0.6
    placement[:, 0] = True
    limit = np.where(rng.random(60) < 0.3, rng.uniform(1, 9, 60), np.inf)
    inst = fo.Instance(
        rng.uniform(0, 1, (60, 7, 3)) + 0.1,
        rng.uniform(1, 3, (7, 3)),
        placement,
        rng.uniform(1, 2, 60),
        limit,
        rng.integers(1, 9, 7),
    )
    files.write(inst, tmp_path / "cluster")
    return inst, tmp_path / "cluster"


def test_both_ways_read_the_same(cluster, monkeypatch):
    inst, path = cluster
    assert fo.read(path).instance == inst
    for rows in (1, 7):
        monkeypatch.setattr(columns, "ROWS", rows)
        assert fo.read(path).instance == inst
    monkeypatch.setattr(folders, "_quickly", lambda folder, resources: None)
    assert fo.read(path).instance == inst


def test_nothing_unusual_is_read_quickly(cluster, monkeypatch):
    def fail(*_):
        raise AssertionError("cell by cell")

    monkeypatch.setattr(folders, "_carefully", fail)
    assert fo.read(cluster[1]).instance == cluster[0]


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("users.csv", "u7,", "u8,", "the name 'u8' a second time"),
        ("users.csv", "u7,", ",", "the name ''"),
        ("users.csv", "u7,", "u7,-", "a finite number > 0"),
        ("users.csv", "u7,", "u7,1_0", "1_0"),
        ("users.csv", "u7,", "u7,nan", "nan"),
        ("users.csv", "u7,", "u7,1,", "cells"),
        ("users.csv", "name,", "name,name,", "twice"),
        ("users.csv", "name,", '"name,', "not in CSV"),
        ("servers.csv", "s2,", "s2,0.5", "a whole number >= 1"),
        ("placement.csv", "\nu9,s1\n", "\nu9,s1\nu9,s1\n", "u9 on s1 a second time"),
        ("placement.csv", "\nu9,s1\n", "\nu9,s77\n", "the unknown server 's77'"),
        ("demand.csv", "\nu1,s1,", "\nnobody,s1,", "the unknown user 'nobody'"),
    ],
)
def test_every_fault_is_named(cluster, file, old, new, said):
    path = cluster[1] / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(fo.BadInput) as error:
        fo.read(cluster[1])
    assert said in str(error.value) and file.split(".")[0] in str(error.value)


@pytest.mark.parametrize("mark", [";", "\t"])
def test_other_marks_between_columns_are_named(cluster, mark):
    path = cluster[1] / "users.csv"
    path.write_text(path.read_text().replace(",", mark))
    with pytest.raises(fo.BadInput) as error:
        fo.read(cluster[1])
    said = f"users.csv: found columns divided by {mark!r}; wanted columns divided by commas"
    assert said in str(error.value)


def test_faults_of_all_files_are_told_at_once(cluster):
    for file, old, new in (("users.csv", "u7,", "u7,-"), ("placement.csv", "u9,s1\n", "x,s1\n")):
        path = cluster[1] / file
        path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(fo.BadInput) as error:
        fo.read(cluster[1])
    assert len(error.value.faults) == 2


def test_empty_rows_and_cells_are_passed_over(cluster):
    path = cluster[1] / "users.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n\n".join(lines) + "\n\n")
    # an empty line before the header is no header
    path.write_text(path.read_text().replace("\n\n", "\n", 1))
    assert fo.read(cluster[1]).instance == cluster[0]


def test_very_many_unknown_names_are_refused_soon(tmp_path):
    users = 20_000
    inst = fo.Instance(np.ones((users, 1)), np.full((2, 1), 1e6), np.eye(2)[np.arange(users) % 2])
    files.write(inst, tmp_path / "many")
    path = tmp_path / "many" / "placement.csv"
    path.write_text(path.read_text().replace("\nu", "\nx"))
    start = time.process_time()
    with pytest.raises(fo.BadInput, match="19900 more faults"):
        fo.read(tmp_path / "many")
    # before, the nearest of all names was searched for each: 60 s were not enough
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    "name", ["placement", "demand", "groups", "quotas", "modes", "demand_fixed", "demand_power"]
)
def test_a_link_to_nothing_is_no_file_that_was_left_out(cluster, name):
    path = cluster[1] / f"{name}.csv"
    path.unlink(missing_ok=True)
    path.symlink_to(cluster[1] / "nowhere.csv")
    with pytest.raises(fo.BadInput, match=f"{name}.csv(.|\n)*found nothing there"):
        fo.read(cluster[1])
