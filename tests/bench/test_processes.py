"""What the operating system says of processes."""

import subprocess
import sys

from bench.counting.processes import child_ids, children_cpu_seconds, own_cpu_seconds, resident_bytes

BUSY = "import sys; sum(range(3_000_000)); print('ready', flush=True); sys.stdin.read()"


def test_children_are_counted_while_they_live_and_after():
    alone = resident_bytes()
    before = children_cpu_seconds()
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=pipe, stdout=pipe) as child:
        child.stdout.readline()
        assert str(child.pid) in set(child_ids())
        assert resident_bytes() > alone / 2
        alive = children_cpu_seconds()
        child.communicate(timeout=30)

    assert before < alive <= children_cpu_seconds() + 0.05
    assert str(child.pid) not in set(child_ids())


def test_a_system_without_these_files_says_nothing(tmp_path):
    assert resident_bytes(tmp_path) is None
    assert list(child_ids(tmp_path)) == []
    assert own_cpu_seconds() > 0


def test_files_that_say_something_else_are_passed_over(tmp_path):
    (tmp_path / "self" / "task" / "1").mkdir(parents=True)
    (tmp_path / "self" / "task" / "1" / "children").write_text("12 13 ")
    (tmp_path / "self" / "status").write_text("VmRSS:\t 100 kB\n")
    (tmp_path / "12").mkdir()
    (tmp_path / "12" / "status").write_text("VmRSS: lots\n")
    (tmp_path / "12" / "stat").write_text("12 (a name) R\n")

    assert list(child_ids(tmp_path)) == ["12", "13"]
    assert resident_bytes(tmp_path) == 100 * 1024
    assert children_cpu_seconds(tmp_path) >= 0
