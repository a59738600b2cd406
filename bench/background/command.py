"""The command `background`."""

from bench.background.measure import measure_background
from bench.background.settings import BackgroundSettings
from bench.background.sheets import background_sheets
from bench.commands import data_of, finish, takes
from bench.progress import shown_progress
from bench.result import new_result


@takes(BackgroundSettings)
def background(settings: BackgroundSettings) -> None:
    """Measure flush and compaction, and the pauses they cause in the foreground."""
    result = new_result("background", settings)
    with shown_progress() as bar:
        measured = measure_background(settings, data_of(settings), bar)
    result.update(measured.to_json())
    finish(background_sheets(measured, settings), result, settings)
