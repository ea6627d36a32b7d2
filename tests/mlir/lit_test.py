#!/usr/bin/env python3
"""Runs lit over the .mlir files of this folder in one process, and says what became of each: FILE gets a line a test, as of
tests/group.py.

usage: lit_test.py --lit LIT --cases FILE FOLDER-OF-THE-BUILD NAME ...     NAMEs as mlir.NAME has them: dialect.roundtrip
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from test_results import Result, line_of  # noqa: E402

STATUS = {"PASS": "passed", "UNSUPPORTED": "skipped"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lit", required=True)
    parser.add_argument("--cases", type=pathlib.Path, required=True)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("files", nargs="+")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "results.json"
        command = [words.lit, "-v", "--no-progress-bar", "-j1", "--output", output, *(words.folder / file for file in words.files)]
        status = subprocess.run(command).returncode
        results = json.loads(output.read_text())["tests"] if output.exists() else []
    words.cases.parent.mkdir(parents=True, exist_ok=True)
    cases, seen = [], set()
    for test in results:
        name = test["name"].split(" :: ")[-1].removesuffix(".mlir").replace("/", ".")
        seen.add(name)
        cases.append(Result(f"mlir.{name}", STATUS.get(test["code"], "failed"), test["elapsed"], ""))
    missing = [file for file in words.files if file.removesuffix(".mlir").replace("/", ".") not in seen]
    cases += [Result(f"mlir.{file}", "failed", 0, "") for file in missing]
    words.cases.write_text("".join(map(line_of, cases)))
    return 1 if status or missing else 0


if __name__ == "__main__":
    sys.exit(main())
