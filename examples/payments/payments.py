"""What the programs of this example agree on: the name of a keyspace, and what a payment looks like.

A payment is one key in the keyspace `payments`: a number that counts up, and a JSON object.
"""

import json
import time
from typing import NamedTuple

import lsm

KEYSPACE = "payments"
STORE_SECONDS = 10


class Payment(NamedTuple):
    """One payment: who paid whom how much, in cents."""

    card: str
    merchant: str
    cents: int

    def encode(self) -> bytes:
        """Return it as the store keeps it."""
        return json.dumps(self._asdict()).encode()


def decode(value: bytes) -> Payment:
    """Return the payment that a value stands for."""
    return Payment(**json.loads(value))


def key_of(number: int) -> bytes:
    """Return the key of the payment with that number; keys sort as numbers do."""
    return b"%010d" % number


def open_beside_the_writer(path: str) -> lsm.DB:
    """Open the store read-only; wait a little for the writer to make it."""
    deadline = time.monotonic() + STORE_SECONDS
    while True:
        try:
            db = lsm.open(path, "r")
        except lsm.StoreNotFound:
            if time.monotonic() > deadline:
                raise
        else:
            if KEYSPACE in db.keyspaces():
                return db
            db.close()
        time.sleep(0.05)
