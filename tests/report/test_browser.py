"""The page of `fairopt report` in a browser: what is shown is the data, by mouse and keyboard."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import fairopt as fo
from fairopt.cli import run
from fairopt.measures import frontier
from tests import browser

pytestmark = browser.needed()
AWFUL = "</script><script>document.title='owned'</script><!--"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser.opened(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Result files: an answer, a sweep with answers, a comparison, 3,000 users, awful names."""
    folder = tmp_path_factory.mktemp("results")
    many = fo.generate.random_instance(3000, 20, 3, density=0.2, seed=1, weight_decades=1)
    fo.solve(many, fo.ProportionalFair()).save(folder / "many.json")
    some = fo.generate.random_instance(30, 11, 1, seed=1)  # enough for the controls of all tables
    fo.solve(some, fo.ProportionalFair()).save(folder / "some.json")
    awful = fo.Instance(
        [[1, 2], [2, 1]], [[3, 4]], users=[AWFUL, "<img src=x>"], servers=["<b>bold</b>"]
    )
    fo.solve(awful, fo.ProportionalFair()).save(folder / "awful.json")
    pool = fo.read("ghodsi2011/example").instance
    fo.Allocation(pool, fo.ProportionalFair(), [[9.0], [1.0]]).save(folder / "refuted.json")
    fo.Allocation(
        pool, {"name": "mine", "family": {"name": "own"}}, [[2.0], [1.0]], score=[[1.0], [1.0]]
    ).save(folder / "own.json")
    fo.fill(fo.read("kesidis2018/example").instance, "rps-dsf").save(folder / "whole.json")
    two = fo.read("kesidis2016/placement").instance
    fo.sweep(None, [(pool, fo.MaxMin()), (two, fo.BottleneckMaxFair())]).save(folder / "mixed.json")
    for arguments in (
        ["solve", "kesidis2016/no-penalty", "-o", "answer.json"],
        ["compare", "khamse2016/figure-1", "-o", "comparison.json"],
        [
            "sweep",
            "kesidis2016/placement",
            "--over",
            "t_drf=0,10,100,1000",
            "--over",
            "t_pf=0,1,10",
            "--answers",
            "-o",
            "sweep.json",
        ],
        ["sweep", "ghodsi2011/example", "--over", "alpha=0.5,1,2", "-o", "totals.json"],
    ):
        assert run([*arguments[:-1], str(folder / arguments[-1])]) == 0
    cluster = Path(__file__).parents[2] / "examples" / "kubernetes" / "cluster.json"
    assert run(["plan", str(cluster), "--stay", "-o", str(folder / "plan.json")]) == 0
    return folder


class Shown:
    """A page that was opened, and everything the browser complained about or asked for."""

    def __init__(self, chromium: Any, folder: Path, names: list[str], scheme: str = "light"):
        out = folder / ("-".join(names) + ".html")
        results = [str(folder / f"{name}.json") for name in names]
        assert run(["report", *results, "-o", str(out)]) == 0
        self.size = out.stat().st_size
        self.said: list[str] = []
        self.page = page = chromium.new_page()
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on(
            "request",
            lambda asked: self.said.append(asked.url) if asked.url != out.as_uri() else None,
        )
        page.emulate_media(color_scheme=scheme)
        page.goto(out.as_uri())
        page.wait_for_selector("html[data-ready=yes]")

    def quiet(self) -> None:
        """Close the page; nothing was complained about, and nothing asked of a network."""
        found = self.page.evaluate("performance.getEntriesByType('resource').length")
        self.page.close()
        assert self.said == [] and found == 0

    def column(self, table: str, head: str) -> list[str]:
        """The cells of a column, by the words of caption and head."""
        return self.page.evaluate(
            """([caption, head]) => {
              const table = [...document.querySelectorAll('table')].find(
                (t) => t.caption.textContent.startsWith(caption));
              const k = [...table.tHead.rows[0].cells].findIndex(
                (c) => c.textContent.replace('\\u2195', '').trim().startsWith(head));
              return [...table.tBodies[0].rows].map((row) => row.cells[k].textContent);
            }""",
            [table, head],
        )


