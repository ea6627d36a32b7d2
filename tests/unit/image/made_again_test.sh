#!/bin/sh
# image_test on images made now, in FOLDER; old.cubin, of another ptxas, is the committed one.
# usage: made_again_test.sh IMAGE_TEST FOLDER   77: there is no nvcc
set -eu
here=$(cd "$(dirname "$0")" && pwd)
NVCC=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
export NVCC
if ! [ -x "$NVCC" ]; then
  echo "SKIPPED: no nvcc"
  exit 77
fi
rm -rf "$2"
sh "$here/make_images.sh" "$2"
[ -e "$2/old.cubin" ] || cp "$here/images/old.cubin" "$2"
LEMMA_TEST_IMAGES=$2 exec "$1"
