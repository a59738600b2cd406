"""`compare-runs`: what differs between two result files, and whether that is still fine."""
