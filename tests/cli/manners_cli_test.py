#!/usr/bin/env python3
"""How the lemma tool takes what is nearly right: names in part, kinds of numbers, misspelt words, memory by its name,
words from files and standard input.

usage: manners_cli_test.py --lemma build/bin/lemma [NAME...]
       manners_cli_test.py --list
"""

import json
import pathlib
import subprocess
import sys

import numpy as np

from cli_case import FAILED, FOLDER, OK, TIMEOUT_S, USAGE, Case, main

KERNELS = FOLDER / "kernels.ptx"
MANGLED = FOLDER / "mangled.ptx"


class Manners(Case):
    def run_mangled(self, entry, *specs, status=OK, block="8", options=()):
        args = [word for spec in specs for word in ("--arg", spec)]
        return self.call("run", MANGLED, "--entry", entry, "--grid", "1", "--block", block, *options, *args, status=status)

    def scale(self, entry, status=OK, number="f32=3"):
        source = self.save("x.npy", np.arange(8, dtype=np.float32))
        return self.run_mangled(entry, f"inout={source}:{self.path('y.npy')}", number, status=status)

    def with_input(self, text, *words, status=OK):
        done = subprocess.run(self.command(*words), input=text, capture_output=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, status, (done.stdout, done.stderr))
        return done

    # --- names of kernels -------------------------------------------------------------------------------------------

    def test_entry_demangled_and_in_part(self):
        for name in ("_ZN5scale2byILi1EEEvPff", "void scale::by<1>(float*, float)", "scale::by<1>", "by<1>", "by<1"):
            self.scale(name)
            self.assertEqual(np.load(self.path("y.npy")).tolist(), [3.0 * i for i in range(8)], name)

    def test_entry_that_may_be_several(self):
        said = self.scale("by", status=USAGE).stderr
        self.assertIn("'by' may be 2 kernels of the module: scale::by<1>, scale::by<2>", said)
        self.assertIn("(did you mean fill?); it has: scale::by<1>, scale::by<2>, fill, untyped, counted", self.scale(
            "fil1", status=USAGE).stderr)

    # --- kinds of numbers -------------------------------------------------------------------------------------------

    def test_scalars_of_the_wrong_kind(self):
        said = self.scale("by<1>", number="u32=3", status=USAGE).stderr
        self.assertIn("lemma: --arg u32=3: parameter 1 (float) is f32, a floating-point number: f32=3; 0f and 8 hex digits "
                      "give its bits\n", said)
        out = f"out={self.path('out')}:32"
        said = self.run_mangled("fill", out, "f32=1000", status=USAGE).stderr
        self.assertIn("lemma: --arg f32=1000: parameter 1 (unsigned int) is u32, an integer: u32=1000\n", said)
        self.assertIn("is u32, an integer: u32=VALUE\n", self.run_mangled("fill", out, "f32=1.5", status=USAGE).stderr)
        self.assertIn("parameter 1 (float) is f32, a number: f32=VALUE", self.scale("by<1>", number="buf=8",
                                                                                    status=USAGE).stderr)
        self.run_mangled("fill", out, "s32=-1")
        self.assertEqual(np.fromfile(self.path("out"), np.uint32).tolist(), [2**32 - 1] * 8)

    def test_untyped_parameters_take_any_kind(self):
        out = self.path("out")
        self.run_mangled("untyped", f"out={out}:16", "f32=1", "f64=1", block="1")
        self.assertEqual(np.fromfile(out, np.uint32).tolist(), [0x3F800000, 0, 0, 0x3FF00000])
        self.run_mangled("untyped", f"out={out}:16", "u32=7", "s64=-1", block="1")
        self.assertEqual(np.fromfile(out, np.uint32).tolist(), [7, 0, 2**32 - 1, 2**32 - 1])

    def test_signless_integers(self):
        out = self.path("out.npy")
        self.run_mangled("fill", f"out={out}:i32[8]", "i32=-5")
        self.assertEqual(np.load(out).tolist(), [-5] * 8)
        self.assertIn("no integer from -2147483648", self.run_mangled(
            "fill", f"out={out}:i32[8]", "i32=4294967295", status=USAGE).stderr)

    # --- names of parameters ----------------------------------------------------------------------------------------

    def test_errors_and_faults_name_parameters(self):
        self.assertRegex(self.run_mangled("by<1>", "buf=32", status=USAGE).stderr,
                         r"kernel void scale::by<1>\(float\*, float\) takes 2 arguments, 1 given\n"
                         r"  parameters of kernel void scale::by<1>\(float\*, float\):\n"
                         r"    0  float\*  \.u64  8 bytes\n    1  float   \.f32  4 bytes\n")
        said = self.run_mangled("fill", f"out={self.path('out')}:16", "u32=1", status=FAILED).stderr
        self.assertIn("at the end of arg 0 (unsigned int*: out, 16 bytes)", said)
        said = self.run_mangled("fill", f"squares:out={self.path('out')}:16", "u32=1", status=FAILED).stderr
        self.assertIn("at the end of arg 0 (squares: out, 16 bytes)", said)

    # --- misspelt words ---------------------------------------------------------------------------------------------

    def test_misspelt_words(self):
        for words, said in (
            (["rnu"], "lemma: there is no command 'rnu' (did you mean run?); there are run, exec, verify, "),
            (["frobnicate"], "lemma: there is no command 'frobnicate'; there are run, "),
            (["--versoin"], "lemma: there is no option '--versoin'"),
            (["run", KERNELS, "--gird", "1"], "lemma: lemma run has no option --gird (did you mean --grid?)\n"
                                              "`lemma run --help` says more.\n"),
            (["run", KERNELS, "--gird=1"], "lemma run has no option --gird (did you mean --grid?)"),
            (["mma", "--ach", "sm_80"], "lemma mma has no option --ach (did you mean --arch?)"),
            (["compile", KERNELS, KERNELS], f"lemma compile has no use for '{KERNELS}'"),
            (["isa", "sm_91"], "there is no target sm_91 (did you mean sm_90?)"),
            (["run", KERNELS, "--arch", "sm_92", "--grid", "1", "--block", "1"],
             "there is no machine 'sm_92' (did you mean sm_90?)"),
            (["mma", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "a", "b", "--arch", "sm90"],
             "no machine with tensor cores (did you mean sm_90?)"),
            (["run", KERNELS, "--grid", "1", "--block", "1", "--arg", "f23=1"], "there is no f23= (did you mean f32?)"),
        ):
            with self.subTest(words):
                done = self.call(*words, status=USAGE)
                self.assertIn(said, done.stderr)

    def test_output_without_a_size(self):
        said = self.run_mangled("fill", "out=c.npy", "u32=1", status=USAGE).stderr
        self.assertIn("out=c.npy:f32[1000]", said)
        self.assertIn("out=c.npy:4000", said)

    # --- memory by its name -----------------------------------------------------------------------------------------

    def copy_box(self, arg, memory, *more, status=OK):
        """kernels.ptx's copy_box, its map naming `arg`; the out has an expect after it, which is no argument."""
        matrix = self.save("matrix.npy", np.arange(32, dtype=np.uint32).reshape(4, 8))
        want = self.save("want.npy", np.array([[28, 29, 30, 31], [0, 0, 0, 0]], np.uint32))
        (self.folder / "map.json").write_text(json.dumps(
            {"arg": arg, "type": "u32", "dims": [8, 4], "strides_bytes": [32], "box": [4, 2]}))
        specs = [f"out={self.path('box.npy')}:u32[2,4]", f"expect={want}", f"tmap=@{self.path('map.json')}", "u32=4", "u32=3",
                 memory.format(matrix), *more]
        return self.call("run", KERNELS, "--entry", "copy_box", "--grid", "1", "--block", "1",
                         *(word for spec in specs for word in ("--arg", spec)), status=status)

    def test_tensor_maps_name_memory(self):
        for arg in (4, "matrix.npy", self.path("matrix.npy")):
            self.copy_box(arg, "in={}")
        self.copy_box("tiles", "tiles:in={}")
        said = self.copy_box("tile", "tiles:in={}", status=USAGE).stderr
        self.assertIn('"arg" is "tile", and no memory among the --arg options has that label or file; there are: '
                      "box.npy, tiles", said)
        said = self.copy_box("matrix.npy", "in={}", f"in={self.path('matrix.npy')}", status=USAGE).stderr
        self.assertIn("LABEL:in=FILE gives memory a label of its own", said)
        self.assertIn("is 5, but the --arg options are 0 to 4", self.copy_box(5, "in={}", status=USAGE).stderr)

    def test_memory_that_nobody_takes(self):
        done = self.copy_box(4, "in={}", "buf=64")
        self.assertIn("lemma: arg 5 (buf=64) is memory that no parameter and no tensor map takes\n", done.stderr)

    # --- variables of the module ------------------------------------------------------------------------------------

    def test_module_variables(self):
        out, counter, table = self.path("out"), self.path("counter.npy"), self.path("table")
        self.run_mangled("counted", f"out={out}:16", f"get=counter={counter}:u32[1]", f"get=table={table}", block="4")
        self.assertEqual(np.fromfile(out, np.uint32).tolist(), [1, 2, 3, 4])
        self.assertEqual((np.load(counter).tolist(), np.fromfile(table, np.uint32).tolist()), ([9], [1, 2, 3, 4]))
        values = self.save("values.npy", np.array([7, 8, 9, 10], np.uint32))
        start = self.save("start.bin", np.uint32(100))
        want = self.save("want.npy", np.array([104], np.uint32))
        for options in ((), ("--explore", "3")):
            self.run_mangled("counted", f"set=table={values}", f"out={out}:16", f"set=counter={start}",
                             f"get=counter={counter}:4", f"expect={want}", block="4", options=options)
            self.assertEqual(np.fromfile(out, np.uint32).tolist(), [7, 8, 9, 10])
            self.assertEqual(np.load(counter).tolist(), [104])

    def test_wrong_module_variables(self):
        out = f"out={self.path('out')}:16"
        values = self.save("values.npy", np.arange(3, dtype=np.uint32))
        for spec, said in (("set=tabel=" + values, "tabel"), ("get=tabel=x", "table"), ("set=table=" + values, "it has 12 bytes, "
                           "variable table (.u32[4]) has 16"), ("get=table=x:17", "variable table (.u32[4]) has 16 bytes"),
                           ("set=table", "it is set=NAME=FILE"), ("get==x", "it is get=NAME=FILE")):
            self.assertIn(said, self.run_mangled("counted", out, spec, block="4", status=USAGE).stderr, spec)

    # --- words and programs from elsewhere --------------------------------------------------------------------------

    def test_arguments_from_files(self):
        out = self.path("out put")
        (self.folder / "inner.txt").write_text(f"--arg 'out={out}:32' # the output\n")
        (self.folder / "args.txt").write_text(f"--grid 1 --block \\\n 8\n@{self.path('inner.txt')} --arg \"u32=9\"\n")
        self.call("run", MANGLED, "--entry", "fill", f"@{self.path('args.txt')}")
        self.assertEqual(np.fromfile(out, np.uint32).tolist(), [9] * 8)
        self.assertIn("cannot read", self.call("run", "@" + self.path("none.txt"), status=USAGE).stderr)
        (self.folder / "loop.txt").write_text(f"@{self.path('loop.txt')}")
        self.assertIn("8 deep", self.call("run", "@" + self.path("loop.txt"), status=USAGE).stderr)

    def test_standard_input(self):
        out = self.path("out")
        words = ["--entry", "fill", "--grid", "1", "--block", "8", "--arg", f"out={out}:32", "--arg", "u32=4"]
        done = self.with_input(MANGLED.read_bytes(), "run", "-", *words)
        self.assertEqual(np.fromfile(out, np.uint32).tolist(), [4] * 8)
        self.assertIn(b"<stdin>: _Z4fillPjj on ", done.stderr)
        self.assertEqual(self.with_input(MANGLED.read_bytes(), "verify", "-").stdout, b"<stdin>: accepted\n")
        self.assertIn(b"<stdin>:7:3: error[", self.with_input((FOLDER / "bad.ptx").read_bytes(), "verify", "-",
                                                              status=FAILED).stdout)
        matrix = np.arange(32, dtype=np.uint32).tobytes()
        add = ["run", KERNELS, "--entry", "add", "--grid", "1", "--block", "32", "--arg", "in=-", "--arg", f"out={out}:128",
               "--arg", "u32=1"]
        self.with_input(matrix, *add)
        self.assertEqual(np.fromfile(out, np.uint32).tolist(), list(range(1, 33)))
        np.save(self.path("in.npy"), np.arange(32, dtype=np.uint32))
        self.with_input(pathlib.Path(self.path("in.npy")).read_bytes(), *add)
        self.assertEqual(np.fromfile(out, np.uint32).tolist(), list(range(1, 33)))
        self.assertIn(b"twice", self.with_input(matrix, *add, "--arg", "in=-", status=USAGE).stderr)


if __name__ == "__main__":
    sys.exit(main(Manners, __doc__))