def numbers(cells: list[str]) -> list[float]:
    return [float(cell.replace(",", "")) for cell in cells]


def test_an_answer_is_shown_as_it_is(chromium, files):
    shown = Shown(chromium, files, ["answer"])
    answer = fo.load(files / "answer.json")
    assert numbers(shown.column("Users", "Tasks")) == pytest.approx(answer.totals, rel=1e-5)
    assert numbers(shown.column("Users", "Share")) == pytest.approx(answer.shares, rel=1e-5)
    levels = sorted(answer.levels)
    assert numbers(shown.column("Levels", "Level")) == pytest.approx(levels, rel=1e-5)
    prices = numbers(shown.column("Servers", "Price of r2"))
    assert prices == pytest.approx(answer.prices[:, 1], rel=1e-5)
    bars = shown.page.locator("svg.fill").evaluate_all("all => all.map(s => s.ariaLabel)")
    used = [
        f"{100 * part:.0f}%" if part > 0.9995 else f"{100 * part:.1f}%"
        for part in answer.utilisation.ravel()
    ]
    assert [f"{part} used" in label for part, label in zip(used, bars, strict=True)] == [True] * 4
    # the widths of the pieces are the parts of the users
    widths = (
        shown.page.locator("svg.fill")
        .first.locator("svg.piece")
        .evaluate_all("all => all.map(s => parseFloat(s.getAttribute('width')))")
    )
    parts = 100 * answer.tasks[:, 0] * answer.instance.demand[:, 0] / answer.instance.pool[0, 0]
    assert sorted(widths) == pytest.approx(sorted(part for part in parts if part > 1e-9), rel=1e-5)
    assert "Certified" in shown.page.inner_text(".verdict")
    shown.quiet()


def test_a_plan_is_shown_as_it_is(chromium, files):
    shown = Shown(chromium, files, ["plan"])
    plan = json.loads((files / "plan.json").read_text())
    assert shown.column("Teams", "Team") == [row["queue"] for row in plan["queues"]]
    assert numbers(shown.column("Teams", "Due")) == pytest.approx(
        [row["due"] for row in plan["queues"]], rel=1e-5
    )
    assert shown.column("Workloads", "Why") == [row["says"] for row in plan["workloads"]]
    steps = [row for row in plan["moves"] if row["step"] is not None][:25]
    assert shown.column("Steps", "Pod")[: len(steps)] == [row["pod"] for row in steps]
    assert "Certified" in shown.page.inner_text("main")
    shown.quiet()


def test_a_user_is_followed_by_keyboard(chromium, files):
    shown = Shown(chromium, files, ["answer"])
    page = shown.page
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent"))
        if page.evaluate("document.activeElement.matches('button.user')"):
            break
    assert reached[-1] == "n1"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert "n1 has 3.52941 tasks on 1 server" in page.inner_text(".detail")
    assert page.locator(".piece.mine").count() == 2
    shown.quiet()


def test_a_slider_moves_everything(chromium, files):
    shown = Shown(chromium, files, ["sweep"])
    page = shown.page
    sweep = json.loads((files / "sweep.json").read_text())
    slider = page.locator("input[type=range][data-axis=t_drf]")
    slider.focus()
    before = page.locator("circle.chosen").get_attribute("cx"), page.inner_text(".chosen-point")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.locator("input[type=range][data-axis=t_pf]").focus()
    page.keyboard.press("ArrowRight")
    row = next(r for r in sweep["rows"] if r["parameters"] == {"t_drf": 100.0, "t_pf": 1.0})
    assert slider.get_attribute("aria-valuetext") == "100"
    assert "t_drf = 100, t_pf = 1" in page.inner_text(".chosen-point")
    after = page.locator("circle.chosen").get_attribute("cx"), page.inner_text(".chosen-point")
    assert after[0] != before[0] and after[1] != before[1]
    assert numbers(shown.column("Users", "Tasks")) == pytest.approx(
        list(row["totals"].values()), rel=1e-5
    )
    measured = page.locator("td[data-measure=efficiency]").text_content()
    assert float(measured) == pytest.approx(row["measures"]["efficiency"], rel=1e-5)
    best = frontier([r for r in sweep["rows"] if r["certified"]], "sqrt_var_f", "efficiency")
    assert page.locator("circle.best").count() == len(best)
    page.get_by_label("Step on along the frontier").press("Enter")
    page.locator("circle.dot").first.dispatch_event("click")
    shown.quiet()


