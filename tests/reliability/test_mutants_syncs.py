"""Every sync is needed: leaving any of them out loses something in some crash.

The list comes from the stories themselves, so a new sync without a story that needs it fails here.
"""

import pytest

from tests.reliability.killing import killed_by, some_stories
from tests.reliability.scoreboard import announce
from tests.reliability.sync_sites import labels, sites_of, skipping

PARTS = 3
_HEADER = "sync: wal.writer.SegmentWriter.__init__ < "
_NEW_MANIFEST = "lsm.manifest.Manifest.__init__ < "
_NEW_FILES = (
    "lsm.segments.create_segment < lsm.resume.continue_in_new_files < lsm.commit.Committer.replace_segment"
)
_CONTINUED = "lsm.segments.create_segment < lsm.recovery._continue_log < lsm.recovery.recover"
_EDIT_FOLLOWS = "the first edit is synced, and the header with it, before CURRENT names the manifest"
_NAMED_AGAIN = "the manifest that comes next syncs the directory before it uses the name"
_NOT_YET_A_STORE = "a checkpoint counts only when its last step is done, and that syncs all of it"

# Syncs that no crash can show to be needed, with the reason why.  Each costs time for nothing where it
# stands; they stay because the same lines serve a caller that does need them.
NOT_NEEDED = {
    f"{_HEADER}{_NEW_MANIFEST}lsm.checkpoint.write_checkpoint #1": _EDIT_FOLLOWS,
    f"{_HEADER}{_NEW_MANIFEST}lsm.recovery.create_store < lsm.opening.open_on #1": _EDIT_FOLLOWS,
    f"{_HEADER}{_NEW_MANIFEST}lsm.recovery._put_in_force < lsm.recovery.recover #1": _EDIT_FOLLOWS,
    f"{_HEADER}{_NEW_MANIFEST}lsm.state.State.replace_manifest < lsm.resume.continue_in_new_files #1": (
        _EDIT_FOLLOWS
    ),
    f"{_HEADER}{_NEW_MANIFEST}lsm.state.State.replace_manifest < lsm.state.State.shorten_manifest #1": (
        _EDIT_FOLLOWS
    ),
    f"{_HEADER}{_NEW_FILES} #1": "the copied records are synced, and the header with them",
    f"sync_dir: {_NEW_FILES} #1": _NAMED_AGAIN,
    f"sync_dir: {_CONTINUED} #1": _NAMED_AGAIN,
    "sync_dir: lsm.checkpoint.write_checkpoint #1": _NAMED_AGAIN,
    f"sync_dir: lsm.manifest.Manifest._put_in_force < {_NEW_MANIFEST}lsm.checkpoint.write_checkpoint #1": (
        _NOT_YET_A_STORE
    ),
    f"sync: wal.writer.SegmentWriter.sync < lsm.manifest.Manifest._write < {_NEW_MANIFEST}"
    "lsm.checkpoint.write_checkpoint #1": _NOT_YET_A_STORE,
}


def test_the_list_of_exceptions_is_up_to_date():
    assert not NOT_NEEDED.keys() - labels(sites_of(some_stories())).keys()


@pytest.mark.parametrize("part", range(PARTS))
def test_no_sync_can_be_left_out(part, capsys):
    sites = sites_of(some_stories())
    named = labels(sites)
    chosen = sorted(named.keys() - NOT_NEEDED.keys())
    survivors = [
        label for label in chosen[part::PARTS] if not killed_by(skipping(named[label]), sites[named[label]])
    ]
    mine = len(chosen[part::PARTS])
    announce(capsys, f"syncs {part + 1}/{PARTS}: killed={mine - len(survivors)} of {mine}")
    assert not survivors, "\n".join(survivors)
