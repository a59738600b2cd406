"""What a store and the system count while a workload runs: bytes by cause and level, tables, memory."""
