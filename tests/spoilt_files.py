"""Files spoilt at random: values of other kinds, keys renamed, doubled or left out, numbers moved.

`python -m tests.spoilt_files COUNT SEED` judges COUNT spoilt answers; its test tries a few.
"""

from __future__ import annotations

import copy
import json
import random
import sys
from collections.abc import Iterator
from typing import Any

import fairopt as fo
from fairopt import files

JUNK: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    3,
    0.5,
    1e-300,
    5e-324,
    1e308,
    -1e308,
    10**400,
    -(10**400),
    2**63,
    float("inf"),
    float("nan"),
    "",
    "1",
    "inf",
    "nan",
    "false",
    "tdm",
    "drf",
    "\x1b[31m",
    "\ud800",
    "x" * 1000,
    [],
    {},
    [1],
    ["a"],
    {"a": 1},
    [[]],
    [None],
    {"": {}},
)


def answers() -> list[dict[str, Any]]:
    """Valid answers of every notion, as plain data."""
    pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"], servers=["s"])
    two = fo.Instance(
        [[1, 2], [2, 1], [1, 1]],
        [[4, 6], [8, 3]],
        placement=[[1, 1], [1, 0], [1, 1]],
        weight=[1, 2, 1],
        limit=[float("inf"), float("inf"), 2],
        count=[1, 2],
    )
    notions = [
        fo.Throughput(),
        fo.ProportionalFair("drf"),
        fo.AlphaFair(2, weight_inside=True),
        fo.MaxMin(),
        fo.Tradeoff(t_pf=1, t_drf=2),
        fo.PerServerDominantShare(),
        fo.PerServerDominantShare("tdm"),
        fo.PerServerDRF(),
        fo.HandOutDRF(),
    ]
    found = [
        fo.solve(inst, notion, uncertified="return") for inst in (pool, two) for notion in notions
    ]
    found += [
        fo.solve(pool, notion)
        for notion in (fo.EqualTasks(), fo.CommonTasks(), fo.BottleneckMaxFair())
    ]
    ruled = [
        ("quotas/h4", fo.MaxMin()),
        ("quotas/g7", fo.ProportionalFair()),
        ("quotas/m1", fo.MaxMin("tasks")),
        ("quotas/p1", fo.MaxMin()),
    ]
    found += [fo.solve(fo.read(name).instance, notion) for name, notion in ruled]
    fillings = [fo.fill(inst, "drf") for inst in (pool, two)]
    found += [answer.with_(certificate=fo.certify(answer)) for answer in fillings]
    return [json.loads(files.dumps(answer)) for answer in found]


def spoilt(plain: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """A copy with one to three places changed."""
    data = copy.deepcopy(plain)
    for _ in range(draw.choice((1, 1, 2, 3))):
        places = list(_places(data))
        if not places:
            break
        # what is told of the notion is where answers can be made to look right
        parts = [p for p in places if p[0] is data.get("notion")] or places
        holder, key = draw.choice(parts if draw.random() < 0.2 else places)
        _spoil(holder, key, draw)
    return data


def _spoil(holder: Any, key: Any, draw: random.Random) -> None:
    value, how = holder[key], draw.random()
    if how < 0.15 and isinstance(value, float):
        holder[key] = value * draw.choice((0.5, 1 + 1e-4, 2.0, -1.0, 1e9))
    elif how < 0.3:
        del holder[key]
    elif how < 0.45 and isinstance(holder, dict):
        holder[draw.choice(("alpha", "division", "x", "t_pf", str(key) + "s", "\x1b"))] = value
    else:
        holder[key] = copy.deepcopy(draw.choice(JUNK))


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every (table or list, key) in it."""
    keys = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        yield data, key
        yield from _places(data[key])


def judged(plain: dict[str, Any]) -> tuple[str, fo.Allocation | None]:
    """The verdict on an answer as plain data, "refused" where the file is."""
    try:
        answer = files.loads(json.dumps(plain))
    except fo.BadInput as error:
        assert error.exit_code == 2 and error.faults
        _tellable(str(error))
        return "refused", None
    certificate = fo.certify(answer)
    _tellable(certificate.explain())
    return certificate.verdict, answer


def _tellable(words: str) -> None:
    """No control character reaches whoever reads it."""
    assert words.replace("\n", "").isprintable(), words


def believed_wrongly(answer: fo.Allocation) -> str:
    """Why an answer that was certified is none; "" where it is one, by solving again.

    What is compared is what the notion makes unique: the levels, or the objective's shares.
    """
    from fairopt.notions import make

    name = answer.notion["name"]
    if name.startswith("fill:"):
        return ""  # any maximal filling is one; the judge of whole tasks has its own tests
    notion = make(name, **answer.notion["parameters"])
    again = fo.solve(answer.instance, notion, uncertified="return")
    if (
        name in ("throughput", "sum-m", "equal-m", "bmf", "ps-dsf")
        or answer.notion["parameters"].get("alpha") == 0
    ):
        return ""  # not unique
    assert again.certificate is not None
    if not again.certificate.certified:
        return ""
    off = abs(again.shares - answer.shares) / abs(again.shares)
    return f"shares {answer.shares} for {again.shares}" if off.max() > 1e-2 else ""


def main(count: int, seed: int) -> None:
    draw, pool = random.Random(seed), answers()
    verdicts: dict[str, int] = {}
    for k in range(count):
        plain = spoilt(draw.choice(pool), draw)
        try:
            verdict, answer = judged(plain)
            if verdict == "certified":
                assert answer is not None
                wrong = believed_wrongly(answer)
                assert not wrong, wrong
        except Exception as error:
            print(f"{k}: {type(error).__name__}: {error}\n{json.dumps(plain)}\n")
            verdict = "CRASHED"
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
    print(f"{count} spoilt answers, seed {seed}: {verdicts}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
