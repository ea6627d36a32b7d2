#!/usr/bin/env bash
# The main job: examples/gemm_nvgpu, a GEMM in the nvgpu dialect of MLIR (TMA, mbarriers, warpgroup.mma), compiled to
# PTX and run on the virtual GPU, its result compared bit for bit with what an H200 computed, and its speed. Where there
# is a GPU it runs on that too. Lemma built without MLIR runs examples/gemm_bf16 instead, whose PTX nvcc made.
# How the H200's results were recorded: the examples' README.md. Fails if one bit differs.
#
# usage: scripts/demo.sh [LEMMA [EXPECTED.npy [PROGRAM]]]
set -euo pipefail
cd "$(dirname "$0")/.."
lemma=${1:-build/bin/lemma}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

example=examples/gemm_nvgpu
program=${3:-$example/gemm.mlir}
status=0
"$lemma" compile "$program" -o "$out/gemm.ptx" 2>"$out/log" || status=$?
if [ $status = 3 ]; then
  echo "This lemma has no MLIR, so the demo is a kernel compiled by nvcc."
  example=examples/gemm_bf16
  program=${3:-$example/gemm_bf16.ptx}
  arguments=("$program" --grid 2,2 --block 384 --smem 196672 --arg "tmap=@$example/a.json" --arg "tmap=@$example/b.json"
             --arg "tmap=@$example/d.json" --arg u32=8)
  what="256 x 256 x 512, bf16 x bf16 -> f32, TMA and wgmma"
elif [ $status != 0 ]; then
  cat "$out/log" >&2
  exit $status
else
  arguments=("$program")
  what="256 x 256 x 256, f16 x f16 -> f32, TMA and wgmma; $(grep -c ';$' "$out/gemm.ptx") lines of PTX"
fi
arguments+=(--stats --arg "in=$example/a.npy" --arg "in=$example/b.npy" --arg "out=$out/d.npy:f32[256,256]"
            --arg "expect=${2:-$example/expected.npy}")

echo "$program: $what"
echo "On the virtual GPU:"
"$lemma" run "${arguments[@]}"
echo "The result equals the recorded H200 bits: 65536 elements, bit for bit."
if [ -e /dev/nvidiactl ]; then
  echo "On this machine's GPU:"
  "$lemma" run --device cuda "${arguments[@]}"
  echo "The same bits again."
fi
