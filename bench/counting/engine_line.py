"""One line that says which store was measured, and on what machine."""

from pathlib import Path

import lsm
from bench.host import host_facts, versions
from bench.peers.ours import our_version
from bench.ranges import size_text
from bench.workload.options import changed_options

_SHOWN_OTHERWISE = ("sync", "memtable_bytes_max", "bloom_bits_per_key", "bloom_sharing")


def engine_line(options: lsm.Options, place: Path) -> str:
    """Return version, machine, and what of the options decides about amplification or was asked for."""
    shown = {
        "memtable": size_text(options.seal_bytes),
        "level_ratio": options.level_ratio,
        "l0_tables_max": options.l0_tables_max,
        "bits": f"{options.bloom_bits_per_key:g} ({options.bloom_sharing})",
        "policy": options.policy,
        "hash_index": options.hash_index,
    }
    for name, value in changed_options(options).items():
        if name not in _SHOWN_OTHERWISE:
            shown.setdefault(name, value)
    pairs = "  ".join(f"{name}={value}" for name, value in shown.items())
    host = host_facts(place)
    machine = f"{versions()['python']}  fs={host['filesystem']}  cores={host['cores']}"
    return f"engine      {our_version()}  {machine}  {pairs}"
