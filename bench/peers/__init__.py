"""The stores that are measured beside ours, each behind the same few calls."""
