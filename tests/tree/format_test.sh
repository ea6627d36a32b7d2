#!/usr/bin/env bash
# Names every C++ file that `make format` would change. 77: it cannot be said here.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v clang-format-22 >/dev/null || { echo "skipped: no clang-format-22"; exit 77; }
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "skipped: no git checkout"; exit 77; }

wrong=0
while read -r file; do
  clang-format-22 "$file" | cmp -s - "$file" || { echo "$file: make format changes it"; wrong=1; }
done < <(git ls-files '*.cc' '*.h')
exit $wrong
