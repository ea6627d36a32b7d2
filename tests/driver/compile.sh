#!/usr/bin/env bash
# kernels.ptx, textures.ptx and the two halves of a program of relocatable code, from their sources. Made last by nvcc 13.0.88.
set -euo pipefail
cd "$(dirname "$0")"
nvcc=${NVCC:-/usr/local/cuda/bin/nvcc}
for program in kernels textures; do
  "$nvcc" -arch=sm_90 -lineinfo -ptx "$program.cu" -o "$program.ptx"
done
for half in linked_main linked_helper; do
  "$nvcc" -arch=sm_90 -rdc=true -ptx "$half.cu" -o "$half.ptx"
done
# The paths of this machine say nothing to another.
sed -i "s|\"$PWD/|\"|; s|\"/[^\"]*/include/|\"|" ./*.ptx
