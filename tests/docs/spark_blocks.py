"""Run Python blocks of a page in one process; print a mark after each.

    python spark_blocks.py MARK < blocks as a JSON list of [kind, text]

One process, because starting Spark takes longer than all of the blocks.
"""

import json
import subprocess
import sys

MARK = sys.argv[1]
names = {"__name__": "__main__"}

for language, text in json.load(sys.stdin):
    if language == "python":
        exec(text, names)  # noqa: S102  # the blocks of our own page
    else:
        subprocess.run(["sh", "-e", "-c", text], check=True)
    print(MARK, flush=True)
