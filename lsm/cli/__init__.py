"""The command `lsm`: data, the store as a whole, its log, and a tour.

Exit codes are part of the contract: 0 done, 1 the answer is no (a key is not there, a check found damage),
2 wrong usage, 3 the store or the system refused, 130 interrupted, 141 nobody reads the output any more.
Data goes to standard output, everything said about it to standard error.
"""

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    # Here and not above: the demo's writer, a module of this package, needs no command line.
    from lsm.cli.app import run

    run()