def test_a_sweep_without_answers_says_what_is_missing(chromium, files):
    shown = Shown(chromium, files, ["totals"])
    assert "--answers" in shown.page.inner_text("main")
    assert numbers(shown.column("Users", "Share"))[0] > 0
    shown.quiet()


def test_a_witness_is_one_press_away(chromium, files):
    shown = Shown(chromium, files, ["comparison"])
    page = shown.page
    rows = json.loads((files / "comparison.json").read_text())["rows"]
    label = "max-min (tsf) fails bottleneck-fair: show where"
    page.get_by_label(label).press("Enter")
    row = next(r for r in rows if r["parameters"].get("criterion") == "tsf")
    witness = row["properties"]["bottleneck-fair"]["witness"]
    assert witness and witness in page.inner_text(".detail")
    failing = sum(len(row.get("fails", ())) for row in rows)
    assert page.locator(".cross-mark").count() == failing
    shown.quiet()


def test_three_thousand_users_are_quick_and_searched(chromium, files):
    shown = Shown(chromium, files, ["many"])
    page = shown.page
    assert shown.size < 5_000_000
    loaded = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert loaded < 3000  # milliseconds; about 400 where nothing else runs
    totals = numbers(shown.column("Users", "Tasks"))
    assert totals == sorted(totals, reverse=True) and len(totals) == 25
    page.get_by_label("Search users").fill("u2999")
    assert shown.column("Users", "User") == ["u2999"]
    page.get_by_label("Search users").fill("nobody")
    assert "No user is called that" in page.inner_text("main")
    shown.quiet()


def test_every_verdict_is_told(chromium, files):
    shown = Shown(chromium, files, ["refuted", "own", "whole", "mixed"])
    page = shown.page
    for k, words in enumerate(["Refuted", "Unproved", "Tasks are whole", "point = max-min"]):
        page.locator("nav button").nth(k).press("Enter")
        assert words in page.inner_text("main")
    page.locator("input[type=range]").press("ArrowRight")
    assert "This point has no answer" in page.inner_text("main")
    assert "found 2 servers" in page.inner_text(".chosen-point")
    shown.quiet()


def test_names_are_names(chromium, files):
    shown = Shown(chromium, files, ["awful"])
    assert shown.page.title() == "awful"
    users = shown.column("Users", "User")
    assert any("</script>" in user for user in users) and "<img src=x>" in users
    assert shown.page.locator("img").count() == 0 and shown.page.locator("b").count() == 0
    shown.quiet()


@pytest.mark.parametrize(
    ("scheme", "names"), [("light", ["answer", "some"]), ("dark", ["sweep", "comparison"])]
)
def test_no_violation_of_accessibility(chromium, files, scheme, names):
    shown = Shown(chromium, files, names, scheme)
    page = shown.page
    script = browser.axe()
    for k in range(len(names)):
        page.locator("nav button").nth(k).press("Enter")
        for closed in page.locator("details:not([open]) > summary").all():
            closed.press("Enter")
        # the pieces of bars are thousands of rectangles inside an image that has its own words
        where = "{include: [['html']], exclude: [['svg.piece']]}"
        found = page.evaluate(f"{script}; axe.run({where}, {{resultTypes: ['violations']}})")
        assert [(v["id"], v["nodes"][0]["html"]) for v in found["violations"]] == []
        assert len(found["passes"]) > 20
    shown.quiet()


