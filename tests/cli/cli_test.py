#!/usr/bin/env python3
"""lemma run as scripts see it: exit statuses, messages, files in and out, --json.

usage: cli_test.py --lemma build/bin/lemma [NAME...]
       cli_test.py --list
"""

import json
import os
import pathlib
import pty
import struct
import subprocess
import sys
import time

import numpy as np

from cli_case import FAILED, FOLDER, OK, UNSUPPORTED, USAGE, Case, main

KERNELS = FOLDER / "kernels.ptx"


def line_of(text):
    """The number of the one line of kernels.ptx that holds the text."""
    lines = KERNELS.read_text().splitlines()
    found = [number for number, line in enumerate(lines, 1) if text in line]
    assert len(found) == 1, text
    return found[0]


class Cli(Case):
    def run_kernel(self, entry, *specs, grid="1", block="32", options=(), status=OK, file=KERNELS, env=None):
        words = ["run", file, "--entry", entry, "--grid", grid, "--block", block, *options]
        for spec in specs:
            words += ["--arg", spec]
        return self.call(*words, status=status, env=env)

    def run_add(self, *specs, count=32, k=5, options=(), status=OK, **kwargs):
        """add on 0, 1, 2, ...; the specs are those from the output on."""
        source = self.save("in.npy", np.arange(count, dtype=np.uint32))
        return self.run_kernel("add", f"in={source}", *specs, f"u32={k}", options=options, status=status, **kwargs)

    # --- the tool itself --------------------------------------------------------------------------------------------

    def test_version(self):
        self.assertRegex(self.call("--version").stdout, r"^lemma \d+\.\d+\.\d+\n$")

    def test_help(self):
        self.assertIn("verify", self.call("--help").stdout)
        text = self.call("run", "--help").stdout
        for word in ("--grid", "--arg", "inout=FILE:OUTFILE", "expect=FILE[:TOLERANCE]", "Exit status"):
            self.assertIn(word, text)

    def test_wrong_command_lines(self):
        self.call(status=USAGE)
        self.call("frobnicate", status=USAGE)
        self.call("run", status=USAGE)
        self.call("run", KERNELS, "--entry", "traps", "--grid", "1", status=USAGE)  # no --block
        self.call("run", KERNELS, "--entry", "traps", "--grid", "1", "--block", "1", "--warp", "3", status=USAGE)
        self.call("run", KERNELS, "--grid", "1", "--block", "1", "--device", "tpu", status=USAGE)
        for size in ("0", "1,2,3,4", "1,,2", "a", "-1", "4294967296", ""):
            self.call("run", KERNELS, "--entry", "traps", "--grid", size, "--block", "1", status=USAGE)

    def test_missing_files(self):
        done = self.call("run", self.path("no.ptx"), "--grid", "1", "--block", "1", status=USAGE)
        self.assertIn("no.ptx", done.stderr)
        self.assertIn("No such file", self.run_kernel("add", "in=/no/such", status=USAGE).stderr)
        self.call("run", self.folder, "--grid", "1", "--block", "1", status=USAGE)  # a folder

    def test_file_after_the_arguments(self):
        out = self.path("out")
        self.call("run", "--grid", "1", "--block", "1", "--entry", "reads_scratch", "--arg", "in=" + self.save(
            "in.bin", np.uint32(7)), f"out={out}:4", KERNELS)
        self.assertEqual(np.fromfile(out, np.uint32).tolist(), [7])

    # --- arguments --------------------------------------------------------------------------------------------------

    def scalars(self, *values, status=OK):
        """What the kernel got for its parameters a..g, as integers."""
        kinds = ("u8", "u16", "u32", "u64", "f32", "f64")
        specs = [v if "=" in v else f"{kind}={v}" for kind, v in zip(kinds, values)]
        record = self.save("g.bin", np.array([1, 2, 3], np.uint32))
        out = self.path("out.bin")
        done = self.run_kernel(
            "scalars", f"out={out}:56", *specs, f"bytes=@{record}", block="1", status=status
        )
        return np.fromfile(out, np.uint64).tolist() if status == OK else done.stderr

    def test_scalar_values(self):
        f32 = lambda v: struct.unpack("<I", struct.pack("<f", v))[0]
        f64 = lambda v: struct.unpack("<Q", struct.pack("<d", v))[0]
        self.assertEqual(
            self.scalars("255", "0xffff", "4294967295", "18446744073709551615", "0.1", "1e-300"),
            [255, 65535, 2**32 - 1, 2**64 - 1, f32(0.1), f64(1e-300), 3],
        )
        self.assertEqual(
            self.scalars("s8=-128", "s16=-1", "s32=-2147483648", "s64=-0x8000000000000000", "-inf", "0x1.8p1"),
            [128, 65535, 2**31, 2**63, f32(float("-inf")), f64(3.0), 3],
        )
        got = self.scalars("0", "0", "0", "0", "0f7FC00001", "0dFFF0000000000000")
        self.assertEqual(got[4:6], [0x7FC00001, 0xFFF0000000000000])
        self.assertEqual(self.scalars("0", "0", "0", "0", "-0.0", "-0")[4:6], [2**31, 2**63])
        self.assertEqual(self.scalars("0", "0", "0", "0", "nan", "16777217")[4] & 0x7F800000, 0x7F800000)

    def test_scalars_out_of_range(self):
        good = ["1", "1", "1", "1", "1", "1"]
        for position, wrong in (
            (0, "256"), (0, "-1"), (0, "s8=128"), (0, "s8=0xff"), (1, "65536"), (1, "s16=-32769"), (2, "4294967296"),
            (2, "1.5"), (2, "1x"), (2, "0x"), (3, "18446744073709551616"), (3, "s64=9223372036854775808"),
            (4, "1e39"), (4, "1.0f"), (4, "--1"), (5, "one"), (5, "1e400"),
        ):
            values = good.copy()
            values[position] = wrong
            self.assertIn("--arg", self.scalars(*values, status=USAGE), wrong)

    def test_wrong_specs(self):
        for spec in ("4", "u32", "u32=", "u128=4", "out=x", "out=x:y", "out=:4", "bytes=file", "buf=-1", "inout=x",
                     "out=x.npy:f33[2]", "out=x.npy:f32[a]", "out=x.npy:f32[4611686018427387904,16]"):
            self.assertIn("--arg", self.run_kernel("traps", spec, status=USAGE).stderr, spec)
        self.assertIn("must follow", self.run_kernel("traps", f"expect={KERNELS}", status=USAGE).stderr)

    def test_arguments_must_fit_the_parameters(self):
        done = self.run_kernel("add", "u32=1", status=USAGE)
        self.assertIn("takes 3 arguments, 1 given", done.stderr)
        self.assertRegex(done.stderr, r"2  k +\.u32 +4 bytes")
        done = self.run_kernel("add", "buf=4", "buf=4", "u64=1", status=USAGE)
        self.assertIn("argument 2 has 8 bytes, parameter k (.u32) has 4", done.stderr)
        wrong = self.save("g.bin", np.zeros(13, np.uint8))
        done = self.run_kernel("scalars", "buf=64", "u8=1", "u16=1", "u32=1", "u64=1", "f32=1", "f64=1",
                               f"bytes=@{wrong}", status=USAGE)
        self.assertIn("has 13 bytes", done.stderr)

    def test_entry(self):
        done = self.call("run", KERNELS, "--grid", "1", "--block", "1", status=USAGE)
        self.assertIn("add, scalars, reads_scratch, counts, waits, traps", done.stderr)
        self.assertIn("did you mean traps", self.run_kernel("tarps", status=USAGE).stderr)

    # --- files ------------------------------------------------------------------------------------------------------

    def test_npy_and_raw_files(self):
        want = np.arange(64, dtype=np.uint32) + 9
        raw, npy = self.path("out.bin"), self.path("out.npy")
        self.run_add(f"out={raw}:256", count=64, k=9, grid="2")
        self.assertEqual(np.fromfile(raw, np.uint32).tolist(), want.tolist())
        self.run_add(f"out={npy}:256", count=64, k=9, grid="2")  # no type: bytes
        got = np.load(npy)
        self.assertEqual((got.dtype, got.shape), (np.uint8, (256,)))
        self.assertEqual(got.view(np.uint32).tolist(), want.tolist())
        self.run_add(f"out={npy}:u32[4,16]", count=64, k=9, grid="2")
        self.assertEqual(np.load(npy).tolist(), want.reshape(4, 16).tolist())
        expected = self.save("want.npy", want.astype(np.int32).reshape(8, 8))
        self.run_add(f"out={npy}:256", f"expect={expected}", count=64, k=9, grid="2")
        got = np.load(npy)
        self.assertEqual((got.dtype, got.shape), (np.int32, (8, 8)))

    def test_inout(self):
        source = self.save("a.npy", np.arange(32, dtype=np.uint32).reshape(2, 16))
        out = self.path("b.npy")
        self.run_add(f"inout={source}:{out}")
        self.assertEqual(np.load(out).tolist(), (np.arange(32) + 5).reshape(2, 16).tolist())
        self.assertEqual(np.load(source).ravel().tolist(), list(range(32)))

    def test_outputs_are_zeroed_before(self):
        out = self.path("out.bin")
        self.run_add(f"out={out}:256")  # 128 bytes are written
        self.assertEqual(np.fromfile(out, np.uint32)[32:].tolist(), [0] * 32)

    def test_refused_npy_files(self):
        fortran = self.save("f.npy", np.asfortranarray(np.zeros((4, 8), np.float32)))
        self.assertIn("Fortran", self.run_kernel("add", f"in={fortran}", status=USAGE).stderr)
        big = self.save("b.npy", np.zeros(4, ">f4"))
        self.assertIn("'>f4'", self.run_kernel("add", f"in={big}", status=USAGE).stderr)
        cut = self.path("cut.npy")
        pathlib.Path(cut).write_bytes(pathlib.Path(fortran).read_bytes()[:100])
        self.assertIn("cut.npy", self.run_kernel("add", f"in={cut}", status=USAGE).stderr)

    def test_unwritable_output(self):
        self.assertIn("cannot write /no/such", self.run_add("out=/no/such/file:128", status=USAGE).stderr)

    # --- what comes from outside, in messages ------------------------------------------------------------------------

    def test_messages_hold_no_controls(self):
        """File names, source text, identifiers and words of the command line reach a terminal escaped."""
        evil, shown = "\x1b[31m\x07\u202e\x9b", "\\x1b[31m\\x07\\u{202e}\\u{9b}"
        program = self.path(f"{evil}.ptx")
        text = KERNELS.read_text()
        pathlib.Path(program).write_text(text.replace("// the store", f"// the store {evil}"))
        bad = self.path(f"bad{evil}.ptx")
        pathlib.Path(bad).write_text(f".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {{\n  frob{evil}.u32 %r;\n}}\n")
        out, want = self.path(f"out{evil}"), self.save(f"want{evil}", np.zeros(32, np.uint32))
        runs = [
            self.call("run", self.path(f"no{evil}"), status=USAGE),
            self.call("run", program, "--grid", evil, status=USAGE),
            self.call("verify", KERNELS, f"--{evil}", status=USAGE),
            self.call("verify", KERNELS, evil, status=USAGE),
            self.call("run", "--device", evil, status=USAGE),
            self.call("verify", program),
            self.call("verify", bad, status=FAILED),
            self.call("isa", evil, status=USAGE),
            self.call("layout", evil, status=USAGE),
            self.call("compile", self.path(f"no{evil}"), status=USAGE),
            self.run_add(f"out={out}:128", f"expect={want}", file=program, status=FAILED),
            self.run_add(f"out={out}:64", file=program, status=FAILED),
            self.run_kernel(evil, file=program, status=USAGE),
            self.run_kernel("add", f"{evil}=3", status=USAGE),
            self.run_kernel("add", f"in={evil}", status=USAGE),
            self.run_add(f"out={out}:128", options=["--arch", evil], status=USAGE),
        ]
        for done in runs:
            said = done.stdout + done.stderr
            for control in ("\x1b", "\x07", "\u202e", "\x9b"):
                self.assertNotIn(control, said, done.args)
            self.assertRegex(said, r"\\x1b\[31m", done.args)
        self.assertIn(f"{shown}.ptx:", runs[-6].stderr)  # the summary
        self.assertIn(f"// the store {shown}", runs[11].stderr)
        for done in (self.run_add(f"out={out}:128", file=program, options=["--json"]),
                     self.call("verify", "--json", bad, status=FAILED)):
            self.assertTrue(done.stdout.isascii() and not set(done.stdout) & {"\x1b", "\x07"})
            json.loads(done.stdout)

    def test_messages_hold_no_bytes_that_are_no_text(self):
        name = os.fsencode(self.path("x")) + b"\xff\xc3.ptx"
        done = subprocess.run([self.lemma, "verify", name], capture_output=True)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn(rb"x\xff\xc3.ptx", done.stderr)

    # --- comparisons ------------------------------------------------------------------------------------------------

    def test_expect_equal(self):
        out = self.path("out.npy")
        want = self.save("want.npy", np.arange(32, dtype=np.uint32) + 5)
        self.assertIn("equals", self.run_add(f"out={out}:128", f"expect={want}").stderr)
        raw = self.save("want.bin", np.arange(32, dtype=np.uint32) + 5)
        self.run_add(f"out={out}:128", f"expect={raw}")

    def test_expect_different(self):
        out = self.path("out.npy")
        values = (np.arange(32, dtype=np.uint32) + 5).reshape(4, 8)
        values[2, 3] += 1
        want = self.save("want.npy", values)
        done = self.run_add(f"out={out}:128", f"expect={want}", status=FAILED)
        self.assertIn("1 of 32 elements of u32 differ", done.stderr)
        self.assertIn("element 19 [2, 3]: got 0x00000018 (24), want 0x00000019 (25)", done.stderr)
        self.assertEqual(np.load(out).ravel().tolist(), (np.arange(32) + 5).tolist())  # written all the same
        self.run_add(f"out={out}:128", f"expect={want}:1")
        self.run_add(f"out={out}:128", f"expect={want}:0.5", status=FAILED)

    def test_expect_shows_ten_differences(self):
        want = self.save("want.npy", np.zeros(32, np.uint32))
        done = self.run_add(f"out={self.path('out')}:128", f"expect={want}", status=FAILED)
        self.assertEqual(done.stderr.count("  element "), 10)
        self.assertIn("and 22 more", done.stderr)

    def test_expect_other_size(self):
        want = self.save("want.npy", np.zeros(31, np.uint32))
        done = self.run_add(f"out={self.path('out')}:128", f"expect={want}", status=FAILED)
        self.assertIn("128 bytes, expected 124", done.stderr)

    def expect_floats(self, got, want, tolerance="", status=OK, dtype=np.float32):
        """Compares bits with values: `add` adds 0 to got's bits."""
        got, want = np.array(got, dtype), np.array(want, dtype)
        source, expected = self.save("got.npy", got), self.save("want.npy", want)
        words = got.nbytes // 4
        return self.run_kernel("add", f"in={source}", f"out={self.path('out')}:{got.nbytes}",
                               f"expect={expected}{tolerance}", "u32=0", block=str(words), status=status).stderr

    def test_expect_floats(self):
        nan, inf = float("nan"), float("inf")
        self.expect_floats([1.0, nan, inf, 0.0], [1.0, nan, inf, 0.0])
        text = self.expect_floats([0.0, 1.0], [-0.0, 1.0], status=FAILED)
        self.assertIn("got 0x00000000 (0.0), want 0x80000000 (-0.0)", text)
        self.expect_floats([0.0, 1.0], [-0.0, 1.0], ":0")
        self.expect_floats([1.0, nan, -inf], [1.25, nan, -inf], ":0.25")
        self.expect_floats([1.0], [1.25], ":0.24", status=FAILED)
        self.expect_floats([nan], [1.0], ":100", status=FAILED)
        self.expect_floats([inf], [3e38], ":1e300", status=FAILED)
        self.expect_floats([1.0], [1.0 + 2**-52], ":0", status=FAILED, dtype=np.float64)
        text = self.expect_floats([1.0, 65504.0], [1.0, 6.0e-8], status=FAILED, dtype=np.float16)
        self.assertIn("elements of f16", text)
        self.assertIn("got 0x7bff (65504.0), want 0x0001 (5.9604645e-08)", text)

    def test_expect_bfloat16(self):
        got = np.array([0x3F80, 0xC000], np.uint16).view("V2")
        want = np.array([0x3F80, 0x4000], np.uint16).view("V2")
        self.expect_bits = [self.save("got.npy", got), self.save("want.npy", want)]
        done = self.run_kernel("add", f"in={self.expect_bits[0]}", f"out={self.path('out.npy')}:4",
                               f"expect={self.expect_bits[1]}", "u32=0", block="1", status=FAILED)
        self.assertIn("element 1: got 0xc000 (-2.0), want 0x4000 (2.0)", done.stderr)
        self.assertEqual(np.load(self.path("out.npy")).dtype, np.dtype("V2"))

    # --- what is said of a run ----------------------------------------------------------------------------------------

    def test_says_whose_arithmetic(self):
        out = f"out={self.path('out')}:128"
        self.assertIn("arithmetic of sm_90 (the module's .target sm_90a)", self.run_add(out).stderr)
        self.assertIn("arithmetic of sm_90 (--arch sm_90)", self.run_add(out, options=["--arch", "sm_90"]).stderr)
        self.run_add(out, options=["--arch", "hopper"], status=USAGE)
        said = self.run_add(out, options=["--arch", "sm_50"], status=UNSUPPORTED).stderr
        self.assertIn("lemma: sm_50 is not modelled; sm_70 and later are\n", said)

    def old_module(self, *options, target="sm_52", bits=64, status=OK):
        path, out = self.path("old.ptx"), self.path("out.bin")
        with open(path, "w") as file:
            file.write(f".version 6.0\n.target {target}\n.address_size {bits}\n.visible .entry k(.param .u{bits} out) {{\n"
                       f".reg .b32 %r; .reg .b{bits} %a;\nld.param.u{bits} %a, [out]; mov.u32 %r, 7;\n"
                       "st.global.u32 [%a], %r; ret; }\n")
        done = self.call("run", path, "--grid", "1", "--block", "1", "--arg", f"out={out}:4", *options, status=status)
        return done.stderr if status else np.fromfile(out, np.uint32).tolist()

    def test_old_machines_name_arch(self):
        for target in ("sm_30", "sm_52", "sm_61"):
            self.assertIn(f"lemma: {target} is not modelled; sm_70 and later are, and run what was made for an older one: "
                          "--arch sm_70", self.old_module(target=target, status=UNSUPPORTED))
            self.assertEqual(self.old_module("--arch", "sm_70", target=target), [7])
            self.assertEqual(self.old_module("--arch", "sm_90", target=target), [7])

    def test_32_bit_modules(self):
        said = self.old_module(bits=32, status=UNSUPPORTED)
        self.assertIn("32-bit addresses (.address_size 32)", said)
        self.assertIn("nvcc -m64", said)
        self.assertIn("--arch sm_70: sm_52 is not modelled", said)
        said = self.old_module("--arch", "sm_70", bits=32, status=UNSUPPORTED)
        self.assertIn("32-bit addresses", said)
        self.assertNotIn("--arch", said)

    def module_fault(self, text, status=UNSUPPORTED, target="sm_90a", version="8.6"):
        path = self.path("m.ptx")
        pathlib.Path(path).write_text(f".version {version}\n.target {target}\n.address_size 64\n{text}\n")
        return self.call("run", path, "--grid", "1", "--block", "32", status=status).stderr

    def test_unsupported_names_the_form(self):
        said = self.call("run", FOLDER / "unsupported.ptx", "--grid", "1", "--block", "1", status=UNSUPPORTED).stderr
        self.assertIn("unsupported.ptx:10: unsupported: suld.b.1d.b32.trap is legal here", said)
        said = self.module_fault(".visible .entry k(){\n.reg .f32 %f; .reg .b64 %a; mov.u64 %a, 0;\n"
                                 "multimem.ld_reduce.relaxed.sys.global.add.f32 %f, [%a]; ret; }")
        self.assertIn("m.ptx:6: unsupported: multimem.ld_reduce.relaxed.sys.global.add.f32 is legal here", said)

    def test_callee_without_a_body(self):
        call = "{ .param .b32 y; call.uni (y), helper, (); }"
        extern = ".extern .func (.param .b32 r) helper ();"
        said = self.module_fault(f"{extern}\n.visible .entry k() {{\n{call}\nret; }}", status=FAILED)
        self.assertIn("m.ptx:6: fault[bad call target]: helper is declared but has no body: relocatable code ", said)
        self.assertIn("lemma link THIS.ptx OTHER.ptx", said)
        self.assertNotIn("unsupported", said)
        self.module_fault(f"{extern}\n.visible .entry k() {{\nret;\n{call}\n}}", status=OK)  # never reached

    def test_refuses_another_machine(self):
        said = self.run_add(f"out={self.path('out')}:128", options=["--arch", "sm_80"], status=FAILED).stderr
        self.assertIn("kernels.ptx:3:9: error[machine]: a module for sm_90a does not run on sm_80", said)
        self.assertRegex(said, "  runs on: +sm_90 alone")

    def test_names_what_another_machine_lacks(self):
        path = self.path("wgmma.ptx")
        with open(path, "w") as file:
            file.write(".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
                       "wgmma.fence.sync.aligned;\nret; }\n")
        said = self.call("run", path, "--arch", "sm_80", "--grid", "1", "--block", "128", status=FAILED).stderr
        self.assertIn("wgmma.ptx:5:1: error[target]: wgmma.fence.sync.aligned is not in sm_80", said)
        self.assertIn("  legal: sm_90a", said)

    def test_says_that_races_are_not_checked(self):
        """Silence is no proof."""
        out = f"out={self.path('out')}:128"
        self.assertTrue(self.run_add(out).stderr.endswith("; races not checked\n"))
        self.assertIs(json.loads(self.run_add(out, options=["--json"]).stdout)["races_checked"], False)

    def test_stats(self):
        done = self.run_add(f"out={self.path('out')}:128", options=["--stats"])
        self.assertRegex(done.stdout, r"warp instructions +14\n")
        self.assertRegex(done.stdout, r"lane instructions +448 ")
        self.assertRegex(done.stdout, r"matrix FLOPs +0 ")
        self.assertIn("global reads       1 by warps, 32 by lanes, 128 bytes\n"
                      "global writes      1 by warps, 32 by lanes, 128 bytes\n"
                      "param reads        3 by warps, 96 by lanes, 640 bytes\n", done.stdout)
        self.assertRegex(done.stdout, r"time +\d+\.\d+ s\n")
        stats = json.loads(self.run_add(f"out={self.path('out')}:128", options=["--stats", "--json"]).stdout)["stats"]
        self.assertEqual(stats["accesses"][0], {"space": "global", "kind": "read", "warp_accesses": 1, "lane_accesses": 32,
                                                "bytes": 128})
        self.assertEqual(stats["async_operations"], [])
        stats = json.loads(self.run_add(f"out={self.path('out')}:128", options=["--json"]).stdout)["stats"]
        self.assertIsNone(stats["accesses"])

    def compiled(self, *options, env=None):
        """(compiled warp instructions, what they called, the line of --stats) of `add`."""
        out = f"out={self.path('out')}:128"
        stats = json.loads(self.run_add(out, options=[*options, "--json"], env=env).stdout)["stats"]
        line, = (line for line in self.run_add(out, options=[*options, "--stats"], env=env).stdout.split("\n")
                 if line.startswith("compiled"))
        return stats["compiled_instructions"], stats["called"], line

    def test_engines(self):
        none = (0, [], "compiled           0.0 % of warp instructions")
        self.assertEqual(self.compiled("--engine", "interpreter"), none)
        self.assertEqual(self.compiled(env={"LEMMA_ENGINE": "interpreter"}), none)
        for options, env in ((["--engine", "compiled"], None), ([], {"LEMMA_ENGINE": "compiled"}), (["--engine=auto"], None)):
            count, called, line = self.compiled(*options, env=env)
            listed = ", ".join("{opcode} {count}".format(**each) for each in called)
            self.assertEqual(line, f"compiled           {100 * count / 14:.1f} % of warp instructions"
                                   + (f"; called: {listed}" if called else ""))  # fmt: skip
            self.assertLessEqual(sum(each["count"] for each in called), count)
            self.assertEqual(called, sorted(called, key=lambda each: -each["count"]))

    def test_engines_have_names(self):
        out, wrong = f"out={self.path('out')}:128", {"LEMMA_ENGINE": "jit"}
        said = self.run_add(out, options=["--engine", "jit"], status=USAGE).stderr
        self.assertIn("--engine", said)
        self.assertIn("{auto,interpreter,compiled}", said)
        self.assertIn("lemma: LEMMA_ENGINE is 'jit': legal are auto, interpreter, compiled\n",
                      self.run_add(out, status=USAGE, env=wrong).stderr)
        self.run_add(out, options=["--engine", "auto"], env=wrong)

    def run_products(self, a, b, c, options):
        """As many CTAs of `product` as there are rows of raw registers."""
        specs = [f"in={self.save(name, values.astype(kind))}"
                 for name, values, kind in (("a.bin", a, "<f2"), ("b.bin", b, "<f2"), ("c.bin", c, "<f4"))]
        return self.run_kernel("product", *specs, f"out={self.path('d.bin')}:{512 * len(c)}", grid=len(c), options=options)

    def test_stats_of_matrix_outputs(self):
        """The fast way takes ordinary numbers, and of a launch with NaNs all the products that have none."""
        rng = np.random.default_rng(5)
        a, b, c = (rng.standard_normal((32, elements)) for elements in (256, 128, 128))
        outputs, flops = 32 * 128, 32 * 2 * 16 * 8 * 16
        by = json.loads(self.run_products(a, b, c, ["--json"]).stdout)["stats"]
        self.assertEqual(by["matrix_flops"], flops)
        self.assertEqual(sum(by["matrix_outputs"].values()), outputs)
        self.assertGreaterEqual(by["matrix_outputs"]["vector"], 0.99 * outputs)
        text = self.run_products(a, b, c, ["--stats"]).stdout
        self.assertRegex(text, rf"matrix FLOPs +{flops} ")
        self.assertRegex(text, r"matrix outputs +{vector} by the vector path \((99|100)\.\d\d %\), {careful} by the careful one, "
                         r"{scalar} by the scalar one\n".format(**by["matrix_outputs"]))
        a[:4, 17] = np.nan  # in four products a row of eight outputs each
        by = json.loads(self.run_products(a, b, c, ["--json"]).stdout)["stats"]["matrix_outputs"]
        self.assertEqual(np.count_nonzero(np.isnan(np.fromfile(self.path("d.bin"), np.float32))), 4 * 8)
        self.assertEqual(sum(by.values()), outputs)
        self.assertTrue(4 * 8 <= by["scalar"] <= 4 * 128, by)
        self.assertGreaterEqual(by["vector"], 0.99 * 28 * 128)

    def test_stats_of_no_matrix(self):
        report = json.loads(self.run_add(f"out={self.path('out')}:128", options=["--json"]).stdout)
        self.assertEqual(report["stats"]["matrix_outputs"], {"vector": 0, "careful": 0, "scalar": 0})
        self.assertNotIn("matrix outputs", self.run_add(f"out={self.path('out')}:128", options=["--stats"]).stdout)

    def test_stats_of_a_checked_run(self):
        done = self.run_add(f"out={self.path('out')}:128", options=["--stats", "--check"])
        self.assertIn("global reads       1 by warps, 32 by lanes, 128 bytes\n", done.stdout)
        self.assertIn("; checked: no findings", done.stderr)

    def test_quiet_without_stats(self):
        self.assertEqual(self.run_add(f"out={self.path('out')}:128").stdout, "")

    def test_fault(self):
        done = self.run_add(f"out={self.path('out')}:64", status=FAILED)
        line = line_of("// the store")
        self.assertRegex(done.stderr, rf"kernels\.ptx:{line}: fault\[out of bounds\]: ")
        self.assertIn(f" {line} |   st.global.u32 [%rd5], %r5; // the store", done.stderr)
        self.assertRegex(done.stderr, r"where: +CTA 0,0,0, warp 0, lane \d+")
        self.assertRegex(done.stderr, r"address: +0x0000[0-9a-f]{12}")
        self.assertIn("arg 1 (out: out, 64 bytes)", done.stderr)

    def test_trap(self):
        self.assertRegex(self.run_kernel("traps", status=FAILED).stderr, r"fault\[[^]]*trap[^]]*\]")

    def test_max_instructions(self):
        self.run_kernel("counts", "u32=100", options=["--max-instructions", "1000"])
        done = self.run_kernel("counts", "u32=1000", options=["--max-instructions", "1000"], status=FAILED)
        self.assertRegex(done.stderr, r"fault\[[^]]*instructions[^]]*\]")

    def test_max_memory(self):
        text = ".version 8.0\n.target sm_90a\n.entry k() { .reg .b64 %big<500000>; ret; }\n"
        pathlib.Path(self.path("big.ptx")).write_text(text)
        run = ["run", self.path("big.ptx"), "--grid", "1", "--block", "1024"]
        done = self.call(*run, "--max-memory", "1G", status=FAILED)
        self.assertRegex(done.stderr, r"fault\[out of memory\]: no memory for the registers of k: \d+ bytes more than the")
        self.assertIn("the limit is 1073741824 (--max-memory)", done.stderr)
        done = self.call(*run, "--max-memory", "0x40000000", "--json", status=FAILED)
        self.assertEqual(json.loads(done.stdout)["fault"]["kind"], "out of memory")
        done = self.run_kernel("traps", "buf=2000000", options=["--max-memory", "1M"], status=FAILED)
        self.assertIn("the limit is 1048576 (--max-memory)", done.stderr)
        for wrong in ["1X", "G", "-1", "99999999999G"]:
            done = self.run_kernel("traps", options=["--max-memory", wrong], status=USAGE)
            self.assertIn(f"--max-memory {wrong}: a number of bytes", done.stderr)

    def test_files_without_an_end(self):
        for words in [
            ["verify", "/dev/zero"],
            ["run", "/dev/zero", "--grid", "1", "--block", "1"],
            ["compile", "/dev/zero"],
        ]:
            done = self.call(*words, status=USAGE)
            self.assertIn("cannot read /dev/zero: it has more than 1073741824 bytes, and is no regular file", done.stderr)
        for argument in ["in=/dev/zero", "tmap=@/dev/zero", "bytes=@/dev/zero"]:
            done = self.run_kernel("counts", argument, status=USAGE)
            self.assertIn("cannot read /dev/zero: it has more than", done.stderr)

    def test_long_names_and_deep_files(self):
        name = "n" * 5_000_000
        for text in [
            f".version 8.0\n.target sm_90a\n.entry k() {{ mov.b32 {name}, 1; }}",
            f".version 8.0\n.target sm_90a\n.entry k() {{ {name}; }}",
            f".version 8.0\n.target sm_90a\n.entry k() {{ ld.global.{name}.u32 a, [b]; }}",
            f".version 8.0\n.target sm_90a\n.entry k() {{ .reg .b32 {name}; mov.b64 {name}, 1; }}",
            f".version 8.0\n.target {name}\n",
            f".version 8.0\n.target sm_90a\n.entry {name}() {{ ret; }} .entry {name}() {{ ret; }}",
            f".version 8.0\n.target sm_90a\n.entry k(.param .u32 {name}) {{ .reg .pred {name}; }}",
        ]:
            pathlib.Path(self.path("long.ptx")).write_text(text)
            self.assertLess(len(self.call("verify", self.path("long.ptx"), status=FAILED).stdout), 20_000)
            self.assertLess(
                len(self.call("verify", "--json", self.path("long.ptx"), status=FAILED).stdout), 40_000
            )
        text = f".version 8.0\n.target sm_90a\n.entry {name}() {{ trap; }}\n.entry j() {{ ret; }}"
        pathlib.Path(self.path("long.ptx")).write_text(text)
        run = ["run", self.path("long.ptx"), "--grid", "1", "--block", "1"]
        self.assertLess(len(self.call(*run, status=USAGE).stderr), 20_000)
        self.assertLess(len(self.call(*run, "--entry", "m" * 100_000, status=USAGE).stderr), 20_000)
        for deep in ["[" * 1_000_000, '{"a":' * 1_000_000, '{"arg": 0, "x": ' + "[" * 100 + "]" * 100 + "}"]:
            pathlib.Path(self.path("map.json")).write_text(deep)
            done = self.run_kernel("counts", f"tmap=@{self.path('map.json')}", status=USAGE)
            self.assertIn("nests deeper than 16 brackets", done.stderr)
        pathlib.Path(self.path("map.json")).write_text('{"' + name + '": 1}')
        done = self.run_kernel("counts", f"tmap=@{self.path('map.json')}", status=USAGE)
        self.assertLess(len(done.stderr), 20_000)

    def test_deadlock(self):
        flag = self.save("flag", np.uint32(0))
        done = self.run_kernel("waits", f"in={flag}", grid="2", block="64", status=FAILED)
        self.assertIn("fault[deadlock]", done.stderr)
        self.assertIn("waits: CTA 0,0,0, warp 0, lanes 0xffffffff, and 3 more: ", done.stderr)  # two CTAs of two warps
        done = self.run_kernel("waits", f"in={flag}", grid="2", block="64", options=["--json"], status=FAILED)
        waiting = json.loads(done.stdout)["waiting"]
        self.assertEqual(len(waiting), 4)
        self.assertEqual(waiting[3]["cta"], [1, 0, 0])
        self.assertEqual(waiting[3]["notes"], [])

    def test_clusters(self):
        done = self.run_kernel("traps", grid="4", options=["--cluster", "3"], status=USAGE)
        self.assertIn("not a multiple of the cluster's 3", done.stderr)
        done = self.run_kernel("traps", grid="34", options=["--cluster", "17"], status=USAGE)
        self.assertIn("legal are 1 to 16", done.stderr)

    # --- tensor maps ------------------------------------------------------------------------------------------------

    MAP = {"arg": 4, "type": "u32", "dims": [8, 4], "strides_bytes": [32], "box": [4, 2]}

    def copy_box(self, description, status=OK, options=(), x=4, y=3):
        """One box of an 8 x 4 matrix of 0, 1, 2, ..., whose memory is no parameter of the kernel."""
        source = self.save("matrix.npy", np.arange(32, dtype=np.uint32).reshape(4, 8))
        text = description if isinstance(description, str) else json.dumps(description)
        (self.folder / "map.json").write_text(text)
        return self.run_kernel(
            "copy_box",
            f"out={self.path('box.npy')}:u32[2,4]",
            f"tmap=@{self.path('map.json')}",
            f"u32={x}",
            f"u32={y}",
            f"in={source}",
            block="1",
            status=status,
            options=options,
        )

    def test_tensor_map(self):
        for mode in ("eager", "late"):
            self.copy_box(self.MAP, options=("--async", mode))
            box = np.load(self.path("box.npy"))
            self.assertEqual(box.tolist(), [[28, 29, 30, 31], [0, 0, 0, 0]])  # the second row lies outside

    def test_wrong_tensor_maps(self):
        def without(key):
            return {k: v for k, v in self.MAP.items() if k != key}

        for description, message in (
            ("{", "is no JSON"),
            ("[]", "is no JSON object"),
            (without("dims"), 'key "dims" is missing'),
            (without("box"), 'key "box" is missing'),
            ({**self.MAP, "boxes": [1]}, 'key "boxes" is unknown'),
            ({**self.MAP, "type": "int"}, '"type" is "int": legal are u8'),
            ({**self.MAP, "swizzle": 128}, '"swizzle" is 128: legal are none, 32B'),
            ({**self.MAP, "dims": [8, -4]}, '"dims" has -4'),
            ({**self.MAP, "dims": 8}, '"dims" is no list'),
            ({**self.MAP, "arg": 9}, "--arg options are 0 to 4"),
            ({**self.MAP, "arg": 2}, "is no memory"),
            ({**self.MAP, "box": [3, 2]}, "multiples of 16"),
            ({**self.MAP, "strides_bytes": [24]}, "strides_bytes[0] is 24"),
            ({**self.MAP, "oob_fill": "nan"}, "floating-point"),
            ({**without("box"), "im2col": {"lower": [0]}}, 'im2col key "upper" is missing'),
        ):
            with self.subTest(message):
                done = self.copy_box(description, status=USAGE)
                self.assertIn(message, done.stderr)
                self.assertIn("map.json", done.stderr)

    def test_tensor_copy_fault(self):
        done = self.copy_box(self.MAP, x=1, status=FAILED)
        self.assertIn("not a multiple of 16", done.stderr)
        self.assertIn(f"kernels.ptx:{line_of('cp.async.bulk.tensor.2d')}", done.stderr)

    def test_launch_limits(self):
        self.run_kernel("traps", block="1025", status=USAGE)
        self.run_kernel("traps", options=["--smem", "1000000"], status=USAGE)
        done = self.run_kernel("traps", options=["--smem", "4294967295"], status=USAGE)
        self.assertIn("needs 4294967295 bytes of shared memory", done.stderr)
        self.assertIn("a CTA has at most 232448", done.stderr)
        done = self.run_kernel("traps", options=["--smem", "4294967296"], status=USAGE)
        self.assertIn("--smem", done.stderr)

    def test_variables_that_are_too_large(self):
        for declaration in (".local .align 4 .b8 d[{}]", ".param .align 4 .b8 d[{}]"):
            for size in (1 << 27, 1 << 32, (1 << 64) - 1):
                file = self.path("large.ptx")
                pathlib.Path(file).write_text(
                    ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n  "
                    + declaration.format(size)
                    + ";\n  ret;\n}\n"
                )
                done = self.run_kernel("k", file=file, block="1", status=FAILED)
                self.assertIn("large.ptx:5:", done.stderr)
                self.assertIn(f"d ({size} bytes) does not fit", done.stderr)
                self.assertIn("legal: 524288 bytes of local memory a thread", done.stderr)

    def test_uninitialized_reads(self):
        done = self.run_kernel("reads_scratch", "buf=4", f"out={self.path('out')}:4", block="1")
        self.assertIn("warning[uninitialized]", done.stderr)
        self.assertIn("1 read of what was never written", done.stderr)
        first = pathlib.Path(self.path("out")).read_bytes()
        for seed, same in (("0", True), ("1", False), ("2", False), ("0", True)):
            self.run_kernel("reads_scratch", "buf=4", f"out={self.path('out')}:4", block="1", options=["--seed", seed])
            self.assertEqual(pathlib.Path(self.path("out")).read_bytes() == first, same)

    def test_unsupported(self):
        done = self.run_kernel("k", file=FOLDER / "unsupported.ptx", block="1", status=UNSUPPORTED)
        self.assertIn("unsupported.ptx:10: unsupported: ", done.stderr)

    def test_rejected_file(self):
        done = self.run_kernel("k", file=FOLDER / "bad.ptx", status=FAILED)
        self.assertIn("bad.ptx:7:3: error[", done.stderr)

    # --- a real GPU -------------------------------------------------------------------------------------------------

    def needs_gpu(self):
        if not os.path.exists("/dev/nvidiactl"):
            self.skipTest("no GPU")

    def test_cuda_run(self):
        self.needs_gpu()
        want = self.save("want.npy", np.arange(4096, dtype=np.uint32) + 5)
        out = self.path("out.npy")
        done = self.run_add(f"out={out}:16384", f"expect={want}", count=4096, grid="32", block="128",
                            options=["--device", "cuda", "--stats"])
        self.assertIn("the GPU's own; the module's .target is sm_90a", done.stderr)
        self.assertRegex(done.stdout, r"^time +\d+\.\d+ s\n$")

    def test_cuda_fault(self):
        self.needs_gpu()
        done = self.run_kernel("traps", options=["--device", "cuda"], status=FAILED)
        self.assertRegex(done.stderr, r"fault\[[a-z ]+\]: kernel traps failed on .*: CUDA_ERROR_")
        done = self.run_kernel("traps", options=["--device", "cuda", "--json"], status=FAILED)
        report = json.loads(done.stdout)
        self.assertEqual((report["outcome"], report["device"]["kind"]), ("fault", "cuda"))

    def test_cuda_refusals(self):
        self.needs_gpu()
        self.run_kernel("traps", block="1025", options=["--device", "cuda"], status=USAGE)
        self.run_kernel("traps", options=["--device", "cuda", "--smem", "1000000"], status=USAGE)

    def test_no_gpu(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is a GPU")
        self.assertIn("libcuda.so.1", self.run_kernel("traps", options=["--device", "cuda"], status=UNSUPPORTED).stderr)

    # --- the progress bar -------------------------------------------------------------------------------------------

    def count_for_ever(self, stderr):
        words = ["run", KERNELS, "--entry", "counts", "--grid", "100000", "--block", "32", "--arg", "u32=1000000"]
        process = subprocess.Popen([self.lemma, *words], stderr=stderr)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_progress_bar_on_terminals(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.count_for_ever(theirs)
        os.close(theirs)
        text = b""
        while b"of 100000 CTAs" not in text:  # the test's time limit ends this if it never comes
            text += os.read(ours, 65536)

    def test_no_progress_bar_in_pipes(self):
        process = self.count_for_ever(subprocess.PIPE)
        time.sleep(2)
        process.kill()
        self.assertEqual(process.stderr.read(), b"")

    # --- --json -----------------------------------------------------------------------------------------------------

    def test_json_of_a_good_run(self):
        want = self.save("want.npy", np.arange(32, dtype=np.uint32) + 5)
        done = self.run_add(f"out={self.path('out')}:128", f"expect={want}", options=["--json"])
        report = json.loads(done.stdout)
        self.assertEqual(report["exit_status"], 0)
        self.assertEqual(report["outcome"], "finished")
        self.assertEqual(report["kernel"], "add")
        self.assertIsNone(report["fault"])
        self.assertEqual(report["arithmetic"], {"arch": "sm_90", "target": "sm_90a", "from": ".target"})
        self.assertEqual(report["stats"]["lane_instructions"], 448)
        self.assertEqual(report["uninitialized"]["count"], 0)
        self.assertEqual([c["equal"] for c in report["comparisons"]], [True])
        self.assertEqual(done.stderr, "")

    def test_json_of_a_fault(self):
        report = json.loads(self.run_add(f"out={self.path('out')}:64", options=["--json"], status=FAILED).stdout)
        self.assertEqual(report["exit_status"], 1)
        self.assertEqual(report["outcome"], "fault")
        self.assertEqual(report["fault"]["kind"], "out of bounds")
        self.assertEqual(report["fault"]["place"]["ptx_line"], line_of("// the store"))
        self.assertEqual(report["fault"]["cta"], [0, 0, 0])

    def test_json_of_a_failed_comparison(self):
        want = self.save("want.npy", np.zeros(32, np.uint32))
        done = self.run_add(f"out={self.path('out')}:128", f"expect={want}", options=["--json"], status=FAILED)
        comparison = json.loads(done.stdout)["comparisons"][0]
        self.assertEqual((comparison["equal"], comparison["different"], len(comparison["first"])), (False, 32, 10))

    def test_json_of_errors(self):
        report = json.loads(self.run_kernel("add", "u32=1", options=["--json"], status=USAGE).stdout)
        self.assertEqual(report["error"]["kind"], "invalid argument")
        done = self.run_kernel("k", file=FOLDER / "bad.ptx", options=["--json"], status=FAILED)
        report = json.loads(done.stdout)
        self.assertEqual(report["error"]["kind"], "rejected")
        self.assertEqual(report["diagnostics"][0]["line"], 7)
        done = self.run_kernel("k", file=FOLDER / "unsupported.ptx", block="1", options=["--json"], status=UNSUPPORTED)
        self.assertEqual(json.loads(done.stdout)["outcome"], "unsupported")


if __name__ == "__main__":
    sys.exit(main(Cli, __doc__))
