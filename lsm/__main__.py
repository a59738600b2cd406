"""`python -m lsm` is the command `lsm`."""

from lsm.cli import main

if __name__ == "__main__":
    main()
