#!/usr/bin/env python3
"""Runs the kernels of ptx/ through `lemma run` as cases.py says - asynchronous operations completing early, late and at
random times, in eight schedules, and with --check - and compares what comes out.

usage: run.py --lemma build/bin/lemma [--filter REGEX] [--keep DIR]
"""

import argparse
import importlib.util
import pathlib
import re
import sys
import tempfile

import cases

FOLDER = pathlib.Path(__file__).resolve().parent
_spec = importlib.util.spec_from_file_location("programs_run", FOLDER.parents[1] / "programs" / "run.py")
programs_run = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs_run)
WAYS = [[], ["--async", "late"], ["--async", "random", "--seed", "3"], ["--explore", "8"], ["--check"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--filter", default="", help="only files whose name this regular expression is found in")
    parser.add_argument("--keep", metavar="DIR", help="leave inputs and outputs there")
    options = parser.parse_args()
    options.device, options.record = "cpu", None
    files = {path.stem for path in (FOLDER / "ptx").glob("*.ptx")}
    if files != set(cases.CASES):
        sys.exit(f"run.py: ptx/ and cases.py differ in {sorted(files ^ set(cases.CASES))}")
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="lemma-triton-") as scratch:
        folder = pathlib.Path(options.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        runner = programs_run.Runner(options, folder)
        for name, case in cases.CASES.items():
            if not re.search(options.filter, name):
                continue
            launch = case(name)
            ptx = folder / f"{name}.ptx"
            ptx.write_text((FOLDER / "ptx" / f"{name}.ptx").read_text())
            for way in WAYS:
                said = "ok"
                try:
                    runner.launch(name, ptx, launch, way)
                except programs_run.Failure as failure:
                    said = f"FAILED\n{failure}"
                passed, failed = passed + (said == "ok"), failed + (said != "ok")
                print(f"{name} {' '.join(way)}: {said}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
