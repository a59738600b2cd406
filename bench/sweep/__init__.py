"""`sweep`: one factor at a time, and the frontier that comes of it."""
