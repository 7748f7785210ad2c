"""What fits no memory is refused before it is begun, with what it would need."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt import memory
from fairopt.cli import run


def test_there_is_some():
    assert memory.limit() > 2**20
    memory.enough("instance", 2.0**20, "little")


def only(monkeypatch, size: float) -> None:
    """As if the machine had no more bytes than these, fewer than what is never counted."""
    monkeypatch.setattr(memory, "LITTLE", 0.0)
    monkeypatch.setattr(memory, "limit", lambda: size)


def test_what_is_little_is_not_counted(monkeypatch):
    monkeypatch.setattr(memory, "limit", lambda: 1.0)
    memory.enough("instance", memory.LITTLE, "little")
    with pytest.raises(fo.BadInput, match="instance: found much, which takes 0.0 GiB"):
        memory.enough("instance", memory.LITTLE + 1, "much")


def test_instances_and_answers(monkeypatch):
    inst = fo.Instance(np.ones((300, 1)), np.ones((200, 1)))
    only(monkeypatch, 2.0**15)
    with pytest.raises(fo.BadInput, match="placement: found 300 x 200 entries, which takes"):
        fo.Instance(np.ones((300, 1)), np.ones((200, 1)))
    said = "instance: found scores and tasks of 300 users on 200 servers, which takes .* GiB"
    with pytest.raises(fo.BadInput, match=said):
        fo.solve(inst, fo.ProportionalFair())


def test_machines_of_whole_tasks():
    inst = fo.Instance([[1]], [[2]], count=[10**14])
    with pytest.raises(fo.BadInput, match="servers.count: found 100,000,000,000,000 machines"):
        fo.fill(inst)


def test_a_model_of_more_pairs_than_memory(monkeypatch, tmp_path, capsys):
    path = tmp_path / "model.toml"
    path.write_text(
        'resources = ["cpu"]\n[servers.s]\ncapacity = { cpu = 1 }\ncount = 1\n'
        "[users.a]\ndemand = { cpu = 1 }\n"
    )
    only(monkeypatch, 4.0)
    assert run(["solve", str(path)]) == 2
    assert "of memory; wanted at most" in capsys.readouterr().err


def test_what_is_out_of_memory_all_the_same_is_no_internal_error(monkeypatch, capsys):
    from fairopt.commands import models

    def full(*_, **__):
        raise MemoryError("Unable to allocate 7.3 TiB")

    monkeypatch.setattr(models.command, "callback", full)
    assert run(["models"]) == 2
    assert capsys.readouterr().err == (
        "fairopt: memory: Unable to allocate 7.3 TiB; wanted a smaller problem, or more memory\n"
    )
