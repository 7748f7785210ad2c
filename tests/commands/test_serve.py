"""fairopt serve, asked by a real client over a real socket."""

from __future__ import annotations

import http.client
import json
from pathlib import Path

import pytest

import fairopt as fo
from fairopt.cli import run

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from fairopt.commands import serve_app
from tests.listening import listening

CLUSTER = str(Path(__file__).parents[2] / "examples" / "kubernetes" / "cluster.json")


@pytest.fixture(scope="module")
def served():
    return serve_app.Followed(CLUSTER)


def ask(port, method, path, body=None, **headers):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        client.request(method, path, body, headers)
        answer = client.getresponse()
        return answer.status, answer.read().decode()
    finally:
        client.close()


def test_a_plan_is_served_and_asked(served, capsys):
    change = ["weight.ml=2"]
    assert run(["what-if", CLUSTER, "--set", *change, "--drop", "node/gpu-1", "--json"]) == 0
    wanted = json.loads(capsys.readouterr().out)
    with listening(served) as port:
        assert json.loads(ask(port, "GET", "/api/plan")[1]) == served.now().plan
        status, page = ask(port, "GET", "/")
        assert status == 200 and page == served.now().page and "default-src 'none'" in page
        question = json.dumps({"set": change, "drop": ["node/gpu-1"]})
        status, told = ask(port, "POST", "/api/what-if", question)
        assert status == 200
        before = {row["user"]: row for row in wanted["users"]}
        for row in json.loads(told)["users"]:
            assert row["after"] == pytest.approx(before[row["user"]]["after"], rel=1e-9)
        schema = json.loads(ask(port, "GET", "/api/openapi.json")[1])
        assert schema["openapi"].startswith("3.") and set(schema["paths"]) == {
            "/api/plan",
            "/api/state",
            "/api/what-if",
            "/api/moves",
        }
        body = schema["paths"]["/api/what-if"]["post"]["requestBody"]["content"]
        assert set(body["application/json"]["schema"]["properties"]) == set(serve_app.QUESTIONS)


def test_what_moves_is_the_least_that_must(served):
    """Shares as in what-if, and the tasks that the nearest answer stops and starts."""
    question = {"drop": ["node/gpu-1"]}
    with listening(served) as port:
        _, losers = ask(port, "POST", "/api/what-if", json.dumps(question))
        status, text = ask(port, "POST", "/api/moves", json.dumps(question))
        again = ask(port, "POST", "/api/moves", json.dumps(question))[1]
        assert ask(port, "POST", "/api/moves", "{}")[0] == 400
    assert status == 200 and text == again
    moves, rows = json.loads(text), json.loads(losers)["users"]
    due = sum(row["after"] - row["before"] for row in rows)
    assert moves["started"] - moves["stopped"] == pytest.approx(due + moves["gone"], abs=1e-6)
    assert moves["stopped"] + moves["started"] == pytest.approx(moves["least"], abs=1e-6)
    for key in ("stopped", "started"):
        assert sum(row[key] for row in moves["users"]) == pytest.approx(moves[key], abs=1e-4)


def test_a_change_is_proved_once_whatever_is_asked_of_it(tmp_path, monkeypatch):
    """Losers and moves of a plan whose workloads have all they ask: one answer, and levels in
    fractions, looked for once, that prove what everybody is due."""
    from fairopt.certificates import exact_verdict, rounds

    (tmp_path / "nodes.csv").write_text(
        "node,label:kind,cpu,memory\n" + "".join(f"n{k},k{k % 2},{8 + k},{20}\n" for k in range(6))
    )
    rows = [
        f"w{k},q{k % 3},{1 + k % 4},{'k0;k1' if k % 2 else 'k0'},1,{1 + k % 5}" for k in range(18)
    ]
    (tmp_path / "teams.csv").write_text(
        "team,queue,tasks,label:kind,cpu,memory\n" + "\n".join(rows) + "\n"
    )
    plan = fo.connect.tables(str(tmp_path / "nodes.csv"), str(tmp_path / "teams.csv")).plan()
    plan.save(tmp_path / "plan.json")
    now = serve_app.Followed(str(tmp_path / "plan.json")).now()
    counted = {}
    for where, name in ((serve_app, "solve"), (exact_verdict, "enclosed_levels"), (rounds, "path")):
        own = getattr(where, name)
        counted[name] = 0

        def count(*given, own=own, name=name, **more):
            counted[name] += 1
            return own(*given, **more)

        monkeypatch.setattr(where, name, count)
    question = {"drop": ["node/n3"]}
    losers, moves = now.what_if(question), now.moves(question)
    assert counted == {"solve": 1, "enclosed_levels": 1, "path": 1}
    assert losers["users"][0]["relative"] < 0 and moves["status"] == "used"
    assert moves["stopped"] + moves["started"] == pytest.approx(moves["least"], abs=1e-6)


