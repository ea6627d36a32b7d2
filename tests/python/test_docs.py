"""The code of README.md runs, and docs/python.md's, block after block, in examples/gemm_bf16; and so do python/examples."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/gemm_bf16"


def has(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode == 0


def blocks():
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/python.md").read_text(), re.MULTILINE | re.DOTALL)


class Docs(unittest.TestCase):
    def run_text(self, text, *command):
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch) / "test_docs_block.py"
            file.write_text(text)
            done = subprocess.run([sys.executable, *command, file], cwd=FOLDER, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{text}\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_the_program(self):
        program = [b for b in blocks() if "pytest" not in b and "import triton" not in b]
        self.assertGreaterEqual(len(program), 4)
        said = self.run_text("\n".join(program))
        self.assertIn("is .u32: 8.0 is a floating-point number; write 8 for an integer", said)

    def test_the_readme(self):
        text = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)[1]
        self.run_text(text.replace('"examples/', f'"{ROOT}/examples/'))

    def test_triton(self):
        if not has("triton"):
            self.skipTest("no Triton")
        self.run_text("import lemma, numpy as np\n" + next(b for b in blocks() if "import triton" in b))

    def test_pytest(self):
        if not has("pytest"):
            self.skipTest("no pytest")
        plugin = [] if self.installed() else ["-p", "lemma.pytest_plugin"]
        text = next(b for b in blocks() if "pytest" in b)
        said = self.run_text(text, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(FOLDER), *plugin)
        self.assertIn("4 passed", said)

    @staticmethod
    def installed():
        from importlib import metadata

        try:
            return bool(metadata.distribution("lemma-gpu"))
        except metadata.PackageNotFoundError:
            return False


class Examples(unittest.TestCase):
    def test_all(self):
        ran = 0
        for example in sorted((ROOT / "python/examples").glob("*.py")):
            with self.subTest(example.name):
                done = subprocess.run([sys.executable, example], capture_output=True, text=True, cwd=tempfile.gettempdir())
                self.assertIn(done.returncode, (0, 77), done.stdout + done.stderr)
                if done.returncode == 77:
                    self.assertIn("no Triton", done.stdout)
                else:
                    ran += 1
                if example.name == "gemm.py":
                    self.assertIn("all 65536 elements have the bits of the H200", done.stdout)
        self.assertGreaterEqual(ran, 5)


class CommandLine(unittest.TestCase):
    def test_it_is_the_tool(self):
        import lemma

        done = subprocess.run([sys.executable, "-m", "lemma", "--version"], capture_output=True, text=True)
        self.assertEqual(done.stdout, f"lemma {lemma.__version__}\n")
        bad = subprocess.run([sys.executable, "-m", "lemma", "verify", os.devnull], capture_output=True, text=True)
        self.assertNotEqual(bad.returncode, 0)


if __name__ == "__main__":
    unittest.main()
