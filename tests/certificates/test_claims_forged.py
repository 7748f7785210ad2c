"""Claims of rounds in groups and of prices, changed at random: whatever is proved of them is what
everybody is due, by the definition run in fractions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import enclosed_search
from fairopt.certificates.enclosed_prices import PricesEnclosed
from fairopt.certificates.exact_tree import ROOT
from fairopt.certificates.groups_claim import (
    BEYOND,
    PART,
    STAYS,
    WAITS,
    GroupsClaim,
    RoundClaim,
    RoundKind,
)
from fairopt.certificates.groups_levels import LevelsTold
from fairopt.certificates.search_tasks import tasks_of
from tests.certificates.test_enclosed_groups import LINES, jumping
from tests.oracles import draws, nested, spoils

KINDS = list(RoundKind)


def changed(claim: GroupsClaim, rng: np.random.Generator) -> tuple[GroupsClaim, list[int]]:
    """A claim with one thing changed, and which round each of its rounds was."""
    rounds, was = list(claim.rounds), list(range(len(claim.rounds)))
    groups, entries = sorted(claim.tree.below), len(claim.tree.use[0])
    j, k = (int(rng.integers(len(rounds))) for _ in range(2))
    one, g = rounds[j], int(rng.choice(groups)) if groups else ROOT
    match int(rng.integers(11)):
        case 0:  # in another order
            rounds[j], rounds[k], was[j], was[k] = rounds[k], rounds[j], was[k], was[j]
        case 1 if one.users:  # somebody is stopped in another round
            n = int(rng.choice(one.users))
            rounds[j] = replace(one, users=[m for m in one.users if m != n])
            rounds[k] = replace(rounds[k], users=[*rounds[k].users, n])
        case 2 if len(one.users) > 1:  # in two rounds
            cut = int(rng.integers(1, len(one.users)))
            rounds[j : j + 1] = [
                replace(one, users=part) for part in (one.users[:cut], one.users[cut:])
            ]
            was.insert(j, j)
        case 3 if j + 1 < len(rounds):  # two rounds at once
            after = rounds.pop(j + 1)
            rounds[j] = replace(one, users=[*one.users, *after.users])
            del was[j + 1]
        case 4:  # another size
            at = int(rng.choice([*range(entries), WAITS, STAYS, BEYOND]))
            rounds[j] = replace(one, size={**one.size, g: at})
        case 5:  # a group that is not told of
            rounds[j] = replace(one, size={h: r for h, r in one.size.items() if h != g})
        case 6:  # at its floor, or not
            n = int(rng.integers(len(claim.rank)))
            rounds[j] = replace(one, floored=one.floored ^ {n})
        case 7:
            rounds[j] = replace(one, kind=KINDS[int(rng.integers(len(KINDS)))])
        case 8:
            rounds[j] = replace(one, still=one.still ^ {g})
        case 9:  # once more
            rounds.insert(j, replace(one, users=[]))
            was.insert(j, j)
        case _:  # left out
            if not one.users:
                del rounds[j], was[j]
    return GroupsClaim(claim.tree, claim.rank, claim.some, rounds), was


def about(
    before: GroupsClaim, levels: list[float], after: GroupsClaim, was: list[int]
) -> list[float]:
    """About what levels of a changed claim are."""
    known = dict(zip(before.level, levels, strict=True))
    last = {g: v for (_, g), v in known.items()}
    keys = [(j, g) for j, one in enumerate(after.rounds) for g in _levels(one)]
    return [known.get((was[j], g), last.get(g, 0.5)) for j, g in keys]


def _levels(one: RoundClaim) -> tuple[int, ...]:
    return (ROOT, *one.size, *([PART] if one.kind == RoundKind.LINE else []))


def forging(rng: np.random.Generator, counted: list[int]):
    """In place of the search for a claim: one that is changed."""

    def search(search, told):
        claim, levels, _ = LevelsTold(told).claim(told.rounds(search.lots, search.parts))
        for _ in range(int(rng.integers(1, 4))):
            forged, was = changed(claim, rng)
            claim, levels = forged, about(claim, levels, forged, was)
        counted[0] += 1
        return tasks_of(search, claim, levels)

    return search


def mispriced(rng: np.random.Generator, counted: list[int]):
    """In place of the search for prices: those of a claim that is changed."""
    given = enclosed_search.prices_of

    def search(search, held, lot, part, cheap):
        found = given(search, held, lot, part, cheap)
        if found is None or rng.random() < 0.5:
            return found
        claim, users = found.claim, len(held.case.open_)
        match int(rng.integers(5)):
            case 0:  # somebody else is to be proved
                n = int(rng.integers(users))
                claim = replace(claim, users=sorted({*claim.users} ^ {n}))
            case 1:  # somebody pays who pays nothing, or elsewhere
                n = int(rng.integers(users))
                if held.case.open_[n]:
                    claim = replace(
                        claim, home={**claim.home, n: int(rng.choice(held.case.open_[n]))}
                    )
            case 2:  # somebody pays nothing
                n = int(rng.integers(users))
                claim = replace(claim, home={m: c for m, c in claim.home.items() if m != n})
            case 3:  # another price
                k, by = int(rng.choice([*claim.fixed])), F(int(rng.integers(1, 9)), 4)
                claim = replace(claim, fixed={**claim.fixed, k: claim.fixed[k] * by})
            case _:  # a row more
                k = int(rng.integers(len(held.case.row)))
                if k not in claim.rows and k not in claim.fixed:
                    claim = replace(claim, fixed={**claim.fixed, k: F(1)})
        counted[0] += 1
        return PricesEnclosed.of(held, claim)

    return search


def drawn(seed: int) -> Iterator[tuple[fo.Instance, dict]]:
    if seed % 2:
        inst = jumping([*LINES, *range(40)][seed // 2 % (40 + len(LINES))])
        yield inst, {"criterion": "drf", "measure": "dominant", "above": seed % 4 == 1}
        return
    rng = np.random.default_rng([seed, 7])
    inst = draws.draw(rng)
    if seed % 4 == 0 or not inst.tree.flat:
        yield inst, draws.how(rng, inst)


def proved(
    seed: int, tries: int, monkeypatch: pytest.MonkeyPatch, prices: bool = False
) -> tuple[int, int, list]:
    """How many changed claims there were, how many are proved, and which of these are wrong."""
    rng, counted, right, wrong = np.random.default_rng([seed, 5]), [0], 0, []
    for inst, how in drawn(seed):
        try:
            exact = nested.shares(nested.of_instance(inst, **how))[0]
        except AssertionError as fault:
            assert "infeasible" in str(fault)
            continue
        answer = nested.answer(inst, draws.notion(how), **how)
        if answer.rounds is None:
            continue
        if prices:
            monkeypatch.setattr(enclosed_search, "prices_of", mispriced(rng, counted))
        else:
            monkeypatch.setattr(enclosed_search, "_in_groups", forging(rng, counted))
        some = [answer, *(each for _, each in spoils.ways(answer, rng))] if prices else [answer]
        for k in range(tries):
            try:
                found = enclosed_search.enclosed_levels(some[k % len(some)])
            except KeyError:  # of levels that are not there
                continue
            if found is None:
                continue
            ends = zip(found.low, found.high, exact, strict=True)
            good = all(low <= share <= high for low, high, share in ends)
            right += good
            if not good:
                wrong.append("off")
    return counted[0], right, wrong


@pytest.mark.parametrize("seed", range(40))
def test_what_is_proved_of_a_changed_claim_is_right(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, wrong = proved(seed, 20, monkeypatch)
    assert not wrong


@pytest.mark.parametrize("seed", range(40))
def test_what_is_proved_by_changed_prices_is_right(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, wrong = proved(seed, 20, monkeypatch, prices=True)
    assert not wrong
