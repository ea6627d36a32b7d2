#!/usr/bin/env python3
"""liblemma_cuda_runtime.so as users of upstream MLIR meet it: mlir-opt lowers a program, mlir-runner runs it.

usage: mgpu_test.py --library build/src/mgpu/liblemma_cuda_runtime.so [--llvm /usr/lib/llvm-22/bin] [NAME...]
       mgpu_test.py --list

One test a .mlir file of this folder, plus those below. FileCheck compares standard output with a file's CHECK lines
and standard error with its ERROR lines; `// STATUS: 1` is the exit status where it is not 0. Without LLVM 22's
mlir-opt, mlir-runner and FileCheck the tests are skipped by name (exit status 77).
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
SOURCE = FOLDER.parent.parent / "src" / "mgpu"
SKIPPED = 77
TIMEOUT_S = 100
LOWER = "-gpu-lower-to-nvvm-pipeline=cubin-format=isa cubin-chip=sm_90a cubin-features=+ptx80"


class Mgpu(unittest.TestCase):
    library = None
    llvm = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="lemma-mgpu-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def tool(self, name):
        path = self.llvm / name
        if not path.exists():
            self.skipTest(f"no {path}")
        return path

    def call(self, *words, status=0, env=None):
        done = subprocess.run(
            [str(word) for word in words],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env={**os.environ, **(env or {})},
        )
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def run_program(self, name, status=0, lower=LOWER, env=None):
        lowered = self.folder / "lowered.mlir"
        runner = self.tool("mlir-runner")
        self.call(self.tool("mlir-opt"), FOLDER / name, lower, "-o", lowered)
        libraries = [self.library] + [
            self.llvm.parent / "lib" / f"libmlir_{which}utils.so" for which in ("runner_", "c_runner_")
        ]
        return self.call(
            runner,
            lowered,
            "--entry-point-result=void",
            *(f"--shared-libs={library}" for library in libraries),
            status=status,
            env=env,
        )

    def file_check(self, name, prefix, text):
        output = self.folder / prefix
        output.write_text(text)
        self.call(
            self.tool("FileCheck"), FOLDER / name, f"--check-prefix={prefix}", f"--input-file={output}", "--allow-empty"
        )

    def check_program(self, name, lower=LOWER, env=None):
        text = (FOLDER / name).read_text()
        status = re.search(r"// STATUS: (\d+)", text)
        done = self.run_program(name, int(status.group(1)) if status else 0, lower=lower, env=env)
        if "CHECK" in text:
            self.file_check(name, "CHECK", done.stdout)
        if "ERROR" in text:
            self.file_check(name, "ERROR", done.stderr)
        else:
            self.assertEqual(done.stderr, "")

    # --- beside the programs ----------------------------------------------------------------------------------------

    def test_late_completion_changes_nothing(self):
        self.check_program("tma.mlir", env={"LEMMA_ASYNC": "late", "LEMMA_SEED": "3"})

    def test_environment_is_checked(self):
        for variable, value in (
            ("LEMMA_DEVICE", "tpu"),
            ("LEMMA_ASYNC", "never"),
            ("LEMMA_ENGINE", "jit"),
            ("LEMMA_SEED", "0x"),
            ("LEMMA_ARCH", "hopper"),
        ):
            done = self.run_program("async.mlir", status=1, env={variable: value})
            self.assertIn(value, done.stderr)
            self.assertTrue(done.stderr.startswith("lemma: mgpuModuleLoadJIT: "), done.stderr)

    def test_no_gpu(self):
        # A folder of libraries in which the driver is an empty file: there is none, wherever this runs.
        (self.folder / "libcuda.so.1").touch()
        env = {"LEMMA_DEVICE": "cuda", "LD_LIBRARY_PATH": str(self.folder)}
        done = self.run_program("async.mlir", status=3, env=env)
        self.assertIn("no CUDA driver", done.stderr)

    def test_another_machine(self):
        self.check_program("async.mlir", lower=LOWER.replace("sm_90a", "sm_80"), env={"LEMMA_ARCH": "sm_80"})

    def test_refuses_another_machine(self):
        done = self.run_program("async.mlir", status=1, env={"LEMMA_ARCH": "sm_80"})
        self.assertIn("a module for sm_90a does not run on sm_80", done.stderr)

    def test_exports_the_entry_points_and_no_more(self):
        names = re.findall(r"^LEMMA_MGPU\([\w*]+, (\w+),", (SOURCE / "entry_points.def").read_text(), re.M)
        symbols = self.call("nm", "-D", "--defined-only", self.library).stdout.split()[2::3]
        self.assertGreater(len(names), 25)
        self.assertEqual(sorted(symbols), sorted(names))

    def test_has_what_mlir_calls(self):
        """Every mgpu function that MLIR's own library knows, but for cuSPARSE's."""
        sparse = re.compile(r"Sp|Dn|Csr|Csc|Coo|Bsr|Cu[sS]parse|SDDMM")
        library = self.llvm.parent / "lib" / "libMLIR.so"
        if not library.exists():
            self.skipTest(f"no {library}")
        known = set(re.findall(rb"(?<=\0)mgpu[A-Z]\w+(?=\0)", library.read_bytes()))
        wanted = {name.decode() for name in known if not sparse.search(name.decode())}
        self.assertGreater(len(wanted), 20)
        symbols = self.call("nm", "-D", "--defined-only", self.library).stdout.split()[2::3]
        self.assertEqual(wanted - set(symbols), set())


def add_programs():
    for path in sorted(FOLDER.glob("*.mlir")):
        setattr(Mgpu, f"test_{path.stem}", lambda self, name=path.name: self.check_program(name))


def main():
    add_programs()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the names of the tests")
    parser.add_argument("--library", type=pathlib.Path, help="liblemma_cuda_runtime.so")
    parser.add_argument("--llvm", type=pathlib.Path, default="/usr/lib/llvm-22/bin", help="the folder of LLVM's tools")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    names = [name[len("test_") :] for name in dir(Mgpu) if name.startswith("test_")]
    if options.list:
        print("\n".join(names))
        return 0
    if not options.library:
        parser.error("--library is missing")
    Mgpu.library, Mgpu.llvm = options.library.resolve(), options.llvm
    suite = unittest.TestSuite(Mgpu(f"test_{name}") for name in options.names or names)
    result = unittest.TextTestRunner(verbosity=2 if options.names else 1).run(suite)
    if not result.wasSuccessful():
        return 1
    return SKIPPED if len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
