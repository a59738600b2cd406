"""Measures write, read and space amplification of a store on one stream of writes."""

import tempfile
from dataclasses import replace
from pathlib import Path

import lsm
from bench.amplify.advice import choices_of
from bench.amplify.amplification import Amplification
from bench.amplify.course import Course
from bench.amplify.disk import disk_use
from bench.amplify.driver import Driver
from bench.amplify.lookups import LookupTally, Reads
from bench.amplify.monkey_twin import monkey_gain
from bench.amplify.prediction import Prediction
from bench.amplify.settings import AmplifySettings
from bench.amplify.space import delete_everything, measure_space
from bench.amplify.stream import IndexArray, Keys, all_writes, load_chunks, overwrite_chunks
from bench.data import Data
from bench.progress import Bar

_HITS, _MISSES, _STARTS = 11, 12, 13  # salts of draws
_SCANS_SHARE = 0.1
_STEPS = 8
_TWIN_STEPS = 4


def measure_amplification(
    settings: AmplifySettings, data: Data, bar: Bar, found: Amplification | None = None
) -> Amplification:
    """Load, overwrite, and look; `found` is filled in along the way, for whoever wants it before the end."""
    options = settings.store_options()
    found = found or Amplification(settings, options)
    is_shared_out = options.bloom_sharing == "monkey"
    bar.start(_STEPS + _TWIN_STEPS * is_shared_out)
    bar.step("simulate")
    found.prediction = _predicted(settings)
    with tempfile.TemporaryDirectory(dir=settings.directory, prefix="bench-") as place:
        with lsm.open(Path(place, "store"), "n", **options.to_json()) as db:
            _write(Driver(db, data, settings, found.course), found.course, settings, bar)
            found.tables = db.tables()
            bar.step("look up")
            found.reads = reads = Reads()
            _look(db, data, settings, reads)
            bar.step("where every byte is")
            found.space = measure_space(db, key_bytes=settings.key_bytes, course=found.course)
            bar.step("what would help")
            found.choices = choices_of(db)
            bar.step("delete everything")
            delete_everything(db)
            found.left_open_bytes = disk_use(Path(db.path)).allocated_bytes
        found.left_bytes = disk_use(Path(place, "store")).allocated_bytes
        if is_shared_out:
            misses = _uniform_misses(Path(place, "twin"), settings, data, bar)
            found.monkey = monkey_gain(
                misses,
                reads.misses,
                runs=reads.misses.mean_tables,
                level_ratio=options.level_ratio,
                bits_per_key=options.bloom_bits_per_key,
            )
    return found


def _predicted(settings: AmplifySettings) -> Prediction:
    count = settings.keys + settings.warm_up_count + settings.overwrite_count
    return Prediction.of(
        all_writes(settings),
        settings.simulation(),
        entry_bytes=settings.entry_bytes,
        total_bytes=count * settings.entry_bytes,
    )


def _write(driver: Driver, course: Course, settings: AmplifySettings, bar: Bar, prefix: str = "") -> None:
    """Load, warm up, begin to measure, and overwrite."""
    overwrites = Keys(overwrite_chunks(settings))
    bar.step(f"{prefix}load")
    with bar.counting("puts", settings.keys) as counter:
        driver.load(Keys(load_chunks(settings)), counter.done)
    bar.step(f"{prefix}warm up")
    with bar.counting("puts", settings.warm_up_count) as counter:
        driver.overwrite(overwrites, settings.warm_up_count, counter.done)
    course.begin_measuring()
    bar.step(f"{prefix}overwrite")
    with bar.counting("puts", settings.overwrite_count) as counter:
        driver.overwrite(overwrites, settings.overwrite_count, counter.done)


def _look(db: lsm.DB, data: Data, settings: AmplifySettings, reads: Reads) -> None:
    count = settings.samples
    reads.look_up(db, data.keys(_sample(data, count, _HITS)), data.missing(_sample(data, count, _MISSES)))
    scans = max(1, round(count * _SCANS_SHARE))
    reads.scan(db, data.keys(_sample(data, scans, _STARTS)), settings.scan_pairs)


def _sample(data: Data, count: int, salt: int) -> IndexArray:
    """Return numbers of entries, none twice: a second look at the same filter tells nothing new."""
    return data.shuffled(salt)[:count]


def _uniform_misses(path: Path, settings: AmplifySettings, data: Data, bar: Bar) -> LookupTally:
    """Make the same store with the same bits for every table, and look up keys that are not there."""
    options = replace(settings.store_options(), bloom_sharing="uniform")
    with lsm.open(path, "n", **options.to_json()) as db:
        course = Course()
        _write(Driver(db, data, settings, course), course, settings, bar, "uniform bits: ")
        bar.step("uniform bits: look up")
        misses = LookupTally()
        for key in data.missing(_sample(data, settings.samples, _MISSES)):
            misses.add(db.explain_get(key))
        return misses
