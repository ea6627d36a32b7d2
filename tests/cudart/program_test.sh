#!/usr/bin/env bash
# Runs a program that nvcc has made with Lemma's libraries; with NVCC makes it first. 77: there is no nvcc.
#
# usage: program_test.sh LIBRARIES FOLDER WANTED [NVCC FLAGS... -- SOURCE...]
#
# It is FOLDER/program. WANTED is what it prints: "ok", or a part of what it says, on whatever stream.
set -euo pipefail
libraries=$1 folder=$2 wanted=$3
shift 3
if [ $# -gt 0 ]; then
  nvcc=$1
  shift
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
fi
status=0
LD_LIBRARY_PATH=$libraries "$folder/program" > "$folder/output" 2>&1 || status=$?
cat "$folder/output"
grep -qF -- "$wanted" "$folder/output"
[ "$wanted" != ok ] || [ "$status" = 0 ]
