#!/usr/bin/env python3
"""The library that `lemma exec` preloads: NVRTC and nvJitLink get -lineinfo, and dlsym is what it was.

usage: preload_test.py --lemma build/bin/lemma [NAME ...]    STAND_IN, STAND_IN_LIBRARY: made of stand_in.cc
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from cli_case import Case, main  # noqa: E402

PROGRAM, LIBRARY = os.environ.get("STAND_IN", ""), os.environ.get("STAND_IN_LIBRARY", "")


class Preload(Case):
    def said(self, how, *options):
        return self.call("exec", PROGRAM, how, LIBRARY, *options).stdout.splitlines()

    def test_linked(self):
        self.assertEqual(self.said("linked"), ["link -arch=none", "nvrtc -arch=sm_90 -O3 -lineinfo", "link -arch=sm_90 -O3 -lineinfo"])

    def test_looked_up_in_a_local_library(self):
        self.assertEqual(self.said("opened"), ["link -arch=none", "nvrtc -arch=sm_90 -O3 -lineinfo", "link -arch=sm_90 -O3 -lineinfo"])

    def test_lines_that_are_asked_for_already(self):
        for option in ("-lineinfo", "--generate-line-info", "-G"):
            self.assertEqual(self.said("opened", option)[1:], [f"nvrtc -arch=sm_90 {option}", f"link -arch=sm_90 {option}"])


if __name__ == "__main__":
    sys.exit(main(Preload, __doc__))
