#!/usr/bin/env bash
# Runs every test of a build and counts them; the last line is "N passed, N failed". What was skipped is named above
# it. A run in which nothing passed has failed.
#
# usage: scripts/test.sh [BUILD [JOBS [CTEST OPTIONS...]]]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
jobs=${2:-2}
shift $(($# < 2 ? $# : 2))

log=$build/test.log
status=0
ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error "$@" 2>&1 | tee "$log" || status=$?

# "  3/40 Test  #7: name .....   Passed    0.01 sec", "***Failed", "***Skipped", "***Timeout", "***Not Run"
results=$(grep -E '^ *[0-9]+/[0-9]+ Test +#[0-9]+: ' "$log" || true)
count() { grep -cE -- "$1" <<<"$results" || true; }
passed=$(count ' +Passed +[0-9.]+ sec')
skipped=$(count '\*\*\*Skipped')
total=$(grep -c . <<<"$results" || true)
failed=$((total - passed - skipped))
[ "$passed" -gt 0 ] || status=1
[ "$failed" -eq 0 ] || status=1
if [ "$skipped" -gt 0 ]; then
  echo "skipped:"
  grep '\*\*\*Skipped' <<<"$results" | sed -E 's/^.*#[0-9]+: ([^ ]+).*$/  \1/'
fi
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
  failed=1 # ctest itself went wrong
fi
echo "$passed passed, $failed failed"
exit "$status"
