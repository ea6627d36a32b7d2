#!/usr/bin/env bash
# scripts/demo.sh succeeds as it is, and fails when one bit of the recorded result is flipped or one line of the
# program is changed.
#
# usage: tests/demo/demo_test.sh LEMMA
set -euo pipefail
lemma=$1
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

must_fail() { # must_fail WHAT DEMO-ARGUMENTS...
  local what=$1
  shift
  if scripts/demo.sh "$@" >"$scratch/log" 2>&1; then
    echo "the demo did not notice $what" >&2
    exit 1
  fi
  if ! grep -q 'elements of f32 differ' "$scratch/log"; then
    echo "the demo failed with $what, but not by comparing:" >&2
    cat "$scratch/log" >&2
    exit 1
  fi
}

scripts/demo.sh "$lemma" | tee "$scratch/log"
grep -q 'equals the recorded H200 bits' "$scratch/log"
grep -q 'GFLOP/s' "$scratch/log"

if grep -q 'no MLIR' "$scratch/log"; then
  example=examples/gemm_bf16
  program=gemm_bf16.ptx
  change='0,/m64n128k16\.f32\.bf16\.bf16/s//m64n128k16.f32.f16.f16/' # one product takes bf16 as f16
else
  example=examples/gemm_nvgpu
  program=gemm.mlir
  change='s/%a_map\[%k, %row\]/%a_map[%row, %k]/' # A is loaded from its mirror image
fi

# The lowest bit of one element in the middle.
cp $example/expected.npy "$scratch/flipped.npy"
offset=131200
byte=$(od -An -tu1 -j $offset -N 1 "$scratch/flipped.npy" | tr -d ' ')
printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$scratch/flipped.npy" bs=1 seek=$offset conv=notrunc status=none
must_fail "a flipped bit" "$lemma" "$scratch/flipped.npy"

# One line of the program.
sed "$change" $example/$program >"$scratch/$program"
if cmp -s $example/$program "$scratch/$program"; then
  echo "nothing was changed" >&2
  exit 1
fi
must_fail "a changed program" "$lemma" $example/expected.npy "$scratch/$program"
echo "the demo notices a flipped bit and a changed program"
