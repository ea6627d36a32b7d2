#!/usr/bin/env python3
"""The recipes of docs/ci.md: its files in a folder, its commands there.

A block behind "`NAME`:" is the file NAME; one that is marked `sh RECIPE` is what the recipe runs. The program lacks a
barrier, which is found each time.

usage: ci_test.py --lemma build/bin/lemma [NAME ...]    LEMMA_NVCC, LEMMA_CMAKE: nvcc 13 (else skipped), cmake;
                                                        LEMMA_CLIENTS_PYTHON: a Python that may have pytest; else python3
"""

import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from cli_case import ROOT, Case, main  # noqa: E402

PAGE = (ROOT / "docs" / "ci.md").read_text()
FILE = re.compile(r"`([\w./]+)`(?: as it is)?:\n\n```(?:\w+)\n(.*?)^```", re.M | re.S)
RECIPE = re.compile(r"^```sh (\w+)\n(.*?)^```", re.M | re.S)
NVCC, CMAKE = os.environ.get("LEMMA_NVCC", ""), os.environ.get("LEMMA_CMAKE", "cmake")
PYTHON = os.environ.get("LEMMA_CLIENTS_PYTHON", "") or "python3"

LOSES_THE_DEVICE = """
lost = False

def test_before():
    assert not lost

def test_faults():
    global lost
    lost = True
    assert False

def test_after():
    assert not lost
"""


def has_module(name):
    return subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True).returncode == 0


class Ci(Case):
    def follow(self, recipe, commands=""):
        """The end of the recipe, whose last command finds the defect."""
        if not NVCC or "NOTFOUND" in NVCC:
            self.skipTest("no nvcc")
        for name, text in FILE.findall(PAGE):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        commands = commands or dict(RECIPE.findall(PAGE))[recipe]
        folders = [os.path.dirname(p) for p in (PYTHON, os.path.abspath(self.lemma), CMAKE, NVCC) if os.path.dirname(p)]
        env = {**os.environ, "PATH": os.pathsep.join([*folders, os.environ["PATH"]]), "CUDACXX": NVCC}
        done = subprocess.run(["sh", "-ec", commands], cwd=self.folder, env=env, capture_output=True, text=True, timeout=110)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 1, said)
        self.assertRegex(said, r"checked: \d+ finding")
        self.assertIn("race.shared", said)
        return said

    def test_cmake(self):
        said = self.follow("cmake")
        self.assertIn("100% tests passed", said)
        results = json.loads((self.folder / "findings.sarif").read_text())["runs"][0]["results"]
        place = results[0]["locations"][0]["physicalLocation"]
        self.assertEqual(place["artifactLocation"]["uri"], "test_sums.cu")
        self.assertIn(place["region"]["startLine"], (9, 12))

    def test_make(self):
        self.follow("make")

    def test_pytest(self):
        if not has_module("pytest"):
            self.skipTest("no pytest")
        self.assertIn("1 passed", self.follow("pytest"))
        self.assertTrue(json.loads((self.folder / "report.json").read_text())["findings"])

    def test_pytest_workers(self):
        if not has_module("xdist"):
            self.skipTest("no pytest-xdist")
        (self.folder / "test_more.py").write_text("from test_sums import test_sum as test_again\n")
        commands = dict(RECIPE.findall(PAGE))["pytest"].replace("pytest test_sums.py", "pytest -n 2 test_sums.py test_more.py")
        self.assertIn("-n 2", commands)
        said = self.follow("pytest", commands)
        self.assertIn("2 workers", said)
        self.assertIn("2 passed", said)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertGreater(len(report["processes"]), 1)
        self.assertTrue(report["findings"])

    def test_a_test_that_fails_because_of_another_is_isolated(self):
        if not has_module("pytest"):
            self.skipTest("no pytest")
        (self.folder / "test_lost.py").write_text(LOSES_THE_DEVICE)
        words = [os.path.abspath(self.lemma), "exec", "--isolate", PYTHON, "-m", "pytest", "-q", "test_lost.py"]
        workers = (["-n", "2", "--dist", "loadfile"],) if has_module("xdist") else ()
        for more in ([], *workers):
            said = subprocess.run(words + more, cwd=self.folder, capture_output=True, text=True, timeout=110).stdout
            self.assertIn("1 failed, 2 passed", said)
            self.assertIn("FAILED test_lost.py::test_faults", said)
            self.assertIn("fails in a process of its own, too", said)

    def test_workflow_has_the_recipes_commands(self):
        workflow = dict(FILE.findall(PAGE))[".github/workflows/cuda.yml"]
        for line in dict(RECIPE.findall(PAGE))["cmake"].splitlines():
            self.assertIn(f"- run: {line}\n", workflow)


if __name__ == "__main__":
    sys.exit(main(Ci, __doc__))
