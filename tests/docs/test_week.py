"""The walk-through of a week: the page is run, and its numbers are counted without fairopt.

What is due is solved by hand. On nodes without cards the cpu is full, and only `data` (merge,
spark) and `research` (sweep) ask for more than they are due; the cards are full, and only `ml`
waits for them. Two linear equations are left, in fractions.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections import Counter
from fractions import Fraction as F

import pytest

from tests import browser
from tests.docs.test_commands import DOCS, shows

PAGE = DOCS / "tutorials" / "week.md"
TEXT = PAGE.read_text(encoding="utf-8")
WAITING = {"ml/giant", "ml/next", "research/careless"}
"""no node can run them"""
SERVING = {"16cpu-61Gi": 118, "32cpu-247Gi": 39, "48cpu-185Gi-4gpu": 16, "96cpu-999Gi-8gpu": 23}
RESERVED = "96cpu-999Gi-8gpu-2"
ROOM = {  # cpu, Gi, cards of a node, less the agent's 250m and 1Gi
    "16cpu-61Gi": (16, 61, 0),
    "32cpu-247Gi": (32, 247, 0),
    "48cpu-185Gi-4gpu": (48, 185, 4),
    "96cpu-999Gi-8gpu": (96, 999, 8),
    RESERVED: (96, 999, 8),
}


@pytest.fixture(scope="module")
def week(tmp_path_factory):
    """The folder in which the page was run, with what it printed agreed to."""
    folder = tmp_path_factory.mktemp("week")
    shows(PAGE, folder)
    return folder


def numbers(*start: str, after: str = "") -> list[float]:
    """The numbers of the first line of the page, after a text, that starts with these words."""
    lines = TEXT[TEXT.index(after) :].splitlines()
    line = next(line for line in lines if line.split()[: len(start)] == list(start))
    found = re.findall(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?", line[len(" ".join(start)) :])
    return [float(x.replace(",", "")) for x in found]


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))["items"]


def amount(text: str) -> F:
    """Cores, Gi or a number."""
    return F(text[:-1]) / 1000 if text.endswith("m") else F(text.removesuffix("Gi"))


def request(pod) -> Counter:
    """What a pod takes: its container, or the init container where that asks more."""
    spec = pod["spec"]
    both = [*spec["containers"], *spec.get("initContainers", [])]
    keys = {key for own in both for key in own["resources"]["requests"]}
    asked = {
        key: max(amount(own["resources"]["requests"].get(key, "0")) for own in both) for key in keys
    }
    return Counter({"pods": F(1), **asked})


def pods(folder, week_of):
    """{workload: its pods that are not done}, without those of DaemonSets."""
    found: dict[str, list] = {}
    for own in read(folder / week_of):
        if own["kind"] == "Pod" and own["status"]["phase"] != "Succeeded":
            meta = own["metadata"]
            if meta["ownerReferences"][0]["kind"] != "DaemonSet":
                name = meta["ownerReferences"][0]["name"]
                found.setdefault(f"{meta['namespace']}/{name}", []).append(own)
    return found


def due(asked: dict[str, int], less: str = "", more: str = "") -> dict[str, F]:
    """Tasks due to each workload, with one node of a shape less and one of another more."""
    count = dict(SERVING) | {RESERVED: 1}
    for name, change in ((less, -1), (more, 1)):
        if name:
            count[name] += change
    cpu, memory, cards = (sum(F(ROOM[s][r]) * k for s, k in count.items()) for r in range(3))
    found = {name: F(k) for name, k in asked.items() if name not in WAITING}
    found["data/quorum"] = F(count["32cpu-247Gi"])  # of its 50 one on a node, more nodes are none
    # cards: probe has all it asks, ml's three the rest, alike
    usable = 4 * count["48cpu-185Gi-4gpu"] + 8 * count["96cpu-999Gi-8gpu"]
    for name in ("train", "tune", "serve"):
        found[f"ml/{name}"] = (usable - found["research/probe"]) / 3
    # cpu without cards, where a is the share of merge (of memory) and of spark, b that of sweep
    full = 16 * count["16cpu-61Gi"] + 32 * count["32cpu-247Gi"]
    core = {"web/front": F(1, 2), "web/search": 4, "web/cache": 2, "web/edge": F(1, 2)}
    core |= {"data/load": 1, "data/quorum": 1, "batch/night": 1, "batch/report": F(1, 2)}
    core |= {"batch/gated": 1, "tests/ci": 2, "tests/stray": 1}
    others = sum(found[name] * each for name, each in core.items())
    data = sum(found[name] * core[name] for name in ("data/load", "data/quorum"))
    of_a = 8 * memory / 96 + cpu  # cores of merge and spark for each unit of a
    # research holds as much cpu as data when cpu is full, its probe at the level of its sweep
    of_b = 1 + 6 * cards / cpu
    a = (full - others - data / of_b) / (of_a + of_a / of_b)
    b = (data + a * of_a) / of_b / cpu
    found["data/merge"], found["data/spark"] = a * memory / 96, a * cpu / 4
    found["research/sweep"] = b * cpu / 2
    return found


@pytest.mark.parametrize(
    ("name", "plan", "after", "more", "less"),
    [
        ("monday.json", "plan.json", "", "", ""),
        ("next.json", "plan-next.json", "# Again", "16cpu-61Gi", "96cpu-999Gi-8gpu"),
    ],
)
def test_queues(week, name, plan, after, more, less):
    work = pods(week, name)
    in_service = {
        own["metadata"]["name"]
        for own in read(week / name)
        if own["kind"] == "Node" and not own["spec"].get("unschedulable")
    } - {"general-044"}
    assert len(in_service) == sum(SERVING.values()) + 1
    wanted = due({name: len(own) for name, own in work.items()}, less, more)
    whole = placed(json.loads((week / plan).read_text(encoding="utf-8")), work)
    for queue in ("batch", "data", "ml", "research", "tests", "web"):
        mine = {name: own for name, own in work.items() if name.startswith(f"{queue}/")}
        held = sum("nodeName" in own["spec"] for each in mine.values() for own in each)
        expected = [sum(map(len, mine.values())), held]
        assert numbers(queue, after=after)[:2] == expected
        assert numbers(queue, after=after)[2] == pytest.approx(
            float(sum(wanted.get(name, 0) for name in mine)), rel=1e-5
        )
        assert numbers(queue, after=after)[3] == sum(whole[name] for name in mine)


def placed(plan, work) -> Counter:
    """Whole tasks of each workload, each machine of the plan being counted for room."""
    whole: Counter = Counter()
    for shape in plan["shapes"]:
        cpu, memory, cards = ROOM[shape["shape"]]
        room = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": cards, "pods": 109}
        assert sum(own["count"] for own in shape["machines"]) <= shape["count"]
        for own in shape["machines"]:
            used: Counter = Counter()
            for name, tasks in own["tasks"].items():
                assert name != "data/quorum" or tasks == 1
                for key, x in request(work[name][0]).items():
                    used[key] += tasks * x
                whole[name] += tasks * own["count"]
            assert all(x <= room[key] for key, x in used.items())
    return whole


IN = {"general": "16cpu-61Gi", "memory": "32cpu-247Gi", "t4": "48cpu-185Gi-4gpu"}
IN["a100"] = "96cpu-999Gi-8gpu"
OUT = ("general-017", "memory-003", "general-044", "general-999")


def shape_of(node: str) -> str:
    return RESERVED if node == "a100-023" else IN[node.rpartition("-")[0]]


def allowed(folder, pod) -> set[str]:
    """The shapes whose labels and taints let a pod in."""
    found = set()
    for own in read(folder / "monday.json"):
        if own["kind"] == "Node" and own["metadata"]["name"] not in OUT:
            spec, labels = pod["spec"], own["metadata"]["labels"]
            tolerated = {each["key"] for each in spec.get("tolerations", [])}
            taints = {each["key"] for each in own["spec"]["taints"]}
            if spec.get("nodeSelector", {}).items() <= labels.items() and taints <= tolerated:
                found.add(shape_of(own["metadata"]["name"]))
    return found


def test_audit(week):
    """What could be held, and the fewest moves, by linear programs written down here."""
    import numpy as np
    from scipy.optimize import linprog

    work = pods(week, "monday.json")
    names = [name for name in sorted(work) if name not in WAITING]
    count = dict(SERVING) | {RESERVED: 1}
    shapes = list(count)
    held = np.zeros((len(names), len(shapes)))
    left_out = 0
    for k, name in enumerate(names):
        for own in work[name]:
            node = own["spec"].get("nodeName")
            left_out += node in OUT
            if node and node not in OUT:
                held[k, shapes.index(shape_of(node))] += 1
    assert numbers("24", "tasks", after="$ fairopt audit") == []
    assert left_out == 24
    needs = [request(work[name][0]) for name in names]
    may = np.array([[s in allowed(week, work[name][0]) for s in shapes] for name in names])
    rows, most = [], []
    for i, shape in enumerate(shapes):
        room = dict(zip(("cpu", "memory", "nvidia.com/gpu"), ROOM[shape], strict=True))
        for key, x in {**room, "pods": 109}.items():
            row = np.zeros(held.shape)
            row[:, i] = [float(need.get(key, 0)) for need in needs]
            rows.append(row.ravel())
            most.append(float(x * count[shape]))
    per_user = np.kron(np.eye(len(names)), np.ones(len(shapes)))
    asked = np.array([len(work[name]) for name in names], dtype=float)
    # one a node, of those that ask for a port of the node or for nodes of their own
    alone = [name in ("web/edge", "data/quorum") for name in names]
    upper = np.where(may, np.where(np.array(alone)[:, None], list(count.values()), np.inf), 0.0)
    total, kept = held.sum(axis=1), (held * may).sum(axis=1)
    above = {"ml/train", "data/spark"}
    wanted = due({name: len(own) for name, own in work.items()})
    for k, name in enumerate(names):
        told = numbers(name, after="$ fairopt audit")
        answer = float(wanted[name])
        assert told[0] == total[k]
        assert told[1:3] == pytest.approx([answer, answer - total[k]], rel=1e-5, abs=1e-4)
        floor = np.array([0.0 if own in above else x for own, x in zip(names, kept, strict=True)])
        floor[k] = 0
        found = linprog(
            -per_user[k],
            np.vstack([rows, per_user, -per_user]),
            [*most, *asked, *-floor],
            bounds=list(zip(np.zeros(held.size), upper.ravel(), strict=True)),
        )
        assert found.status == 0 and told[3] == pytest.approx(-found.fun, rel=1e-5), name
    # half of all that is added or taken away
    one = np.eye(held.size)
    found = linprog(
        np.repeat([0.0, 0.5], held.size),
        np.block([[np.array(rows), np.zeros((len(rows), held.size))], [one, -one], [-one, -one]]),
        [*most, *held.ravel(), *-held.ravel()],
        np.hstack([per_user, np.zeros(per_user.shape)]),
        [float(wanted[name]) for name in names],
        bounds=[*zip(np.zeros(held.size), upper.ravel(), strict=True), *[(0, None)] * held.size],
    )
    assert numbers("fewest") == pytest.approx([found.fun], rel=1e-5)
    assert numbers("broken", "today:")[-1] == (held * ~may).sum() == 1


def test_who_is_out_and_why(week):
    items = read(week / "monday.json")
    on = Counter(
        own["spec"].get("nodeName") for each in pods(week, "monday.json").values() for own in each
    )
    assert numbers("out", "of", "service,", "cordoned:") == [-17, on["general-017"], -3, 16]
    assert on["memory-003"] == 16 and on["general-044"] == 0 and on["general-999"] == 3
    daemons = [
        own
        for own in items
        if own["kind"] == "Pod" and own["metadata"]["namespace"] == "monitoring"
    ]
    assert numbers("taken", "off") == [len(daemons)]
    counts = Counter(own["kind"] for own in items)
    assert numbers("monday.json:") == [counts["Node"], counts["Pod"]]
    counts = Counter(own["kind"] for own in read(week / "next.json"))
    assert numbers("next.json:") == [counts["Node"], counts["Pod"]]
    taints = [
        {taint["key"] for taint in own["spec"]["taints"]} for own in items if own["kind"] == "Node"
    ]
    a100 = 24 - sum("reserved" in keys for keys in taints)
    assert numbers("ml/giant:") == [16, a100, 197, 8]
    assert numbers("ml/next:") == [100, 197, 197]  # of H100, the label
    # nodes without a taint, less the three out of service
    assert numbers("research/careless:") == [sum(not keys for keys in taints) - 3, 197]


def test_why_train_waits():
    train, usable = F(158, 3), 23 * 8
    tune = usable - 90 - train
    assert numbers("ml/train", "gets")[0] == pytest.approx(float(train), rel=1e-5)
    shares = [float(100 * x / usable) for x in (train, F(90), tune)]
    assert numbers("nvidia.com/gpu", "on")[-3:] == pytest.approx(shares, abs=0.05)
    holds = [F(train * 10, 6208), F(train * 96, 43767), F(train, 256), F(train, 197 * 109)]
    told = [
        float(x)
        for x in re.findall(r"([\d.]+)% of all", TEXT[TEXT.index("holds cpu") :].split("\n")[0])
    ]
    assert told == pytest.approx([float(100 * x) for x in holds], abs=0.05)


def changes(week, after, old, new):
    """Hold the table of changes below a text to what is due before and after."""
    for name in ("ml/serve", "data/merge", "data/spark", "research/sweep"):
        first, second, change, *_ = numbers(name, after=after)
        assert [first, second] == pytest.approx([float(old[name]), float(new[name])], rel=1e-5)
        assert change == pytest.approx(float(100 * (new[name] / old[name] - 1)), rel=5e-3)


def test_a_machine_less_and_a_week_later(week):
    asked = {name: len(own) for name, own in pods(week, "monday.json").items()}
    old = due(asked)
    changes(week, "--drop node/a100-005", old, due(asked, "96cpu-999Gi-8gpu"))
    later = {name: len(own) for name, own in pods(week, "next.json").items()}
    assert {name: later[name] - asked[name] for name in asked if later[name] != asked[name]} == {
        "ml/train": 40,
        "research/sweep": -150,
    }
    new = due(later, "96cpu-999Gi-8gpu", "16cpu-61Gi")
    changes(week, "$ fairopt diff", old, new)
    for shape in (*SERVING, RESERVED):
        less = due(asked, shape)
        hurt = min(less, key=lambda name: less[name] / old[name])
        rest = numbers(shape, after="$ fairopt what-if plan.json --losses")
        worst = float(less[hurt] / old[hurt])
        assert rest[0] == (SERVING | {RESERVED: 1})[shape]
        assert rest[1:3] == pytest.approx([float(old[hurt]), float(less[hurt])], rel=1e-5)
        assert rest[3] == pytest.approx(100 * (worst - 1), rel=5e-3)
        assert rest[4] == sum(less[name] < old[name] for name in less)


POOL = {
    "cpu": sum(F(ROOM[s][0]) * k for s, k in [*SERVING.items(), (RESERVED, 1)]),
    "memory": sum(F(ROOM[s][1]) * k for s, k in [*SERVING.items(), (RESERVED, 1)]),
    "nvidia.com/gpu": F(16 * 4 + 24 * 8),
    "pods": F(197 * 109),
}


def levels(work, wanted, less: str = "", more: str = "") -> dict[str, F]:
    """What each is due in parts of the whole pool, of the resource of which it is the most."""
    pool = dict(POOL)
    for name, sign in ((less, -1), (more, 1)):
        if name:
            for key, x in zip(("cpu", "memory", "nvidia.com/gpu"), ROOM[name], strict=True):
                pool[key] += sign * x
            pool["pods"] += sign * 109
    return {
        name: max(wanted[name] * x / pool[key] for key, x in request(work[name][0]).items())
        for name in wanted
    }


def test_levels_and_counts(week):
    """How many lose and win, and at which levels, before and after."""
    work = pods(week, "monday.json")
    asked = {name: len(own) for name, own in work.items()}
    old = due(asked)
    first = levels(work, old)
    later = pods(week, "next.json")
    for after, less, more, new in (
        ("--drop node/a100-005", "96cpu-999Gi-8gpu", "", due(asked, "96cpu-999Gi-8gpu")),
        (
            "$ fairopt diff",
            "96cpu-999Gi-8gpu",
            "16cpu-61Gi",
            due({name: len(own) for name, own in later.items()}, "96cpu-999Gi-8gpu", "16cpu-61Gi"),
        ),
    ):
        second = levels(work, new, less, more)
        signs = Counter((new[name] > old[name]) - (new[name] < old[name]) for name in old)
        text = TEXT[TEXT.index(after) :]
        lines = [line for line in text.splitlines() if "with less" in line]
        told = [int(x) for x in re.findall(r"\d+", lines[0])]
        assert told == [signs[-1], signs[1], signs[0]]
        for name in (name for name in old if new[name] != old[name]):
            told = numbers(name, after=after)
            before_after = [float(old[name]), float(new[name])]
            assert told[:2] == pytest.approx(before_after, rel=1e-5)
            assert told[2] == pytest.approx(float(100 * (new[name] / old[name] - 1)), rel=5e-3)
            assert told[3:] == pytest.approx([float(first[name]), float(second[name])], rel=1e-4)
    level = first["ml/train"]
    assert numbers("ml/train", "gets") == pytest.approx(
        [float(old["ml/train"]), float(level), float(level), 1, asked["ml/train"]], rel=1e-5
    )
    below = sum(x < level for x in first.values())
    assert numbers("14", "of") == [len(first)] and below == 14
    assert numbers("proved:")[-1] == pytest.approx(float(level), rel=1e-5)
    assert numbers("on", "96cpu-999Gi-8gpu")[0] == pytest.approx(float(old["ml/train"]), rel=1e-5)
    holds = numbers("holds", "cpu")
    train = float(old["ml/train"])
    assert holds[0] == pytest.approx(10 * train, rel=1e-5)
    assert TEXT.count(f"memory {96 * 2**30 * train:.6g}".replace("e+", "e+")) == 1


def test_counts_of_the_plan(week):
    work, items = pods(week, "monday.json"), read(week / "monday.json")
    queues = {name.partition("/")[0] for name in work}
    out = sum(bool(own["spec"].get("unschedulable")) for own in items) + 2  # lost, deleted
    assert numbers("max-min:") == [len(queues), len(work), 197, 5, out]
    assert len(SERVING) + 1 == 5 and len(work) == 21
    kinds = {own["metadata"]["labels"]["kind"] for own in items if own["kind"] == "Node"}
    assert "200 nodes of four kinds, six teams, 3,148 pods" in " ".join(TEXT.split())
    assert len(kinds) == 4 and len(queues) == 6
    kinds_of = Counter(own["kind"] for own in items)
    assert (kinds_of["Node"], kinds_of["Pod"]) == (200, 3148)
    cards = [x * SERVING[s] for s, (_, _, x) in ROOM.items() if x and s in SERVING]
    assert "184 cards of the kind A100 can be used, and 64 of the other" in TEXT
    assert sorted(cards) == [64, 184]
    assert f"`research/probe` asks {len(work['research/probe'])} and" in TEXT
    assert "share the other 158" in TEXT and 184 + 64 - 90 == 158


def test_moves_overfill_no_node(week):
    """The steps are made one by one, on what the nodes really offer."""
    items = read(week / "monday.json")
    left = {
        own["metadata"]["name"]: Counter(
            {key: amount(x) for key, x in own["status"]["allocatable"].items()}
        )
        for own in items
        if own["kind"] == "Node"
    }
    every = {
        f"{own['metadata']['namespace']}/{own['metadata']['name']}": own
        for own in items
        if own["kind"] == "Pod" and own["status"]["phase"] != "Succeeded"
    }
    on = {name: own["spec"].get("nodeName", "") for name, own in every.items()}

    def take(pod, node, sign):
        if node in left:
            for key, x in request(every[pod]).items():
                left[node][key] -= sign * x
            assert all(x >= 0 for x in left[node].values()), (pod, node)

    for name, node in on.items():
        take(name, node, 1)
    with open(week / "moves.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert row["do"] == "start" or row["from"] == on[row["pod"]]
        if row["do"] in ("stop", "move"):
            take(row["pod"], row["from"], -1)
        if row["do"] in ("start", "move"):
            take(row["pod"], row["to"], 1)
    done = Counter(row["do"] for row in rows)
    agents = sum(name.startswith("monitoring/") for name in every)
    assert len({row["pod"] for row in rows}) == len(rows) == len(every) - agents
    order = ("stop", "move", "start", "stay", "wait", "leave")
    assert numbers("pods:") == [done[do] for do in order]
    # on a node where nothing new may run, none of them can stay
    leaving = {"", "general-017", "memory-003", "general-044", "general-999", "a100-023"}
    running = sum(
        node not in leaving and not name.startswith("monitoring/") for name, node in on.items()
    )
    assert numbers("of", after="$ fairopt plan monday.json --moves")[:2] == [running, done["stay"]]
    assert all(row["from"] in ("general-017", "memory-003") for row in rows if row["do"] == "leave")
    gone = [row for row in rows if row["pod"].startswith("tests/stray")]
    assert len(gone) == 3 and all(row["do"] in ("start", "move") for row in gone)


def test_quotas_are_the_whole_tasks(week):
    work = pods(week, "monday.json")
    whole = placed(json.loads((week / "plan.json").read_text(encoding="utf-8")), work)
    quotas = TEXT[TEXT.index("# Quotas of namespaces") :].split("```")[0].split("---")[1:]
    assert len(quotas) == 6
    for text in quotas:
        team = re.search(r"namespace: (\w+)", text)[1]
        need: Counter = Counter()
        for name, tasks in whole.items():
            if name.startswith(f"{team}/"):
                for key, x in request(work[name][0]).items():
                    need[key] += tasks * x
        hard = dict(re.findall(r"(?:requests\.)?(\S+): '?([\w.]+)'?", text.split("hard:")[1]))
        assert hard and {key: amount(x) for key, x in hard.items()} == {
            key: need[key] for key in hard
        }


@browser.needed()
def test_in_the_browser(week, tmp_path):
    """The page of the report and the served one show what is due; both are the page's pictures."""
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    from fairopt.cli import run
    from fairopt.commands import serve_app
    from tests.listening import listening

    asked = {name: len(own) for name, own in pods(week, "monday.json").items()}
    old, new = due(asked), due(asked, "96cpu-999Gi-8gpu")
    plan, report = str(week / "plan.json"), tmp_path / "plan.html"
    assert run(["report", plan, "-o", str(report)]) == 0
    with browser.opened(tmp_path) as chromium, listening(serve_app.Followed(plan)) as port:
        page = chromium.new_page()
        page.set_viewport_size({"width": 1100, "height": 800})
        page.goto(report.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        queues = {
            row.locator("th").inner_text(): row.locator("td").all_inner_texts()
            for row in page.locator(
                "table:has(caption:has-text('asked, held and due')) tbody tr"
            ).all()
        }
        for queue in ("batch", "data", "ml", "research", "tests", "web"):
            mine = float(sum(x for name, x in old.items() if name.startswith(f"{queue}/")))
            assert float(queues[queue][3]) == pytest.approx(mine, rel=1e-5), queue
        pictured(page, "week-report")
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector("html[data-ready=yes]")
        page.locator("section:has(h2:text('What if')) select").select_option("drop")
        page.get_by_label("Change", exact=True).fill("node/a100-005")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=tasks stop and")
        rows = page.locator("table:has(caption:has-text('Who gets less')) tbody tr")
        found = {
            row.locator("th").inner_text(): float(row.locator("td").nth(1).inner_text())
            for row in rows.all()
        }
        assert {"ml/serve", "ml/tune", "ml/train", "data/merge"} <= set(found)
        assert found == pytest.approx({name: float(new[name]) for name in found}, rel=1e-5)
        pictured(page, "week-serve")


def pictured(page, name: str) -> None:
    """Into FAIROPT_PICTURES, if that is set: a picture of few colours, so that it is light."""
    if folder := os.environ.get("FAIROPT_PICTURES"):
        from io import BytesIO

        from PIL import Image

        shot = Image.open(BytesIO(page.screenshot())).convert("RGB")
        shot.quantize(32).save(f"{folder}/{name}.png", optimize=True)
