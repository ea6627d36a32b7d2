#!/usr/bin/env python3
"""The library that `lemma exec` preloads: NVRTC and nvJitLink get -lineinfo, a link's cubin keeps PTX, and dlsym is what it was.

usage: preload_test.py --lemma build/bin/lemma [NAME ...]    STAND_IN, STAND_IN_LIBRARY: made of stand_in.cc
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from cli_case import ROOT, Case, main  # noqa: E402

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

    def link(self, *inputs, status=0):
        """The bytes of the cubin before, and after it has been linked of these."""
        cubin = ROOT / "tests" / "unit" / "image" / "images" / "no_ptx.cubin"
        words = ("exec", PROGRAM, "links", LIBRARY, self.path("linked.cubin"), *inputs)
        self.is_longer = self.call(*words, status=status, env={"CUBIN": str(cubin)}).stdout.splitlines()[-1] == "1"
        return cubin.read_bytes(), (self.folder / "linked.cubin").read_bytes()

    def test_a_link_keeps_the_ptx_of_its_inputs(self):
        head = ".version 8.0\n.target sm_90\n.address_size 64\n"
        (self.folder / "kernel.ptx").write_text(head + ".extern .func seven;\n.visible .entry k(.param .u64 out)\n{\n.reg .b64 %p;\n"
                                                       "ld.param.u64 %p, [out];\nst.global.u32 [%p], 7;\ncall seven;\nret;\n}\n")
        (self.folder / "seven.ptx").write_text(head + ".visible .func seven\n{\nret;\n}\n")
        self.link(self.path("kernel.ptx"), self.path("seven.ptx"))
        self.assertTrue(self.is_longer)
        out = self.path("out")
        self.call("run", self.path("linked.cubin"), "--entry", "k", "--grid", "1", "--block", "1", "--arg", f"out={out}:4")
        self.assertEqual((self.folder / "out").read_bytes(), b"\7\0\0\0")

    def test_a_link_of_other_things_stays(self):
        (self.folder / "ir").write_bytes(b"BC\xc0\xde")
        (self.folder / "library.a").write_bytes(b"!<arch>\n")
        for inputs in (["ir"], ["library.a"], []):
            before, after = self.link(*map(self.path, inputs))
            self.assertEqual(before, after)


if __name__ == "__main__":
    sys.exit(main(Preload, __doc__))
