"""Fair traffic engineering: all levels certified, beside a plain linear program level by level and
published heuristics, on 36 traffic matrices of a wide-area network.

    python -m benchmarks.traffic DIR [MATRICES]   DIR is a copy of the public repository
                                                  harvard-cns/teal (MIT licence)

The heuristics are written from their papers, and run without commercial solvers:

- `swan`: approximate max-min by linear programs, each doubling what a pair may have (Hong et al.,
  Achieving High Utilization with Software-Driven WAN, SIGCOMM 2013);
- `geometric_bins`: the same bins in one program; `adaptive_water`: paths as flows of their own,
  filled by weights that follow the last rates (Namyar et al., Solving Max-Min Fair Resource
  Allocations Quickly on Large Graphs, NSDI 2024);
- `tunnels`: all pairs rise on their first free path, and change to the next where a link is full
  (Jain et al., B4: Experience with a Globally-Deployed Software Defined WAN, SIGCOMM 2013).

Times are CPU seconds of one process, with one thread.
"""

from __future__ import annotations

import io
import json
import pickle
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, vstack

import fairopt as fo

SAME_NUMBER = 1e-9
"""part of a number within which two are one"""


@dataclass(frozen=True)
class Network:
    """owner (K,) pair of each path; uses (M, K) sparse, which links and which pair's demand each
    path takes; room (M,) of them; demand (N,) of each pair."""

    owner: Any
    uses: Any
    room: Any
    demand: Any

    @classmethod
    def of(cls, inst: fo.Instance) -> Network:
        ways, users = inst.ways, len(inst.users)
        mine = csr_array((np.ones(len(ways)), (ways.owner, np.arange(len(ways)))))
        uses = vstack([csr_array(ways.demand.T), mine]).tocsr()
        room = np.concatenate([inst.pool[0], inst.limit])
        assert len(room) == inst.shape[2] + users
        return cls(ways.owner, uses, room, inst.limit)

    def rates(self, x: Any) -> Any:
        return np.bincount(self.owner, x, len(self.demand))


def level_by_level(net: Network) -> Any:
    """max t over all that are not stopped; whoever has a price is stopped; again."""
    users, paths = len(net.demand), len(net.owner)
    of_pair = net.uses[-users:]
    level, free = np.zeros(users), np.ones(users, bool)
    while free.any():
        goal = np.append(np.zeros(paths), -1.0)
        rise = csr_array(free.astype(float)[:, None])
        rows = vstack([hstack([net.uses, csr_array((len(net.room), 1))]), hstack([-of_pair, rise])])
        right = np.concatenate([net.room, -level])
        found = linprog(goal, A_ub=rows.tocsr(), b_ub=right, method="highs")
        assert found.status == 0, found.message
        stopped = free & (found.ineqlin.marginals[-users:] < -SAME_NUMBER)
        level[stopped] = found.x[-1]
        free &= ~stopped
    return net.rates(found.x[:-1])


def swan(net: Network, alpha: float = 2.0) -> Any:
    """Most traffic with every pair below U, then alpha U, ...; who gets less is stopped there."""
    users, paths = len(net.demand), len(net.owner)
    of_pair = net.uses[-users:]
    most = float(net.room[:-users].max()) / users
    least, stopped = np.zeros(users), np.zeros(users, bool)
    while not stopped.all():
        top = np.minimum(np.where(stopped, least, most), net.demand)
        rows = vstack([net.uses[:-users], of_pair, -of_pair])
        right = np.concatenate(
            [net.room[:-users], top, -np.minimum(least, top) * (1 - SAME_NUMBER)]
        )
        found = linprog(-np.ones(paths), A_ub=rows, b_ub=right, method="highs")
        assert found.status == 0, found.message
        rate = net.rates(found.x)
        stopped |= (rate < top * (1 - 1e-7)) | (top >= net.demand)
        least = np.where(stopped, rate, np.minimum(rate, top))
        most *= alpha
    return rate


def geometric_bins(net: Network, alpha: float = 2.0, less: float = 0.1) -> Any:
    """One program: traffic in the k-th bin, from alpha^(k-1) U to alpha^k U, counts less^k."""
    users, paths = len(net.demand), len(net.owner)
    least = float(net.room[:-users].max()) / users
    bins = max(1, int(np.ceil(np.log(max(net.demand.max() / least, 1.0)) / np.log(alpha)))) + 1
    ends = least * alpha ** np.arange(bins)
    size = np.tile(np.diff(ends, prepend=0.0), users)
    of_pair = net.uses[-users:]
    split = csr_array(np.kron(np.eye(users), np.ones(bins)))
    rows = hstack([net.uses, csr_array((len(net.room), users * bins))])
    goal = np.concatenate([np.zeros(paths), -np.tile(less ** np.arange(bins), users)])
    found = linprog(
        goal,
        A_ub=rows,
        b_ub=net.room,
        A_eq=hstack([of_pair, -split]),
        b_eq=np.zeros(users),
        bounds=[(0, None)] * paths + [(0, most) for most in size],
        method="highs",
    )
    assert found.status == 0, found.message
    return net.rates(found.x[:paths])


