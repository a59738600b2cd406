"""Names come from numbers, and only such names are ours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsm.filenames import is_ours, manifest_name, parse, segment_name, table_name

NUMBERS = st.integers(0, 10**18 - 1)


@given(NUMBERS)
def test_a_name_leads_back_to_its_number(number):
    assert parse(segment_name(number)) == ("log", number)
    assert parse(table_name(number)) == ("sst", number)
    assert parse(manifest_name(number)) == ("manifest", number)


@pytest.mark.parametrize("name", ["CURRENT", "CURRENT.tmp", "LOCK", "000012.log", "MANIFEST-000001"])
def test_our_names_are_ours(name):
    assert is_ours(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "12.log",
        "0000012.log",
        "000012.LOG",
        "000012.log\n",
        " 000012.log",
        "-00012.log",
        "00001２.log",
        "000012.sst.bak",
        "MANIFEST-1",
        "MANIFEST-000001.tmp",
        "manifest-000001",
        "../000012.log",
        "1" * 19 + ".sst",
        ".DS_Store",
    ],
)
def test_other_names_are_foreign(name):
    assert parse(name) is None
    assert not is_ours(name)


@given(st.text(max_size=12))
def test_a_name_that_is_parsed_is_the_one_we_would_write(name):
    found = parse(name)
    if found is not None:
        make = {"log": segment_name, "sst": table_name, "manifest": manifest_name}[found[0]]
        assert make(found[1]) == name
