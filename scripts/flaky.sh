#!/usr/bin/env bash
# Runs every test that has threads, processes or signals N times, twice as many at a time as there are processors, while as many
# processes again do nothing but compute. A test that fails once has failed.
#
# usage: scripts/flaky.sh [N [BUILD [REGEX]]]     N is 20
set -euo pipefail
cd "$(dirname "$0")/.."
times=${1:-20}
build=${2:-build}
tests=${3:-'^(support|runtime|capi|mgpu|mgpu_cuda|mgpu_standalone|cuda_device|timing_cuda|check_streams|driver|cudart|cublas|cuda|exec|textures)\.|^vgpu\.(Schedul|Places|Grid|Async|Wait|Polling|Barrier|Cluster|Callbacks|SpareClusters|MemoryOrder|Observer|Mbarrier)|^cli\.(watch|manners|explore|check)|^python\.(launch|streams)|^check\.corpus$|^fuzz\.'}
processors=$(nproc)

load=()
for ((i = 0; i < processors; ++i)); do
  (while :; do :; done) &
  load+=($!)
done
trap 'kill "${load[@]}" 2>/dev/null' EXIT
ctest --test-dir "$build" -R "$tests" -j $((2 * processors)) --repeat "until-fail:$times" --output-on-failure --no-tests=error --timeout 3000
