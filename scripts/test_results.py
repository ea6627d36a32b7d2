"""What a run of a build's tests gave: for test.py, where_time_goes.py and count_tests.py."""

import collections
import re

# "  3/40 Test  #7: name .....   Passed    0.01 sec", "***Failed", "***Skipped", "***Timeout", "***Not Run"; after a name there may
# be a parameter, after "***Failed" the reason, and then the time in another line.
RESULT = re.compile(r" *\d+/\d+ Test +#\d+: (\S+) .*?(Passed|\*\*\*(?:Not Run|[A-Z]\w+))(?:.* ([0-9.]+) sec)?")
STATUS = {"Passed": "passed", "***Skipped": "skipped"}

Result = collections.namedtuple("Result", "name status seconds why")  # passed, failed or skipped; why: of a case that was skipped


def read(build):
    """A Result for each case of a test that has cases (tests/group.py), and for each other test; none if no tests have run."""
    log, found = build / "test.log", []
    for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
        match = RESULT.match(line)
        if not match:
            continue
        name, status = match[1], STATUS.get(match[2], "failed")
        file = build / "Testing/cases" / name
        rows = [row.split("\t") for row in file.read_text().splitlines()] if file.exists() else []
        cases = [Result(case, result, float(seconds), why) for result, case, seconds, why in rows]
        found += cases
        if not cases or (status == "failed" and not any(case.status == "failed" for case in cases)):
            # One without cases, or that ended before one had failed.
            found.append(Result(name, status, 0 if cases else float(match[3] or 0), ""))
    return found
