"""What `lemma exec --isolate` has pytest load: a test that fails runs again in a process of its own, whose outcome counts.

A fault of a kernel loses the device for the process, as on a GPU: what comes after it fails, too, and does not where it comes alone.
"""

import os
import subprocess
import sys

import pytest
from _pytest.runner import runtestprotocol


def _outcome_alone(item):
    """The exit status, and what was said."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(item.config.rootpath)]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_XDIST", "PYTEST_CURRENT_TEST"))}
    without = [p for p in inherited.get("PYTEST_PLUGINS", "").split(",") if p and p != "lemma_pytest"]
    done = subprocess.run(
        [*words, item.nodeid],
        cwd=item.config.rootpath,
        env={**inherited, "PYTEST_PLUGINS": ",".join(without), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports):
        status, said = _outcome_alone(item)
        for report in reports:
            if not report.failed:
                continue
            if status == pytest.ExitCode.OK:
                report.outcome, report.longrepr = "passed", None
                report.sections.append(("lemma exec --isolate", "passes in a process of its own"))
            else:
                report.sections.append(("lemma exec --isolate: fails in a process of its own, too", said))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
