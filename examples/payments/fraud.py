"""A fraud rule engine: a consumer in a process of its own, whose output is exactly once.

    python fraud.py STORE ALERTS --idle 1

It reads payments from the log of STORE and writes alerts to a store of its own.  What it knows of cards, the
alerts, and how far it has read are one batch there: a crash leaves all of it or nothing, so no alert is lost
and none is raised twice.  The consumer in STORE commits after that, and keeps the log for it until then.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from typing import Any

import lsm
from payments import KEYSPACE, decode, open_beside_the_writer

NAME = "fraud"
LIMIT_CENTS = 20_000
WINDOW_US = 2_000_000
POSITION = b"position"

Recent = dict[bytes, list[list[int]]]
"""Time and cents of the last payments, by card."""


def judge(changes: Iterable[lsm.Change], recent: Recent) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield an alert for every card that spends more than the limit in one window, and keep `recent`."""
    for change in changes:
        if change.keyspace != KEYSPACE or change.value is None:
            continue
        payment = decode(change.value)
        card = payment.card.encode()
        # The time of the commit, not of the clock: after a crash the same payments give the same alerts.
        young = [pair for pair in recent.get(card, []) if pair[0] > change.time - WINDOW_US]
        recent[card] = [*young, [change.time, payment.cents]]
        total = sum(cents for _, cents in recent[card])
        if total > LIMIT_CENTS:
            recent[card] = []
            yield change.seq, {"card": payment.card, "payment": change.key.decode(), "cents": total}


def run(store: str, output: str, *, idle: float | None) -> None:
    """Judge payments as they come, until none has come for `idle` seconds."""
    with open_beside_the_writer(store) as db, lsm.open(output) as own, db.consumer(NAME) as consumer:
        recent = {card: json.loads(pairs) for card, pairs in own.keyspace("cards").items()}
        own.keyspace("alerts")
        done = int(own.get(POSITION, b"0"))
        if done > consumer.committed:  # killed between the two commits: what is done is not done again
            consumer.commit(done)
        print(f"fraud: goes on after {consumer.position}", flush=True)
        while changes := consumer.poll(timeout=idle):
            with own.batch() as batch:
                for seq, alert in judge(changes, recent):
                    batch.put(b"%020d" % seq, json.dumps(alert).encode(), keyspace="alerts")
                for card, pairs in recent.items():
                    batch.put(card, json.dumps(pairs).encode(), keyspace="cards")
                batch.put(POSITION, b"%d" % consumer.position)
            consumer.commit()
        print(f"fraud: done up to {consumer.position}", flush=True)


def main() -> None:
    """Run as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store")
    parser.add_argument("alerts")
    parser.add_argument("--idle", type=float, default=None)
    asked = parser.parse_args()
    run(asked.store, asked.alerts, idle=asked.idle)


if __name__ == "__main__":
    main()
