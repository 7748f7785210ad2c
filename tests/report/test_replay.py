"""A replay as a picture and as a page: what is drawn is the data; faults of the file are told."""

from __future__ import annotations

import json

import pytest

import fairopt as fo
from fairopt.cli import run
from fairopt.errors import BadInput
from fairopt.report.html import results
from fairopt.report.replay_text import replay_text
from tests import browser

INST = fo.Instance([[1], [1]], [[8]], users=["A", "<b>B</b>"], resources=["gpu"])
WANTS = [[8, 0], [8, 0], [8, 8], [0, 8]]


@pytest.fixture
def saved(tmp_path):
    held = [[8, 0], [8, 0], [4, 4], [0, 8]]
    found = fo.replay(INST, held, WANTS, policy="kai:half=7d,k=1")
    path = tmp_path / "replay.json"
    path.write_text(json.dumps(found.to_dict()))
    return path


def test_the_page_has_the_data(saved, tmp_path):
    data = results.read(saved)
    assert data["kind"] == "replay" and [u["name"] for u in data["users"]] == list(INST.users)
    assert data["users"][1]["debt"][-1] == pytest.approx(4)
    assert run(["report", str(saved), "-o", str(tmp_path / "page.html")]) == 0
    assert "<b>B</b>" not in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_picture(saved, tmp_path, ending):
    out = tmp_path / f"debt.{ending}"
    assert run(["plot", str(saved), "-o", str(out)]) == 0 and out.stat().st_size > 2000


def test_the_picture_has_one_kind(saved, tmp_path, capfd):
    assert run(["plot", str(saved), "-o", str(tmp_path / "a.svg"), "--kind", "prices"]) == 2
    assert "a replay" in capfd.readouterr().err


def test_several_are_drawn_side_by_side(saved, tmp_path, capfd):
    paths = []
    for k, policy in enumerate(("slice", "kueue:half=2h", "condor", "karma:alpha=.5")):
        paths.append(str(tmp_path / f"{k}.json"))
        found = fo.replay(INST, None, WANTS, policy=policy)
        (tmp_path / f"{k}.json").write_text(json.dumps(found.to_dict()))
    out = tmp_path / "five.svg"
    assert run(["plot", str(saved), *paths, "-o", str(out)]) == 0
    drawn = out.read_text()
    assert all(policy in drawn for policy in ("kai:half=7d,k=1", "kueue:half=2h", "karma"))
    assert run(["plot", str(saved), str(saved), "-o", str(out)]) == 2
    assert "each once" in capfd.readouterr().err
    assert run(["plot", *paths, *paths, "-o", str(out)]) == 2
    data = json.loads(saved.read_text())
    data["users"] = {"C": data["users"]["A"]}
    (tmp_path / "c.json").write_text(json.dumps(data))
    assert run(["plot", str(saved), str(tmp_path / "c.json"), "-o", str(out)]) == 2
    (tmp_path / "answer.json").write_text('{"schema": "fairopt/sweep/v1"}')
    assert run(["plot", str(tmp_path / "answer.json"), str(saved), "-o", str(out)]) == 2
    assert "fairopt/replay/v1" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"users": {}}, "users"),
        ({"starts": []}, "starts"),
        ({"hours": 0}, "hours"),
        ({"users": {"A": {"held": [1]}}}, "users.A.held"),
        ({"ratios": {"held": "all"}}, "ratios"),
    ],
)
def test_faults_are_told(saved, change, match):
    saved.write_text(json.dumps({**json.loads(saved.read_text()), **change}))
    with pytest.raises(BadInput, match=match):
        results.read(saved)


def test_what_is_owed_is_shown_on_eighty_columns():
    """The columns that the sentences below are about end before column 80."""
    names = INST.replace(users=["research", "operations"])
    found = fo.replay(names, None, WANTS, policy="kai:half=7d,k=1")
    head = replay_text(found, "cards").splitlines()[3]
    for column in ("wanted", "held", "due in hindsight", "owed at the end", "at the worst"):
        assert head.index(column) + len(column) <= 80


@browser.needed()
def test_in_a_browser(saved, tmp_path):
    out = tmp_path / "page.html"
    assert run(["report", str(saved), "-o", str(out)]) == 0
    with browser.opened(tmp_path) as chromium:
        page = chromium.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(out.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        assert page.locator("polyline").count() == 2 + 4
        cells = page.locator("tbody tr").first.locator("td,th").all_inner_texts()
        assert cells[0] == "<b>B</b>" and cells[-2] == "4"
        page.locator("select").select_option("A")
        assert "Tasks of A" in page.locator("svg.picture").last.get_attribute("aria-label")
        assert not wrong
