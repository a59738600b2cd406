"""Whether a copy may follow a source: a pure decision over store ids, epochs and positions.

Every promotion starts an epoch.  Two stores have the same log up to where their lists of epochs part; a
copy that holds more than that has diverged, and a source of an older epoch is one that was promoted away.
"""

from collections.abc import Sequence
from itertools import zip_longest

from lsm.errors import ForeignLog
from lsm.version import Epoch, Version


def parting(ours: Sequence[Epoch], theirs: Sequence[Epoch]) -> int | None:
    """Return the first sequence number that two logs may not share, None if they are one log."""
    for our, their in zip_longest(ours, theirs):
        if our != their:
            return min(epoch.first_seq for epoch in (our, their) if epoch is not None)
    return None


def check_source(copy: Version, copy_seq: int, source: Version, *, names: tuple[str, str]) -> None:
    """Raise ForeignLog unless a copy that stands at `copy_seq` may take the log of `source`."""
    here, there = names
    if source.store_id != copy.store_id:
        raise ForeignLog(
            f"{there} is store {source.store_id.hex()}, but {here} is a copy of {copy.store_id.hex()}"
        )
    parted = parting(copy.epochs, source.epochs)
    if parted is None:
        return
    if source.epoch < copy.epoch:
        raise ForeignLog(
            f"{there} is at epoch {source.epoch}, but {here} knows of epoch {copy.epoch}, which began at "
            f"sequence number {copy.epochs[-1].first_seq}: records of an older epoch are refused"
        )
    if copy_seq >= parted:
        raise ForeignLog(
            f"the logs of {there} (epoch {source.epoch}) and {here} (epoch {copy.epoch}, at sequence number "
            f"{copy_seq}) diverged at sequence number {parted}; follow into an empty directory"
        )
    if source.epoch == copy.epoch:
        raise ForeignLog(
            f"two stores were promoted to epoch {source.epoch}: {there}, and the one that {here} knows of; "
            f"their logs diverged at sequence number {parted}"
        )


def promoted(epochs: Sequence[Epoch], seq: int, time_us: int) -> tuple[Epoch, ...]:
    """Return the epochs of a store that is promoted when it stands at `seq`."""
    # An epoch that a copy has heard of but holds nothing of is no part of its log.
    kept = [epoch for epoch in epochs if epoch.first_seq <= seq]
    return (*kept, Epoch(epochs[-1].number + 1, seq + 1, time_us))
