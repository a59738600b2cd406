"""Orders in Spark: loaded in bulk, aggregated from the tables, followed into a second store, compared.

    python examples/orders_spark.py [--orders 200000] [--directory DIR]

Notebook-style: each part that begins with "# %%" is a cell for editors that know them.  It needs the extra
"spark", which brings Java along: pip install 'lsmlog[spark]'.
"""

# %% What is wanted, a place, and a session
import argparse
import json
import tempfile
import time
from pathlib import Path

import lsm
import lsm.spark

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--orders", type=int, default=200_000, help="how many")
parser.add_argument("--directory", type=Path, help="new directory for the stores, which are kept then")
args = parser.parse_args()

scratch = tempfile.TemporaryDirectory(prefix="orders-") if args.directory is None else None
place = Path(scratch.name) if scratch is not None else args.directory.resolve()
place.mkdir(parents=True, exist_ok=True)
shop, copy, checkpoint = str(place / "shop.db"), str(place / "copy.db"), str(place / "checkpoint")
spark = lsm.spark.session()

# An order is a JSON document under a text: Spark gets its fields as columns.
DOCUMENTS = {"keyFormat": "string", "valueFormat": "json"}
FIELDS = "key string, customer bigint, country string, cents bigint, state string"


def table(path):
    """The orders of a store at this moment, as columns."""
    return spark.read.format("lsm").options(**DOCUMENTS).schema(FIELDS).load(path)


# %% Load: executors write sorted tables, the store takes all of them over in one edit
started = time.monotonic()
orders = spark.range(args.orders).selectExpr(
    "format_string('order-%08d', id) AS key",
    "id * 7919 % 1000 AS customer",
    "element_at(array('AT', 'CH', 'DE', 'FR'), CAST(id % 4 AS INT) + 1) AS country",
    "100 + id * 104729 % 9900 AS cents",
    "'open' AS state",
)
lsm.spark.bulk_load(orders, shop, partitions=4, **DOCUMENTS)
print(f"loaded {args.orders:,} orders in {time.monotonic() - started:.1f} s")

# %% Aggregate: Spark reads the tables, no query goes through Python row by row
sums = """
    SELECT country, count(*) AS orders, sum(cents) / 100 AS amount
    FROM {orders} GROUP BY country ORDER BY country
"""
spark.sql(sums, orders=table(shop)).show()


# %% Follow: what is there as a first batch, then every change; the checkpoint is the one bookmark
def follow():
    """Bring the copy up to date; return how many rows that took."""
    changes = (
        spark.readStream.format("lsm")
        .option("readChangeFeed", "true")
        .option("consumerId", "copy")  # the shop keeps its log until this has seen it
        .load(shop)
    )
    query = (
        changes.writeStream.format("lsm")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start(copy)
    )
    query.awaitTermination()
    return sum(progress.numInputRows for progress in query.recentProgress)


print(f"followed: {follow():,} rows, the orders that were there")

# %% Meanwhile the shop goes on: a program without Spark pays, cancels and takes orders
with lsm.open(shop) as db:
    for number in range(0, 1000, 10):
        key = b"order-%08d" % number
        order = json.loads(db[key])
        db.put(key, json.dumps(order | {"state": "paid"}).encode(), sync=False)
    for number in range(5, 1000, 10):
        db.delete(b"order-%08d" % number, sync=False)
    late = {"customer": 7, "country": "CH", "cents": 1250, "state": "open"}
    with db.batch() as batch:
        for number in range(args.orders, args.orders + 50):
            batch.put(b"order-%08d" % number, json.dumps(late).encode())

print(f"followed: {follow():,} rows, the changes since then")

# %% Compare: the same sums, and the same bytes under the same keys
spark.sql(sums, orders=table(copy)).show()
here, there = (spark.sql(sums, orders=table(path)).collect() for path in (shop, copy))
with lsm.open(shop, "r") as db, lsm.open(copy, "r") as other:
    is_same = here == there and dict(db) == dict(other)
    print(f"shop and copy {'agree' if is_same else 'DIFFER'}: {len(db):,} and {len(other):,} orders")

spark.stop()
if scratch is not None:
    scratch.cleanup()
raise SystemExit(not is_same)
