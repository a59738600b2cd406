"""The store of the study: sessions of a shop, some visitors coming back much more often than others.

    python store.py PATH [--views NUMBER]

Every page view writes the session anew; one view in twenty is a log-out, which deletes it.
"""

import argparse
import random
from collections.abc import Iterator

import lsm

VISITORS = 100_000
SEED = 7


def views(count: int) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield what happened, in order: a session and its new content, None for a log-out."""
    rng = random.Random(SEED)
    for number in range(count):
        # Nine views in ten are of one visitor in five.
        visitor = rng.randrange(VISITORS // 5) if rng.random() < 0.9 else rng.randrange(VISITORS)
        key = b"session:%08d" % (visitor * 7919 % VISITORS)
        if rng.random() < 0.05:
            yield key, None
        else:
            pages = rng.randbytes(60).hex().encode()
            content = b'{"visitor":%d,"view":%d,"pages":"%s' % (visitor, number, pages)
            yield key, content[: rng.randrange(80, 150)] + b'"}'


def main() -> None:
    """Write the store, and wait until it has settled."""
    parser = argparse.ArgumentParser(description="Make the store of the study.")
    parser.add_argument("path")
    parser.add_argument("--views", type=int, default=500_000)
    wanted = parser.parse_args()
    with lsm.open(
        wanted.path,
        "n",
        sync="os",
        memtable_bytes_max="512KiB",
        log_retention="all",  # so that the simulator can replay it
    ) as db:
        for key, content in views(wanted.views):
            if content is None:
                db.delete(key)
            else:
                db.put(key, content)
        db.flush()
        db.settle()
        live = sum(len(key) + len(value) for key, value in db.scan())
        written = db.stats().work.user_bytes
    print(f"{wanted.views:,} writes of {written / 1e6:.1f} MB, {live / 1e6:.1f} MB of them live")


if __name__ == "__main__":
    main()
