"""What goes wrong reaches the user as one line.

Spark shows what a Python process raised with all its traceback.  Of a misspelt option nobody wants to see
fifty lines, so where we know what is wrong, the traceback is left out.
"""

import os
from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

from lsm.errors import Error

P = ParamSpec("P")
T = TypeVar("T")


def one_line(call: Callable[P, T]) -> Callable[P, T]:
    """Let the errors of this package leave `call` as one line."""

    @wraps(call)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except Error:
            _hide_traceback()
            raise

    return called


def one_line_each(call: Callable[P, Iterator[T]]) -> Callable[P, Iterator[T]]:
    """Let the errors of this package leave the iterator that `call` returns as one line."""

    @wraps(call)
    def called(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        try:
            yield from call(*args, **kwargs)
        except Error:
            _hide_traceback()
            raise

    return called


def _hide_traceback() -> None:
    # Spark looks at it when it reports the error, and ends this process right after.
    os.environ["SPARK_HIDE_TRACEBACK"] = "1"
