#!/usr/bin/env bash
# The main job: the GEMM of examples/gemm_mma (mma.sync and ldmatrix, compiled by nvcc) on the virtual GPU, its result
# compared bit for bit with what an H200 computed (examples/gemm_mma/README.md says how that was recorded), and its
# speed. Fails if one bit differs.
#
# usage: scripts/demo.sh [LEMMA [EXPECTED.npy [KERNEL.ptx]]]
set -euo pipefail
cd "$(dirname "$0")/.."
example=examples/gemm_mma
lemma=${1:-build/bin/lemma}
expected=${2:-$example/expected.npy}
kernel=${3:-$example/gemm_mma.ptx}

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
echo "$example: 256 x 256 x 256, f16 x f16 -> f32, tensor cores, on the virtual GPU"
"$lemma" run "$kernel" --grid 4,4 --block 128 --stats \
  --arg in=$example/a.npy --arg in=$example/b.npy --arg out="$out/d.npy:262144" --arg expect="$expected" \
  --arg u32=256 --arg u32=256 --arg u32=256
echo "The result equals the recorded H200 bits: 65536 elements, bit for bit."
