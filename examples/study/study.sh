#!/usr/bin/env bash
# The study of docs/amplification.md, command by command.  `make study` runs it.
#
#   LSM=path/to/lsm PYTHON=path/to/python OUT=folder PERCENT=100 ./study.sh
#
# Results, what was printed and pictures go to $OUT.  PERCENT makes everything smaller, to try it.
set -euo pipefail

LSM=${LSM:-lsm} PYTHON=${PYTHON:-python3} OUT=${OUT:-study} PERCENT=${PERCENT:-100}
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rm -rf "$OUT" && mkdir -p "$OUT"

# Show a command as one would type it, run it, and keep what it prints.
step() {
    local name=$1
    shift
    local shown="${*//"$OUT/"/}"
    shown=${shown/#"$LSM "/lsm } shown=${shown/#"$PYTHON $HERE/"/python }
    echo "$shown" >>"$OUT/commands.txt"
    echo "\$ $shown"
    "$@" 2>&1 | tee "$OUT/$name.txt"
    echo
}

# So many keys or writes.
of() {
    echo $(($1 * PERCENT / 100))
}

# 1. A store, and what it says of itself.
step store "$PYTHON" "$HERE/store.py" "$OUT/db" --views "$(of 500000)"
step explain "$LSM" explain "$OUT/db"
step explain-key "$LSM" explain "$OUT/db" --key session:00007919

# 2. What if?  Its own log, replayed under other settings.
step whatif "$LSM" bench simulate --from "$OUT/db" --memtable 512KiB,1MiB,2MiB,4MiB --policy leveled,lazy,tiered \
    --doing-seconds 0 --out "$OUT/whatif.json"

# 3. Measured beside predicted, in a steady state; then with a larger memtable.
step amplify "$LSM" bench amplify --keys "$(of 50000)" --out "$OUT/amplify.json"
step larger "$LSM" bench amplify --keys "$(of 50000)" --option memtable_bytes_max=1MiB --out "$OUT/larger.json"
step changed "$LSM" bench compare-runs "$OUT/amplify.json" "$OUT/larger.json" --force --fail-if "write_amp>+0%"

# 4. The trade-off: one factor at a time, and its frontier.
step sweep "$LSM" bench sweep --keys "$(of 20000)" --factors policy,level_ratio --level-ratio 4,10,16 --out "$OUT/sweep.json"

# 5. Filters: the same bits shared out by level.
step monkey "$LSM" bench amplify --keys "$(of 150000)" --value-bytes 20 --warm-up 0 --overwrites 0.2 \
    --option bloom_sharing=monkey --option hash_index=false --option memtable_bytes_max=16KiB --option l0_tables_max=1 \
    --out "$OUT/monkey.json"

# 6. Over time: rate, jobs and stalls.
step run "$LSM" bench run overwrite --keys "$(of 300000)" --option memtable_bytes_max=2MiB --interval 0.2 --out "$OUT/run.json"

# 7. The peers, on the same stream.
step compare "$LSM" bench compare --peers rocksdict,plyvel --keys "$(of 50000)" --workloads readrandom --repeats 1 \
    --amplify-keys "$(of 400000)" --out "$OUT/compare.json"

# 8. All of it as one page.
step report "$LSM" bench report "$OUT"/{amplify,larger,monkey,sweep,whatif,run,compare}.json \
    --out "$OUT/report.html" --charts "$OUT/charts"
