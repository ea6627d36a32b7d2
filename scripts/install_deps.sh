#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, as far as they are missing. Needs no network, no root
# and no apt when all are there. Works as root, or through sudo.
#
# The nvgpu dialect needs MLIR 22. Where apt has none, this says so and goes on: Lemma builds without it. LEMMA_NVGPU=OFF
# does not ask for it at all. Likewise the compiled engine, asmjit and LEMMA_COMPILED=OFF. Nor need apt have clang-format 22, which only checks the sources, or rustc and pkg-config,
# which only some tests of liblemma.so use. What else only some tests
# use (nvcc, ptxas, clang 22) is not installed: those tests are skipped, by name, without it.
set -euo pipefail

packages=(
  g++ cmake ninja-build make git
  libfmt-dev libcli11-dev nlohmann-json3-dev libzstd-dev liblz4-dev
  libgtest-dev libbenchmark-dev
  python3 python3-numpy python3-venv
)
mlir_packages=(libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools lld-22 zlib1g-dev)
compiled_packages=(libasmjit-dev)
format_packages=(clang-format-22)
# For tests of liblemma.so alone, and only where no other installation has them.
binding_packages=()
command -v rustc >/dev/null || [ -x "$HOME/.cargo/bin/rustc" ] || binding_packages+=(rustc)
command -v pkg-config >/dev/null || binding_packages+=(pkg-config)
[ "${LEMMA_NVGPU:-}" != OFF ] || mlir_packages=()
[ "${LEMMA_COMPILED:-}" != OFF ] || compiled_packages=()

if ! command -v dpkg-query >/dev/null; then
  echo "install_deps: this is no Debian; install what these packages hold yourself: ${packages[*]} ${mlir_packages[*]} ${compiled_packages[*]}" >&2
  exit 0
fi

# Of the packages named, those that are not installed.
missing_of() {
  local package
  for package; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}
mapfile -t missing < <(missing_of "${packages[@]}")
mapfile -t missing_mlir < <(missing_of "${mlir_packages[@]}")
mapfile -t missing_compiled < <(missing_of "${compiled_packages[@]}")
mapfile -t missing_format < <(missing_of "${format_packages[@]}")
mapfile -t missing_binding < <(missing_of "${binding_packages[@]}")
[ $((${#missing[@]} + ${#missing_mlir[@]} + ${#missing_compiled[@]} + ${#missing_format[@]} + ${#missing_binding[@]})) -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install_deps: neither root nor sudo; install by hand: apt-get install ${missing[*]} ${missing_mlir[*]} ${missing_compiled[*]} ${missing_format[*]} ${missing_binding[*]}" >&2
    [ ${#missing[@]} -eq 0 ] || exit 1
    exit 0
  fi
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
install() {
  echo "install_deps: installing $*"
  "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=600 install -q -y --no-install-recommends "$@"
}
"${as_root[@]}" apt-get update -q
[ ${#missing[@]} -eq 0 ] || install "${missing[@]}"
if [ ${#missing_mlir[@]} -gt 0 ] && ! install "${missing_mlir[@]}"; then
  echo "install_deps: no MLIR 22 from apt (${missing_mlir[*]}): Lemma is built without the nvgpu dialect" >&2
fi
if [ ${#missing_compiled[@]} -gt 0 ] && ! install "${missing_compiled[@]}"; then
  echo "install_deps: no asmjit from apt (${missing_compiled[*]}): Lemma is built without the compiled engine" >&2
fi
if [ ${#missing_format[@]} -gt 0 ] && ! install "${missing_format[@]}"; then
  echo "install_deps: no clang-format 22 from apt: the test tree.format is skipped" >&2
fi
if [ ${#missing_binding[@]} -gt 0 ] && ! install "${missing_binding[@]}"; then
  echo "install_deps: apt has not all of ${missing_binding[*]}: the tests that use them are skipped" >&2
fi
