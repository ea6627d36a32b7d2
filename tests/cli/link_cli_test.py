#!/usr/bin/env python3
"""lemma link: relocatable PTX of nvcc made one text, run, and what does not link.

usage: link_cli_test.py --lemma build/bin/lemma [NAME...]
       link_cli_test.py --list
"""

import sys

import numpy as np

from cli_case import FAILED, OK, ROOT, USAGE, Case, main

EXAMPLE = ROOT / "examples/separate_compilation"
MAIN, HELPER = EXAMPLE / "main.ptx", EXAMPLE / "helper.ptx"


class Link(Case):
    def link(self, *files, status=OK):
        return self.call("link", *files, "-o", self.path("program.ptx"), status=status)

    def run_linked(self, *options):
        """(standard output, tickets); the other output must be what it should."""
        done = self.call("run", self.path("program.ptx"), "--grid", "1", "--block", "32", "--smem", "128", "--arg",
                         f"in={EXAMPLE / 'x.npy'}", "--arg", f"out={self.path('out.npy')}:f32[32]", "--arg", f"expect={EXAMPLE / 'expected.npy'}", "--arg",
                         f"out={self.path('tickets.npy')}:s32[32]", *options)
        return done.stdout, np.load(self.path("tickets.npy"))

    def test_relocatable_code_of_nvcc(self):
        for files in (MAIN, HELPER), (HELPER, MAIN):
            self.link(*files)
            said, tickets = self.run_linked("--check")
            self.assertEqual(sorted(tickets.tolist()), list(range(40, 72)))
            self.assertEqual(said, "72 calls\n")

    def test_link_to_standard_output_and_from_standard_input(self):
        self.link(MAIN, HELPER)
        with open(self.path("program.ptx")) as program:
            self.assertEqual(self.call("link", MAIN, HELPER).stdout, program.read())
        self.call("verify", self.path("program.ptx"))

    def test_link_without_a_definition(self):
        said = self.link(MAIN, status=FAILED).stderr
        self.assertIn("error[unresolved]: no module defines the function '_Z8weightedPKfi'", said)
        self.assertIn("fix: link the module that has '_Z8weightedPKfi', with .visible before it", " ".join(said.split()))
        self.assertIn("main.ptx:", said)

    def test_link_of_two_definitions(self):
        said = self.link(MAIN, HELPER, HELPER, status=FAILED).stderr
        self.assertIn("error[duplicate]: '_Z8weightedPKfi' is defined twice: here and at", said)

    def test_link_of_a_later_versions_instruction(self):
        head = ".version 99.0\n.target sm_90\n.address_size 64\n"
        helper = "{}func (.reg .b32 r) half(.reg .b32 x) {}"
        (self.folder / "later.ptx").write_text(head + helper.format(".visible .", "{ quantumsum.u32 r, x; ret; }"))
        (self.folder / "calls.ptx").write_text(
            head + helper.format(".extern .", ";") + ".visible .entry k() { .reg .b32 a; call (a), half, (a); ret; }"
        )
        said = self.link(self.path("later.ptx"), self.path("calls.ptx")).stderr
        self.assertIn("unsupported[unknown-opcode]: no instruction is called 'quantumsum'", said)
        self.assertIn("quantumsum.u32", (self.folder / "program.ptx").read_text())

    def test_link_of_what_is_no_file(self):
        self.link(MAIN, self.path("absent.ptx"), status=USAGE)
        self.assertIn("absent.ptx", self.link(self.path("absent.ptx"), status=USAGE).stderr)


if __name__ == "__main__":
    sys.exit(main(Link, __doc__))
