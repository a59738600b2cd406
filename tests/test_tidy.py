"""The house rules that a linter does not know: sizes, docstrings, reasons, no traces of a machine."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("bench", "compaction", "lsm", "pyspark_lsm", "sstable", "wal")
DOCUMENTS = (
    "compaction/DESIGN.md",
    "lsm/ARCHITECTURE.md",
    "lsm/FORMAT.md",
    "sstable/FORMAT.md",
    "wal/FORMAT.md",
)

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
PARAMETERS_MAX = 7
TEST_LINES_PER_LINE_MIN = 0.8

# Functions with more parameters than PARAMETERS_MAX, each with the reason why.
MANY_PARAMETERS: dict[str, str] = {}

# Written with brackets, so that the rules do not find themselves.
UNFINISHED = re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X]|HAC[K])\b")
MACHINE = re.compile(
    r"(?<![\w.~}/-])/(?:work|root|tmp/v|opt/(?:pypi|wheels)|home/\w+|Users/\w+)\b"
    r"|\b(?:test\.)?pypi[.]org|pythonhosted[.]org|conda[.]anaconda|--(?:extra-)?index[-]url"
)
SUPPRESSION = re.compile(
    r"#\s*(?P<what>(?:ruff:\s*|flake8:\s*)?noqa(?::\s*[A-Z]+\d+(?:\s*,\s*[A-Z]+\d+)*)?"
    r"|type:\s*ignore(?:\[[\w\-, ]+\])?"
    r"|pragma:\s*no\s+(?:cover|branch)"
    r"|(?:mypy|pyright):\s*[\w-]+|fmt:\s*(?:off|skip))(?P<rest>.*)"
)


class Function(NamedTuple):
    """One function of the product, with what the budgets ask of it."""

    where: str
    name: str  # dotted, with its classes
    node: ast.FunctionDef | ast.AsyncFunctionDef

    @property
    def lines(self) -> int:
        """Length without the docstring."""
        lines = self.node.end_lineno - self.node.lineno + 1
        if ast.get_docstring(self.node, clean=False) is not None:
            docstring = self.node.body[0]
            lines -= docstring.end_lineno - docstring.lineno + 1
        return lines

    @property
    def parameters(self) -> int:
        """Number of parameters, not counting the object itself."""
        spec = self.node.args
        names = [parameter.arg for parameter in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
        return len([name for name in names if name not in {"self", "cls"}])


@cache
def tracked() -> tuple[Path, ...]:
    """Return every file that is, or is about to be, under version control."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return tuple(path for name in listing.split("\0") if name and (path := ROOT / name).is_file())


@cache
def text(path: Path) -> str | None:
    """Return the text of a file, or None for bytes that are none (a golden store)."""
    data = path.read_bytes()
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def product() -> dict[str, str]:
    """Return the source of every module that ships."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {name_of(path): path.read_text(encoding="utf-8") for path in paths}


def functions(name: str, source: str) -> Iterator[Function]:
    """Yield every function of a module, inner ones too."""

    def below(node: ast.AST, outer: str) -> Iterator[Function]:
        for child in ast.iter_child_nodes(node):
            dotted = f"{outer}{child.name}" if hasattr(child, "name") else outer
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield Function(f"{name}:{child.lineno}", dotted, child)
            is_scope = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            yield from below(child, f"{dotted}." if is_scope else outer)

    return below(ast.parse(source), "")


def all_functions() -> list[Function]:
    return [function for name, source in product().items() for function in functions(name, source)]


def report(found: list[str], summary: str = "") -> str:
    return "\n".join([summary, *found]) if found else ""


def test_files_stay_small():
    lengths = {name: source.count("\n") for name, source in product().items()}
    long = [f"{name}: {lines} lines" for name, lines in lengths.items() if lines > FILE_LINES_MAX]

    assert not long, report(long, f"limit {FILE_LINES_MAX}, median is {median(lengths.values())}, wanted 160")


def test_functions_fit_a_screen():
    found = all_functions()
    lengths = [function.lines for function in found]
    long = [
        f"{function.where}: {function.name} has {function.lines} lines"
        for function in found
        if function.lines > FUNCTION_LINES_MAX
    ]

    assert not long, report(
        long,
        f"limit {FUNCTION_LINES_MAX}; median {median(lengths)}, wanted 8; "
        f"nine of ten under {quantiles(lengths, n=10)[-1]:.0f}, wanted 30",
    )


def test_functions_take_few_parameters():
    found = all_functions()
    many = {
        f"{function.where.partition(':')[0]}:{function.name}": function
        for function in found
        if function.parameters > PARAMETERS_MAX
    }
    wrong = [
        f"{f.where}: {f.name} takes {f.parameters}" for key, f in many.items() if key not in MANY_PARAMETERS
    ]

    assert not wrong, report(
        wrong, f"limit {PARAMETERS_MAX}, median is {median(function.parameters for function in found)}"
    )
    assert set(MANY_PARAMETERS) <= set(many), "an exception is no longer needed"


def undocumented(name: str, source: str) -> Iterator[str]:
    """Yield the public names of a module that have no docstring."""
    tree = ast.parse(source)
    if ast.get_docstring(tree) is None:
        yield f"{name}:1: the module"
    yield from _undocumented_below(name, tree, "")


def _undocumented_below(name: str, scope: ast.Module | ast.ClassDef, outer: str) -> Iterator[str]:
    is_protocol = isinstance(scope, ast.ClassDef) and any(
        "Protocol" in ast.unparse(base) for base in scope.bases
    )
    for node in scope.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if node.name.startswith("_") or _says_nothing_new(node) or (is_protocol and _is_stub(node)):
            continue
        if ast.get_docstring(node) is None:
            yield f"{name}:{node.lineno}: {outer}{node.name}"
        if isinstance(node, ast.ClassDef):
            yield from _undocumented_below(name, node, f"{outer}{node.name}.")


def _says_nothing_new(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a decorator says that the docstring stands elsewhere."""
    names = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return bool(names & {"overload", "override", "setter", "deleter"})