def test_somebody_new_is_told(served):
    question = json.dumps({"add": ["team=new,queue=ml,tasks=4,cpu=4"]})
    with listening(served) as port:
        status, told = ask(port, "POST", "/api/what-if", question)
        moved = ask(port, "POST", "/api/moves", question)
    assert status == 200 and moved[0] == 200
    row = next(row for row in json.loads(told)["users"] if row["user"] == "new")
    assert row["before"] is None and row["relative"] == "inf" and row["after"] > 0
    assert any(row["user"] == "new" for row in json.loads(moved[1])["users"])


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("[", 400, "not JSON"),
        ("[]", 400, "not JSON"),
        ("{}", 400, "found no change"),
        ('{"weight": ["ml=2"]}', 400, "found 'weight'"),
        ('{"set": "weight.ml=2"}', 400, "found 'set'"),
        ('{"drop": ["node/gpu-9"]}', 400, "wanted gpu-"),
        ('{"set": ["' + "x" * (1 << 20) + '"]}', 413, "more than"),
    ],
)
def test_what_is_no_question_is_one_message(served, body, status, words):
    with listening(served) as port:
        found, told = ask(port, "POST", "/api/what-if", body)
    assert found == status and words in json.loads(told)["error"]


def test_a_token_and_the_name_are_asked_for(served):
    with listening(served, token="secret") as port:
        assert ask(port, "GET", "/api/plan")[0] == 401
        assert ask(port, "GET", "/", Authorization="Bearer other")[0] == 401
        assert ask(port, "GET", "/api/plan", Authorization="Bearer secret")[0] == 200
        named = {"Authorization": "Bearer secret", "Host": "evil.example"}
        assert ask(port, "GET", "/api/plan", **named)[0] == 400  # another name for this address


def test_a_file_that_changes_is_planned_again(tmp_path):
    path = tmp_path / "cluster.toml"
    demand, capacity, names = [[1.0], [1.0]], [[4.0]], ["a", "b"]
    fo.write(fo.Instance(demand, capacity, users=names, servers=["x"]), str(path))

    def due(port):
        return {
            row["workload"]: row["due"]
            for row in json.loads(ask(port, "GET", "/api/plan")[1])["workloads"]
        }

    with listening(serve_app.Followed(str(path))) as port:
        assert json.loads(ask(port, "GET", "/api/state")[1]) == {"version": 1, "fault": ""}
        assert due(port) == pytest.approx({"a": 2, "b": 2})
        fo.write(fo.Instance(demand, [[8.0]], users=names, servers=["x"]), str(path))
        assert json.loads(ask(port, "GET", "/api/state")[1]) == {"version": 2, "fault": ""}
        assert due(port) == pytest.approx({"a": 4, "b": 4})
        path.write_text("demand = nothing at all")
        told = json.loads(ask(port, "GET", "/api/state")[1])
        assert told["version"] == 2 and "cluster.toml" in told["fault"]
        assert due(port) == pytest.approx({"a": 4, "b": 4})  # what was there before is served on
        path.unlink()
        assert "cluster.toml" in json.loads(ask(port, "GET", "/api/state")[1])["fault"]
