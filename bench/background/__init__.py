"""`background`: flush and compaction, and the pauses they cause."""
