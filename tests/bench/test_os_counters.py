"""The operating system's own counters, on a made-up /proc and on the real one."""

import os

import pytest

from bench.counting.os_counters import OsCounters, read_os_counters

IO = "rchar: 1\nwchar: {}\nsyscr: 1\nsyscw: 1\nread_bytes: 0\nwrite_bytes: {}\ncancelled_write_bytes: 0\n"


@pytest.fixture
def proc(tmp_path):
    """A process with two threads, one of which has started the processes 21 and 22."""
    for thread, children in (("10", ""), ("11", "21 22 ")):
        place = tmp_path / "self" / "task" / thread
        place.mkdir(parents=True)
        (place / "children").write_text(children)
    (tmp_path / "self" / "io").write_text(IO.format(100, 4096))
    (tmp_path / "21").mkdir()
    (tmp_path / "21" / "io").write_text(IO.format(30, 8192))
    return tmp_path


def test_children_count_and_one_that_has_ended_does_not(proc):
    assert read_os_counters(proc) == OsCounters(passed_bytes=130, stored_bytes=12288)


@pytest.mark.parametrize("text", ["", "wchar: many\n", "wchar: 1\n", "\0\xff", ": :\n"])
def test_what_cannot_be_understood_is_no_counter(proc, text):
    (proc / "self" / "io").write_text(text, encoding="latin-1")

    assert read_os_counters(proc) is None


def test_a_system_without_counters_has_none(tmp_path):
    assert read_os_counters(tmp_path) is None


def test_where_nothing_reaches_a_disk_what_was_written_counts():
    spent = OsCounters(1500, 70) - OsCounters(500, 70)

    assert (spent.best_bytes, spent.best_name) == (1000, "wchar")
    assert (OsCounters(1, 2).best_bytes, OsCounters(1, 2).best_name) == (2, "write_bytes")


def test_a_written_file_is_seen(tmp_path):
    before = read_os_counters()
    if before is None:
        assert not os.path.exists("/proc/self/io")
        return

    (tmp_path / "file").write_bytes(bytes(300_000))

    spent = read_os_counters() - before
    assert 300_000 <= spent.passed_bytes < 310_000
