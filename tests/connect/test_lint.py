"""fairopt lint: findings with file, line and fix; nothing where nothing is wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import fairopt as fo
from fairopt.connect.lint.findings import CODES, Finding
from fairopt.connect.lint.running import lint
from tests.connect.test_exports_kueue import run

EXAMPLES = Path(__file__).parents[2] / "examples"

KUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: one}
spec:
  cohortName: all
  resourceGroups:
  - coveredResources: [gpu]
    flavors:
    - name: f
      resources:
      - name: gpu
        nominalQuota: 4
        borrowingLimit: 2
        lendingLimit: 3
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: two}
spec:
  cohortName: all
  resourceGroups:
  - coveredResources: [gpu]
    flavors:
    - name: f
      resources:
      - name: gpu
        nominalQuota: 4
"""

NODES = """\
---
apiVersion: v1
kind: Node
metadata: {name: n, labels: {kind: a}}
status:
  allocatable: {gpu: 8}
  conditions: [{type: Ready, status: "True"}]
"""

CARDS = NODES.replace("gpu: 8", "nvidia.com/gpu: 8")

VOLCANO = """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: dept}
spec:
  deserved: {gpu: 6}
  capability: {gpu: 7}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: a}
spec:
  parent: dept
  weight: 2
  deserved:
    gpu: 4
  capability:
    gpu: 6
"""

KAI = """\
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: dept}
spec:
  resources:
    gpu: {quota: 6, limit: -1, overQuotaWeight: 1}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: a}
spec:
  parentQueue: dept
  resources:
    gpu:
      quota: 4
      limit: 7
      overQuotaWeight: 1
"""


def found(tmp_path: Path, text: str, name: str = "quotas.yaml") -> list[Finding]:
    path = tmp_path / name
    path.write_text(text)
    return lint([str(path)])[0]


def line(text: str, words: str) -> int:
    """The line of the first occurrence of words, counted from 1."""
    return text[: text.index(words)].count("\n") + 1


@pytest.mark.parametrize("text", [KUEUE, KUEUE + NODES, VOLCANO + NODES, KAI + CARDS])
def test_what_can_be_meant_has_no_findings(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, text) == []


SPOILS = {
    # code: (text, replaced, by, the words on the line of the finding, a part of what is found)
    "promise-over-nodes": (KUEUE + NODES, "gpu: 8", "gpu: 6", "nominalQuota: 4", "have 6 gpu"),
    "promise-over-nodes volcano": (
        VOLCANO + NODES,
        "deserved: {gpu: 6}\n  capability: {gpu: 7}",
        "deserved: {gpu: 9}",
        "deserved: {gpu: 9}",
        "9 gpu in all (dept 9); the nodes have 8 gpu",
    ),
    "promise-over-parent": (VOLCANO, "    gpu: 4", "    gpu: 6.5", "gpu: 6.5", "it has 6 gpu"),
    "promise-over-limit": (VOLCANO, "    gpu: 6", "    gpu: 3", "gpu: 4", "above its limit of 3"),
    "promise-over-parent kai": (KAI, "quota: 4", "quota: 6.5", "quota: 6.5", "below dept"),
    "limit-never-binds volcano": (
        VOLCANO,
        "    gpu: 6",
        "    gpu: 7",
        "gpu: 7\n",
        "parent may use",
    ),
    "limit-never-binds nodes": (
        KAI + CARDS,
        "limit: 7",
        "limit: 8",
        "limit: 8",
        "8 nvidia.com/gpu; all nodes have",
    ),
    "limit-never-binds": (KUEUE, "Limit: 2", "Limit: 4", "borrowingLimit", "all that others can"),
    "limit-never-binds lend": (KUEUE, "Limit: 3", "Limit: 4", "lendingLimit", "all there is"),
    "cannot-borrow": (KUEUE, "Limit: 2", "Limit: 5", "borrowingLimit", "others can lend at most 4"),
    "bad-value": (KUEUE, "Limit: 3", "Limit: 5", "lendingLimit", "above the quota of 4 gpu"),
    "bad-value text": (KUEUE, "Limit: 3", "Limit: many", "lendingLimit", "many"),
    "bad-value weight": (VOLCANO, "weight: 2", "weight: 0", "weight: 0", "0"),
    "weight-0": (
        KUEUE,
        "spec:\n  cohortName: all",
        "spec:\n  fairSharing:\n    weight: 0\n  cohortName: all",
        "weight: 0",
        "infinite share",
    ),
    "weight-0 kai": (KAI, "Weight: 1\n", "Weight: 0\n", "Weight: 0", "though its limit of 7"),
    "flavor-without-nodes": (
        KUEUE + NODES,
        "{name: f}\n",
        "{name: f}\nspec:\n  nodeLabels: {kind: b}\n",
        "nodeLabels",
        "no node in service has the labels kind=b",
    ),
    "unknown-name": (KUEUE, "    - name: f\n", "    - name: g\n", "- name: g", "the flavor 'g'"),
    "unknown-name volcano": (VOLCANO, "parent: dept", "parent: sales", "parent:", "'sales'"),
    "cycle volcano": (
        VOLCANO,
        "spec:\n  deserved: {gpu: 6}",
        "spec:\n  parent: a\n  deserved: {gpu: 6}",
        "parent: dept",
        "a -> dept -> a",
    ),
    "limit-without-cohort": (
        KUEUE,
        "  cohortName: all\n  resourceGroups:\n  - coveredResources: [gpu]\n    flavors:\n    "
        "- name: f\n      resources:\n      - name: gpu\n        nominalQuota: 4\n        borrow",
        "  resourceGroups:\n  - coveredResources: [gpu]\n    flavors:\n    "
        "- name: f\n      resources:\n      - name: gpu\n        nominalQuota: 4\n        borrow",
        "borrowingLimit",
        "without a cohort",
    ),
    "never-runs": (
        KUEUE,
        "nominalQuota: 4\n        borrowingLimit: 2\n        lendingLimit: 3",
        "nominalQuota: 0\n        borrowingLimit: 0",
        "nominalQuota: 0",
        "borrows none",
    ),
}


