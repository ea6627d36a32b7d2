#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, as far as they are missing. Needs no network, no root
# and no apt when all are there. Works as root, or through sudo.
#
# What only some tests use (nvcc, ptxas, clang 22) is not installed: those tests are skipped, by name, without it.
set -euo pipefail

packages=(
  g++ cmake ninja-build make git
  libfmt-dev libcli11-dev nlohmann-json3-dev libzstd-dev
  libgtest-dev libbenchmark-dev
  python3 python3-numpy
)

if ! command -v dpkg-query >/dev/null; then
  echo "install_deps: this is no Debian; install what these packages hold yourself: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install_deps: neither root nor sudo; install by hand: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "install_deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"