def _is_stub(node: ast.stmt) -> bool:
    """Whether a member of a Protocol is a bare signature, which the docstring of the class covers."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and ast.unparse(node.body) == "..."


def test_every_public_name_has_a_docstring():
    found = [line for name, source in product().items() for line in undocumented(name, source)]

    assert not found, report(found, "without docstring:")


def forbidden(name: str, source: str) -> Iterator[str]:
    """Yield prints and handlers that catch everything unnamed."""
    tree = ast.parse(source)
    from_rich = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "rich"
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            yield f"{name}:{node.lineno}: bare except"
        elif isinstance(node, ast.Name) and node.id == "print" and "print" not in from_rich:
            yield f"{name}:{node.lineno}: print"


def test_nothing_prints_and_nothing_is_caught_unnamed():
    found = [line for name, source in product().items() for line in forbidden(name, source)]

    assert not found, report(found)


def unreasoned(name: str, source: str) -> Iterator[str]:
    """Yield suppressions with no reason after them: `# noqa: E501 - a URL` has one."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        match = SUPPRESSION.search(token.string) if token.type == tokenize.COMMENT else None
        if match and len(re.findall(r"\w+", match["rest"])) < 2:
            yield f"{name}:{token.start[0]}: {match['what']} without a reason"


def python_files() -> dict[str, str]:
    return {name_of(path): text(path) or "" for path in tracked() if path.suffix == ".py"}


def test_every_suppression_has_a_reason():
    found = [line for name, source in python_files().items() for line in unreasoned(name, source)]

    assert not found, report(found)


@pytest.mark.parametrize("pattern", [UNFINISHED, MACHINE], ids=["unfinished", "machine"])
def test_no_file_has_traces_of_unfinished_work_or_of_a_machine(pattern):
    found = [
        f"{name_of(path)}:{number}: {match[0]}"
        for path in tracked()
        for number, line in enumerate((text(path) or "").split("\n"), start=1)
        if (match := pattern.search(line))
    ]

    assert not found, report(found)


def unseeded(name: str, source: str) -> Iterator[str]:
    """Yield sources of randomness in a test that no printed seed can repeat."""
    tree = ast.parse(source)
    has_global = re.search(r"^import random$", source, re.M)  # else `random` is a generator of that name
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        is_maker = called.rpartition(".")[2] in {"Random", "default_rng"}
        is_global = (has_global and re.fullmatch(r"random\.[a-z]\w*", called)) or re.fullmatch(
            r"(?:np|numpy)\.random\.(?!default_rng)[a-z]\w*", called
        )
        if (is_maker and not node.args) or is_global or called == "os.urandom":
            yield f"{name}:{node.lineno}: {called}, start from the fixture `seed` instead"


def test_tests_draw_from_a_seed():
    sources = {name: source for name, source in python_files().items() if name.startswith("tests/")}
    found = [line for name, source in sources.items() for line in unseeded(name, source)]

    assert not found, report(found)


def test_there_are_enough_tests():
    tests = sum(source.count("\n") for name, source in python_files().items() if name.startswith("tests/"))
    lines = sum(source.count("\n") for source in product().values())

    assert tests >= TEST_LINES_PER_LINE_MIN * lines, f"{tests} lines of tests for {lines} of product"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_bytes_and_the_parts_are_described_beside_the_code(document):
    path = ROOT / document

    assert path.is_file(), f"{document} is missing"
    assert path.read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize(
    ("rule", "source", "count"),
    [
        (undocumented, "def shown(): pass\nclass Shown:\n    def method(self): pass\n", 4),
        (
            undocumented,
            '"""Doc."""\ndef _hidden(): pass\nclass P(Protocol):\n    """Doc."""\n    def m(self): ...\n',
            0,
        ),
        (forbidden, "print(1)\ntry: pass\nexcept: pass\n", 2),
        (forbidden, "from rich import print\nprint(1)\nconsole.print(2)\n", 0),
        (unreasoned, "a = 1  # noqa: E501\nb = 2  # type: ignore[misc]\nc = 3  # pragma: no cover\n", 3),
        (unreasoned, "a = 1  # noqa: E501 - a long URL\nb = 2  # type: ignore[misc]  # stub is wrong\n", 0),
        (
            unseeded,
            "import random\nrandom.random()\nRandom()\nnp.random.default_rng()\nnp.random.bytes(3)\n",
            4,
        ),
        (unseeded, "random = np.random.default_rng(seed)\nrandom.random()\nRandom(seed)\n", 0),
    ],
)
def test_a_rule_finds_what_it_is_for_and_only_that(rule, source, count):
    assert len(list(rule("x.py", source))) == count


def test_length_and_parameters_are_counted_as_meant():
    docstring = '"""One.\n\n        Two.\n        """'
    source = f"class C:\n    def f(self, a, *, b):\n        {docstring}\n        return a\n"

    (function,) = functions("x.py", source)

    assert (function.name, function.lines, function.parameters) == ("C.f", 2, 2)


def test_traces_are_found_where_they_are_and_not_where_they_only_look_alike():
    assert all(MACHINE.search(line) for line in ("/" + "work/main", "see /" + "root/x", "pypi." + "org"))
    assert not any(MACHINE.search(line) for line in ("docs/work", "https://x/root", "a network", "/workers"))
