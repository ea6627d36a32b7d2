#!/usr/bin/env bash
# Has nvcc of CUDA 13 make every program of tests/cuda and tests/cudart anew, and writes what it made to tests/cuda/built; minutes.
#
# usage: scripts/record_cuda.sh [BUILD]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
rm -rf tests/cuda/built "$build"/tests/cuda/{programs,defects,samples} "$build"/tests/cudart/*/program
LEMMA_CUDA_PROGRAMS=record cmake --build "$build" -j "$(nproc)" --target lemma_cuda_programs
rm -f tests/cuda/built/.lock
echo "$(grep -vc '^#' tests/cuda/built/index.txt) programs, $(du -sh tests/cuda/built | cut -f1)"
