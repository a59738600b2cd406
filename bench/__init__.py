"""Benchmarks of the store, beside its peers and alone.

    python -m bench compare      the same workloads on this store and on RocksDB, LevelDB, LMDB and SQLite
    python -m bench background   speed of flush and compaction, and the pauses that they cause
    python -m bench memory       time and memory to open a large store
    python -m bench log          reading the log: changes, seeking, a follower, readers that wait for more

A *workload* (`bench.workloads`) makes its input, then does one thing to an open *store*; an *engine*
(`bench.engines`) makes stores.  Input comes from a seed (`bench.data`), so every engine gets the same.  Rates
are of this machine at this moment: only ratios inside one run mean anything.
"""
