"""Benchmarks: this store beside its peers, with the same data, on the same machine, in the same run.

Run `python -m bench`.  One folder a command, and what they share beside them.

Input comes from a seed (`bench.data`), so every engine (`bench.peers`) gets the same.  Every command prints
sheets (`bench.sheet`) and writes one kind of result file (`bench.result`).  Rates are of this machine at this
moment: only ratios inside one run mean anything.
"""
