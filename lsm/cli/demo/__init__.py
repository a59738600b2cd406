"""`lsm demo`: the product in a minute.  A writer is killed, again and again, and nothing is lost."""
