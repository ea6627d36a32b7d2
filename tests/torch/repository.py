#!/usr/bin/env python3
"""A repository's pytest tests under `lemma exec`, by several processes at a time; goes on where an earlier run of it has stopped.

    repository.py collect --root DIR [--sample N] [--seed 1] [PATH...] > tests.txt
    repository.py run     --root DIR --tests tests.txt --results results.txt [--lemma L] [--check] [--jobs N] [--timeout SECONDS]
    repository.py tell    [--functions] results.txt

`collect` writes the ids of the tests in PATHs of the repository, all or a sample by the seed. `run` appends a line a test to the results:
outcome, seconds, id and, where it did not pass, why, with tabs between. A test whose process ends before it does "crashed"; one that takes
longer than the timeout has "timeout". Tests that have a line already are not run again. `tell` counts the outcomes, with `--functions` those of each
test function, and names each test that did not pass. With `--check`, what a
process with a finding has printed is appended to results.txt.findings.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent


# --- What pytest loads (-p repository): each test's outcome goes to LEMMA_OUTCOMES at once.


def _tell(*fields):
    with open(os.environ["LEMMA_OUTCOMES"], "a") as file:
        file.write("\t".join(" ".join(str(field).split()) for field in fields) + "\n")


def pytest_runtest_logstart(nodeid):
    if "LEMMA_OUTCOMES" in os.environ:
        _tell("begun", 0, nodeid)


def pytest_runtest_logreport(report):
    if "LEMMA_OUTCOMES" not in os.environ or (report.when != "call" and report.outcome == "passed"):
        return
    why = ""
    if report.outcome == "skipped":
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.wasxfail if hasattr(report, "wasxfail") else report.longrepr
    elif report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        why = crash.message if crash else str(report.longrepr)[-300:]
    _tell(report.outcome, f"{report.duration:.2f}", report.nodeid, str(why)[:300])


# --- The commands.


def collect(options):
    words = [*_python(options), "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "--rootdir=.", *options.paths]
    said = subprocess.run(words, cwd=options.root, capture_output=True, text=True).stdout
    tests = [line for line in said.splitlines() if re.match(r"[^\s:]+\.py::\w+(::\w+)?(\[.*\])?$", line)]
    if not tests:
        sys.exit(said)
    if options.sample and options.sample < len(tests):
        chosen = set(random.Random(options.seed).sample(range(len(tests)), options.sample))
        tests = [test for number, test in enumerate(tests) if number in chosen]
    print("\n".join(tests))


def _python(options):
    if not options.lemma:
        return [options.python]
    switches = [f"--{name}" for name in ("check", "isolate") if getattr(options, name)]
    return [options.lemma, "exec", *switches, options.python]


def _outcomes(path):
    """The last outcome of each test in a file of them, in the order of the tests."""
    of_tests = {}
    if path.exists():
        for line in path.read_text(errors="replace").splitlines():
            fields = (line + "\t\t\t").split("\t")
            if fields[0] in ("passed", "failed", "skipped", "crashed", "timeout", "begun") and not (
                fields[0] == "begun" and fields[2] in of_tests
            ):
                of_tests[fields[2]] = fields[:4]
    return of_tests


class Shards:
    """What is left of the tests, a piece at a time, for several workers."""

    def __init__(self, options, tests):
        self.options, self.lock, self.done, self.count = options, threading.Lock(), 0, len(tests)
        by_file = collections.defaultdict(list)
        for test in tests:
            by_file["" if options.mix else test.split("::")[0]].append(test)
        self.pieces = collections.deque(
            some[first : first + options.piece] for some in by_file.values() for first in range(0, len(some), options.piece)
        )

    def work(self):
        while True:
            with self.lock:
                if not self.pieces:
                    return
                piece = self.pieces.popleft()
            left = self.run(piece)
            if left:
                with self.lock:
                    self.pieces.appendleft(left)

    def run(self, piece):
        """Runs the tests in one process, writes their outcomes; gives those that are left when it ended before."""
        with tempfile.TemporaryDirectory() as folder:
            outcomes, names = pathlib.Path(folder) / "outcomes", pathlib.Path(folder) / "tests"
            names.write_text("\n".join(piece) + "\n")
            path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
            environment = {**os.environ, "LEMMA_OUTCOMES": str(outcomes), "PYTHONPATH": path}
            words = [*_python(self.options), "-m", "pytest", "-q", "-p", "repository", "-p", "no:cacheprovider", "--rootdir=.", f"@{names}"]
            with open(pathlib.Path(folder) / "said", "w+") as said:
                process = subprocess.Popen(
                    words, cwd=self.options.root, env=environment, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
                )
                ended = self.wait(process, outcomes)
                said.seek(0)
                printed = said.read()
        return self.keep(piece, ended, printed)

    def wait(self, process, outcomes):
        """Until the process ends, or no test has ended for the time that one may take; then all outcomes."""
        changed, size, late = time.monotonic(), -1, False
        while process.poll() is None:
            time.sleep(0.1)
            now = outcomes.stat().st_size if outcomes.exists() else 0
            if now != size:
                changed, size = time.monotonic(), now
            if time.monotonic() - changed > self.options.timeout:
                late = True
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return _outcomes(outcomes), late

    def keep(self, piece, ended, printed):
        of_tests, late = ended
        lines, left, tail = [], [], " ".join(printed[-300:].split())
        for test in piece:
            outcome = of_tests.get(test)
            if outcome and outcome[0] != "begun":
                lines.append(outcome)
            elif outcome:
                lines.append(["timeout" if late else "crashed", str(self.options.timeout), test, "" if late else tail])
            else:
                left.append(test)
        if not lines:  # not even the first has begun
            lines, left = [["timeout" if late else "crashed", "0", piece[0], tail]], piece[1:]
        with self.lock:
            self.done += len(lines)
            with open(self.options.results, "a") as file:
                file.writelines("\t".join(line).rstrip("\t") + "\n" for line in lines)
            if self.options.check and "error[" in printed:
                with open(f"{self.options.results}.findings", "a") as file:
                    file.write(f"=== {piece[0]} and {len(piece) - 1} more\n{printed}\n")
            print(f"{self.done} of {self.count}", end="\r", file=sys.stderr, flush=True)
        return left


def run(options):
    done = _outcomes(options.results)
    tests = [test for test in options.tests.read_text().splitlines() if test and not test.startswith("#")]
    shards = Shards(options, [test for test in tests if done.get(test, ["begun"])[0] == "begun"])
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as workers:
        for worker in [workers.submit(shards.work) for _ in range(options.jobs)]:
            worker.result()
    tell(options)


def tell_functions(of_tests):
    of_functions = collections.defaultdict(collections.Counter)
    for outcome, _, test, _ in of_tests.values():
        of_functions[test.split("[")[0]][outcome] += 1
    for function, counts in sorted(of_functions.items()):
        print(f"{function}: {', '.join(f'{count} {outcome}' for outcome, count in sorted(counts.items()))}")
    for outcome, _, test, why in sorted(of_tests.values(), key=lambda fields: fields[2]):
        if outcome not in ("passed", "skipped"):
            print(f"{outcome}: {test}: {why}")


def tell(options):
    of_tests = _outcomes(options.results)
    if options.functions:
        tell_functions(of_tests)
        return
    counts = collections.Counter(outcome for outcome, *_ in of_tests.values())
    why = collections.Counter(
        re.sub(r"0x[0-9a-f]+|\d+", "N", reason)[:160] for outcome, _, _, reason in of_tests.values() if outcome not in ("passed", "skipped")
    )
    for reason, count in why.most_common():
        print(f"{count:5}  {reason}")
    run_at_all = len(of_tests) - counts["skipped"]
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    print(f"{counts['passed']} of {run_at_all} that are not skipped pass, {100 * counts['passed'] / max(run_at_all, 1):.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("collect", "run"):
        command = commands.add_parser(name)
        command.add_argument("--root", required=True, help="the repository")
        command.add_argument("--lemma", type=os.path.abspath, help="the program lemma; without it, on the GPU of this machine")
        command.add_argument("--python", default=sys.executable)
        command.add_argument("--check", action="store_true")
        command.add_argument("--isolate", action="store_true")
    commands.choices["collect"].add_argument("--sample", type=int)
    commands.choices["collect"].add_argument("--seed", type=int, default=1)
    commands.choices["collect"].add_argument("paths", nargs="*")
    command = commands.choices["run"]
    command.add_argument("--tests", type=pathlib.Path, required=True)
    command.add_argument("--results", type=pathlib.Path, required=True)
    command.add_argument("--jobs", type=int, default=os.cpu_count())
    command.add_argument("--piece", type=int, default=40, help="tests in one process")
    command.add_argument("--mix", action="store_true", help="of several files: quicker where the tests of each are few")
    command.add_argument("--timeout", type=float, default=300, help="seconds that a test may take")
    commands.add_parser("tell").add_argument("results", type=pathlib.Path)
    commands.choices["tell"].add_argument("--functions", action="store_true")
    commands.choices["run"].set_defaults(functions=False)
    options = parser.parse_args()
    {"collect": collect, "run": run, "tell": tell}[options.command](options)


if __name__ == "__main__":
    main()
