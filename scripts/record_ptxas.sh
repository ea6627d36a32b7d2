#!/usr/bin/env bash
# Puts everything that the tests ask ptxas to the ptxas that is installed, and writes tests/ptxas/answers.txt. Wants a
# build of the tests, and ptxas of CUDA 13.5; minutes.
#
# usage: scripts/record_ptxas.sh [BUILD]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
ptxas=${PTXAS:-$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)}
version=$("$ptxas" --version | grep -o 'V13\.5\.[0-9]*') || { echo "record_ptxas: not ptxas of CUDA 13.5: $ptxas" >&2; exit 1; }

said=$(mktemp) # stays where a test fails
export LEMMA_PTXAS=write:$said PTXAS=$ptxas
ctest --test-dir "$build" -j "$(nproc)" --output-on-failure --no-tests=error \
      -R '^(ptxas|isa\.(ptxas_|Catalogue\.TheAssembler)|verify\.(Mutants|Cases)|golden\.Cases\.Assembler|ptx\.Assembler|mlir|check\.corpus$)' \
      -E '^mlir\.(matmul|program|run)'
answers=tests/ptxas/answers.txt
{
  echo "# Of ptxas ${version#V}, by scripts/record_ptxas.sh: the hash of a question, and the answer (ptxas.cc)."
  sort -u "$said"
} >"$answers.new"
mv "$answers.new" "$answers"
rm "$said"
echo "$(grep -vc '^#' "$answers") answers in $answers"