def test_a_print_has_no_buttons(chromium, files):
    shown = Shown(chromium, files, ["sweep"])
    shown.page.emulate_media(media="print")
    assert not shown.page.locator(".tools").first.is_visible()
    pdf = shown.page.pdf()
    assert pdf.startswith(b"%PDF")
    shown.quiet()


def test_a_served_plan_is_asked_in_the_browser(chromium, files):
    """A change is typed, and the table shows what `what-if` says; a wrong one is told."""
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    from fairopt.commands import serve_app
    from tests.commands.test_serve import ask, listening

    served = serve_app.Followed(str(files / "plan.json"))
    said: list[str] = []
    with listening(served) as port:
        page = chromium.new_page()
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector("html[data-ready=yes]")
        page.locator("section:has(h2:text('What if')) select").select_option("drop")
        page.get_by_label("Change", exact=True).fill("node/gpu-1")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Both answers are certified.")
        told = json.loads(ask(port, "POST", "/api/what-if", '{"drop": ["node/gpu-1"]}')[1])
        wanted = {u["user"]: u["after"] for u in told["users"] if abs(u["relative"]) > 1e-6}
        rows = page.locator("table:has(caption:has-text('Who gets less')) tbody tr")
        found = {
            row.locator("th").inner_text(): float(row.locator("td").nth(1).inner_text())
            for row in rows.all()
        }
        assert found == pytest.approx(wanted, rel=1e-5) and len(found) == 2
        assert "asks the server that it came from" in page.inner_text("footer")
        page.wait_for_selector("text=tasks stop and")
        moves = json.loads(ask(port, "POST", "/api/moves", '{"drop": ["node/gpu-1"]}')[1])
        shown = page.locator("text=tasks stop and").inner_text().split()
        assert float(shown[0]) == pytest.approx(moves["stopped"], rel=1e-5)
        if picture := os.environ.get("FAIROPT_PICTURES"):
            page.set_viewport_size({"width": 1100, "height": 900})
            page.screenshot(path=f"{picture}/serve.png")
        page.locator("section:has(h2:text('What if')) select").select_option("set")
        page.get_by_label("Change", exact=True).fill("weight.nobody=2")
        page.get_by_role("button", name="Ask", exact=True).click()
        page.wait_for_selector("text=nobody")
        page.wait_for_selector("[role=status]:has-text('wanted')")
        page.get_by_label("Without weight.nobody=2").click()
        page.wait_for_selector("text=Both answers are certified.")
        page.locator("section:has(h2:text('What if')) select").select_option("add")
        page.get_by_label("Change", exact=True).fill("team=newcomer,queue=ml,tasks=4,cpu=4")
        page.keyboard.press("Enter")
        page.wait_for_selector("table:has(caption:has-text('Who gets less')) th:text('newcomer')")
        page.close()
    assert said == []


def test_a_served_page_follows_its_file(chromium, tmp_path):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    from fairopt.commands import serve_app
    from tests.listening import listening

    path = str(tmp_path / "cluster.toml")
    fo.write(fo.Instance([[1.0]], [[4.0]], users=["first"], servers=["x"]), path)
    said: list[str] = []
    with listening(serve_app.Followed(path)) as port:
        page = chromium.new_page()
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector("html[data-ready=yes]")
        assert "second" not in page.inner_text("main")
        demand, users = [[1.0], [1.0]], ["first", "second"]
        fo.write(fo.Instance(demand, [[4.0]], users=users, servers=["x"]), path)
        page.wait_for_selector("main >> text=second")
        Path(path).write_text("nonsense")
        page.wait_for_selector("text=cannot be planned")
        assert "second" in page.inner_text("main")
        page.close()
    assert said == []
