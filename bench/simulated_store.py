"""A store's options as settings of the simulator."""

import lsm
from compaction import simulate


def simulated_store(options: lsm.Options, *, batch: int = 1) -> simulate.Settings:
    """Return the store that the simulator plays for these options."""
    return simulate.Settings(
        shape=options.shape(),
        filters=simulate.Filters(bits_per_key=options.bloom_bits_per_key, sharing=options.bloom_sharing),
        costs=simulate.Costs(hash_index=options.hash_index, block_bytes=options.block_bytes),
        batch=batch,
    )
