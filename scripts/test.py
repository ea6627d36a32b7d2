#!/usr/bin/env python3
"""Runs the tests of a build and counts them, one by one those of a script that has cases; the last line is "N passed, N failed".
Above it stand what was skipped, with the reason, what failed, with some of what it wrote, and where the time went. A run in which
nothing passed has failed.

usage: scripts/test.py [BUILD [JOBS [CTEST OPTION...]]]

JOBS (auto): tests at a time; auto is one a processor and one more, since some wait, as far as memory holds 2.5 GB for each.
"""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

import test_results
import where_time_goes

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_OF_A_TEST = 2.5e9  # bytes: docs/build-and-test-time.md


def jobs_that_fit():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(len(os.sched_getaffinity(0)) + 1, int(memory / MOST_OF_A_TEST)))


def main():
    os.chdir(ROOT)
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build")
    jobs = sys.argv[2] if len(sys.argv) > 2 else "auto"
    jobs = str(jobs_that_fit()) if jobs == "auto" else jobs
    shutil.rmtree(build / "Testing/cases", ignore_errors=True)
    with (build / "test.log").open("wb") as log:
        command = ["ctest", "--test-dir", build, "-j", jobs, "--output-on-failure", "--no-tests=error", *sys.argv[3:]]
        ran = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for line in ran.stdout:
            log.write(line)
            if not re.match(rb" +Start +\d+: ", line):
                sys.stdout.buffer.write(line)
                sys.stdout.flush()
        status = ran.wait()
    found = test_results.read(build)
    counts = collections.Counter(result.status for result in found)
    if counts["skipped"]:
        print("skipped:")
        for result in found:
            if result.status == "skipped":
                print(f"  {result.name}{': ' + result.why if result.why else ''}")
    for name, lines in test_results.what_failed(build):
        print(f"of the output of {name}, which failed:", *lines, sep="\n  ")
    for result in found:
        if result.status == "failed":
            print(f"failed: {result.name}")
    where_time_goes.summary(build)
    if status and not counts["failed"] or not counts["passed"]:
        counts["failed"] += 1  # ctest itself went wrong, or nothing ran
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