@pytest.mark.parametrize("name", SPOILS)
def test_each_is_found_on_its_line(tmp_path: Path, name: str) -> None:
    text, before, after, words, said = SPOILS[name]
    assert before in text
    text = text.replace(before, after, 1)
    code = name.split()[0]
    findings = [own for own in found(tmp_path, text) if own.code == code]
    assert findings, found(tmp_path, text)
    assert [own.file for own in findings] == ["quotas.yaml"] * len(findings)
    assert line(text, words) in [own.line for own in findings]
    assert any(said in own.found for own in findings)
    assert all(own.fix for own in findings)


def test_the_second_of_two_of_one_name_is_found(tmp_path: Path) -> None:
    text = KUEUE.replace("{name: two}", "{name: one} # again")
    (own,) = [own for own in found(tmp_path, text) if own.code == "name-twice"]
    assert (own.code, own.line) == ("name-twice", line(text, "# again"))
    assert own.found == "the name of quotas.yaml:5"


def test_cohorts_in_a_circle_are_one_finding(tmp_path: Path) -> None:
    cohort = (
        "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: Cohort\nmetadata: {name: NAME}\n"
        "spec:\n  parentName: UP\n"
    )
    ups = [("b", "a"), ("a", "b"), ("c", "a")]
    text = KUEUE + "".join(cohort.replace("NAME", n).replace("UP", u) for n, u in ups)
    (own,) = [own for own in found(tmp_path, text) if own.code == "cycle"]
    assert own.found == "the circle a -> b -> a"
    assert own.line == line(text, "parentName: b")


def test_flavors_that_share_nodes_or_are_listed_by_nobody(tmp_path: Path) -> None:
    flavor = (
        "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: NAME}\n"
        "spec:\n  nodeLabels: {kind: a}\n"
    )
    text = KUEUE + NODES + flavor.replace("NAME", "spare")
    (own,) = found(tmp_path, text)
    assert own.code == "flavor-unused" and own.line == line(text, "metadata: {name: spare}") - 2
    second = KUEUE[KUEUE.index("name: two") :].replace("- name: f", "- name: spare")
    text = KUEUE[: KUEUE.index("name: two")] + second + NODES + flavor.replace("NAME", "spare")
    (own,) = [own for own in found(tmp_path, text) if own.code == "flavor-overlap"]
    assert "1 nodes (n) are of f and of spare" in own.found


