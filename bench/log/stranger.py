"""A process that is as busy as a reader of the log, but has nothing to do with the store.

Run as `python -m bench.log.stranger SHARE`, the share of one processor that it keeps busy.
"""

import select
import sys
import time

from bench.log.writer import say

_TURN_SECONDS = 0.02


def main() -> None:
    """Work and rest in turns until nobody listens any more."""
    busy_seconds = min(1.0, float(sys.argv[1])) * _TURN_SECONDS
    say("ready")
    while not select.select([sys.stdin], [], [], max(0.0, _TURN_SECONDS - busy_seconds))[0]:
        started = time.thread_time()
        while time.thread_time() - started < busy_seconds:
            sum(range(500))
    say("{}")


if __name__ == "__main__":
    main()
