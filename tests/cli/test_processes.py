"""The command as a process: pipes, terminals, signals, and other processes beside it."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lsm


def finish(process, timeout=30):
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def on_a_terminal(command, *arguments):
    """Run with standard output and error on a terminal; return the exit code and what the screen got."""
    screen, terminal = pty.openpty()
    process = command(*arguments, stdout=terminal, stderr=terminal)
    os.close(terminal)
    seen = b""
    try:
        while data := os.read(screen, 65536):
            seen += data
    except OSError:  # how a terminal says that nobody is left at the other end
        pass
    finally:
        os.close(screen)
    return process.wait(timeout=30), seen


def test_python_m_lsm_is_the_command(command, store):
    assert finish(command("get", store, "a")) == (0, b"1\n", b"")
    assert finish(command("get", store, "nope")) == (1, b"", b"lsm: no key nope\n")


def test_a_reader_that_goes_away_ends_the_scan_quietly(command, tmp_path):
    with lsm.open(tmp_path / "s") as db:
        db.update({b"%06d" % number: b"x" * 100 for number in range(20_000)})

    process = command("scan", tmp_path / "s")
    assert process.stdout.readline().startswith(b"000000\t")
    process.stdout.close()

    with process.stderr as errors:
        assert errors.read() == b""
    assert process.wait(timeout=30) == 141


def test_reading_beside_a_living_writer(command, store):
    with lsm.open(store, "w") as db:
        db[b"fresh"] = b"just written"

        assert finish(command("get", store, "fresh")) == (0, b"just written\n", b"")
        code, _, err = finish(command("put", store, "k", "v"))
        assert code == 3
        assert f"pid {os.getpid()}".encode() in err
        db[b"still"] = b"writable"


def test_reading_a_read_only_directory(command, store):
    for file in store.iterdir():
        file.chmod(0o444)
    store.chmod(0o555)
    try:
        assert finish(command("get", store, "a"))[:2] == (0, b"1\n")
        assert finish(command("verify", store))[0] == 0
    finally:
        store.chmod(0o755)


def test_ctrl_c_exits_with_130_and_leaves_a_sound_store(command, tmp_path):
    process = command("put", tmp_path / "s", "-", stdin=subprocess.PIPE)
    process.stdin.write(b"".join(b"%06d\tv\n" % number for number in range(1500)))
    process.stdin.flush()
    while lines_in(tmp_path / "s") < 1000:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)

    code, _, err = finish(process)

    assert (code, err) == (130, b"1,000 lines of standard input had been written\nlsm: interrupted\n")
    assert lsm.verify(tmp_path / "s").is_sound
    assert lines_in(tmp_path / "s") == 1000


def lines_in(path: Path) -> int:
    try:
        with lsm.open(path, "r") as db:
            return len(db)
    except lsm.Error:
        return 0


def test_a_terminal_gets_colours_but_no_commands_from_data(command, store):
    code, seen = on_a_terminal(command, "scan", store)

    assert code == 0
    assert rb"\xff\x1b" in seen
    assert b"\x1b" not in seen


def test_raw_bytes_are_kept_from_a_terminal(command, store):
    code, seen = on_a_terminal(command, "scan", "--raw", store)

    assert code == 2
    assert b"is for files and pipes" in seen
    assert b"\xff" not in seen


def test_progress_is_for_terminals_only(command, store):
    assert b"compacting" in on_a_terminal(command, "compact", store)[1]
    code, out, err = finish(command("compact", store))

    assert (code, err) == (0, b"")
    assert b"\x1b" not in out


@pytest.mark.parametrize("closed", ["stdin", "stdout"])
def test_a_closed_standard_stream_is_an_error_not_a_traceback(store, closed):
    arguments, redirect = (
        (("put", "s", "-"), "<&-") if closed == "stdin" else (("get", str(store), "a"), ">&-")
    )
    shell = f'"$0" -m lsm "$@" {redirect}'

    process = subprocess.run(
        ["sh", "-c", shell, sys.executable, *arguments],
        cwd=store.parent,
        env=os.environ | {"PYTHONPATH": str(Path(lsm.__file__).parent.parent)},
        stderr=subprocess.PIPE,
        timeout=30,
    )

    assert process.returncode == 3
    assert process.stderr.startswith(b"lsm: standard ")
    assert b"Traceback" not in process.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_under_the_output_is_an_error(command, store):
    with open("/dev/full", "wb") as full:
        code, _, err = finish(command("scan", store, stdout=full))

    assert code == 3
    assert b"No space left" in err
    assert b"Traceback" not in err
