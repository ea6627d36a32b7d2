#!/usr/bin/env python3
"""lemma run --device cuda with PTX that is newer than the driver takes, on a CUDA driver and a ptxas made for tests.

usage: newer_ptx_cli_test.py --lemma build/bin/lemma --fakes FOLDER [NAME...]
       newer_ptx_cli_test.py --list
"""

import json
import os
import sys

from cli_case import OK, UNSUPPORTED, Case, main

TEXT = ".version 9.5\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n"
# As `ptxas -O4 -arch=sm_90a TEXT -o CUBIN` and `ptxas --version` are called.
PTXAS = """#!/bin/sh
[ "$1" = --version ] && { echo 'Cuda compilation tools, release 13.5, V13.5.37'; exit; }
echo a cubin >"$5"
"""


class NewerPtx(Case):
    def setUp(self):
        super().setUp()
        self.ptx, self.ptxas = self.path("k.ptx"), self.path("ptxas")
        for path, text in ((self.ptx, TEXT), (self.ptxas, PTXAS)):
            with open(path, "w") as file:
                file.write(text)
        os.chmod(self.ptxas, 0o755)

    def run_text(self, *options, ptxas, status=OK):
        return self.call("run", self.ptx, "--device", "cuda", "--grid", 1, "--block", 32, *options, status=status,
                         env={"LD_LIBRARY_PATH": self.fakes, "PTXAS": ptxas})  # fmt: skip

    def test_newer_ptx_says_who_assembled_it(self):
        said = self.run_text(ptxas=self.ptxas).stderr
        self.assertIn(f"lemma: assembled by {self.ptxas} 13.5.37 for sm_90a, since the driver (13.0) takes no PTX that new\n", said)
        report = json.loads(self.run_text("--json", ptxas=self.ptxas).stdout)
        self.assertEqual(report["assembled_by"], f"{self.ptxas} 13.5.37 for sm_90a")

    def test_older_ptx_is_the_drivers(self):
        with open(self.ptx, "w") as file:
            file.write(TEXT.replace("9.5", "9.0"))
        self.assertNotIn("assembled", self.run_text(ptxas=self.ptxas).stderr)
        self.assertIsNone(json.loads(self.run_text("--json", ptxas=self.ptxas).stdout)["assembled_by"])

    def test_newer_ptx_without_ptxas(self):
        said = self.run_text(ptxas="", status=UNSUPPORTED).stderr
        self.assertIn("k.ptx is PTX 9.5, and the driver, of CUDA 13.0, takes PTX up to 9.0\n", said)
        self.assertIn("\nto do: a ptxas of a later CUDA", said)
        report = json.loads(self.run_text("--json", ptxas="", status=UNSUPPORTED).stdout)
        self.assertEqual(report["error"]["kind"], "unsupported")


if __name__ == "__main__":
    sys.exit(main(NewerPtx, __doc__))
