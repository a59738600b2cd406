"""Loading a store from Spark: `df.write`, `writeStream`, and the helper `bulk_load`.

Executors sort their rows on columns and stage tables in a directory of the store's inbox, which the driver
has made; only the driver hands them over, all at once.  Parts: `options` (what users may say), `rows`
(Arrow becomes columns), `loading` (what batch and stream share), `writer`, `sink`, `bulk`.
"""
