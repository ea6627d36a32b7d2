#!/usr/bin/env bash
# Builds the portable `lemma-record` and says how to record tests/golden/sm_90a with it on a machine with an H200.
#
#   scripts/record_golden.sh            build, and print the commands
#   scripts/record_golden.sh expected   also record what the virtual GPU gives, to take along: whole outputs of all
#                                       that differs from it then come back, so that no second run is needed
#
# What is recorded and how it is used: docs/recorded-bits.md.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset portable >/dev/null
cmake --build --preset portable --target lemma_record
binary=build-portable/bin/lemma-record

against=
if [ "${1:-}" = expected ]; then
  rm -rf build-portable/expected
  "$binary" --out build-portable/expected || true # what the virtual GPU lacks is recorded all the same
  against=" --against build-portable/expected"
fi

cat <<TEXT

On the GPU machine (the binary needs glibc and the CUDA driver, nothing else):

  $binary --device cuda$against --out golden && tar -cf golden.tar golden

Here, with golden.tar back:

  tar -xf golden.tar
  $binary --check golden                                 # what differs, element by element
  $binary --trim golden --out tests/golden/sm_90a        # the files to commit
TEXT
