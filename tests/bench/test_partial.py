"""Runs that end before their time."""

import errno

import pytest

import lsm
from bench.partial import EXIT_CODES, kept


def caused(error, cause):
    error.__cause__ = cause
    return error


FULL = OSError(errno.ENOSPC, "no space")


@pytest.mark.parametrize(
    ("error", "reason", "code"),
    [
        (KeyboardInterrupt(), "interrupted", 130),
        (FULL, "disk full", 3),
        (OSError(errno.EDQUOT, "over quota"), "disk full", 3),
        (lsm.DiskFull("db", "writing"), "disk full", 3),
        # What a store says when its background had no room.
        (caused(lsm.BackgroundError(errno.EIO, "failed"), lsm.DiskFull("db", "flushing")), "disk full", 3),
        (caused(OSError("outer"), caused(OSError("middle"), FULL)), "disk full", 3),
    ],
    ids=str,
)
def test_what_ends_a_run_early_is_marked(error, reason, code):
    result = {"complete": True, "stopped_by": None}

    with kept(result):
        raise error

    assert result == {"complete": False, "stopped_by": reason} and EXIT_CODES[reason] == code


@pytest.mark.parametrize(
    "error", [OSError(errno.EIO, "broken"), ValueError("wrong"), lsm.ClosedError("closed")]
)
def test_anything_else_is_not_hidden(error):
    with pytest.raises(type(error)), kept({}):
        raise error


def test_a_whole_run_is_left_alone():
    result = {"complete": True}

    with kept(result):
        pass

    assert result == {"complete": True}
