"""Changes asked of a plan that is served, for `benchmarks.loop`."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import fairopt as fo
from benchmarks.kueue_cluster import drawn

KINDS, RESOURCES, QUEUES = 8, 3, 20


def line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cluster(
    folder: str, users: int, servers: int, alike: bool, asked: tuple[int, int] | None
) -> fo.connect.Cluster:
    """Two tables of nodes and teams, read."""
    rng = np.random.default_rng(0)
    kinds = KINDS if alike else servers
    kind = rng.integers(KINDS, size=servers) if alike else np.arange(servers)
    offer = rng.uniform(5, 20, (kinds, RESOURCES)).round(2)
    names = ["cpu", "memory", "gpu"][:RESOURCES]
    nodes, teams = Path(folder, "nodes.csv"), Path(folder, "teams.csv")
    rows = [f"n{i},k{k},{','.join(map(str, offer[k]))}" for i, k in enumerate(kind)]
    nodes.write_text("\n".join([f"node,label:kind,{','.join(names)}", *rows]) + "\n")
    rows = []
    for u in range(users):
        some = [f"k{k}" for k in range(kinds) if rng.random() < 0.7] or ["k0"]
        need = ",".join(map(str, rng.uniform(0.1, 1, RESOURCES).round(2)))
        rows.append(f"u{u},q{u % QUEUES},{rng.uniform(0.5, 2):.3f},{';'.join(some)},{need}")
        if asked is not None:
            rows[-1] += f",{rng.integers(asked[0], asked[1] + 1)}"
    head = f"team,queue,weight,label:kind,{','.join(names)}{',tasks' if asked else ''}"
    teams.write_text("\n".join([head, *rows]) + "\n")
    return fo.connect.tables(str(nodes), str(teams))


def served(
    users: int,
    servers: int,
    alike: bool,
    asked: tuple[int, int] | None = None,
    kueue: bool = False,
) -> tuple[list[str], str]:
    """A table of changes asked of a plan that is served, by a client over a socket; and what its
    plan took, in words.

    Parameters
    ----------
    asked : the least and the most tasks that a workload asks for; None: as many as it may have.
    kueue : whether queues are Kueue's, in four cohorts, with quotas for kinds of nodes.
    """
    import http.client
    import json
    import tempfile

    from fairopt.commands import serve_app
    from tests.listening import listening

    with tempfile.TemporaryDirectory() as folder:
        if kueue:
            assert asked is not None
            objects = drawn(users, servers, QUEUES, KINDS, asked, 0)
            cluster = fo.connect.kubernetes(objects)
        else:
            cluster = _cluster(folder, users, servers, alike, asked)
        begin = time.process_time()
        plan = cluster.plan()
        took = time.process_time() - begin
        plan.save(Path(folder, "plan.json"))
        full = sum(row["status"] == "satisfied" for row in plan.data["workloads"])
        with listening(serve_app.Followed(str(Path(folder, "plan.json")))) as port:

            def ask(path: str, question: str) -> tuple[float, dict[str, object]]:
                client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                begin = time.process_time()
                client.request("POST", path, question)
                told = json.loads(client.getresponse().read())
                return time.process_time() - begin, told

            table = [
                line(["change", "losers, s", "moves, s", "stop and start", "least"]),
                line(["---"] * 5),
            ]
            for words in (
                {"set": ["weight.q3=60"]},
                {"set": ["weight.q5=3" if kueue else "weight.q5/u5=3"]},
                {"drop": ["node/n17"]},
                {"drop": ["node/n50"]},
                {"drop": ["q10/w10" if kueue else "q10/u10"]},
                *([] if kueue else [{"add": ["team=new,queue=q2,tasks=40,cpu=1,memory=1,gpu=1"]}]),
            ):
                question = json.dumps(words)
                first, _ = ask("/api/what-if", question)
                second, moves = ask("/api/moves", question)
                both = float(moves["stopped"]) + float(moves["started"])  # type: ignore[arg-type]
                told = " ".join(f"{key} {value[0]}" for key, value in words.items())
                numbers = (first, second, both, moves["least"])
                table.append(line([told, *(f"{number:.2f}" for number in numbers)]))
    return table, f"made in {took:.1f} s; {full} workloads have all they ask"
