"""What a run of a build's tests gave: for test.py, where_time_goes.py and count_tests.py. Tests that have cases write a line
for each: tests/group.py and tests/mlir/lit_test.py."""

import collections
import re

# "  3/40 Test  #7: name .....   Passed    0.01 sec", "***Failed", "***Skipped", "***Timeout", "***Not Run"; after a name there may
# be a parameter, after "***Failed" the reason, and then the time in another line.
RESULT = re.compile(r" *\d+/\d+ Test +#\d+: (\S+) .*?(Passed|\*\*\*(?:Not Run|[A-Z]\w+))(?:.* ([0-9.]+) sec)?")
STATUS = {"Passed": "passed", "***Skipped": "skipped"}

Result = collections.namedtuple("Result", "name status seconds why")  # passed, failed or skipped; why: of a case that was skipped


def line_of(result):
    """A case, as its test writes it to the file that read() looks at."""
    return f"{result.status}\t{result.name}\t{result.seconds:.2f}\t{result.why}\n"


def result_of(line):
    status, name, seconds, why = line.rstrip("\n").split("\t")
    return Result(name, status, float(seconds), why)


def read(build):
    """A Result for each case of a test that has cases (tests/group.py), and for each other test; none if no tests have run."""
    log, found = build / "test.log", []
    for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
        match = RESULT.match(line)
        if not match:
            continue
        name, status = match[1], STATUS.get(match[2], "failed")
        file = build / "Testing/cases" / name
        cases = [result_of(line) for line in file.read_text().splitlines()] if file.exists() else []
        found += cases
        if not cases or (status == "failed" and not any(case.status == "failed" for case in cases)):
            # One without cases, or that ended before one had failed.
            found.append(Result(name, status, 0 if cases else float(match[3] or 0), ""))
    return found


WRONG = re.compile(r": Failure$|ERROR: |: runtime error: |^Traceback |: error: |FATAL|FAILED|terminate called")


def what_failed(build, most=24):
    """What the tests that failed wrote, in their order: (name, lines), at most `most` lines of each: those from the first that
    tells of something wrong, and the last ones."""
    log, failed, output = build / "test.log", [], None
    for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
        if match := RESULT.match(line):
            output = []
            if STATUS.get(match[2], "failed") == "failed":
                failed.append((match[1], output))
        elif re.match(r"\d+% tests passed", line):
            output = None
        elif output is not None and line.strip() and not re.match(r" +Start +\d+: ", line):
            output.append(line)
    return [(name, _excerpt(lines, most)) for name, lines in failed]


def _excerpt(lines, most):
    if len(lines) <= most:
        return lines
    last = lines[-(most // 3) :]
    first = next((i for i, line in enumerate(lines) if WRONG.search(line)), len(lines))
    return lines[first : first + most - len(last)] + ["..."] + last if first < len(lines) - len(last) else lines[-most:]
