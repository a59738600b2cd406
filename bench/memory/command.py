"""The command `memory`."""

from bench.commands import data_of, finish, takes
from bench.memory.measure import measure_memory, memory_sheet
from bench.memory.settings import MemorySettings
from bench.progress import shown_progress
from bench.result import new_result


@takes(MemorySettings)
def memory(settings: MemorySettings) -> None:
    """Measure time and memory to open a large store."""
    result = new_result("memory", settings)
    with shown_progress() as bar:
        measured = measure_memory(settings, data_of(settings), bar)
    result.update(measured.to_json())
    finish([memory_sheet(measured, settings)], result, settings)
