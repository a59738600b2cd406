"""A checkpoint: a whole store of its own, made of links to immutable files."""

from dataclasses import replace

from lsm.commit import Committer
from lsm.consumers import link_files
from lsm.errors import NotAStore
from lsm.filenames import segment_name, table_name
from lsm.fs_types import FileSystem
from lsm.manifest import Manifest
from lsm.state import State
from lsm.version import Version, VersionEdit


def write_checkpoint(state: State, committer: Committer, target: FileSystem) -> int:
    """Make a store of its own in the empty directory `target`; return the sequence number it stands at.

    It becomes a store with its last step, the naming of its manifest: until then it is a directory of links.
    """
    if target.list():
        raise NotAStore(f"{target.name} is not empty; a checkpoint needs a directory of its own")
    link_files(state.fs, target)
    committer.seal()
    with state.edit_lock:  # segments go away only by an edit
        version = state.version
        held = [state.tables.handle(table) for table in version.all_tables().values()]
        closed = tuple(meta for meta in version.segments if meta.last_seq is not None)
        for meta in closed:
            if meta.tables:
                continue  # it has no file of its own
            state.fs.link(segment_name(meta.number), target)
    for handle in held:
        state.fs.link(table_name(handle.meta.number), target)
    target.sync_dir()
    copy = replace(version, segments=closed, next_number=version.next_number + 1)
    manifest = Manifest(target, state.clock, copy, version.next_number)
    manifest.close(VersionEdit(is_closed=True))
    return last_seq(copy)


def last_seq(version: Version) -> int:
    """Return the last sequence number of a store whose segments are all finished."""
    return max([version.flushed_seq, *(meta.last_seq or 0 for meta in version.segments)])
