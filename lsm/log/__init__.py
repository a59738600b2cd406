"""The log as something to read: from any offset, by many readers, each at its own pace.

A `LogSource` knows which segments there are and how far they are durable, in the writer or beside it; a
`LogCursor` reads whole records from it in order; changes, columns and shipping are made of those.
"""
