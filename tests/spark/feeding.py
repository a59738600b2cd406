"""A query that a test kills: reads the changes of a store and writes down every batch, under its number.

python -m tests.spark.feeding STORE CHECKPOINT OUT
"""

import base64
import json
import os
import sys
from pathlib import Path

OPTIONS = {"readChangeFeed": "true", "consumerId": "feeding"}


def start(spark, store, checkpoint, out, *, limit, **trigger):
    """Start the query; a batch that comes again replaces what was written of it, as an exact sink does."""
    out = Path(out)
    out.mkdir(exist_ok=True)

    def write(frame, number):
        rows = [
            [_text(row.key), _text(row.value), row._change_type, row._commit_version]
            for row in frame.collect()
        ]
        temporary = out / f"{number}.tmp"
        temporary.write_text(json.dumps(rows))
        again = out / f"{number}.json"
        if again.exists():
            (out / f"{number}.before").write_text(again.read_text())
        temporary.rename(again)

    options = {**OPTIONS, "maxRecordsPerTrigger": str(limit)}
    stream = spark.readStream.format("lsm").options(**options).load(str(store))
    writer = stream.writeStream.foreachBatch(write).option("checkpointLocation", str(checkpoint))
    return writer.trigger(**trigger).start()


def _text(value):
    return None if value is None else base64.b64encode(bytes(value)).decode()


def main():
    import lsm.spark

    spark = lsm.spark.session(
        **{"spark.master": "local[2]", "spark.ui.enabled": "false", "spark.driver.memory": "512m"}
    )
    start(spark, *sys.argv[1:4], limit=40, processingTime="0 seconds").awaitTermination()


if __name__ == "__main__":
    sys.exit(main() if os.environ.get("PYTHONPATH") else "PYTHONPATH must name the repository")
