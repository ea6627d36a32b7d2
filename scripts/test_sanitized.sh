#!/usr/bin/env bash
# Builds the core's unit tests and fuzzers with AddressSanitizer and UndefinedBehaviorSanitizer, in build-asan, and runs
# them; the last line is "N passed, N failed". A compiler without the sanitizers' libraries is said, and is no failure.
#
# usage: scripts/test_sanitized.sh [JOBS [TEST JOBS]]
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
test_jobs=${2:-2}
build=build-asan

if ! echo 'int main() {}' | c++ -fsanitize=address,undefined -x c++ - -o /tmp/lemma-sanitizers.$$ 2>/dev/null; then
  echo "skipped: the compiler links no sanitizers (Debian: they come with g++)"
  echo "0 passed, 0 failed"
  exit 0
fi
rm -f /tmp/lemma-sanitizers.$$

mkdir -p $build
cmake --preset asan >$build/configure.log 2>&1 || { cat $build/configure.log; exit 1; }
cmake --build $build -j "$jobs" \
  --target layout_test isa_test ptx_test vgpu_test runtime_test fuzz_programs mutate_front_end
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
# What counts on exact memory or forks is not for a process that has shadow memory.
scripts/test.sh $build "$test_jobs" -R '^(layout|isa|ptx|vgpu|runtime)\.|^fuzz\.(hostile_programs|mutate_front_end)$' \
  -E 'isa\.ptxas|Limits\.ALaunchGoesOn|MemoryLimit|DecodingTime'
