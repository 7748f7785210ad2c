"""Whatever is done to a file of an answer: it is refused in words, or judged; never believed."""

from __future__ import annotations

import json
import random

import pytest

import fairopt as fo
from fairopt import files
from tests.spoilt_files import answers, believed_wrongly, judged, spoilt


@pytest.fixture(scope="module")
def pool():
    return answers()


def test_the_answers_are_good_before_they_are_spoilt(pool):
    assert {judged(plain)[0] for plain in pool} == {"certified"}


@pytest.mark.parametrize("seed", range(6))
def test_spoilt_answers_are_refused_or_judged(pool, seed):
    draw = random.Random(seed)
    for _ in range(50):
        plain = spoilt(draw.choice(pool), draw)
        verdict, answer = judged(plain)
        if verdict == "certified":
            assert answer is not None
            assert not believed_wrongly(answer), json.dumps(plain)


# found by the campaign (`python tests/spoilt_files.py 12000 3`)
@pytest.mark.parametrize(
    "steps", [[[]], [1e308], [{"machines": {"s2": []}}], [{"machines": {"s2": [{"count": 3}]}}]]
)
def test_steps_of_other_kinds(pool, steps):
    plain = next(p for p in pool if p["notion"]["name"] == "fill:drf" and "count" in p["instance"])
    verdict, _ = judged({**plain, "steps": steps})
    assert verdict != "certified"


def test_an_increment_too_small_to_count_with(pool):
    plain = json.loads(json.dumps(next(p for p in pool if p["notion"]["name"] == "fill:drf")))
    plain["notion"]["parameters"]["increment"] = 5e-324
    assert judged(plain)[0] == "unproved"


def test_levels_without_servers(pool):
    plain = next(p for p in pool if "level_prices" in p)
    wrong = {**plain, "instance": {**plain["instance"], "servers": 1e308}}
    with pytest.raises(fo.BadInput, match=r"servers: found 1e\+308; wanted a list"):
        files.loads(json.dumps(wrong))
