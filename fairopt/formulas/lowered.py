r"""Every linear rule of an instance as one sparse system, for the programs and the engines.

Columns are x >= 0, the tasks of each eligible (user, server, way), then the flows y of lending.
Rows are `matrix [x; y] <= rhs`:

* capacity of each resource of each server: sum d x <= count c;
* limit of each user that has one: the sum of its running tasks <= L;
* each limit on a server: a user's running tasks there, in whatever mode, <= L[n, i];
* each ceiling: what the users below a node take of a resource, on the servers of a flavor, <= most;
* each quota (flavor, resource) at each node v: what v itself takes, and y_v, what it passes up
  (negative if it borrows), is at most its quota and what its children pass up,

.. math:: use_v + y_v - \sum_{children} y_c \le nominal_v, \quad -borrow_v \le y_v \le lend_v,
          \quad y_{root} = 0

A node that may borrow and lend without bound has the price of its parent, so that it shares the
parent's row. A plain instance has rows of the first two kinds alone. Rules of one's own come last:
`least` times -1, `equal` as two rows with one signed price.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fairopt.formulas.gathered import (
    BOUND,
    CAPACITY,
    DOWN,
    DOWN_OF_TWO,
    LIMIT,
    PLACE,
    QUOTA,
    RULE,
    UP,
    UP_OF_TWO,
    Ceiling,
    Lending,
    Own,
    RowsGathered,
    ceiling_rows,
    lending_rows,
    own_rows,
    plain_rows,
    sparse,
)
from fairopt.formulas.lent import ends, shutting
from fairopt.instance import Bools, Floats, Instance, Ints

SAME_PRICE = 1e-6
"""prices that differ by at most this part of the largest are the same, whoever solved"""


SURE = 1e-9
"""what a task costs, less than this part of what is paid for and by it, is rounding"""


PRICES = ("prices", "limit_prices", "bound_prices", "node_prices", "rule_prices", "limit_on_prices")
"""what an answer calls the prices of each kind of rows, in the order of `RulePrices`"""


class RulePrices(NamedTuple):
    """Prices of all rules: of capacity (I, R), limits (N,), ceilings (B,), quotas (Q, K), own rules
    (J,), where that of `equal` may be negative, and of limits on servers (N, I), or (0, 0) where
    there are none."""

    capacity: Floats
    limits: Floats
    bounds: Floats
    nodes: Floats
    rules: Floats
    places: Floats

    def told(self) -> dict[str, Floats]:
        """The prices as an answer holds them; those of no rule are left out."""
        return {name: part for name, part in zip(PRICES, self, strict=True) if part.size}


@dataclass(frozen=True)
class Lowered:
    """The linear system of an instance.

    Parameters
    ----------
    shape : (N, I, R, B, Q, K, J): users, servers, resources, ceilings, quotas, nodes, own rules.
    owner, server, way : (P,) of each eligible column. score : (P,) share of one of its tasks.
    matrix : sparse (M, P + F), per task and per unit of flow. rhs : (M,).
    kind : (M,) of each row; one, two : (M,) what it is about: server and resource, user and -1,
        ceiling and -1, quota and node, own rule and what it holds back (`UP`, ...), user and
        server.
    low, high : (F,) bounds of the flows, 0 where the rows say so (`lent.ends`); flows that are 0
        are left out.
    host : (Q, K) the node whose row a node shares.
    unit : (M,) a typical amount of each row, to scale by.
    """

    shape: tuple[int, int, int, int, int, int, int]
    owner: Ints
    server: Ints
    way: Ints
    score: Floats
    matrix: Any
    rhs: Floats
    kind: Ints
    one: Ints
    two: Ints
    low: Floats
    high: Floats
    host: Ints
    unit: Floats

    @property
    def columns(self) -> int:
        """P, the columns of tasks."""
        return len(self.owner)

    def of_users(self, users: Bools, shut: Bools) -> tuple[Ints, Lowered]:
        """The columns of some users (N,) that are not shut (P,), and the same rows with these
        columns and flows alone."""
        mine = np.flatnonzero(users[self.owner] & ~shut)
        flows = self.columns + np.arange(len(self.low))
        owner = (np.cumsum(users) - 1)[self.owner[mine]]
        found = replace(
            self,
            shape=(int(users.sum()), *self.shape[1:]),
            owner=owner,
            server=self.server[mine],
            way=self.way[mine],
            score=self.score[mine],
            matrix=self.matrix.tocsc()[:, np.concatenate([mine, flows])].tocsr(),
        )
        return mine, found

    @property
    def shutting(self) -> Ints:
        """(P,) a rule that keeps a column at 0, -1 where there is none (`lent.shutting`)."""
        return shutting(self.matrix, self.rhs, self.low, self.high)

    @property
    def empty(self) -> Bools:
        """(P,) columns that a rule keeps at 0."""
        return np.asarray(self.shutting >= 0)

    @property
    def signed(self) -> Bools:
        """(M,) rows in which a task counts less than 0: those of own rules alone."""
        return np.bincount(self._paying[0], minlength=len(self.rhs)) > 0

    @property
    def paid(self) -> Bools:
        """(N,) users of whom a task counts less than 0 in some row, so that it may cost less than
        nothing."""
        return np.bincount(self.owner[self._paying[1]], minlength=self.shape[0]) > 0

    @property
    def _paying(self) -> tuple[Ints, Ints]:
        """Rows and columns of the entries of tasks below 0, which own rules alone have."""
        rows = self.matrix[: len(self.rhs) if self.shape[6] else 0, : self.columns].tocoo()
        return rows.row[rows.data < 0], rows.col[rows.data < 0]

    @property
    def by_server(self) -> Ints:
        """(M,) the rows of each kind in the order of what they are about, server by server: where
        several answers are as good, a solver's choice depends on the order that it is given."""
        return np.lexsort((self.two, self.one, self.kind))

    def of_user(self) -> Any:
        """Sparse (N, P): share of one task of each column."""
        column = np.arange(self.columns)
        return sparse(self.score, self.owner, column, (self.shape[0], self.columns))

    def cost(self, price: Floats) -> Floats:
        """(P,) price of one task of each column, for prices (M,) of the rows."""
        found: Floats = (self.matrix.T @ price)[: self.columns]
        return found

    def dear(self, price: Floats) -> Bools:
        """(P,) whether a task costs something, beyond the rounding of what it pays and is paid."""
        cost = self.cost(price)
        if not self.shape[6]:
            return np.asarray(cost > 0)
        size: Floats = (np.abs(self.matrix).T @ price)[: self.columns]
        return np.asarray(cost > SURE * size)

    def budget(self, price: Floats) -> Floats:
        """() value of all that is priced: rhs times price, and the most that flows can bring."""
        drift = -(self.matrix.T @ price)[self.columns :]
        # prices of two nodes between which flows have no bound differ by rounding only
        drift[np.abs(drift) <= SAME_PRICE * price.max(initial=0.0)] = 0.0
        with np.errstate(invalid="ignore"):
            brought = np.where(drift > 0, drift * self.high, drift * self.low)
        return np.asarray(self.rhs @ price + np.where(drift == 0, 0.0, brought).sum())

    def named(self, price: Floats) -> RulePrices:
        """The prices (M,) of the rows, by what they are prices of."""
        n, i, r, b, q, k, j = self.shape
        place = self.kind == PLACE
        on = np.zeros((n, i) if place.any() else (0, 0))
        on[self.one[place], self.two[place]] = price[place]
        found = RulePrices(
            np.zeros((i, r)), np.zeros(n), np.zeros(b), np.zeros((q, k)), np.zeros(j), on
        )
        of = [self.kind == kind for kind in range(5)]
        found.capacity[self.one[of[CAPACITY]], self.two[of[CAPACITY]]] = price[of[CAPACITY]]
        found.limits[self.one[of[LIMIT]]] = price[of[LIMIT]]
        found.bounds[self.one[of[BOUND]]] = price[of[BOUND]]
        found.nodes[self.one[of[QUOTA]], self.two[of[QUOTA]]] = price[of[QUOTA]]
        sign = np.where(self.two[of[RULE]] == DOWN_OF_TWO, -1.0, 1.0)
        np.add.at(found.rules, self.one[of[RULE]], sign * price[of[RULE]])
        return found._replace(nodes=np.take_along_axis(found.nodes, self.host, axis=1))

    def tasks(self, x: Floats, ways: int) -> Floats:
        """(ways, I) the tasks x (P,) of the columns, by way and server."""
        found = np.zeros((ways, self.shape[1]))
        found[self.way, self.server] = x
        return found


