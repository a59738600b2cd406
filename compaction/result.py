"""What a job gives back, and how it fails."""

from dataclasses import dataclass
from itertools import pairwise

from sstable import TableMeta


class CompactionError(Exception):
    """The outputs of a job do not account for its inputs: none of them may be installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionResult:
    """New tables, a run, and where every entry went."""

    tables: tuple[TableMeta, ...]
    entries_in: int
    entries_out: int
    dropped_shadowed: int
    dropped_tombstones: int

    def check(self, entries_expected: int) -> None:
        """Raise CompactionError unless every entry that went in is accounted for and the tables are a run."""
        if self.entries_in != entries_expected:
            raise CompactionError(f"the inputs gave {self.entries_in} entries, not {entries_expected}")
        dropped = self.dropped_shadowed + self.dropped_tombstones
        if self.entries_in != self.entries_out + dropped:
            raise CompactionError(
                f"of {self.entries_in} entries {self.entries_out} were written and {dropped} dropped"
            )
        if self.entries_out != sum(table.entries for table in self.tables):
            raise CompactionError(f"the outputs do not hold the {self.entries_out} entries written to them")
        for left, right in pairwise(self.tables):
            if left.largest >= right.smallest:
                raise CompactionError(f"output {left.number} ends after output {right.number} begins")
