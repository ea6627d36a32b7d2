#!/bin/sh
# Makes kernels.ptx of kernels.cu, as committed: needs nvcc 13.0.
set -eu
cd "$(dirname "$0")/../.."
"${NVCC:-/usr/local/cuda/bin/nvcc}" -std=c++17 -ptx -arch=compute_90a -lineinfo tests/python/kernels.cu -o tests/python/kernels.ptx
sed -i -E "/^[[:space:]]*\.file[[:space:]]/ s|\"/.*/include/|\"cuda/include/|" tests/python/kernels.ptx
sed -i -E "s|\"$PWD/|\"|" tests/python/kernels.ptx
