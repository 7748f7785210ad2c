"""Allocation files of YARN's fair scheduler: queues, floors, ceilings; nothing but data is read."""

from __future__ import annotations

from fractions import Fraction

import pytest

import fairopt as fo
from fairopt.connect.readers import sources
from tests.connect.test_exports_kueue import planned, run

NODES = "node,count,cpu,memory\nbig,4,16,64Gi\n"
TEAMS = """\
team,queue,tasks,cpu,memory
etl,prod,90,1,1Gi
notebooks,dev.eng,90,1,1Gi
ml,root.dev.science,90,1,1Gi
"""
XML = """<?xml version="1.0"?>
<!-- queues -->
<allocations>
  <defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
  <queue name="prod"><weight>40</weight><schedulingPolicy>fair</schedulingPolicy></queue>
  <queue name="dev">
    <weight>60.0</weight>
    <queue name="eng"/>
    <queue name="science"/>
  </queue>
</allocations>
"""


def files(tmp_path, xml: str = XML, teams: str = TEAMS) -> list[str]:
    for name, text in (("nodes.csv", NODES), ("teams.csv", teams), ("fair-scheduler.xml", xml)):
        (tmp_path / name).write_text(text)
    return [str(tmp_path / f) for f in ("fair-scheduler.xml", "nodes.csv", "teams.csv")]


def dues(tmp_path, xml: str = XML) -> dict[str, float]:
    first, *rest = files(tmp_path, xml)
    plan = planned(first, tmp_path / "plan.json", *rest)
    assert run("verify", str(tmp_path / "plan.json")) == 0
    return {row["queue"].removeprefix("root."): row["due"] for row in plan["queues"]}


def test_weights_count_among_siblings(tmp_path) -> None:
    # 64 cores as 40 to 60, the second part in two halves
    wanted = {"prod": 25.6, "dev.eng": 19.2, "dev.science": 19.2}
    assert dues(tmp_path) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize(
    "amounts",
    ["40960 mb, 40 vcores", "vcores=40, memory-mb=40960", "62.5%", "vcores=62.5%", "62.5% cpu"],
)
def test_a_floor_is_given_first(tmp_path, amounts) -> None:
    xml = XML.replace('name="prod">', f'name="prod"><minResources>{amounts}</minResources>')
    found = dues(tmp_path, xml)
    assert found == pytest.approx({"prod": 40, "dev.eng": 12, "dev.science": 12}, rel=1e-6)


def test_a_ceiling_holds_for_everything_below(tmp_path) -> None:
    xml = XML.replace('name="dev">', 'name="dev"><maxResources>10 vcores</maxResources>')
    found = dues(tmp_path, xml)
    assert found == pytest.approx({"prod": 54, "dev.eng": 5, "dev.science": 5}, rel=1e-6)


def test_a_root_of_its_own_and_queues_by_memory_alone(tmp_path) -> None:
    inner = XML[XML.index("  <queue") : XML.index("</allocations>")]
    found = sources.cluster(files(tmp_path))
    rooted = XML.replace(inner, f'<queue name="root">{inner}</queue>')
    again = sources.cluster(files(tmp_path, rooted))
    assert {w.queue for w in again.workloads} == {w.queue for w in found.workloads}
    assert found.beyond == {"queues of YARN that are divided by memory alone": ["root.prod"]}
    assert found.volcano.queues["root.dev"].weight == Fraction(60)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("<!-- queues -->", '<!DOCTYPE a [<!ENTITY b "c">]>', "a document type or an entity"),
        ("<!-- queues -->", '<!DOCTYPE a SYSTEM "file:///etc/passwd">', "a document type"),
        ("</allocations>", "", "text that is not XML"),
        ("<allocations>", "<allocations>" + "<a>" * 40, "nesting deeper than 32"),
        (">40<", ">0<", "weight"),
        (">40<", ">many<", "weight"),
        ('name="prod">', 'name="prod"><minResources>lots</minResources>', "minResources"),
        ('name="eng"', 'name="science"', "a second time"),
        ('name="eng"', 'name="a.b"', "without points"),
        ('name="prod"', 'name="other"', "the queue 'prod'"),
    ],
)
def test_faults_have_their_place(tmp_path, old, new, said) -> None:
    with pytest.raises(fo.BadInput) as error:
        sources.cluster(files(tmp_path, XML.replace(old, new, 1)))
    assert said in str(error.value)


def test_another_document(tmp_path) -> None:
    with pytest.raises(fo.BadInput, match="no <allocations>"):
        sources.cluster(files(tmp_path, "<configuration/>"))
