#!/usr/bin/env bash
# Compiles a program with nvcc and runs it with Lemma's libraries. 77: there is no nvcc.
#
# usage: program_test.sh NVCC LIBRARIES FOLDER WANTED FLAGS... -- SOURCE...
#
# It is made in FOLDER. WANTED is what the program prints: "ok", or a part of what it says, on whatever stream.
set -euo pipefail
nvcc=$1 libraries=$2 folder=$3 wanted=$4
shift 4
flags=()
while [ "$1" != -- ]; do
  flags+=("$1")
  shift
done
shift
if [ ! -x "$nvcc" ] || ! "$nvcc" --version | grep -q "release 13\."; then
  echo "SKIPPED: no nvcc of CUDA 13"
  exit 77
fi
mkdir -p "$folder"
case " ${flags[*]} " in
*" -gencode "*) ;;
*) flags+=(-arch=sm_90) ;;
esac
"$nvcc" -std=c++17 "${flags[@]}" "$@" -o "$folder/program"
status=0
LD_LIBRARY_PATH=$libraries "$folder/program" > "$folder/output" 2>&1 || status=$?
cat "$folder/output"
grep -qF -- "$wanted" "$folder/output"
[ "$wanted" != ok ] || [ "$status" = 0 ]
