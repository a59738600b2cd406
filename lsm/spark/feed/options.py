"""What users may say of a change feed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from lsm.arguments import as_user_keyspace_name
from lsm.errors import InvalidArgument
from lsm.pins import LEASE_SECONDS
from lsm.spark.options import (
    FORMATS,
    PLACE,
    TARGET_BYTES,
    Given,
    ReadOptions,
    boolean,
    one_of,
    size,
    text,
    whole_number,
)

FEED: Final = (
    "readChangeFeed",
    "startingVersion",
    "startingTimestamp",
    "endingVersion",
    "endingTimestamp",
    "maxRecordsPerTrigger",
    "maxBytesPerTrigger",
    "failOnDataLoss",
    "consumerId",
    "withPreimage",
)
_SHARED: Final = (
    "keyFormat",
    "valueFormat",
    "numPartitions",
    "targetPartitionBytes",
    "verifyChecksums",
    "leaseSeconds",
)
_OF_STREAMS: Final = ("maxRecordsPerTrigger", "maxBytesPerTrigger", "consumerId")
_OF_BATCHES: Final = ("endingVersion", "endingTimestamp")
_SEQ_MAX: Final = 2**62

Start = int | datetime | Literal["earliest", "latest"]
"""A version that is to be the first one, or the first one from a moment on, or an end of the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedOptions:
    """What a change feed was asked for."""

    read: ReadOptions
    """What it shares with other reads."""
    start: Start | None = None
    end: int | datetime | None = None
    """The last version that is wanted, or the last one up to a moment."""
    rows_max: int | None = None
    bytes_max: int | None = None
    fails_on_loss: bool = True
    consumer: str | None = None
    preimages: bool = False

    @property
    def path(self) -> str:
        """Where the store is."""
        return self.read.paths[0]


def is_feed(options: Mapping[str, str]) -> bool:
    """Tell whether changes are asked for, not rows."""
    return Given(options).get("readChangeFeed", boolean, False)


def without_feed(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a read of rows; raise if there are any that only a change feed has."""
    mine = {name.lower(): name for name in FEED}
    for name in options:
        if mine.get(name.lower(), FEED[0]) != FEED[0]:
            raise InvalidArgument(
                f'{mine[name.lower()]} is of the change feed; say .option("readChangeFeed", "true")'
            )
    return {name: value for name, value in options.items() if name.lower() not in mine}


def feed_options(options: Mapping[str, str], *, is_stream: bool | None = None) -> FeedOptions:
    """Return what a change feed was asked for, or raise what is wrong with it.

    With `is_stream` it must also make sense for a stream, or for a batch.
    """
    given = Given(options)
    given.refuse_unknown(PLACE + FEED + _SHARED)
    if is_stream and not is_feed(options):
        raise InvalidArgument('a stream of a store is its changes; say .option("readChangeFeed", "true")')
    if is_stream is not None:
        _check_kind(options, is_stream=is_stream)
    rows_max = given.get("maxRecordsPerTrigger", whole_number(1, _SEQ_MAX), 0)
    bytes_max = given.get("maxBytesPerTrigger", size, 0)
    return FeedOptions(
        read=_read(given),
        start=_start(given),
        end=_end(given),
        rows_max=rows_max or None,
        bytes_max=bytes_max or None,
        fails_on_loss=given.get("failOnDataLoss", boolean, True),
        consumer=given.get("consumerId", text, "") or None,
        preimages=given.get("withPreimage", boolean, False),
    )


def _read(given: Given) -> ReadOptions:
    paths = given.paths()
    if len(paths) > 1:
        raise InvalidArgument(
            f"a change feed is of one store, not of {len(paths)}; make one of each, and union"
        )
    return ReadOptions(
        paths=paths,
        keyspace=as_user_keyspace_name(given.get("keyspace", text, "default")),
        key_format=given.get("keyFormat", one_of(FORMATS[:-1]), "binary"),
        value_format=given.get("valueFormat", one_of(FORMATS), "binary"),
        partitions=given.get("numPartitions", whole_number(1, 100_000), 0) or None,
        target_bytes=given.get("targetPartitionBytes", size, TARGET_BYTES),
        verify=given.get("verifyChecksums", boolean, True),
        lease_seconds=given.get("leaseSeconds", whole_number(1, 10**9), int(LEASE_SECONDS)),
    )


def _start(given: Given) -> Start | None:
    version: Start | None = given.get("startingVersion", _version_or_end, None)
    moment: Start | None = given.get("startingTimestamp", _moment, None)
    if version is not None and moment is not None:
        raise InvalidArgument("startingVersion and startingTimestamp name two starts; give one of them")
    return moment if version is None else version


def _end(given: Given) -> int | datetime | None:
    version: int | datetime | None = given.get("endingVersion", _version, None)
    moment: int | datetime | None = given.get("endingTimestamp", _moment, None)
    if version is not None and moment is not None:
        raise InvalidArgument("endingVersion and endingTimestamp name two ends; give one of them")
    return moment if version is None else version


def _check_kind(options: Mapping[str, str], *, is_stream: bool) -> None:
    names = {name.lower() for name in options}
    for name in _OF_BATCHES if is_stream else _OF_STREAMS:
        if name.lower() in names:
            kind, other = ("batch", "stream") if is_stream else ("stream", "batch")
            raise InvalidArgument(f"{name} is for a {kind} of changes, and this is a {other}")
    if not is_stream and not names & {"startingversion", "startingtimestamp"}:
        raise InvalidArgument(
            "a batch of changes needs startingVersion (a number, or earliest) or startingTimestamp"
        )


def _version(option: str, value: str) -> int | datetime | None:
    return whole_number(0, _SEQ_MAX)(option, value)


def _version_or_end(option: str, value: str) -> Start | None:
    if value.lower() == "earliest":
        return "earliest"
    if value.lower() == "latest":
        return "latest"
    if not re.fullmatch(r"\s*[0-9]+\s*", value):
        raise InvalidArgument(f"{option} is a number, earliest or latest; not {value!r:.60}")
    return whole_number(0, _SEQ_MAX)(option, value)


def _moment(option: str, value: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(value.strip())
    except ValueError as error:
        raise InvalidArgument(
            f"{option} is a moment such as 2026-01-31 12:30:00 or 2026-01-31T12:30:00+01:00 (UTC if it does "
            f"not say); not {value!r:.60}"
        ) from error
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found
