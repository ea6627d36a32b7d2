#!/usr/bin/env python3
"""Runs modules of unittest tests beside this file. 77: all of them were skipped; a run without tests fails.

usage: run_tests.py MODULE...
"""

import pathlib
import sys
import unittest


def main():
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
    tests = suite.countTestCases()  # testsRun of Python 3.12.1 leaves skipped ones out
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if not result.wasSuccessful() or tests == 0:
        return 1
    if len(result.skipped) >= tests:
        print("SKIPPED:", result.skipped[0][1])
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
