"""A process that keeps a copy of a store in step.

Run as `python -m bench.log.follower SOURCE TARGET`.
"""

import json
import sys
import time

import lsm
from bench.log.writer import END, say

_LOOK_SECONDS = 0.005


def keep_in_step(follower: lsm.Follower) -> dict[str, object]:
    """Look where the copy stands until it has the last write of all; return what was seen."""
    clock = time.monotonic
    samples: list[tuple[float, int]] = []
    cpu_started = time.process_time()
    while True:
        if follower.error is not None:
            raise follower.error
        is_over = END in follower.db
        samples.append((clock(), follower.seq))
        if is_over:
            return {"samples": samples, "cpu_seconds": time.process_time() - cpu_started}
        time.sleep(_LOOK_SECONDS)


def main() -> None:
    """Follow beside a writer."""
    source, target = sys.argv[1:]
    with lsm.follow(source, target, background=True, options={"log_retention": "all"}) as follower:
        say("ready")
        say(json.dumps(keep_in_step(follower)))


if __name__ == "__main__":
    main()
