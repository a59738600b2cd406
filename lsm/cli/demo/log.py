"""The demo's part about the log: what was written is read as a stream, and other things are made of it."""

import time

import lsm
from lsm.cli.demo.history import Lost, differences
from lsm.cli.demo.plan import Plan
from lsm.cli.demo.stage import Stage
from lsm.cli.demo.writer import open_small
from lsm.cli.progress import spinner
from lsm.views import View, folds

_KEYSPACE = "seen"
_CHUNK = 1000
_MORE = 2000


def read_the_log(plan: Plan, stage: Stage) -> None:
    """Fold the log, consume it, keep a view and a follower in step; compare all of them with the store."""
    stage.section(
        "The log as a stream",
        "All those writes, those of killed writers with them, are numbered changes of one log. It is read "
        "from the beginning, by a consumer that commits its position together with its output, by a view and "
        "by a second store that follows; each must end with what the store holds.",
    )
    with open_small(plan.store) as db:
        pairs = dict(db.items())
        stage.found(f"{_fold(db, pairs)}: folded, they are the {len(pairs):,} pairs of the store")
        consumed, chunks = _consume(db)
        stage.found(
            f"consumer: {consumed:,} changes in {chunks:,} batches, output and position in each: exactly once"
        )
        view = db.view("keys", keyspace="default")(folds.counter())
        _check_view(view, len(pairs))
        stage.found(f"view: counts {len(pairs):,} keys at {view.position:,}; folded again, it is the same")
        passed = _follow(plan, db)
        stage.found(f"follower: the same numbers and pairs, after {passed:,} more changes had come to it")


def _fold(db: lsm.DB, expected: dict[bytes, bytes]) -> str:
    """Return in words what the log holds; raise if it does not lead to what the store holds."""
    first = db.log.earliest
    found: dict[bytes, bytes] = {}
    count = 0
    with spinner("reading the log", lambda: f"{count:,} changes"):
        # A run with very much data may have let go of the first changes: then the latest of every key.
        for change in db.changes(0, compacted=first > 1):
            count += 1
            if first == 1 and change.seq != count:
                raise Lost(f"change {count:,} is missing: {change.seq:,} stands in its place")
            if change.value is None:
                found.pop(change.key, None)
            else:
                found[change.key] = change.value
    if found != expected:
        raise Lost(f"for a fold of the log {differences(expected, found)}")
    return (
        f"{count:,} changes from 1 on without a gap"
        if first == 1
        else f"the latest {count:,} changes of keys"
    )


def _consume(db: lsm.DB) -> tuple[int, int]:
    """Read all with a consumer whose output is in the store; return how much, and in how many batches."""
    seen = db.keyspace(_KEYSPACE)
    chunks = 0
    with db.consumer("demo") as consumer:
        first = consumer.position
        while changes := [one for one in consumer.poll(_CHUNK) if one.keyspace != _KEYSPACE]:
            with db.batch() as batch:
                total = int(seen.get(b"changes", b"0")) + len(changes)
                batch.put(b"changes", b"%d" % total, keyspace=_KEYSPACE)
                consumer.commit(batch=batch)
            chunks += 1
        total = int(seen[b"changes"])
        if total != sum(1 for _ in db.changes(first, keyspace="default")):
            raise Lost(f"the consumer has seen {total:,} changes, and that is not what the log has")
    return total, chunks


def _check_view(view: View, expected: int) -> None:
    view.refresh()
    count = int(view.get(b"", b"0"))
    if count != expected or not view.verify().is_sound:
        raise Lost(f"the view counts {count:,} keys where {expected:,} are")


def _follow(plan: Plan, db: lsm.DB) -> int:
    """Make a copy, write on, and let it catch up; return how many changes it took."""
    with lsm.follow(plan.store, plan.follower, background=True) as follower:
        first = follower.seq
        for number in range(plan.scaled(_MORE)):
            db.put(b"key-%06d" % number, b"followed", sync=False)
        db.sync()
        deadline = time.monotonic() + 30
        while follower.catch_up(timeout=1) < db.seq and time.monotonic() < deadline:
            pass
        if dict(follower.db.items()) != dict(db.items()):
            raise Lost(f"the follower at {follower.seq:,} does not hold what the store at {db.seq:,} holds")
        return follower.seq - first
