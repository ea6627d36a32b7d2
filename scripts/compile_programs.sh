#!/usr/bin/env bash
# Compiles every tests/programs/*/*.cu, tests/check/corpus/kernels/*.cu, examples/*/*.cu and bench/kernels/*.cu to the .ptx beside it, says
# which nvcc did, and has ptxas assemble each file. The .ptx files are committed, so this is needed only after a change to a source.
#
# usage: scripts/compile_programs.sh [--check] [NAME...]
#   --check   write nothing; fail if a committed .ptx is not what this nvcc makes
# A line "// compile_programs: OPTIONS" of a .cu has more options for nvcc; the target is compute_90a unless it says
# -arch=compute_80 or another.
# tests/programs/mlir_math is MLIR: Lemma makes mlir_math.ptx, upstream's mlir-opt 22 with libdevice mlir_math_libdevice.ptx.
#   NVCC      environment: the nvcc to use; else the one in PATH, else /usr/local/cuda/bin/nvcc
#   LEMMA, MLIR_OPT   the same for lemma (else build/bin/lemma) and mlir-opt (else mlir-opt-22)
set -euo pipefail
cd "$(dirname "$0")/.."

check=0
if [ "${1:-}" = --check ]; then
  check=1
  shift
fi
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || { echo "compile_programs: no nvcc (set NVCC)" >&2; exit 2; }
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
ptxas=$(dirname "$(readlink -f "$nvcc")")/ptxas
echo "$nvcc: $("$nvcc" --version | grep -o "release .*")"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
count=0
failed=0
shopt -s nullglob

wanted() { # NAME, names that were asked for...
  local name=$1
  shift
  [ $# = 0 ] || [[ " $* " == *" $name "* ]]
}

# .file directives name no place on this machine: sources from the repository's root, headers from cuda/.
cuda_to_ptx() { # SOURCE OUTPUT NVCC-OPTIONS...
  local source=$1 output=$2
  shift 2
  "$nvcc" -std=c++17 -ptx "$@" -lineinfo "$source" -o "$scratch/raw.ptx"
  sed -E "/^[[:space:]]*\.file[[:space:]]/ {
            s|\"$PWD/|\"|
            s|\"[^\"]*/targets/[^/]*/include/|\"cuda/include/|
            s|\"$toolkit/|\"cuda/|
            s|\"[^\"]*/bin/\.\./|\"cuda/|
          }" "$scratch/raw.ptx" >"$output"
}

# The text of a gpu.binary, which is a string with \0A for a line's end.
libdevice_to_ptx() { # SOURCE OUTPUT
  CUDA_ROOT=$toolkit "${MLIR_OPT:-mlir-opt-22}" "$1" --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90a cubin-features=+ptx80 \
    cubin-format=isa kernel-bare-ptr-calling-convention=false opt-level=3" |
    sed 's/.*assembly = "//; s/\\0A/\n/g; s/\\09/\t/g; s/\\22/"/g' | sed -n '/^\/\//,/^}/ p' >"$2"
}

# A PTX text without the names in which nvcc has a hash of the folder: of what was inlined, which come last, and
# of what relocatable code keeps to itself.
without_names() {
  sed -E '/^[[:space:]]*\.section[[:space:]]*\.debug_str/,$d; s/_INTERNAL_[0-9a-f]{8}_/_INTERNAL_/g' "$1"
}

# Has ptxas assemble scratch/NAME.ptx, and puts it where it belongs or compares it with what is there.
finish() { # SOURCE TARGET ARCH
  local text=$scratch/$(basename "$2")
  count=$((count + 1))
  if grep -E '^[[:space:]]*\.file[[:space:]]+[0-9]+[[:space:]]+"/' "$text" >&2; then
    echo "$1: an absolute path is left in a .file directive" >&2
    failed=1
  fi
  "$ptxas" -c "-arch=sm_$3" "$text" -o "$scratch/finish.cubin"
  if [ $check = 0 ]; then
    cp "$text" "$2"
    [[ $1 != *.cu ]] || tests/tree/made_test.py --record "$1"
  elif ! cmp -s <(without_names "$text") <(without_names "$2"); then
    echo "$2: not what is made of $1 here" >&2
    failed=1
  fi
}

for source in tests/programs/*/*.cu tests/check/corpus/kernels/*.cu examples/*/*.cu bench/kernels/*.cu; do
  name=$(basename "$source" .cu)
  wanted "$name" "$@" || continue
  read -ra options < <(sed -n 's|^// compile_programs: ||p' "$source") || true
  [[ " ${options[*]}" == *" -arch="* ]] || options+=(-arch=compute_90a)
  arch=$(sed 's|.*-arch=compute_\([^ ]*\).*|\1|' <<<"${options[*]}")
  cuda_to_ptx "$source" "$scratch/$name.ptx" "${options[@]}"
  finish "$source" "${source%.cu}.ptx" "$arch"
done
source=tests/programs/mlir_math/mlir_math.mlir
if wanted mlir_math "$@"; then
  "${LEMMA:-build/bin/lemma}" compile $source -o "$scratch/mlir_math.ptx"
  finish $source tests/programs/mlir_math/mlir_math.ptx 90a
fi
if wanted mlir_math_libdevice "$@"; then
  libdevice_to_ptx $source "$scratch/mlir_math_libdevice.ptx"
  finish $source tests/programs/mlir_math_libdevice/mlir_math_libdevice.ptx 90a
fi
[ $count -gt 0 ] || { echo "compile_programs: no such program" >&2; exit 2; }
echo "$count compiled"
exit $failed
