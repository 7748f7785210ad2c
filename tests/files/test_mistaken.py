"""Files taken for one another: one message that names the file, what it is, and what reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairopt.cli import run
from fairopt.files.mistaken import taken_for_another

MODEL = Path(__file__).parents[2] / "models" / "kesidis2018" / "example.toml"
TEXTS = {
    "nodes.json": '{\n "apiVersion": "v1",\n "kind": "List", "items": []}\n',
    "nodes-in-a-line.json": '{"apiVersion": "v1", "kind": "List", "items": []}\n',
    "queues.yaml": "# ours\napiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\n",
    "users.csv": "name,weight,cpu\na,1,2\nb,1,3\n",
    "plan.json": '{"schema": "fairopt/plan/v1", "queues": []}\n',
    "model.toml": MODEL.read_text(encoding="utf-8"),
}
SAYS = {
    "nodes.json": "found objects of Kubernetes; wanted {} (these are read by `fairopt plan`",
    "nodes-in-a-line.json": "found objects of Kubernetes",
    "queues.yaml": "found objects of Kubernetes",
    "users.csv": "found a table in CSV (name, weight, cpu); wanted {} (tables are read as a folder",
    "plan.json": "found what fairopt wrote (plan); wanted {} (it is read by `fairopt verify`)",
    "model.toml": "found a model in TOML; wanted {} (models are read by `fairopt solve`)",
}


READERS = {
    "solve": (("solve", "FILE"), "a model file in TOML"),
    "verify": (("verify", "FILE"), "an answer in JSON"),
    "report": (("report", "FILE", "-o", "page.html"), "in JSON"),
    "plot": (("plot", "FILE", "-o", "p.svg"), "a result in JSON"),
    "diff": (("diff", "FILE", "FILE"), "an answer in JSON"),
    "export": (("export", "kueue", "FILE"), "a plan in JSON"),
    "whole": (("whole", "FILE"), "a model file in TOML"),
    "compare": (("compare", "FILE"), "a model file in TOML"),
    "horizon": (("horizon", str(MODEL), "--wants", "FILE"), "a CSV table of time"),
    "replay": (("replay", str(MODEL), "--log", "FILE", "--policy", "slice"), "a CSV table of time"),
}
NO_MISTAKE = {
    *(("model.toml", by) for by in ("solve", "whole", "compare")),
    *(("plan.json", by) for by in ("verify", "report", "plot", "diff", "export", "compare")),
    *(
        (name, by)
        for name in ("nodes.json", "nodes-in-a-line.json", "queues.yaml")
        for by in ("report", "plot", "diff", "compare")
    ),
    *(("users.csv", by) for by in ("horizon", "replay")),
}
"""or told by its own reader"""
CROSSED = [(name, by) for name in TEXTS for by in READERS if (name, by) not in NO_MISTAKE]


@pytest.mark.parametrize(("name", "by"), CROSSED)
def test_crossed_files(name, by, tmp_path, monkeypatch, capsys):
    words, wanted = READERS[by]
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(TEXTS[name], encoding="utf-8")
    assert run([name if word == "FILE" else word for word in words]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"fairopt: {name}: 1 fault\n  file: found ") and "Traceback" not in said
    expected = SAYS[name].split("{}")
    assert all(part in said for part in expected) and wanted in said


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "a = 1\n",
        "hello, world\n",
        "1,2\n3,4\n",
        '{"schema": "other/v1"}',
        "a,b\nc\n",
    ],
)
def test_what_is_of_no_known_kind_keeps_its_own_message(text):
    assert taken_for_another(text, "a model file in TOML") is None


def test_a_table_that_is_cut_in_its_last_line_is_a_table():
    long = "name,cpu\n" + "a,1\n" * 30_000
    assert "a table in CSV (name, cpu)" in str(taken_for_another(long, "x"))


@pytest.mark.parametrize("reader", ["verify", "report"])
def test_a_result_that_was_cut_is_no_other_kind(reader, tmp_path, capsys):
    whole = tmp_path / "answer.json"
    assert run(["solve", str(MODEL), "-o", str(whole)]) == 0
    cut = tmp_path / "cut.json"
    cut.write_text(whole.read_text()[:300])
    args, _ = READERS[reader]
    asked = [
        str(cut) if arg == "FILE" else arg.replace("page", str(tmp_path / "p")) for arg in args
    ]
    capsys.readouterr()
    assert run(asked) == 2
    assert "text that is not JSON" in capsys.readouterr().err
