#!/usr/bin/env bash
# Line coverage of src/vgpu (or FOLDER) by the unit tests, the recorded hardware bits, the test programs and the fuzzers:
# a build with --coverage in build-coverage, and gcov. One line a file, the least covered first, then the sum.
#
# usage: scripts/coverage.sh [JOBS [FOLDER]]
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
folder=${2:-src/vgpu}
build=build-coverage
mkdir -p $build
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS="--coverage -fprofile-update=atomic" \
  -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DLEMMA_NVGPU=OFF -DLEMMA_TEST_SANITIZERS=OFF \
  >$build/configure.log 2>&1 || { cat $build/configure.log; exit 1; }
cmake --build $build -j "$jobs"
find $build -name '*.gcda' -delete
scripts/test.py $build "$jobs" -R '^(vgpu|runtime|golden|programs|fuzz)\.' || echo "some tests fail: see $build/test.log" >&2

root=$PWD
find "$build/$folder" -name '*.gcda' | while read -r data; do
  gcov --stdout --json-format "$data" 2>/dev/null
done | python3 -c '
import json, sys
root, folder = sys.argv[1:]
lines = {}  # file -> line -> times executed, in any object that has it
decoder, text, at = json.JSONDecoder(), sys.stdin.read(), 0
while at < len(text):
    record, at = decoder.raw_decode(text, at)
    while at < len(text) and text[at].isspace():
        at += 1
    for file in record["files"]:
        name = file["file"]
        name = name[len(root) + 1:] if name.startswith(root) else name.removeprefix("../")
        if name.startswith(folder):
            counts = lines.setdefault(name, {})
            for line in file["lines"]:
                counts[line["line_number"]] = counts.get(line["line_number"], 0) + line["count"]
if not lines:
    sys.exit("nothing was executed in " + folder)
share = lambda c: 100 * sum(n > 0 for n in c.values()) / max(len(c), 1)
for name, counts in sorted(lines.items(), key=lambda item: share(item[1])):
    print(f"{share(counts):6.1f}%  {len(counts):5} lines  {name}")
every = {(f, l): n for f, c in lines.items() for l, n in c.items()}
print(f"{share(every):6.1f}%  {len(every):5} lines  {folder}")
' "$root" "$folder"
