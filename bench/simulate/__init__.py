"""`simulate`: what a workload, or a store's own log, would cost under other settings."""
