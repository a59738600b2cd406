"""How commands end: one readable line, a documented code, never a traceback."""

import errno

import pytest
import typer

import lsm
from lsm.cli.exits import BadUsage, describe, errors_as_exit_codes


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadUsage("x"), 2),
        (lsm.InvalidArgument("x"), 2),
        (lsm.InvalidType("x"), 2),
        (lsm.Error("x"), 3),
        (lsm.StoreNotFound(errno.ENOENT, "x"), 3),
        (lsm.CorruptionError("file", "bad", offset=7), 3),
        (PermissionError(errno.EACCES, "Permission denied", "x"), 3),
        (OSError(errno.EIO, "x"), 3),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_expected_error_has_its_exit_code(error, code, capsys):
    with pytest.raises(typer.Exit) as caught, errors_as_exit_codes():
        raise error

    assert caught.value.exit_code == code
    said = capsys.readouterr().err
    assert said.startswith("lsm: ")
    assert said.count("\n") == 1


def test_a_mistake_of_ours_is_not_hidden():
    with pytest.raises(ZeroDivisionError), errors_as_exit_codes():
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            lsm.LockedError("db", "pid 7"),
            "db is open for writing by pid 7; get, scan, export, stats, explain, verify",
        ),
        (lsm.DiskFull("db", "flushing"), "db: no space left; free some and run this again"),
        (lsm.CorruptionError("db/1.sst", "bad checksum", offset=7), "db/1.sst, byte 7: bad checksum"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "x"), "x: No such file or directory"),
        (lsm.StoreNotFound(errno.ENOENT, "no store at x"), "no store at x"),
        (lsm.Error(), "Error"),
    ],
)
def test_errors_are_described_for_a_command_line(error, line):
    assert describe(error).startswith(line)


def test_a_locked_store_can_be_read_but_not_written(run, store):
    with lsm.open(store, "w"):
        assert run("get", store, "a").exit_code == 0
        for arguments in (["put", store, "k", "v"], ["delete", store, "k"], ["compact", store]):
            result = run(*arguments)
            assert result.exit_code == 3
            assert "is open for writing by pid" in result.stderr


def test_what_is_no_store_is_refused(run, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("x")

    for name in ("file", "full"):
        for arguments in (["get", tmp_path / name, "k"], ["put", tmp_path / name, "k", "v"]):
            result = run(*arguments)
            assert result.exit_code == 3, name
            assert str(tmp_path / name) in result.stderr
    assert run("put", tmp_path / "missing" / "store", "k", "v").exit_code == 3


def test_a_damaged_store_is_an_error_with_path_not_an_empty_store(run, store):
    (store / "CURRENT").chmod(0o600)
    (store / "CURRENT").write_text("nonsense\n")

    for arguments in (["get", store, "a"], ["put", store, "k", "v"], ["scan", store]):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (3, "")
        assert str(store) in result.stderr
    assert run("verify", store).exit_code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["get"],
        ["get", "db", "k", "--nonsense"],
        ["scan", "db", "--limit", "x"],
        ["put", "db"],
    ],
)
def test_wrong_usage_exits_with_2(run, arguments):
    assert run(*arguments).exit_code == 2


def test_a_bad_bound_names_its_option(run, store):
    result = run("scan", "--start", r"\q", store)

    assert result.exit_code == 2
    assert "--start" in result.stderr
