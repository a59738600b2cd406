"""Followers: a second store kept in step by shipping the log, from directory to directory or over a stream.

`follow` reads the source's directory; `ship` and `apply` are the two ends of a stream that anything may
carry.  Both feed a `Copy`, which commits records as they are: same numbers, same times, same batches.  Who
may follow whom is decided in `lineage`; the frames of a stream are described in FORMAT.md.
"""

from lsm.follower.api import apply, follow, promote, ship
from lsm.follower.follower import Follower

__all__ = ["Follower", "apply", "follow", "promote", "ship"]
