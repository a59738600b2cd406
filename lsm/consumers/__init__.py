"""Consumers: readers of the log with a name, each at its own pace, whose positions survive crashes.

    with db.consumer("billing") as consumer:
        while changes := consumer.poll(timeout=1):
            with db.batch() as batch:
                bill(changes, batch)
                consumer.commit(batch=batch)  # output and position are one atomic write

In the process that writes the store a position is an entry of a hidden keyspace; in a process that only
reads it is a file beside the store's own, and retention of the writer respects both.
"""

from lsm.consumers.consumer import Consumer
from lsm.consumers.info import ConsumerInfo
from lsm.consumers.opening import close_consumers, drop_consumer, list_consumers, open_consumer
from lsm.consumers.registry import attach_consumers, drop, link_files, pins, tidy_consumers

__all__ = [
    "Consumer",
    "ConsumerInfo",
    "attach_consumers",
    "close_consumers",
    "drop",
    "drop_consumer",
    "link_files",
    "list_consumers",
    "open_consumer",
    "pins",
    "tidy_consumers",
]
