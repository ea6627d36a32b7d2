#!/usr/bin/env bash
# Shows that a replay can fail: with one digit of one hash changed, with whole outputs cut, with a case missing or one
# too many, with what the PTX ISA leaves undefined; and that no group and no file goes untested.
#
# usage: can_fail_test.sh LEMMA-RECORD RECORDED GROUP... - UNRECORDED_GROUP...
set -euo pipefail
record=$1 recorded=$2
shift 2
groups="" unrecorded=""
while [ $# -gt 0 ] && [ "$1" != - ]; do
  groups+=" $1"
  shift
done
[ $# -eq 0 ] || unrecorded="${*:2}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "FAILED: $1"
  exit 1
}

# expect_differs NAME TEXT: the replay of $scratch fails and says TEXT.
expect_differs() {
  local output
  if output=$("$record" --check "$scratch" --filter 'f32/*' 2>&1); then
    fail "$1: the replay passed"
  fi
  grep -qF -- "$2" <<<"$output" || fail "$1: '$2' is not said: $output"
  echo "$1: found"
}

restore() { cp "$recorded"/f32.* "$scratch"; }

restore
"$record" --check "$scratch" --filter 'f32/*' >/dev/null || fail "the record itself does not replay"

sed -i '/"add.rn.f32"/s/"ordinary":"\(.\)/"ordinary":"\1\1/; /"add.rn.f32"/s/\("ordinary":"................................\)./\1/' "$scratch/f32.json"
expect_differs "a changed hash" "f32/add.rn.f32 [ordinary]"

restore
head -c 1000 "$recorded/f32.bin.zst" >"$scratch/f32.bin.zst"
expect_differs "cut whole outputs" "f32.bin.zst"

restore
sed -i '/"mul.rz.f32"/d' "$scratch/f32.json"
expect_differs "a missing case" "f32/mul.rz.f32: not in the record"

restore
sed -i 's/"mul.rz.f32"/"mul.rzz.f32"/' "$scratch/f32.json"
expect_differs "a case that is made no more" "f32/mul.rzz.f32: recorded, but no such case is made"

rm "$scratch/f32.json"
expect_differs "a missing file" "cannot read"

# Cases that are undefined on purpose are found, and what is to stand for them is used.
if output=$("$record" --check "$recorded" --filter 'mbarrier/arrive' --findings); then
  fail "an mbarrier whose phase is asked for again: nothing is found"
fi
grep -qF 'error[mbarrier.phase]' <<<"$output" || fail "an mbarrier whose phase is asked for again: $output"
grep -qE '^1 cases checked: [1-9] findings?' <<<"$output" || fail "findings are not counted: $output"
echo "an mbarrier whose phase is asked for again: found"

sorted() { tr ' ' '\n' | sed '/^$/d' | sort | tr '\n' ' '; }
listed=$("$record" --list | sed -n 's/^# \([^:]*\):.*/\1/p' | sorted)
made=$(sorted <<<"$groups $unrecorded")
tested=$(sorted <<<"$groups")
files=$(cd "$recorded" && ls ./*.json | sed 's,^\./,,; s,\.json$,,' | sort | tr '\n' ' ')
[ "$listed" = "$made" ] || fail "groups '$listed' are made, '$made' are tested or awaited"
[ "$tested" = "$files" ] || fail "groups '$tested' are tested, '$files' are recorded"
echo "every group is recorded and tested${unrecorded:+, but not: $unrecorded}"
