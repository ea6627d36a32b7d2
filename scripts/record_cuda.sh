#!/usr/bin/env bash
# Has nvcc make every program of tests/cuda and tests/cudart anew, and writes what it made to tests/cuda/built; minutes. Wants nvcc of CUDA
# 13.0, and of 13.5 for the programs of cuda_13_5 (cmake -DLEMMA_NVCC=, -DLEMMA_NVCC_13_5=); without the latter these stay as they are.
#
# usage: scripts/record_cuda.sh [BUILD]
#        scripts/record_cuda.sh --try NVCC [BUILD]   writes nothing: runs the tests of all programs as that nvcc makes them, of another
#                                                    CUDA 13 for instance, and puts the recorded ones back into the build
set -euo pipefail
cd "$(dirname "$0")/.."
nvcc=
if [ "${1:-}" = --try ]; then
  nvcc=$2
  shift 2
fi
build=${1:-build}
remove_made() { rm -rf "$build"/tests/cuda/{programs,defects,samples,library,cuda_13_5} "$build"/tests/cudart/*/program; }
make_all() { cmake --build "$build" -j "$(nproc)" --target lemma_cuda_programs; }

if [ -n "$nvcc" ]; then
  usual=$(sed -n 's/^LEMMA_NVCC:[A-Z]*=//p' "$build/CMakeCache.txt")
  put_back() {
    remove_made
    cmake -DLEMMA_NVCC="$usual" "$build" >/dev/null && make_all >/dev/null
  }
  trap put_back EXIT
  cmake -DLEMMA_NVCC="$nvcc" "$build" >/dev/null
  remove_made
  # PyPI's has no libcudart.so to link with.
  export NVCC_APPEND_FLAGS="-L$(realpath "$build")/lib/lemma"
  LEMMA_CUDA_PROGRAMS=anew make_all
  scripts/test.py "$build" "$(nproc)" -R '^(cuda|cudart)\.'
  exit
fi

rm -rf "$build/recorded_before"
mv tests/cuda/built "$build/recorded_before"
mkdir tests/cuda/built
if ! grep -q '^LEMMA_NVCC_13_5:[A-Z]*=.' "$build/CMakeCache.txt"; then
  cp "$build"/recorded_before/cuda_13_5.* tests/cuda/built/
  grep '^cuda_13_5/' "$build/recorded_before/index.txt" >tests/cuda/built/index.txt
fi
remove_made
LEMMA_CUDA_PROGRAMS=record make_all
rm -f tests/cuda/built/.lock
echo "$(grep -vc '^#' tests/cuda/built/index.txt) programs, $(du -sh tests/cuda/built | cut -f1)"
