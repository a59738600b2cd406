"""Why reads, writes and disk use cost what they do: one lookup, one scan, the whole store.

Reading keeps no notes, as every lookup would pay for them.  So a lookup is explained by a second path
that does the same with notes (`get`), and a scan by the real path on tables that take notes (`scan`).
"""
