"""Views: states that folds keep in step with the log.

    @db.view("orders-per-user", version=1, keyspace="orders")
    def orders(change, view):
        if change.kind == "put":
            user = change.value.partition(b",")[0]
            yield user, b"%d" % (int(view.get(user, b"0")) + 1)

    orders.refresh()
    orders[b"ann"]

A view is a name, a version and a function from a change to writes in the view's own keyspace; `fold` says
what the function may do, `folds` has some that are ready.  State and position are committed in one batch, so
every change is folded exactly once, whatever crashes.  A function that raises stops its view alone: `error`
and ViewFailed name the sequence number, and once the function is mended the view goes on from there.

A rebuild folds from the first change of the log.  Where the log does not reach back to that any more, it
folds a bootstrap: what the store holds now, each key as if it had been put once, in the order of the last
puts.  So the state of a fold should depend only on what the store holds, not on how it came about.  A fold of
which that is not true, such as one that counts events, says `needs_history=True`: it is never made from a
bootstrap by itself, and says OffsetOutOfRange where its history is gone.
"""

from lsm.views import folds
from lsm.views.fold import Fold, Note
from lsm.views.overlay import FoldState
from lsm.views.reader import ViewReader, ViewSnapshot
from lsm.views.registry import ViewInfo
from lsm.views.verify import Difference, ViewReport
from lsm.views.view import View

__all__ = [
    "Difference",
    "Fold",
    "FoldState",
    "Note",
    "View",
    "ViewInfo",
    "ViewReader",
    "ViewReport",
    "ViewSnapshot",
    "folds",
]