def lower(instance: Instance, score: Floats) -> Lowered:
    """The linear system of an instance.

    Parameters
    ----------
    score : (N, I), share of one unit of output: of a task, or of a task of a mode of speed 1.
    """
    tree, ways = instance.tree, instance.ways
    bounds = tree.bounds
    return lowered(
        ways.eligible,
        ways.owner,
        ways.demand,
        score[ways.owner] * ways.speed[:, None],
        instance.pool,
        instance.limit,
        tuple(
            [
                Ceiling(
                    tree.below(int(bounds.node[b])),
                    bounds.servers[b],
                    int(bounds.resource[b]),
                    float(bounds.amount[b]),
                )
                for b in range(len(bounds))
            ]
        ),
        tuple(
            [
                Lending(row.servers, row.resource, row.nominal, row.borrow, row.lend)
                for row in tree.quotas
            ]
        ),
        tree.parent,
        tree.leaf,
        tuple(
            [
                Own(row.way, row.server, row.value, row.amount, row.up, row.down)
                for row in instance.own_rows
            ]
        ),
        instance.limit_on,
    )


def lowered(
    eligible: Bools,
    owner: Ints,
    demand: Floats,
    score: Floats,
    pool: Floats,
    limit: Floats,
    ceilings: tuple[Ceiling, ...] = (),
    lendings: tuple[Lending, ...] = (),
    parent: Ints | None = None,
    leaf: Ints | None = None,
    own: tuple[Own, ...] = (),
    limit_on: Floats | None = None,
) -> Lowered:
    """The system of K ways on I servers; see the module.

    Parameters
    ----------
    eligible, score : (K, I) of each way. owner : (K,) user of each way. demand : (K, R) or
        (K, I, R). pool : (I, R). limit : (N,). parent : (nodes,), -1 of the root. leaf : (N,) node
        of each user. limit_on : (N, I), or None.
    """
    way, server = np.nonzero(eligible)
    need = demand[way] if demand.ndim == 2 else demand[way, server]
    user = owner[way]
    columns = len(way)
    rows = RowsGathered()
    plain_rows(rows, need, pool, limit, limit_on, server, user)
    ceiling_rows(rows, ceilings, need, pool, server, user, len(limit))
    nodes = 0 if parent is None else len(parent)
    host, flow_low, flow_high = lending_rows(rows, lendings, parent, leaf, need, pool, server, user)
    if own:
        own_rows(rows, own, need, pool, way, server, len(owner))
    matrix = rows.matrix(columns + len(flow_low))
    told = rows.said()
    if len(flow_low):  # what rows keep at 0 is none, or numbers next to 0 would overrun them
        flow_low, flow_high = ends(matrix, told[0], flow_low, flow_high)
        flows = np.flatnonzero((flow_low < 0) | (flow_high > 0))
        flow_low, flow_high = flow_low[flows], flow_high[flows]
        matrix = matrix.tocsc()[:, np.concatenate([np.arange(columns), columns + flows])].tocsr()
    users, (servers, resources) = len(limit), pool.shape
    return Lowered(
        (users, servers, resources, len(ceilings), len(lendings), nodes, len(own)),
        user,
        server,
        way,
        score[way, server],
        matrix,
        *told,
        flow_low,
        flow_high,
        host,
        np.concatenate(rows.unit),
    )


__all__ = [
    "BOUND",
    "CAPACITY",
    "Ceiling",
    "DOWN",
    "DOWN_OF_TWO",
    "LIMIT",
    "Lending",
    "Lowered",
    "Own",
    "PLACE",
    "PRICES",
    "QUOTA",
    "RULE",
    "RulePrices",
    "UP",
    "UP_OF_TWO",
    "lower",
    "lowered",
]