def test_half_lives_of_nothing(tmp_path: Path) -> None:
    kueue = (
        "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n"
        "admissionFairSharing:\n  usageHalfLifeTime: 0s\n"
    )
    (own,) = found(tmp_path, kueue)
    assert (own.code, own.line) == ("half-life-0", 4)
    assert not found(tmp_path, kueue.replace("0s", "168h"))
    assert not found(tmp_path, kueue.replace("0s", "1h0m"))
    conf = "ClusterName=c\n# PriorityDecayHalfLife=0\nPriorityDecayHalfLife=0\n"
    (own,) = found(tmp_path, conf + "PriorityWeightFairshare=10\n", "slurm.conf")
    assert (own.file, own.code, own.line) == ("slurm.conf", "half-life-0", 3)
    assert not found(
        tmp_path, conf.replace("Life=0\nP", "Life=7-0\nP").replace("Life=0", "Life=7-0")
    )
    (own,) = found(tmp_path, "ClusterName=c\nPriorityWeightFairshare=0\n", "slurm.conf")
    assert (own.code, own.line) == ("weight-0", 2)


def test_a_quota_of_a_namespace_that_all_nodes_do_not_reach(tmp_path: Path) -> None:
    quota = "---\nkind: ResourceQuota\nmetadata: {name: q, namespace: s}\nspec:\n  hard:\n    "
    text = NODES + quota + "requests.gpu: 8\n    pods: 3\n    count/jobs: 4\n"
    findings = found(tmp_path, text)
    assert [(own.code, own.line) for own in findings] == [
        ("limit-never-binds", line(text, "requests.gpu")),
        ("limit-never-binds", line(text, "pods")),  # the node offers none
    ]
    assert not found(tmp_path, text.replace("gpu: 8\n    pods: 3", "gpu: 7"))


def test_the_same_in_json_gzip_and_without_lines(tmp_path: Path) -> None:
    import yaml

    text = KUEUE.replace("Limit: 2", "Limit: 5")
    items = list(yaml.safe_load_all(text))
    content = json.dumps({"kind": "List", "items": items}, indent=1)
    (own,) = found(tmp_path, content, "quotas.json")
    assert own.line == line(content, "borrowingLimit")
    (tmp_path / "quotas.json.gz").write_bytes(gzip.compress(content.encode()))
    (packed,) = lint([str(tmp_path / "quotas.json.gz")])[0]
    assert packed.line == own.line and packed.found == own.found
    tabs = json.dumps({"kind": "List", "items": items}, indent="\t")
    (bare,) = found(tmp_path, tabs, "tabs.json")
    assert bare.found == own.found and bare.line in (0, line(tabs, "borrowingLimit"))


def test_the_command(tmp_path: Path, capsys) -> None:
    path = tmp_path / "quotas.yaml"
    path.write_text(KUEUE)
    assert run("lint", str(path)) == 0
    assert capsys.readouterr().out == "nothing in 3 objects\n"
    path.write_text(KUEUE.replace("Limit: 2", "Limit: 5"))
    assert run("lint", str(path)) == 6
    text = capsys.readouterr().out
    assert text.startswith("quotas.yaml:17: warning cannot-borrow: ClusterQueue one.spec.")
    assert "\n    fix: at most 4 gpu" in text and text.endswith("1 finding in 3 objects\n")
    assert run("lint", str(path), "--json") == 6
    data = json.loads(capsys.readouterr().out)
    (row,) = data["findings"]
    assert row["line"] == 17 and row["code"] == "cannot-borrow" and row["severity"] == "warning"
    path.write_text("kind: Pod\nmetadata: {name: p}\n")
    assert run("lint", str(path)) == 2
    path.write_text("a: *b\n")
    assert run("lint", str(path)) == 2
    assert run("lint", str(tmp_path / "no.yaml")) == 2


