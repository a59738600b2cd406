"""The writer: takes payments and commits them.  It knows nothing of who reads its log.

    python writer.py STORE --seconds 3

Without --seconds it goes on until it is asked to end (SIGTERM), and closes the store in order then.
"""

import argparse
import math
import random
import signal
import threading
import time

import lsm
from payments import KEYSPACE, Payment, key_of

CARDS = [f"card-{number:02d}" for number in range(40)]
MERCHANTS = ["bakery", "bookshop", "garage", "hotel", "theatre"]


asked_to_end = threading.Event()


def pay(store: str, *, seconds: float, per_second: float, seed: int) -> int:
    """Commit payments, some alone and some in batches, for so long; return how many there are."""
    chance = random.Random(seed)
    # All of the log, so that run.py can compare in the end; consumers alone would hold what they still need.
    with lsm.open(store, log_retention="all") as db:
        payments = db.keyspace(KEYSPACE)
        number = len(payments)
        end = time.monotonic() + seconds
        while time.monotonic() < end and not asked_to_end.is_set():
            with payments.batch() as batch:  # a batch is one write: all of it, or nothing
                for _ in range(chance.choice((1, 1, 1, 5))):
                    number += 1
                    batch.put(key_of(number), _payment(chance).encode())
            if chance.random() < 0.02:  # a payment is called back
                payments.delete(key_of(chance.randint(1, number)))
            time.sleep(chance.expovariate(per_second))
        return number


def _payment(chance: random.Random) -> Payment:
    return Payment(chance.choice(CARDS), chance.choice(MERCHANTS), round(chance.lognormvariate(8, 1)))


def main() -> None:
    """Write as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--per-second", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: asked_to_end.set())
    number = pay(asked.store, seconds=asked.seconds, per_second=asked.per_second, seed=asked.seed)
    print(f"writer: payment {number} was the last", flush=True)


if __name__ == "__main__":
    main()
