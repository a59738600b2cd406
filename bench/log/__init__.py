"""`log`: reading, seeking, following and tailing the log."""
