"""`compare`: the same workloads on this store and on its peers, in one run."""
