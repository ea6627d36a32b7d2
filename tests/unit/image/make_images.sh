#!/bin/sh
# Makes the images of a folder (default: images/, where they are committed) of sources/, by nvcc 13.0 (NVCC), and old.cubin by
# ptxas 12.8 (PTXAS_12, as Triton 3.5 brings it; left out without). A host's files are cut down to the sections with fatbins.
# usage: make_images.sh [FOLDER]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-$here/images}"
to=$(cd "${1:-$here/images}" && pwd)
nvcc=${NVCC:-/usr/local/cuda/bin/nvcc}
cd "$here/sources" # their names are in the images

ptx="-gencode arch=compute_90,code=compute_90"
"$nvcc" -fatbin $ptx scale.cu -o "$to/zstd.fatbin"
"$nvcc" -fatbin $ptx --compress-mode=speed scale.cu -o "$to/lz4.fatbin"
"$nvcc" -fatbin $ptx --compress-mode=none scale.cu -o "$to/plain.fatbin"
"$nvcc" -fatbin scale.cu -o "$to/several.fatbin" -lineinfo -gencode arch=compute_75,code=compute_75 \
  -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code='[sm_90a,compute_90a]' \
  -gencode arch=compute_100f,code=compute_100f
"$nvcc" -fatbin -gencode arch=compute_90a,code=sm_90a scale.cu -o "$to/no_ptx.fatbin"
"$nvcc" -fatbin -gencode arch=compute_90,code=lto_90 scale.cu -o "$to/lto.fatbin"
"$nvcc" -fatbin -gencode arch=compute_90a,code=sm_90a -lineinfo -Xfatbin -compress-all scale.cu -o "$to/lineinfo.fatbin"
"$nvcc" -cubin -arch=sm_90a -lineinfo scale.cu -o "$to/lineinfo.cubin"
"$nvcc" -cubin -arch=sm_90a scale.cu -o "$to/no_ptx.cubin"

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
if [ -x "${PTXAS_12:-}" ]; then
  "$nvcc" -ptx -arch=compute_90a scale.cu -o "$work/scale.ptx"
  sed -i 's/^\.version .*/.version 8.7/' "$work/scale.ptx"
  "$PTXAS_12" -arch=sm_90a -lineinfo "$work/scale.ptx" -o "$to/old.cubin"
fi

# host NAME SOURCE...: a shared library, of which the fatbins are kept
host() {
  name=$1
  shift
  "$nvcc" -shared -cudart none -Xcompiler -fPIC "$@" -o "$work/whole"
  objcopy --only-section=.nv_fatbin --only-section=__nv_relfatbin "$work/whole" "$work/cut" 2>"$work/warnings" # of empty segments
  install -m 644 "$work/cut" "$to/$name"
}
host modules.elf $ptx main.cu other.cu
host relocatable.elf -rdc=true -arch=sm_90 caller.cu called.cu

# An archive of relocatable code, and what calls it. Its members are objects whole: NVIDIA's linker takes nothing less.
"$nvcc" -ptx -rdc=true -arch=sm_90 caller.cu -o "$to/caller.ptx"
for source in called called_of_a_library; do
  "$nvcc" -dc -arch=sm_90 $source.cu -o "$work/whole"
  objcopy --strip-debug -R .comment -R .note.GNU-stack -R .note.gnu.property "$work/whole" "$work/$source.o"
done
(cd "$work" && ar rcD "$to/library.a" called.o called_of_a_library.o)
