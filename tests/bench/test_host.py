import json
import platform
from pathlib import Path

from bench.compare.settings import CompareSettings
from bench.host import host_facts, versions
from bench.result import new_result, write_result


def test_facts_are_there_and_say_nothing_of_whose_machine_it_is(tmp_path):
    settings = CompareSettings(directory=tmp_path, out=tmp_path / "result.json", seed=9)

    text = json.dumps(new_result("compare", settings))

    assert platform.node() not in text or len(platform.node()) < 4
    assert str(tmp_path) not in text and str(Path.home()) not in text
    assert json.loads(text)["settings"]["seed"] == 9


def test_the_host_has_cores_memory_and_a_file_system(tmp_path):
    facts = host_facts(tmp_path)

    assert facts["cores"] >= 1 and facts["filesystem"]
    assert set(versions()) == {"python", "numpy", "mmh3"}


def test_a_result_is_written_only_if_wanted(tmp_path):
    write_result({"a": 1}, None)
    write_result({"a": 1}, tmp_path / "result.json")

    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8")) == {"a": 1}
