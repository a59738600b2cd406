"""Adopting tables that were written elsewhere: all of them at once, without rewriting any.

Whoever writes such tables stages them in a directory of their own.  The store links them in, checks every
byte, and takes them over in one edit, which also gives their rows a range of sequence numbers: the log has
them as one segment whose entries are in those tables.
"""

from lsm.adoption.adopt import Adopted, Load, adopt
from lsm.adoption.staging import StagedTables, stage_columns

__all__ = ["Adopted", "Load", "StagedTables", "adopt", "stage_columns"]
