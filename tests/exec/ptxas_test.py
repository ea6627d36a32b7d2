#!/usr/bin/env python3
"""The ptxas that `lemma exec` has clients find: it has another one compile, and the cubin keeps the PTX. The other one is a fake, which
copies a cubin without PTX and says what it was told; and the real one, where there is one.

usage: ptxas_test.py --lemma build/bin/lemma [NAME ...]    LEMMA_PTXAS_REAL: a real ptxas; else that of PATH or /usr/local/cuda
"""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from cli_case import ROOT, Case, main  # noqa: E402

IMAGES = ROOT / "tests" / "unit" / "image" / "images"
REAL = os.environ.get("LEMMA_PTXAS_REAL") or shutil.which("ptxas", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")

FAKE = f"""#!{sys.executable}
import os, shutil, sys
if "--version" in sys.argv:
    print("a fake ptxas")
    sys.exit(0)
with open(os.environ["SAID"], "a") as said:
    said.write(" ".join(sys.argv[1:]) + "\\n")
    if "-" in sys.argv:
        said.write(sys.stdin.read())
print("warning: on standard error", file=sys.stderr)
if "--fail" in sys.argv:
    sys.exit(3)
if "--die" in sys.argv:
    os.kill(os.getpid(), 9)
words = sys.argv[1:]
output = next((words[i + 1] for i, word in enumerate(words) if word in ("-o", "--output-file")), None)
output = output or next((word.split("=", 1)[1] for word in words if word.startswith(("-o=", "--output-file="))), "elf.o")
if "--none" not in words:
    shutil.copyfile(os.environ["CUBIN"], output)
"""

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry {name}(.param .u64 out)
{{
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  st.global.u32 [%rd1], {value};
  ret;
}}
"""


class Ptxas(Case):
    def setUp(self):
        super().setUp()
        self.fake = self.folder / "toolkit" / "ptxas"
        self.fake.parent.mkdir()
        self.fake.write_text(FAKE)
        self.fake.chmod(0o755)
        self.env = {"SAID": self.path("said"), "CUBIN": str(IMAGES / "no_ptx.cubin"), "PATH": f"{self.fake.parent}:{os.environ['PATH']}"}
        for name, value in (("a", 7), ("b", 8)):
            (self.folder / f"{name}.ptx").write_text(KERNEL.format(name=name, value=value))

    def ptxas(self, *words, status=0, given="", program="ptxas", env=None):
        words = [os.path.abspath(self.lemma), "exec", program, *map(str, words)]
        done = subprocess.run(
            words, cwd=self.folder, input=given, capture_output=True, text=True, timeout=60, env={**os.environ, **self.env, **(env or {})}
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def said(self):
        return (self.folder / "said").read_text()

    def texts(self, cubin):
        """The PTX that is attached; the section's name is at the end of the names of all."""
        bytes_ = (self.folder / cubin).read_bytes()
        self.assertIn(b"\0.lemma_ptx\0", bytes_)
        at = [bytes_.find(text.encode()) for text in (KERNEL.format(name=name, value=value) for name, value in (("a", 7), ("b", 8)))]
        return [name for name, found in zip("ab", at) if found >= 0]

    def value_of(self, cubin, entry):
        """What that kernel stores."""
        self.call("run", self.path(cubin), "--entry", entry, "--grid", "1", "--block", "1", "--arg", f"out={self.path('out')}:4")
        return int.from_bytes((self.folder / "out").read_bytes(), "little")

    def test_is_first_in_path(self):
        found = self.ptxas("-c", "command -v ptxas", program="sh").stdout.strip()
        self.assertNotEqual(found, str(self.fake))
        self.assertTrue(os.path.exists(found))

    def test_cubin_keeps_its_ptx(self):
        done = self.ptxas("-O3", "--gpu-name=sm_90", "a.ptx", "-o", "a.cubin")
        self.assertEqual(done.stderr, "warning: on standard error\n")
        self.assertEqual(self.said(), "-O3 --gpu-name=sm_90 a.ptx -o a.cubin\n")
        self.assertEqual(self.texts("a.cubin"), ["a"])
        self.assertEqual(self.value_of("a.cubin", "a"), 7)
        # All of the cubin but the header at its beginning is there.
        old = (IMAGES / "no_ptx.cubin").read_bytes()
        self.assertEqual((self.folder / "a.cubin").read_bytes()[64 : len(old)], old[64:])

    def test_ways_to_name_the_output(self):
        for words in (["--output-file", "x"], ["--output-file=x"], ["-o=x"]):
            self.ptxas("a.ptx", *words)
            self.assertEqual(self.texts("x"), ["a"])
            os.remove(self.path("x"))
        self.ptxas("a.ptx")
        self.assertEqual(self.texts("elf.o"), ["a"])

    def test_several_inputs(self):
        self.ptxas("a.ptx", "b.ptx", "-o", "ab.cubin")
        self.assertEqual(self.texts("ab.cubin"), ["a", "b"])
        self.assertEqual((self.value_of("ab.cubin", "a"), self.value_of("ab.cubin", "b")), (7, 8))
        self.ptxas("-c", "a.ptx,b.ptx", "-o", "again.cubin")
        self.assertEqual(self.texts("again.cubin"), ["a", "b"])
        self.assertIn("-c a.ptx,b.ptx -o again.cubin\n", self.said())

    def test_a_file_of_options(self):
        (self.folder / "options").write_text("-arch sm_90\n-o x.cubin a.ptx\n")
        self.ptxas("--options-file", "options", "-o", "x.cubin")
        self.assertEqual(self.texts("x.cubin"), ["a"])

    def test_standard_input(self):
        text = KERNEL.format(name="a", value=7)
        self.ptxas("-arch", "sm_90", "-", "-o", "x.cubin", given=text)
        self.assertEqual(self.said(), "-arch sm_90 - -o x.cubin\n" + text)
        self.assertEqual(self.texts("x.cubin"), ["a"])

    def test_a_text_on_the_command_line(self):
        self.ptxas("--input-as-string", KERNEL.format(name="b", value=8), "-o", "x.cubin")
        self.assertEqual(self.texts("x.cubin"), ["b"])

    def test_statuses_and_what_is_left_alone(self):
        self.assertEqual(self.ptxas("--version").stdout, "a fake ptxas\n")
        self.ptxas("a.ptx", "--fail", status=3)
        self.ptxas("a.ptx", "--die", status=-9)
        self.ptxas("a.ptx", "--none", "-o", "x.cubin")  # as where the architecture is virtual
        self.assertFalse(os.path.exists(self.path("x.cubin")))
        self.env["CUBIN"] = self.path("b.ptx")  # what is no cubin
        self.ptxas("a.ptx", "-o", "x")
        self.assertEqual((self.folder / "x").read_text(), KERNEL.format(name="b", value=8))

    def test_a_ptxas_that_is_named(self):
        other = self.folder / "other"
        other.write_text(FAKE.replace("a fake ptxas", "another one"))
        other.chmod(0o755)
        self.assertEqual(self.ptxas("--version", env={"LEMMA_PTXAS": str(other)}).stdout, "another one\n")
        self.assertEqual(self.ptxas("--version", env={"LEMMA_PTXAS": "/no/such"}).stdout, "a fake ptxas\n")
        named = {"LEMMA_TRITON_PTXAS": str(other), "LEMMA_TRITON_PTXAS_BLACKWELL": str(self.fake)}
        self.assertEqual(self.ptxas("--version", program="triton-ptxas", env=named).stdout, "another one\n")
        self.assertEqual(self.ptxas("--version", program="triton-ptxas-blackwell", env=named).stdout, "a fake ptxas\n")

    def test_there_is_none(self):
        path = f"{self.folder}:/usr/bin:/bin"
        if any(os.access(f"{folder}/ptxas", os.X_OK) for folder in ("/usr/bin", "/bin", "/usr/local/cuda/bin")):
            self.skipTest("this machine has one where everybody finds it")
        done = self.ptxas("a.ptx", status=255, env={"PATH": path, "CUDA_HOME": "", "CUDA_PATH": ""})
        self.assertIn("finds none in PATH, CUDA_HOME, CUDA_PATH or /usr/local/cuda", done.stderr)

    def test_lemma_exec_inside_another(self):
        words = [os.path.abspath(self.lemma), "exec", "ptxas", "a.ptx", "-o", "x.cubin"]
        self.ptxas(*words[1:], program=words[0])
        self.assertEqual(self.texts("x.cubin"), ["a"])
        self.assertEqual(self.said(), "a.ptx -o x.cubin\n")

    def test_the_real_one(self):
        if not REAL:
            self.skipTest("no ptxas")
        self.env["LEMMA_PTXAS"] = REAL
        self.ptxas("-arch", "sm_90", "--suppress-debug-info", "a.ptx", "b.ptx", "-o", "ab.cubin")
        self.assertEqual(self.texts("ab.cubin"), ["a", "b"])
        self.assertEqual((self.value_of("ab.cubin", "a"), self.value_of("ab.cubin", "b")), (7, 8))
        self.assertIn("ptxas: NVIDIA", self.ptxas("--version").stdout)
        nvlink = os.path.join(os.path.dirname(REAL), "nvlink")
        if os.access(nvlink, os.X_OK):  # which takes what it does not know
            self.ptxas("-arch=sm_90", "-c", "a.ptx", "-o", "a.cubin")
            self.call("exec", nvlink, "-arch=sm_90", self.path("a.cubin"), "-o", self.path("linked.cubin"))


if __name__ == "__main__":
    sys.exit(main(Ptxas, __doc__))
