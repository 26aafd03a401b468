#!/bin/sh
# Fits for half an hour (or the minutes given) with frequent checkpoints, and shows that memory stays flat:
# the last third of the time must not need 5 % more than the first, after a minute to warm up.
#
#   scripts/soak.sh [MINUTES] [POSTERIOR]      POSTERIOR: bridge (default) or simulated
set -eu
minutes=${1:-30}
posterior=${2:-bridge}
cd "$(dirname "$0")/.."
cargo build --release --quiet
binary=target/release/driftgraph
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$binary" generate linear --out "$work/system" --seed 1 2>/dev/null
case $posterior in
bridge)
    # Nothing counts as converged, so that the fit uses all its time.
    printf 'elbo_tolerance = 1e-300\nedge_tolerance = 1e-300\n' >"$work/settings.toml"
    settings="--config $work/settings.toml --select none --ensemble 2 --drift linear-and-neural --steps 1000000000"
    ;;
simulated) settings="--preset simulated --steps 1000000000" ;;
*) echo "unknown posterior: $posterior" >&2; exit 2 ;;
esac
# shellcheck disable=SC2086
"$binary" fit "$work/system/data.csv" $settings --log-every 100 --checkpoint-every 2s \
    --time-budget "${minutes}m" --out "$work/run" >/dev/null 2>"$work/messages" &
fit=$!
start=$(date +%s)
: >"$work/memory"
while kill -0 "$fit" 2>/dev/null; do
    resident=$(awk '/^VmRSS/ { print $2 }' "/proc/$fit/status" 2>/dev/null || true)
    now=$(($(date +%s) - start))
    [ -n "$resident" ] && [ "$now" -ge 60 ] && echo "$now $resident" >>"$work/memory"
    sleep 1
done
wait "$fit" || { cat "$work/messages"; exit 1; }
steps=$(tail -n 1 "$work/run/log.jsonl" | sed 's/.*"step":\([0-9]*\).*/\1/')
awk -v steps="$steps" '
    { time[NR] = $1; memory[NR] = $2 }
    END {
        third = int(NR / 3)
        if (third < 5) { print "too short to tell"; exit 1 }
        for (i = 1; i <= third; i++) { first += memory[i]; last += memory[NR + 1 - i] }
        first /= third; last /= third
        printf "%d samples over %d s, %d steps: %.1f MB at first, %.1f MB at last (%+.1f %%)\n",
            NR, time[NR] - time[1], steps, first / 1024, last / 1024, 100 * (last / first - 1)
        exit !(last < 1.05 * first)
    }' "$work/memory"
