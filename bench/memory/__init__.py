"""`memory`: time and memory to open a large store."""
