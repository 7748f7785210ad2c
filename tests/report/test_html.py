"""The page as a file: its data, its policy, and what is refused. `test_report_browser` opens it."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import numpy as np
import pytest

import fairopt as fo
from fairopt.cli import run
from fairopt.report.html import results
from fairopt.report.html.answer_data import MOST_PARTS, amounts
from fairopt.report.html.page import embedded, page
from fairopt.report.html.verdict import sentences
from fairopt.sweeping import load


def solved(inst, notion=None):
    return fo.solve(inst, notion or fo.ProportionalFair())


@pytest.fixture
def answer(tmp_path):
    path = tmp_path / "answer.json"
    solved(fo.read("kesidis2016/no-penalty").instance).save(path)
    return path


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_nothing_in_the_data_ends_the_script():
    awful = {"<script>": "</script><!-- & \u2028\u2029 ]]> é"}
    text = embedded(awful)
    assert json.loads(text) == awful
    assert text.isascii() and not set("<>&") & set(text)


def test_the_policy_names_the_one_script_and_style(answer, tmp_path):
    out = tmp_path / "report.html"
    assert run(["report", str(answer), "-o", str(out), "--title", "A <b> & c"]) == 0
    text = out.read_text()
    assert "<title>A &lt;b&gt; &amp; c</title>" in text
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', text)[1]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    for kind in ("script", "style"):
        (inner,) = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    # nothing that a browser would load, and no handler in an attribute
    assert not re.search(r"""\b(src|href)\s*=|url\(|@import|\son\w+\s*=\s*["']""", text)


def test_equal_results_are_equal_pages(answer, capsys):
    pages = []
    for _ in range(2):
        assert run(["report", str(answer), "-o", "-"]) == 0
        pages.append(capsys.readouterr().out)
    assert pages[0] == pages[1]


def test_own_rules_are_in_the_page_with_their_prices(tmp_path, capsys):
    """R1: carbon 1/21 of all money 2, so that a kilogram is as good as 1/42 more for all."""
    out = tmp_path / "r1.json"
    fo.solve(fo.read("rules/r1").instance, fo.ProportionalFair("tasks")).save(out)
    assert run(["report", str(out), "-o", "-"]) == 0
    (found,) = data_of(capsys.readouterr().out)["results"]
    rules = found["point"]["rules"]
    assert rules["rows"] == [["carbon", "at most 30", "30", "0.047619", "71.4%"]]
    said = "One unit more allowed by rule carbon is as good as 2.38 % more for everybody."
    assert rules["said"] == [said]
    plain = tmp_path / "plain.json"
    fo.solve(fo.read("ghodsi2011/example").instance, fo.ProportionalFair("tasks")).save(plain)
    assert run(["report", str(plain), "-o", "-"]) == 0
    (found,) = data_of(capsys.readouterr().out)["results"]
    assert "rules" not in found["point"]


def test_the_data_are_the_answer(answer, capsys):
    assert run(["report", str(answer), "-o", "-"]) == 0
    (found,) = data_of(capsys.readouterr().out)["results"]
    alloc = fo.load(answer)
    point = found["point"]
    assert found["kind"] == "answer" and found["title"] == "answer"
    assert point["totals"] == pytest.approx(alloc.totals, rel=1e-6)
    assert np.array(point["used"]) == pytest.approx(alloc.utilisation, rel=1e-6)
    assert all(
        low <= share * (1 + 1e-6) and share <= high * (1 + 1e-6)
        for low, share, high in zip(point["low"], point["shares"], point["high"], strict=True)
    )
    for i, server in enumerate(point["fill"]):
        assert np.sum([parts for _, *parts in server], axis=0) == pytest.approx(point["used"][i])


def test_a_claimed_certificate_is_not_believed(answer, capsys):
    """The tasks are spoiled, the certificate in the file still says certified."""
    data = json.loads(answer.read_text())
    data["tasks"]["n1"] = {server: x * 0.5 for server, x in data["tasks"]["n1"].items()}
    del data["objective"], data["equivalent"]  # another number there is refused by name
    answer.write_text(json.dumps(data))
    assert run(["report", str(answer), "-o", "-"]) == 0
    (found,) = data_of(capsys.readouterr().out)["results"]
    assert found["certificate"]["verdict"] != "certified"
    assert not found["certificate"]["sentences"][0].startswith("Certified")


def test_many_users_are_summed():
    alloc = solved(fo.generate.random_instance(300, 4, 2, seed=3))
    point = amounts(alloc)
    for i, (server, rest) in enumerate(zip(point["fill"], point["rest"], strict=True)):
        assert len(server) <= MOST_PARTS + 1
        least = min(max(parts) for _, *parts in server)
        parts = alloc.tasks[:, i, None] * alloc.instance.demand / alloc.instance.pool[i]
        left = [n for n in range(300) if n not in {n for n, *_ in server}]
        assert parts[left].max() <= least * (1 + 1e-6)
        if rest:
            assert rest[1:] == pytest.approx(parts[left].sum(axis=0), rel=1e-5)


@pytest.mark.parametrize("notion", [fo.MaxMin(), fo.PerServerDominantShare(), fo.Throughput()])
def test_every_family_is_said_in_words(notion):
    alloc = solved(fo.read("khamse2016/figure-1").instance, notion)
    words = sentences(alloc.certificate, alloc.kind["name"])
    assert words[0] == "Certified: this answer is proved." and len(words) >= 3


def test_bent_demand_has_bars():
    found = results.of_answer(solved(fo.read("kesidis2016/demand-set-up").instance))
    (server,), (used,) = found["point"]["fill"], found["point"]["used"]
    assert np.sum([parts for _, *parts in server], axis=0) == pytest.approx(used)


@pytest.mark.parametrize("name", ["quotas/gavel", "quotas/m1", "quotas/c1", "quotas/g5"])
def test_quotas_and_modes_have_bars_and_say_what_stops_whom(name):
    alloc = solved(fo.read(name).instance, fo.MaxMin())
    found = results.of_answer(alloc)["point"]
    for server, used in zip(found["fill"], alloc.utilisation, strict=True):
        assert np.sum([parts for _, *parts in server], axis=0) == pytest.approx(used)
    if name == "quotas/c1":
        assert "gpu on org's ceiling" in found["stops"][0]  # the pool is full, and free


def test_a_sweep_keeps_its_answers(tmp_path, capsys):
    out = tmp_path / "sweep.json"
    grid = ["--over", "weight.A=1,2", "--over", "alpha=1,2"]
    assert run(["sweep", "ghodsi2011/example", *grid, "--answers", "-o", str(out)]) == 0
    sweep = load(out)
    inst = fo.read("ghodsi2011/example").instance
    assert len(sweep) == 4 and len(sweep.instances) == 2
    for k, (weight, alpha) in enumerate([(1, 1), (1, 2), (2, 1), (2, 2)]):
        there = inst.replace(weight=[weight, 1])
        assert sweep.answer(k).instance == there and sweep.answer(k).certificate.certified
        assert sweep.answer(k).totals == pytest.approx(solved(there, fo.AlphaFair(alpha)).totals)
    assert run(["report", str(out), "-o", "-"]) == 0
    (found,) = data_of(capsys.readouterr().out)["results"]
    assert [axis["values"] for axis in found["axes"]] == [[1, 2], [1, 2]]
    assert len(found["names"]) == 2 and found["names"][1]["weight"] == [2, 1]
    assert found["points"][3]["amounts"]["totals"] == pytest.approx(sweep.answer(3).totals)


def test_a_spoiled_point_is_not_certified(tmp_path):
    inst = fo.read("ghodsi2011/example").instance
    sweep = fo.sweep(inst, [fo.AlphaFair(1), fo.AlphaFair(2)], answers=True)
    sweep.rows[1]["answer"]["tasks"] = {"A": {"pool": 1.0}, "B": {"pool": 1.0}}
    sweep.save(tmp_path / "sweep.json")
    found = results.read(tmp_path / "sweep.json")
    assert [point["certified"] for point in found["points"]] == [True, False]


def test_rows_that_fill_no_grid_have_one_axis():
    inst = fo.read("ghodsi2011/example").instance
    found = results.of_sweep(fo.sweep(inst, [fo.AlphaFair(1), fo.AlphaFair(2), fo.MaxMin()]))
    (axis,) = found["axes"]
    assert len(axis["values"]) == 3 and axis["values"][2].startswith("max-min")
    assert [point["at"] for point in found["points"]] == [[0], [1], [2]]
    with pytest.raises(fo.UsageError, match="answers=True"):
        fo.sweep(inst, [fo.AlphaFair(1)]).answer(0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "a list"),
        ('{"schema": "fairopt/check/v1"}', "fairopt/sweep/v1"),
        ('{"schema": "fairopt/sweep/v1", "rows": []}', "rows: found none"),
        (
            '{"schema": "fairopt/sweep/v1", "rows": [{"status": 1, "totals": {"A": "x"}}]}',
            "rows[0].totals.A",
        ),
        (
            '{"schema": "fairopt/compare/v1", "rows": [{"name": "x", "parameters": {}, '
            '"status": "answered"}]}',
            "rows[0].properties",
        ),
        ('{"instance": {"users": []}}', "users: found none"),
    ],
)
def test_what_is_no_result_is_refused(text, said, tmp_path, capsys):
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert run(["report", str(path), "-o", str(tmp_path / "report.html")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()


def test_several_results_make_one_page(answer, tmp_path, capsys):
    assert run(["compare", "ghodsi2011/example", "-o", str(tmp_path / "c.json")]) == 0
    capsys.readouterr()
    assert run(["report", str(answer), str(tmp_path / "c.json"), "-o", "-"]) == 0
    found = data_of(capsys.readouterr().out)["results"]
    assert [each["kind"] for each in found] == ["answer", "comparison"]
    assert page([], "nothing").count("<script") == 2
