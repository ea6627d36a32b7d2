#!/usr/bin/env python3
"""Runs the cases of a Python test script in one process: each in a fork of it, as `SCRIPT ARGUMENTS... CASE` would run by itself,
but without starting Python and importing numpy again.

usage: group.py --cases FILE --prefix PREFIX [--shard I/N] [--timeout S] SCRIPT [ARGUMENT...]

The cases are what `SCRIPT --list` prints. FILE gets a line a case: its status (passed, failed, skipped), PREFIX.CASE, seconds,
and why it was skipped; scripts/test.py counts them. A case that exits with 77 is skipped. What a case that failed prints is
printed; the exit status is 1 if one failed, 77 if all were skipped.
"""

import argparse
import contextlib
import io
import os
import pathlib
import runpy
import signal
import sys
import tempfile
import time

import numpy  # noqa: F401  for the cases

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from test_results import Result, line_of  # noqa: E402

sys.path.pop(0)  # the cases import what is theirs

SKIPPED = 77


def run_script(script, arguments):
    """The exit status of the script as the main program, in this process."""
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(pathlib.Path(script).parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    return 0


def names_of(script):
    listed = io.StringIO()
    with contextlib.redirect_stdout(listed):
        status = run_script(script, ["--list"])
    if status:
        sys.exit(f"{script} --list: exit status {status}")
    return listed.getvalue().split()


def run_case(script, arguments, output, timeout_s):
    """(exit status, whether time was up)"""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)  # what the case has started ends with it
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
        status = 1
        try:
            status = run_script(script, arguments)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
    end = time.monotonic() + timeout_s
    pause_s = 0.001
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), False
        if time.monotonic() > end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return 1, True
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.02)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=pathlib.Path, required=True)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--shard", default="1/1", metavar="I/N")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="of a case")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    words = parser.parse_args()
    first, shards = map(int, words.shard.split("/"))
    path, argv = list(sys.path), sys.argv
    names = names_of(words.script)[first - 1::shards]
    sys.path, sys.argv = path, argv
    words.cases.parent.mkdir(parents=True, exist_ok=True)
    statuses = set()
    with words.cases.open("w") as cases:
        for name in names:
            begin = time.monotonic()
            with tempfile.TemporaryFile() as output:
                status, late = run_case(words.script, [*words.arguments, name], output, words.timeout)
                output.seek(0)
                said = output.read().decode(errors="replace")
            result = {0: "passed", SKIPPED: "skipped"}.get(status, "failed")
            statuses.add(result)
            seconds = time.monotonic() - begin
            why = next((line for line in said.splitlines() if "skip" in line.lower()), "") if result == "skipped" else ""
            cases.write(line_of(Result(f"{words.prefix}.{name}", result, seconds, why.strip())))
            cases.flush()
            print(f"{result:8} {words.prefix}.{name} {seconds:.2f} s", flush=True)
            if result == "failed":
                print(f"{said}\n{f'not ended after {words.timeout} s' if late else f'exit status {status}'}\n", flush=True)
    if "failed" in statuses or not names:
        return 1
    return SKIPPED if statuses == {"skipped"} else 0


if __name__ == "__main__":
    sys.exit(main())
