#!/usr/bin/env bash
# Builds everything and runs every test in a folder of their own, and prints tables of where the time went: by target, file,
# header, folder of tests and test; what is compiled twice; how much memory. docs/build-and-test-time.md has the last ones.
#
# usage: scripts/where_time_goes.sh [BUILD [JOBS]]     BUILD (build-time) is built from nothing unless it is there
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build-time}
jobs=${2:-$(nproc)}
command -v /usr/bin/time >/dev/null || { echo "where_time_goes: no /usr/bin/time (Debian: time)" >&2; exit 1; }

mkdir -p "$build"
costs=$PWD/$build/costs.txt # seconds by the clock, of the user, of the system; KB; the command
launcher="/usr/bin/time;-a;-o;$costs;-f;%e %U %S %M %C"
[ -e "$build/build.ninja" ] ||
  cmake --preset default -B "$build" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_LINKER_LAUNCHER="$launcher" >"$build/configure.log"
/usr/bin/time -o "$build/build-cost.txt" -f "%e %U %S %M" cmake --build "$build" -j "$jobs"
/usr/bin/time -o "$build/test-cost.txt" -f "%e %U %S %M" scripts/test.py "$build" "$jobs" || true
scripts/where_time_goes.py "$build"
