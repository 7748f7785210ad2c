"""Where a task fits: floats tell most shapes apart, fractions the rest."""

from __future__ import annotations

import random
from fractions import Fraction

from fairopt.connect.cluster.shapes import Offers, Shape


def test_a_task_fits_where_exact_amounts_say_so() -> None:
    """Amounts that are equal, apart by a trifle that floats do not see, and larger than floats."""
    rng = random.Random(0)
    trifle = Fraction(1, 10**30)
    sizes = [Fraction(1, 3), Fraction(1, 3) + trifle, Fraction(1, 3) - trifle, Fraction(0)]
    sizes += [Fraction(10**400), Fraction(10**400) + 1, Fraction(1, 10**400), Fraction(7)]

    def drawn() -> dict[str, Fraction]:
        return {key: rng.choice(sizes) for key in ("cpu", "gpu", "memory") if rng.random() < 0.8}

    rows = [Shape(f"s{k}", 1, drawn(), (), ()) for k in range(60)]
    offers, seen = Offers(rows), set()
    for _ in range(60):
        task = drawn()
        wanted = [
            all(row.capacity.get(key, Fraction(0)) >= x for key, x in task.items()) for row in rows
        ]
        assert offers.fits(task) == wanted
        seen |= set(wanted)
    assert seen == {False, True}
