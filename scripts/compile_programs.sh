#!/usr/bin/env bash
# Compiles every tests/programs/*/*.cu and examples/*/*.cu to the .ptx beside it, says which nvcc did, and has
# ptxas assemble each file. The .ptx files are committed, so this is needed only after a change to a .cu.
#
# usage: scripts/compile_programs.sh [--check] [NAME...]
#   --check   write nothing; fail if a committed .ptx is not what this nvcc makes
# A line "// compile_programs: -arch=compute_80" of a .cu chooses another target than compute_90a.
#   NVCC      environment: the nvcc to use; else the one in PATH, else /usr/local/cuda/bin/nvcc
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
for source in tests/programs/*/*.cu examples/*/*.cu; do
  name=$(basename "$source" .cu)
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
    continue
  fi
  count=$((count + 1))
  target=${source%.cu}.ptx
  arch=$(sed -n 's|^// compile_programs: -arch=compute_||p' "$source")
  arch=${arch:-90a}
  "$nvcc" -std=c++17 -ptx "-arch=compute_$arch" -lineinfo "$source" -o "$scratch/raw.ptx"
  # .file directives name no place on this machine: sources from the repository's root, headers from cuda/.
  sed -E "/^[[:space:]]*\.file[[:space:]]/ {
            s|\"$PWD/|\"|
            s|\"[^\"]*/targets/[^/]*/include/|\"cuda/include/|
            s|\"$toolkit/|\"cuda/|
            s|\"[^\"]*/bin/\.\./|\"cuda/|
          }" "$scratch/raw.ptx" >"$scratch/$name.ptx"
  if grep -E '^[[:space:]]*\.file[[:space:]]+[0-9]+[[:space:]]+"/' "$scratch/$name.ptx" >&2; then
    echo "$source: an absolute path is left in a .file directive" >&2
    failed=1
  fi
  "$ptxas" -c "-arch=sm_$arch" "$scratch/$name.ptx" -o "$scratch/$name.cubin"
  if [ $check = 0 ]; then
    cp "$scratch/$name.ptx" "$target"
  elif ! cmp -s "$scratch/$name.ptx" "$target"; then
    echo "$target: not what this nvcc makes of $source" >&2
    failed=1
  fi
done
[ $count -gt 0 ] || { echo "compile_programs: no such program" >&2; exit 2; }
echo "$count compiled"
exit $failed
