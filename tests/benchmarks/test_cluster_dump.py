"""The machines of real/google2011 as nodes of Kubernetes: the same shapes and the same shares."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairopt as fo
from benchmarks import cluster_dump
from fairopt.connect.plan import problem
from fairopt.connect.readers import sources


def test_nodes_of_the_trace_are_the_model_again(tmp_path):
    """12,583 objects become ten shapes, and the answer is that of the model."""
    nodes, teams = tmp_path / "nodes.json", tmp_path / "teams.csv"
    with open(nodes, "w") as file:
        for data in cluster_dump.machines():
            del data["status"]["images"]
            json.dump(data, file)
    teams.write_text(cluster_dump.teams())
    made = problem.problem(sources.cluster([str(nodes), str(teams)])).instance
    assert made.count.sum() == 12_583
    assert made.shape == (40, 10, 2)
    model = fo.read("real/google2011").instance
    assert made.users == model.users
    notion = fo.ProportionalFair()
    ours, theirs = (fo.solve(inst, notion).totals for inst in (made, model))
    # tasks that no single machine can hold are not placed in parts, as they are in the model
    assert np.median(np.abs(ours / theirs - 1)) < 1e-3


def test_pods_are_read(tmp_path):
    path = tmp_path / "cluster.json"
    cluster_dump.write(path, cluster_dump.crowd(100, 400))
    found = cluster_dump.measured([str(path)])
    assert found["peak MB"] > 0
    assert path.stat().st_size / 400 == pytest.approx(12_000, rel=0.5)
