"""Objects out of JSON and YAML: one at a time, bounded, and nothing but data."""

from __future__ import annotations

import gzip
import io
import json
import time
import tracemalloc
from decimal import Decimal

import pytest

from fairopt.connect.text import reading
from fairopt.errors import BadInput


def read(content):
    stream = io.BufferedReader(io.BytesIO(content))
    return list(reading.objects(stream, "file"))


def values(content):
    return [value for _, value, _ in read(content)]


def test_lists_documents_and_single_objects():
    one, two = {"kind": "Node", "a": [1, {"b": None}]}, {"kind": "Pod"}
    single = json.dumps(one).encode() + b"\n" + json.dumps(two).encode()
    assert values(single) == [one, two]
    listed = json.dumps({"kind": "NodeList", "items": [one, two]}).encode()
    assert values(listed) == [one, two, {"kind": "NodeList", "items": ()}]
    assert [kind for _, _, kind in read(listed)] == ["NodeList", "NodeList", ""]
    assert values(json.dumps([one, two]).encode()) == [one, two]


def test_yaml_is_the_same_as_json():
    yaml = b'kind: List\nitems:\n- kind: Node\n  cpu: 0.5\n  big: "1"\n  no: false\n---\nkind: Pod'
    assert values(yaml) == [
        {"kind": "Node", "cpu": Decimal("0.5"), "big": "1", "no": False},
        {"kind": "List", "items": ()},
        {"kind": "Pod"},
    ]


def test_numbers_keep_their_digits():
    assert values(b'{"a": 0.1, "b": 12345678901234567890}') == [
        {"a": Decimal("0.1"), "b": 12345678901234567890}
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "nothing in it"),
        (b"  \n", "nothing in it"),
        (b'{"items": [{"status": {"cpu": NaN}}]}', "items[0].status.cpu: found text that is not"),
        (b'{"a": 1', "not JSON"),
        (b'{"a": 1} x', "not JSON"),
        (b'{"a": "\xff"}', "not JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "thousands of digits"),
        (b'{"a": 1, "a": 2}', "the key 'a' twice"),
        (b'{"items": [{"b": {"c": 1, "c": 2}}]}', "items[0].b.c: found the key 'c' twice"),
        (b"[" * 100000, "deeper nesting"),
        (b'{"a":' * 100000, "deeper nesting"),
        (b"a: " + b"[" * 1000, "deeper nesting"),
        (b"- " * 100000, "deeper nesting"),
        (b"a: &x [1]\nb: *x\n", "line 2: found an alias"),
        (b"a: !!python/object/apply:os.system [ls]\n", "the tag tag:yaml.org,2002:python"),
        (b"a: !secret x\n", "the tag !secret"),
        (b"? [a]\n: 1\n", "a list or table as a key"),
        (b"a: 1\na: 2\n", "the key 'a' twice"),
        (b"a: [1\nb: }\n", "not YAML"),
        (b"\x00\x01\x02", "not YAML"),
        (b"\xff\xfe\xff" * 20, "not YAML"),
    ],
)
def test_refused(content, said):
    with pytest.raises(BadInput) as error:
        read(content)
    assert said in str(error.value)


@pytest.mark.parametrize(
    "junk",
    [
        b"x" * 50_000_000,
        b"[" * 50_000_000,
        b"{} " * 10 + b"\x80" * 50_000_000,
        b"a: b\n" * 100 + b"%" * 50_000_000,
    ],
)
def test_junk_ends_soon(junk):
    began = time.perf_counter()
    try:
        found = read(junk)
    except BadInput:
        found = []
    assert all(not isinstance(value, dict) or not value for _, value, _ in found)
    assert time.perf_counter() - began < 20


def test_a_long_list_is_not_kept():
    item = json.dumps({"kind": "Pod", "metadata": {"name": "x" * 1000}}).encode()
    content = b'{"items": [' + b",".join([item] * 20_000) + b'], "kind": "List"}'
    stream = io.BufferedReader(io.BytesIO(content))
    tracemalloc.start()
    try:
        assert sum(1 for _ in reading.objects(stream, "file")) == 20_001
        assert tracemalloc.get_traced_memory()[1] < len(content) / 5
    finally:
        tracemalloc.stop()


def test_files_and_gzip(tmp_path):
    plain, packed = tmp_path / "a.json", tmp_path / "b.json.gz"
    plain.write_bytes(b'{"kind": "Node"}')
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    told = []
    for path in (plain, packed):
        size = reading.sizes([str(path)])
        with reading.opened(str(path), lambda done, of: told.append((done, of)), size) as stream:
            assert [v for _, v, _ in reading.objects(stream, "x")] == [{"kind": "Node"}]
        assert told[-1] == (size, size)


def test_files_that_cannot_be_read(tmp_path):
    broken = tmp_path / "c.gz"
    broken.write_bytes(gzip.compress(b'{"kind": "Node"}' * 100)[:-20])
    for path, said in (
        (broken, "damaged gzip"),
        (tmp_path, "no regular file"),
        (tmp_path / "none", "nothing there"),
    ):
        with pytest.raises(BadInput, match=said), reading.opened(str(path)) as stream:
            list(reading.objects(stream, "x"))
