"""One workload on one store: rates, latencies, stalls and what was written, second by second."""
