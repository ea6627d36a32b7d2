#!/usr/bin/env python3
"""Each .ptx that nvcc makes of a .cu of this repository is of the .cu as it is: made.txt has a digest of both, by
scripts/compile_programs.sh, which `make test-long` has make all anew.

usage: made_test.py                       names what is not
       made_test.py --record SOURCE ...   writes that the .ptx beside the SOURCE is made of it
"""

import hashlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORD = pathlib.Path(__file__).with_name("made.txt")
HEAD = "# By scripts/compile_programs.sh: digests of a source and of the .ptx beside it that nvcc 13.0 makes of it.\n"
SOURCES = ("tests/programs/*/*.cu", "tests/check/corpus/kernels/*.cu", "examples/*/*.cu", "bench/kernels/*.cu")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]


def line_of(source):
    return f"{digest(ROOT / source)} {digest((ROOT / source).with_suffix('.ptx'))} {source}"


def main():
    lines = RECORD.read_text().splitlines() if RECORD.exists() else []
    recorded = {line.split()[2]: line for line in lines if not line.startswith("#")}
    if sys.argv[1:2] == ["--record"]:
        recorded |= {source: line_of(source) for source in sys.argv[2:]}
        RECORD.write_text(HEAD + "".join(f"{recorded[source]}\n" for source in sorted(recorded) if (ROOT / source).exists()))
        return 0
    sources = [str(path.relative_to(ROOT)) for pattern in SOURCES for path in sorted(ROOT.glob(pattern))]
    wrong = [source for source in sources if recorded.get(source) != line_of(source)]
    for source in wrong:
        print(f"{source}: it or its .ptx has changed since nvcc made the one of the other (scripts/compile_programs.sh)")
    print(f"{len(sources) - len(wrong)} of {len(sources)} sources are those of their .ptx")
    return 1 if wrong or len(sources) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
