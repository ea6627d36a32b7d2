#!/usr/bin/env bash
# What takes longer than a test should: hostile programs and mutated texts under the sanitizers (docs/robustness.md holds
# the last result), defined programs on the virtual GPU twice, the approximate functions on all inputs. Prints the counts; ends with 1 if there is a finding.
#
# usage: scripts/test_long.sh [JOBS [PROGRAMS [FRONT END INPUTS]]]
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
programs=${2:-100000}
inputs=${3:-2000000}
build=build-asan
keep=$build/findings
mkdir -p "$build" "$keep"
cmake --preset asan >"$build/configure.log" 2>&1 || { cat "$build/configure.log"; exit 1; }
cmake --build "$build" -j "$jobs" --target fuzz_programs mutate_front_end differential
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0:hard_rss_limit_mb=6000} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

status=0
"$build/bin/fuzz_programs" --programs "$programs" --jobs "$jobs" --keep "$keep" --report "$keep/executed.txt" || status=1
"$build/bin/differential" --device cpu --programs 20000 --jobs "$jobs" --keep "$keep" || status=1
# The approximate functions on all inputs that an H200's checksums are of, without sanitizers.
cmake --preset default >"$build/release.log" && cmake --build build -j "$jobs" --target numeric_test && LEMMA_MUFU_ALL=1 build/bin/numeric_test --gtest_filter='Mufu.*' || status=1
corpus=$PWD/tests/fuzz/corpus
front_end=$PWD/$build/bin/mutate_front_end
pids=()
for ((job = 0; job < jobs; ++job)); do
  mkdir -p "$keep/$job"
  (cd "$keep/$job" && "$front_end" --inputs $((inputs / jobs)) --seed $((1000 + job)) "$corpus") &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
exit $status
