#!/bin/sh
# Makes inlined.ptx, debug.ptx and lines.ptx of inlined.cu, debug.cu and lines.py, as committed: needs nvcc 13.0 (NVCC) and a
# Python with Triton 3.5.1 (TRITON_PYTHON). Sources are named by themselves, headers of CUDA begin with cuda/include/.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-/usr/local/cuda/bin/nvcc}
"$nvcc" -std=c++17 -ptx -arch=compute_80 -lineinfo inlined.cu -o inlined.ptx
sed -i -E "/^[[:space:]]*\.file[[:space:]]/ { s|\"/.*/include/|\"cuda/include/|; s|\"$PWD/|\"| }" inlined.ptx
mkdir -p /tmp/lemma-lines # whose name is in lines.ptx
cp debug.cu lines.py /tmp/lemma-lines
(cd /tmp/lemma-lines && "$nvcc" -std=c++17 -ptx -arch=compute_80 -G debug.cu -o debug.ptx)
sed -E 's|"/tmp/lemma-lines/|"|' /tmp/lemma-lines/debug.ptx >debug.ptx
TRITON_ALWAYS_COMPILE=1 "${TRITON_PYTHON:-python3}" /tmp/lemma-lines/lines.py >lines.ptx
rm -r /tmp/lemma-lines
