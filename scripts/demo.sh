#!/usr/bin/env bash
# The main job: the GEMM of examples/gemm_bf16 (TMA, mbarriers, wgmma and a cluster, compiled by nvcc) on the virtual
# GPU, its result compared bit for bit with what an H200 computed (examples/gemm_bf16/README.md says how that was recorded),
# and its speed. Fails if one bit differs.
#
# usage: scripts/demo.sh [LEMMA [EXPECTED.npy [KERNEL.ptx]]]
set -euo pipefail
cd "$(dirname "$0")/.."
example=examples/gemm_bf16
lemma=${1:-build/bin/lemma}
expected=${2:-$example/expected.npy}
kernel=${3:-$example/gemm_bf16.ptx}

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
echo "$example: 256 x 256 x 512, bf16 x bf16 -> f32, TMA and wgmma, on the virtual GPU"
"$lemma" run "$kernel" --grid 2,2 --block 384 --smem 196672 --stats \
  --arg tmap=@$example/a.json --arg tmap=@$example/b.json --arg tmap=@$example/d.json --arg u32=8 \
  --arg in=$example/a.npy --arg in=$example/b.npy --arg out="$out/d.npy:262144" --arg expect="$expected"
echo "The result equals the recorded H200 bits: 65536 elements, bit for bit."
