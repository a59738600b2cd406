"""Options as users write them; no Spark is started for these."""

import pytest

import lsm
from lsm.spark.options import ReadOptions, read_options
from lsm.spark.session import _dotted


def test_names_are_taken_in_any_case():
    assert read_options({"PATH": "db", "StartKey": "a", "ENDKEY": "b"}) == ReadOptions(
        paths=("db",), start=b"a", stop=b"b"
    )


def test_many_paths_come_as_json():
    assert read_options({"paths": '["a", "b"]'}).paths == ("a", "b")


@pytest.mark.parametrize(
    ("given", "local"),
    [("file:/a/b", "/a/b"), ("file:///a/b", "/a/b"), ("file://localhost/a", "/a"), ("a:b", "a:b")],
)
def test_uris_of_files_are_paths(given, local):
    assert read_options({"path": given}).paths == (local,)


def test_other_uris_are_refused():
    with pytest.raises(lsm.InvalidArgument, match="not a URL"):
        read_options({"path": "s3a://bucket/db"})


def test_what_the_catalog_adds_is_passed_over():
    assert read_options({"path": "db", "serialization.format": "1", "location": "x"}).paths == ("db",)


def test_confs_are_named_with_underscores_or_dots():
    assert (
        _dotted("spark_ui_enabled")
        == _dotted("ui_enabled")
        == _dotted("spark.ui.enabled")
        == "spark.ui.enabled"
    )
