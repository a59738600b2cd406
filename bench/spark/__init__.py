"""`spark`: reading into Spark and loading from it, beside Parquet and RocksDB."""
