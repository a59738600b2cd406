"""Keys and values as text: both ways, harmless on a terminal, and unambiguous in JSON."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsm.cdc import to_json
from lsm.cli.text import BadText, escape, parse, shortened


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (b"plain text", b"plain text"),
        ("grüße".encode(), "grüße".encode()),
        (rb"a\x00\xfF", b"a\x00\xff"),
        (rb"tab\tline\nreturn\rback\\slash", b"tab\tline\nreturn\rback\\slash"),
        (rb"\\x41", rb"\x41"),
        (b"hex:00fF", b"\x00\xff"),
        (b"hex:", b""),
        (b"base64:AP8=", b"\x00\xff"),
        (rb"hex\x3a00", b"hex:00"),
        (b"xhex:00", b"xhex:00"),
        (b"", b""),
    ],
)
def test_typed_text_stands_for_bytes(typed, meant):
    assert parse(typed) == meant


@pytest.mark.parametrize(
    "typed",
    [rb"\q", b"end\\", rb"\x4", rb"\xzz", b"hex:0", b"hex:zz", b"base64:AP8", b"base64:!", b"hex:\xff"],
)
def test_text_that_stands_for_nothing_is_refused(typed):
    with pytest.raises(BadText):
        parse(typed)


@given(
    st.binary(max_size=40) | st.sampled_from([b"hex:", b"base64:", b"hex:00", rb"\x41", b"-", b"hex:\x1b"])
)
def test_what_is_printed_can_be_typed_again(data):
    assert parse(escape(data)) == data


@given(st.binary(max_size=40))
def test_what_is_printed_cannot_command_a_terminal(data):
    assert all(0x20 <= byte <= 0x7E for byte in escape(data))


def test_escapes_are_the_short_ones_where_there_are_some():
    assert escape(b"a\tb\nc\\\x1b[31m\xe9") == rb"a\tb\nc\\\x1b[31m\xe9"


@given(st.binary(max_size=40))
def test_json_tells_text_from_other_bytes(data):
    value = json.loads(json.dumps(to_json(data)))

    if isinstance(value, str):
        assert value.encode() == data
    else:
        assert list(value) == ["base64"]
        assert base64.b64decode(value["base64"]) == data


def test_a_long_key_is_cut_in_a_message():
    assert shortened(b"\x00" + 100 * b"k") == r"\x00" + 59 * "k" + "..."
    assert shortened(b"short") == "short"