MODEL = """\
resources = ["gpu"]

[servers.x]
capacity = { gpu = 4 }
count = 2

[servers.y]
capacity = { gpu = 8 }

[flavors.fast]
servers = ["x"]

[groups.org]
guarantee = { gpu = 6 }
most = { gpu = 12 }

[groups.team]
parent = "org"
guarantee = { gpu = 4 }
weight = 2

[groups.team.on.fast]
nominal = { gpu = 5 }
borrow = { gpu = 2 }

[groups.lone.on.fast]
nominal = { gpu = 3 }
lend = { gpu = 2.5 }

[users.a]
group = "team"
demand = { gpu = 1 }

[users.b]
group = "org"
guarantee = { gpu = 1 }
most = { gpu = 3 }
demand = { gpu = 1 }
"""
OF_MODELS = {
    # code: (replaced, by, the words on the line of the finding, a part of what is found)
    "promise-over-nodes": (
        "guarantee = { gpu = 6 }",
        "guarantee = { gpu = 20 }",
        "= 20",
        "have 16",
    ),
    "promise-over-nodes on": (
        "nominal = { gpu = 5 }",
        "nominal = { gpu = 6 }",
        "= 6 }\nb",
        "on fast",
    ),
    "promise-over-parent": ("guarantee = { gpu = 4 }", "guarantee = { gpu = 5.5 }", "5.5", "has 6"),
    "promise-over-limit": ("guarantee = { gpu = 1 }", "guarantee = { gpu = 3.5 }", "3.5", "of 3"),
    "limit-never-binds": ("most = { gpu = 12 }", "most = { gpu = 16 }", "= 16", "servers have 16"),
    "limit-never-binds above": ("most = { gpu = 3 }", "most = { gpu = 12 }\n#", "12 }\n#", "group"),
    "limit-never-binds lend": ("gpu = 2.5 }", "gpu = 3.0 }", "lend", "all there is"),
    "cannot-borrow": ("borrow = { gpu = 2 }", "borrow = { gpu = 4 }", "borrow", "at most 2.5"),
    "never-runs": ("most = { gpu = 3 }", "most = { gpu = 0 }", "gpu = 0", "ceiling of 0"),
    "weight-0": ("weight = 2", "weight = 0", "weight = 0", "after everybody"),
    "cycle": ("[groups.org]", '[groups.org]\nparent = "team"', '"team"\ng', "org -> team -> org"),
    "unknown-name": ('parent = "org"', 'parent = "orgs"', '"orgs"', "the group 'orgs'"),
    "unknown-name server": ('servers = ["x"]', 'servers = ["z"]', '["z"]', "the server 'z'"),
    "flavor-without-nodes": ('servers = ["x"]', "servers = []", "servers = []", "no server"),
    "flavor-unused": (
        "[groups.org]",
        '[flavors.spare]\nservers = ["y"]\n[groups.org]',
        "[flavors.s",
        "nobody",
    ),
    "bad-value": ("most = { gpu = 12 }", "most = { gpu = -1 }", "= -1", "-1"),
}


def test_a_model_that_can_be_meant_has_no_findings(tmp_path: Path) -> None:
    assert not found(tmp_path, MODEL, "model.toml")
    assert fo.read(tmp_path / "model.toml").instance.shape == (2, 2, 1)


@pytest.mark.parametrize("name", OF_MODELS)
def test_models_in_toml_are_read_too(tmp_path: Path, name: str) -> None:
    before, after, words, said = OF_MODELS[name]
    assert before in MODEL
    text = MODEL.replace(before, after, 1)
    findings = [own for own in found(tmp_path, text, "model.toml") if own.code == name.split()[0]]
    assert line(text, words) in [own.line for own in findings], findings
    assert any(said in own.found or name == "flavor-unused" for own in findings)
    assert all(own.fix and own.file == "model.toml" for own in findings)


def test_text_that_is_no_toml_is_one_message(tmp_path: Path, capsys) -> None:
    (tmp_path / "model.toml").write_text("[users\n")
    assert run("lint", str(tmp_path / "model.toml")) == 2
    assert "no TOML" in capsys.readouterr().err


def test_every_code_is_tried_and_explained() -> None:
    tried = {name.split()[0] for name in SPOILS}
    assert tried | {"flavor-unused", "flavor-overlap", "half-life-0", "cycle", "name-twice"} == set(
        CODES
    )
    page = (EXAMPLES.parent / "docs" / "how-to" / "lint.md").read_text(encoding="utf-8")
    assert all(f"| `{code}` |" in page for code in CODES)
