"""An analytics backfill: everything there is, then everything that comes.

    python analytics.py STORE TOTALS.json --idle 1

The log does not reach back to the beginning for ever, but the tables hold what was not deleted.  A bootstrap
is a scan of one moment and the sequence number from which the log goes on: no gap and no duplicate.
"""

import argparse
import json
from pathlib import Path

from payments import KEYSPACE, Payment, decode, open_beside_the_writer

NAME = "analytics"


class Totals:
    """Cents and number of payments by merchant, as the store holds them."""

    def __init__(self) -> None:
        self.payments: dict[bytes, Payment] = {}
        self.cents: dict[str, int] = {}

    def put(self, key: bytes, payment: Payment) -> None:
        """Count a payment; one with the same key is replaced."""
        self.delete(key)
        self.payments[key] = payment
        self.cents[payment.merchant] = self.cents.get(payment.merchant, 0) + payment.cents

    def delete(self, key: bytes) -> None:
        """Take back a payment, if it is there."""
        payment = self.payments.pop(key, None)
        if payment is not None:
            self.cents[payment.merchant] -= payment.cents


def run(store: str, output: Path, *, idle: float | None) -> None:
    """Count everything, and what comes, until nothing has come for `idle` seconds."""
    totals = Totals()
    with (
        open_beside_the_writer(store) as db,
        # The consumer first: from now on the log waits for it, so it is not trimmed during the scan.  Not for
        # ever: this program can begin with a bootstrap again, so it may be dropped.
        db.consumer(NAME, start="latest", max_lag_bytes="64MiB") as consumer,
    ):
        with db.bootstrap() as start:
            for key, value in start.scan(KEYSPACE):
                totals.put(key, decode(value))
            consumer.seek(start.seq)
        scanned = len(totals.payments)
        print(f"analytics: {scanned} payments up to {start.seq} from a bootstrap", flush=True)
        streamed = 0
        while changes := consumer.poll(timeout=idle):
            for change in changes:
                if change.keyspace != KEYSPACE:
                    continue
                if change.value is None:
                    totals.delete(change.key)
                else:
                    totals.put(change.key, decode(change.value))
            streamed += len(changes)
            consumer.commit()
        print(f"analytics: {streamed} changes up to {consumer.position} from the log", flush=True)
        report = {"seq": consumer.position, "payments": len(totals.payments), "cents": totals.cents}
    output.write_text(json.dumps(report, sort_keys=True))


def main() -> None:
    """Run as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store")
    parser.add_argument("totals", type=Path)
    parser.add_argument("--idle", type=float, default=None)
    asked = parser.parse_args()
    run(asked.store, asked.totals, idle=asked.idle)


if __name__ == "__main__":
    main()
