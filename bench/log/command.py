"""The command `log`."""

from bench.commands import data_of, finish, takes
from bench.log.measure import measure_log
from bench.log.settings import LogSettings
from bench.log.sheets import log_sheets
from bench.progress import shown_progress
from bench.result import new_result


@takes(LogSettings)
def log(settings: LogSettings) -> None:
    """Measure reading the log: changes, seeking, a follower, and readers that wait for more."""
    result = new_result("log", settings)
    with shown_progress() as bar:
        measured = measure_log(settings, data_of(settings), bar)
    result.update(measured.to_json())
    finish(log_sheets(measured, settings), result, settings)
