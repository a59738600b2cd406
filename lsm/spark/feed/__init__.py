"""The change feed: what was written to a store, commit by commit, as a stream or as a batch.

    spark.readStream.format("lsm").option("readChangeFeed", "true").load("db")

Rows are `key`, `value`, `_change_type`, `_commit_version`, `_commit_timestamp`, as Delta has them.

- `_commit_version` is the last sequence number of the commit, which all its rows share; a commit is never
  spread over two micro-batches.  `version=` of a batch read shows the store as that commit left it.
- A put does not look at what it replaces.  So `_change_type` is `update_postimage` for every put, of a new
  key too, and `delete`, without a value, for every deletion: what an upsert needs.  `withPreimage` looks it
  up: then it is `insert`, `update_preimage` and `update_postimage`, or `delete` with the value that was
  deleted, and there is no row for the deletion of a key that was not there.
- Of a key that one commit writes several times there is one row: what was between, nobody ever saw.
- A stream that is not told where to start gives the present content as `insert`, then what comes after it.

Parts: `options`; `offset` (what Spark keeps in its checkpoint); `planning` (where to cut, pure); `log`
(reading beside a writer, without opening the store); `snapshot`, `slot` (what is held meanwhile: files, and
the log through a named consumer); `rows` (changes as Arrow); `reading` (executors); `batch`, `stream` (what
Spark calls).
"""
