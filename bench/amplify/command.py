"""The command `amplify`."""

from bench.amplify.amplification import Amplification
from bench.amplify.measure import measure_amplification
from bench.amplify.settings import AmplifySettings
from bench.amplify.stream import is_uniform
from bench.commands import data_of, finish, refuse, takes
from bench.partial import kept
from bench.progress import shown_progress
from bench.result import new_result


@takes(AmplifySettings)
def amplify(settings: AmplifySettings) -> None:
    """Measure write, read and space amplification of a store in a steady state, beside what theory says."""
    try:
        found = Amplification(settings, settings.store_options())
        is_uniform(settings)  # knows every distribution
    except ValueError as error:
        refuse(error)
    result = new_result("amplify", settings)
    with shown_progress() as bar, kept(result):
        measure_amplification(settings, data_of(settings), bar, found)
    result.update(found.to_json())
    finish(found.sheets(), result, settings)