def adaptive_water(net: Network, times: int = 10) -> Any:
    """Paths as flows of their own; a path's weight is the part of its pair's traffic it had."""
    paths = np.bincount(net.owner)[net.owner]
    weight = 1.0 / paths
    for _ in range(times):
        x = _filled(net, weight)
        total = net.rates(x)[net.owner]
        weight = np.maximum(np.where(total > 0, x / np.where(total > 0, total, 1.0), 1.0), 1e-6)
    return net.rates(x)


def _filled(net: Network, weight: Any) -> Any:
    """Progressive filling of single paths: all rise by weight until one of their rows is full."""
    x, rise = np.zeros(len(weight)), weight.copy()
    while rise.any():
        left = np.maximum(net.room - net.uses @ x, 0.0)
        speed = net.uses @ rise
        steps = np.where(speed > 0, left / np.where(speed > 0, speed, 1.0), np.inf)
        x = x + rise * steps.min()
        full = (steps <= steps.min() * (1 + SAME_NUMBER)).astype(float)
        rise = np.where(net.uses.T @ full > 0, 0.0, rise)
    return x


def tunnels(net: Network) -> Any:
    """All pairs rise together, each on the first of its paths that is free."""
    x, first = np.zeros(len(net.owner)), np.searchsorted(net.owner, np.arange(len(net.demand)))
    ends = np.append(first[1:], len(net.owner))
    shut = np.zeros(len(net.room), bool)
    while True:
        free = ~(net.uses.T @ shut.astype(float) > 0)
        rise = np.zeros(len(net.owner))
        for n in range(len(first)):
            open_ = np.flatnonzero(free[first[n] : ends[n]])
            rise[first[n] + open_[:1]] = 1.0
        if not rise.any():
            return net.rates(x)
        speed = net.uses @ rise
        left = np.maximum(net.room - net.uses @ x, 0.0)
        steps = np.where(speed > 0, left / np.where(speed > 0, speed, 1.0), np.inf)
        x = x + rise * steps.min()
        shut |= steps <= steps.min() * (1 + SAME_NUMBER)


METHODS = {
    "level by level": level_by_level,
    "SWAN": swan,
    "geometric bins": geometric_bins,
    "adaptive water-filling": adaptive_water,
    "B4's tunnels": tunnels,
}


class _Plain(pickle.Unpickler):
    """Reads lists, dicts, numbers and arrays of NumPy, and nothing else that a file may name."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("numpy") and name in ("_reconstruct", "ndarray", "dtype", "scalar"):
            return getattr(__import__(module, fromlist=[name]), name)
        raise pickle.UnpicklingError(f"{module}.{name}")


def matrices(folder: str, most: int = 36) -> list[fo.Instance]:
    """Pairs of sites as users, paths as modes, links as resources; demand times 4."""
    top, found = Path(folder), []
    links = json.loads((top / "topologies/B4.json").read_text(encoding="utf-8"))["links"]
    paths = _read(next((top / "topologies/paths/path-form").glob("B4.json-4-paths*.pkl")))
    users = {f"{a}to{b}": (a, b) for a, b in paths}
    modes = {
        user: [
            fo.Mode(
                "-".join(map(str, p)),
                demand={f"{x}>{y}": 1.0 for x, y in zip(p, p[1:], strict=False)},
            )
            for p in paths[pair]
        ]
        for user, pair in users.items()
    }
    for k in range(most):
        matrix = _read(top / f"traffic-matrices/real/B4.json_real_{k}_1.0_traffic-matrix.pkl")
        found.append(
            fo.Instance(
                np.zeros((len(users), len(links))),
                [[link["capacity"] for link in links]],
                limit=[4 * matrix[pair] for pair in users.values()],
                users=list(users),
                servers=["network"],
                resources=[f"{link['source']}>{link['target']}" for link in links],
                modes=modes,
            )
        )
    return found


def _read(path: Path) -> Any:
    return _Plain(io.BytesIO(path.read_bytes())).load()


def main(folder: str, most: str = "36") -> None:
    """A row a method: time, the pair furthest below its fair rate, and how many are."""
    cases = matrices(folder, int(most))
    truth = []
    for notion in (fo.MaxMin("tasks"), fo.ProportionalFair("tasks")):
        times, certified = [], 0
        for inst in cases:
            begin = time.process_time()
            answer = fo.solve(inst, notion, uncertified="return")
            times.append(time.process_time() - begin)
            certified += answer.certificate is not None and answer.certificate.certified
            if notion.name == "max-min":
                truth.append(answer.shares)
        print(
            f"fairopt, {notion.name}: {certified} of {len(cases)} certified; median "
            f"{np.median(times):.2f} s, largest {max(times):.2f} s"
        )
    for name, method in METHODS.items():
        times, below, some, over = [], [], [], []
        for inst, fair in zip(cases, truth, strict=True):
            net = Network.of(inst)
            begin = time.process_time()
            rates = method(net)
            times.append(time.process_time() - begin)
            below.append(float((1 - rates / fair).max()))
            some.append(float((rates < fair * 0.99).mean()))
            over.append(rates.sum() / fair.sum() - 1)
        print(
            f"{name}: median {np.median(times):.3f} s, largest {max(times):.3f} s; furthest below "
            f"its fair rate {max(below):.1e} (median {np.median(below):.1e}); more than 1 % below: "
            f"{np.mean(some):.1%} of pairs; all traffic {np.mean(over):+.2%}"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
