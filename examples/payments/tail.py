"""A tailing reader: what happens from now on, one line for every change, as soon as it is durable.

    python tail.py STORE --idle 1

It has no name and no position: the log does not wait for it, and the next time it begins at the end again.
"""

import argparse

from payments import KEYSPACE, decode, open_beside_the_writer


def run(store: str, *, idle: float | None) -> None:
    """Print changes until none has come for `idle` seconds."""
    with open_beside_the_writer(store) as db:
        for change in db.changes("latest", follow=True, timeout=idle, keyspace=KEYSPACE):
            if change.value is None:
                print(change.seq, "called back", change.key.decode(), flush=True)
            else:
                payment = decode(change.value)
                print(change.seq, payment.card, payment.merchant, payment.cents / 100, flush=True)


def main() -> None:
    """Run as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store")
    parser.add_argument("--idle", type=float, default=None)
    asked = parser.parse_args()
    run(asked.store, idle=asked.idle)


if __name__ == "__main__":
    main()
