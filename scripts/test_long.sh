#!/usr/bin/env bash
# What takes longer than a test should: the approximate functions on all inputs, hostile programs and mutated texts under
# the sanitizers, defined programs on the virtual GPU twice, planted bugs ten times each, all recorded cases under the
# memory model's checker, under ThreadSanitizer the virtual GPU, the runtime, every program that calls the CUDA driver or
# runtime, and a million launches beside which memory comes and goes, a million rounds of what allocates, the samples of
# CUDA at their own sizes, 1,000 generated products of linalg beside numpy, generators with a seed of the day, what nvcc and
# ptxas made or said made and asked anew, and builds of every preset.
# docs/robustness.md holds the last results. Prints the counts; the last line says which parts failed, and the exit status is
# 1 then.
#
# usage: [PARTS="PART ..."] scripts/test_long.sh [JOBS [PROGRAMS [FRONT END INPUTS]]]
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
programs=${2:-100000}
inputs=${3:-2000000}
build=build-asan
keep=$PWD/$build/findings
mkdir -p "$build" "$keep" build build-tsan
cmake --preset asan >"$build/configure.log" 2>&1 || { cat "$build/configure.log"; exit 1; }
cmake --build "$build" -j "$jobs" --target fuzz_programs mutate_front_end
cmake --preset default >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
cmake --build build -j "$jobs"
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0:hard_rss_limit_mb=6000} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

approximate_functions() { LEMMA_MUFU_ALL=1 build/bin/numeric_test --gtest_filter='Mufu.*'; }

hostile_programs() {
  "$build/bin/fuzz_programs" --programs "$programs" --jobs "$jobs" --keep "$keep" --report "$keep/executed.txt"
}

defined_programs() { build/bin/differential --device cpu --programs "$programs" --jobs "$jobs" --keep "$keep"; }

# Whether a bug is found must not be a matter of timing.
planted_bugs() { tests/check/corpus/run.py --lemma build/bin/lemma --jobs "$jobs" --times 10 --no-ptxas; }
advice() { tests/check/corpus/advice.py --lemma build/bin/lemma --jobs "$jobs"; }

recorded_cases() {
  local check=(build/bin/lemma-record --check tests/golden/sm_90a --findings --suppress tests/golden/undefined.txt) status=0
  "${check[@]}" || status=1
  # Where threads meet, in other orders.
  for schedule in 1 2 3 4 5 6 7; do
    for group in warp atomic divergence memory cluster tma mbarrier async_copy; do
      "${check[@]}" --schedule $schedule --filter "$group/*" || status=1
    done
  done
  return $status
}

# What no instruction does that its row of effects denies, in all cases.
effects() { LEMMA_EFFECTS_ALL=1 build/bin/golden_effects_test; }

# Each on four targets, in turns of the jobs.
linalg_programs() {
  local each=$((1000 / jobs)) python pids=() status=0
  python=${LEMMA_PYTHON:-$(command -v python3)}
  "$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
  for ((job = 0; job < jobs; ++job)); do
    "$python" tests/mlir/linalg/linalg.py build/python --programs $each --first $((job * each)) &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  return $status
}

front_end() {
  local corpus=$PWD/tests/fuzz/corpus mutate=$PWD/$build/bin/mutate_front_end pids=() status=0
  for ((job = 0; job < jobs; ++job)); do
    mkdir -p "$keep/$job"
    (cd "$keep/$job" && "$mutate" --inputs $((inputs / jobs)) --seed $((1000 + job)) "$corpus") &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  return $status
}

threads() {
  cmake --preset tsan >build-tsan/configure.log 2>&1 || { cat build-tsan/configure.log; return 1; }
  cmake --build build-tsan -j "$jobs" --target sanitized || return 1
  scripts/test.py build-tsan "$jobs" -R '^sanitized\.' || return 1
  LEMMA_LAUNCHES=1000000 build-tsan/bin/vgpu_test_sanitized --gtest_filter='MemoryChurn.*'
}

# A million rounds of every call of the driver that allocates: nothing may stay.
leaks() { build/bin/driver_leaks 1000000; }

# Which are wrong, and how long each takes.
cuda_samples() {
  local nvcc=${NVCC:-/usr/local/cuda/bin/nvcc}
  [ -x "$nvcc" ] || { echo "skipped: no nvcc ($nvcc)"; return 0; }
  tests/cuda/samples.py --lemma build/bin/lemma --nvcc "$nvcc" --folder build/samples
}

# The generators of `make test`, whose seeds are fixed there.
seed_of_the_day() {
  local seed
  seed=$(date +%Y%m%d)
  echo "seed $seed"
  (cd "$keep" && "$OLDPWD/$build/bin/mutate_front_end" --inputs 100000 --seed "$seed" "$OLDPWD/tests/fuzz/corpus") || return 1
  "$build/bin/fuzz_programs" --first "$seed" --programs 2500 --jobs "$jobs" --keep "$keep" || return 1
  build/bin/differential --device cpu --first "$seed" --programs 2000 --jobs "$jobs" --keep "$keep" || return 1
  LEMMA_MUTATE_SEED=$seed build/bin/verify_test --gtest_filter=Mutants.AgreeWithPtxas
}

# What is committed of tools' work is what these tools do now.
made_anew() {
  local nvcc=${NVCC:-/usr/local/cuda/bin/nvcc} status=0
  [ -x "$nvcc" ] || { echo "skipped: no nvcc ($nvcc)"; return 0; }
  scripts/compile_programs.sh --check || status=1
  sh tests/unit/image/made_again_test.sh build/bin/image_test build/images_anew || status=1
  LEMMA_PTXAS=ask scripts/test.py build "$jobs" -R '^(ptxas|isa|verify|golden\.Cases|ptx\.Assembler|mlir|check\.corpus$)' || status=1
  rm -rf build/tests/cuda/{programs,defects,samples,library,cuda_13_5} build/tests/cudart/*/program
  LEMMA_CUDA_PROGRAMS=anew cmake --build build -j "$jobs" --target lemma_cuda_programs || status=1
  scripts/test.py build "$jobs" -R '^(cuda|cudart)\.' || status=1
  return $status
}

# Everything compiles everywhere. A preset whose compiler is missing is named.
presets() {
  local preset status=0
  for preset in strict portable wheel asan tsan clang; do
    if [ $preset = clang ] && ! command -v clang++-22 >/dev/null; then
      echo "skipped: no clang++-22 for the preset clang"
      continue
    fi
    echo "preset $preset"
    mkdir -p build-$preset
    cmake --preset $preset >build-$preset/configure.log 2>&1 && cmake --build --preset $preset -j "$jobs" >build-$preset/build.log 2>&1 ||
      { tail -n 40 build-$preset/build.log; status=1; }
  done
  return $status
}

failed=()
for part in ${PARTS:-approximate_functions hostile_programs defined_programs planted_bugs advice recorded_cases effects front_end seed_of_the_day threads cuda_samples leaks linalg_programs made_anew presets}; do
  echo "== $part"
  $part || failed+=("$part")
done
[ ${#failed[@]} -eq 0 ] && echo "all parts passed" || { echo "failed: ${failed[*]}"; exit 1; }
