"""What the tests of the lemma tool share: a scratch folder, calls of the tool, one test a name on the command line."""

import argparse
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
TIMEOUT_S = 60

OK, FAILED, USAGE, UNSUPPORTED = 0, 1, 2, 3


class Case(unittest.TestCase):
    lemma = None
    fakes = None  # folders of libcuda.so.1 and libcublasLt.so.13 made for tests

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="lemma-cli-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def path(self, name):
        return str(self.folder / name)

    def save(self, name, array):
        """Writes .npy or raw by the name; returns the path."""
        if name.endswith(".npy"):
            np.save(self.path(name), array)
        else:
            np.asarray(array).tofile(self.path(name))
        return self.path(name)

    def command(self, *words):
        """The words as a process takes them: of lemma, or of lemma-record, which lies beside it, if that comes first."""
        words = [*map(str, words)]
        if words[:1] == ["lemma-record"]:
            return [self.lemma + "-record", *words[1:]]
        return [self.lemma, *words]

    def call(self, *words, status=OK, env=None):
        done = subprocess.run(
            self.command(*words),
            capture_output=True,
            timeout=TIMEOUT_S,
            env={**os.environ, **(env or {})},
        )
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        if status is not None:  # any
            self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done


def main(cases, description):
    """The exit status: 77 where every test was skipped."""
    names = [name.removeprefix("test_") for name in unittest.TestLoader().getTestCaseNames(cases)]
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the lemma binary")
    parser.add_argument("--fakes", help="folders of a CUDA driver and a cuBLAS made for tests, as LD_LIBRARY_PATH has them")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("names", nargs="*", metavar="NAME", help="run only these")
    options = parser.parse_args()
    if options.list:
        print("\n".join(names))
        return 0
    if not options.lemma:
        parser.error("--lemma is needed")
    Case.lemma, Case.fakes = options.lemma, options.fakes
    suite = unittest.TestSuite(cases(f"test_{name}") for name in options.names or names)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if result.testsRun == 0 or not result.wasSuccessful():
        return 1
    return 77 if len(result.skipped) == result.testsRun else 0
