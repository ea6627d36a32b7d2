#!/usr/bin/env python3
"""The commands of README.md and docs/*.md in a terminal of 80 columns, in colour and without: each ends as the page says,
no line that Lemma words is wider, and without colour there are no escape codes. And what colour is put where.

A command stands in a fenced block: of ```sh every line, else those after "$ ". Files that a page speaks of are made first.

usage: terminal_cli_test.py --lemma build/bin/lemma [NAME...]
       terminal_cli_test.py --list
"""

import fcntl
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios

import numpy as np

from cli_case import FAILED, FOLDER, OK, ROOT, USAGE, Case, main

COLUMNS = 80
SGR = re.compile(r"\x1b\[[0-9;]*m")
PROGRESS = re.compile(r"\r[^\n]*?\x1b\[K")  # the bar, and its end
LINT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k() {
  .reg .b32 %t;
  .reg .pred %p;
  mov.u32 %t, %tid.x;
  setp.eq.u32 %p, %t, 0;
  @%p bar.sync 0;
  ret;
}
"""
# What ends with another status than 0, by how the command begins.
STATUSES = {"lemma run --check exchange.ptx": FAILED, "lemma run --explore 8 ticket.ptx": FAILED, "lemma verify --lint": FAILED}
# Who runs what is no lemma command: other tests, or nobody here (it builds, or needs what apt does not have).
OTHERS = ("make ", "mlir-opt ", "cmake ", "ctest ", "git ", "tests/", "lemma-record ", "clang", "nvcc ", "build/bin/lemma_bench",
          "pip ", "python ")


def blocks(page):
    """Of a page: by block its commands, each in one line."""
    found = []
    for i, text in enumerate(re.split(r"^```", (ROOT / page).read_text(), flags=re.MULTILINE)):
        if i % 2 == 0:
            continue
        language, _, text = text.partition("\n")
        text = re.sub(r"(\\|(?<=\|))\n\s*", "", text)
        lines = [line for line in text.splitlines() if line.strip()]
        if language == "sh":
            found.append(lines)
        elif not language:
            found.append([line[2:] for line in lines if line.startswith("$ ")])
    return [block for block in found if block]


def ptx_of(file, entry):
    text = (FOLDER / file).read_text()
    head = "\n".join(line for line in text.splitlines() if re.match(r"\.(version|target|address_size|file)", line))
    body = re.search(rf"\.visible \.entry {entry}\(.*?^}}\n", text, re.MULTILINE | re.DOTALL).group(0)
    return f"{head}\n{body}"


class Terminal(Case):
    def in_terminal(self, command, folder, color, columns=COLUMNS):
        """Status and text of a shell's command whose input and outputs are a terminal."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"}
        env |= {"PATH": f"{self.root}/bin:{env['PATH']}"} | ({} if color else {"NO_COLOR": "1"})
        process = subprocess.Popen(["bash", "-c", command], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
        os.close(theirs)
        said = b""
        try:
            while more := os.read(ours, 65536):
                said += more
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        return process.wait(), PROGRESS.sub("", said.decode().replace("\r\n", "\n"))

    def setUp(self):
        super().setUp()
        self.root = self.folder
        (self.root / "bin").mkdir()
        (self.root / "build").mkdir()
        (self.root / "build/bin").symlink_to(pathlib.Path(self.lemma).resolve().parent)
        (self.root / "bin/lemma").symlink_to(pathlib.Path(self.lemma).resolve())
        (self.root / "bin/python3").symlink_to(sys.executable)
        (self.root / "docs/pictures").mkdir(parents=True)

    def has_mlir(self):
        probe = self.folder / "probe.mlir"
        probe.write_text("gpu.module @m {}\n")
        return subprocess.run([self.lemma, "compile", probe, "--emit=nvgpu"], capture_output=True).returncode == OK

    def too_wide(self, command, text):
        """The lines that Lemma words and that the terminal would break."""
        if re.match(r"lemma (isa|layout|mma|bench|tune) |lemma compile (?!.* -o )", command) and "--help" not in command:
            return []  # tables, pictures and programs
        lines = [SGR.sub("", line) for line in text.splitlines() if "Memref" not in line]  # a program's own words
        return [line for line in lines if len(line) > COLUMNS and not re.match(r" *\d* \|", line)
                and max(map(len, line.split())) < COLUMNS // 2]

    def run_both(self, command, folder, status=OK):
        """The command, in colour and without, and what it said in colour."""
        colored = None
        for color in (True, False):
            got, text = self.in_terminal(command, folder, color)
            self.assertEqual(got, status, f"{command}\n{text}")
            self.assertEqual(self.too_wide(re.sub(r"^\S*/", "", command), text), [], command)
            if color:
                colored = text
            else:
                self.assertNotIn("\x1b", text, command)
        return colored

    def run_page(self, page, least):
        count, last = 0, self.root
        for block in blocks(page):
            folder = last if block[0].startswith("../") else self.root
            for command in block:
                if command.startswith("cd "):
                    folder = last = self.root / command[3:].strip()
                elif command.startswith("python3 "):
                    subprocess.run(command, shell=True, cwd=folder, check=True,
                                   env={**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}"})
                elif command.startswith(("lemma exec ", "lemma-opt ")):
                    continue  # tests/exec, tests/mlir/run
                elif re.match(r"(\S*/)?lemma ", command):
                    if ".mlir" in command and not self.has_mlir():
                        continue
                    begin = re.sub(r"^\S*/", "", command)
                    status = next((s for start, s in STATUSES.items() if begin.startswith(start)), OK)
                    said = self.run_both(command, folder, status)
                    self.assertEqual(status == FAILED, "\x1b[1;3" in said, said)  # what is wrong is red or yellow
                    count += 1
                else:
                    self.assertTrue(command.startswith(OTHERS), f"{page}: who runs {command!r}?")
        self.assertGreaterEqual(count, least)

    def matrices(self):
        for name, shape in (("a", (16, 16)), ("b", (16, 8)), ("c", (16, 8))):
            np.save(self.root / f"{name}.npy", np.ones(shape, np.float32 if name == "c" else np.float16))

    # --- the pages --------------------------------------------------------------------------------------------------

    def test_terminal_readme(self):
        self.matrices()
        for example in ("vector_add", "gemm_bf16", "gemm_nvgpu"):
            shutil.copytree(ROOT / "examples" / example, self.root / "examples" / example)
        self.run_page("README.md", least=6)

    def test_terminal_checks(self):
        (self.root / "exchange.ptx").write_text(ptx_of("races.ptx", "exchange"))
        (self.root / "ticket.ptx").write_text(ptx_of("order.ptx", "ticket"))
        (self.root / "gemm.ptx").write_text(LINT)
        self.run_page("docs/checks.md", least=3)

    def test_terminal_looking(self):
        self.matrices()
        self.run_page("docs/looking.md", least=9)

    def programs_of(self, page, marks):
        """The page's MLIR programs as files, told apart by a word that only one has."""
        if not self.has_mlir():
            self.skipTest("this lemma has no MLIR")
        programs = re.findall(r"^```mlir\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
        for name, mark in marks.items():
            (self.root / f"{name}.mlir").write_text(next(p for p in programs if mark in p))

    def test_terminal_nvgpu(self):
        self.programs_of("docs/nvgpu.md", {"tile": "@tile(", "hello": "@main()"})
        self.run_page("docs/nvgpu.md", least=6)

    def test_terminal_matmul(self):
        self.programs_of("docs/matmul.md", {"product": "memref<200x96xf16>", "fused": "%bias: memref", "layer": "%bias: tensor"})
        self.run_page("docs/matmul.md", least=4)

    def test_terminal_other_pages(self):
        """They have few commands of lemma, of examples."""
        known = {"checks.md", "looking.md", "matmul.md", "nvgpu.md"}
        shutil.copytree(ROOT / "examples", self.root / "examples")
        for page in sorted((ROOT / "docs").glob("*.md")):
            if page.name not in known:
                self.run_page(f"docs/{page.name}", least=0)

    # --- more than the pages say ------------------------------------------------------------------------------------

    def test_terminal_help(self):
        for command in ("", "run ", "exec ", "verify ", "compile ", "isa ", "layout ", "mma ", "completion "):
            self.run_both(f"lemma {command}--help", self.root)
        self.run_both("lemma run --gird 1", self.root, status=USAGE)

    def test_terminal_paints_messages(self):
        shutil.copy(FOLDER / "bad.ptx", self.root)
        said = self.run_both("lemma verify bad.ptx", self.root, status=FAILED)
        self.assertRegex(said, r"(?m)^\x1b\[1mbad\.ptx:7:3:\x1b\[0m \x1b\[1;31merror\[[a-z-]+\]:\x1b\[0m\x1b\[1m ")
        self.assertRegex(said, r"(?m)^\x1b\[2m 7 \|\x1b\[0m ")
        self.assertRegex(said, r"(?m)^\x1b\[2m   \|\x1b\[0m\x1b\[1;32m +\^~*\x1b\[0m$")
        plain = subprocess.run([self.lemma, "verify", "bad.ptx"], cwd=self.root, capture_output=True, text=True).stdout
        self.assertNotIn("\x1b", plain)

    def test_terminal_breaks_lines_between_words(self):
        shutil.copy(FOLDER / "kernels.ptx", self.root)
        command = "lemma run kernels.ptx --entry add --grid 1 --block 32 --arg buf=64 --arg buf=128 --arg u32=1"
        _, wide = self.in_terminal(command, self.root, False, columns=1000)
        _, narrow = self.in_terminal(command, self.root, False, columns=40)
        self.assertGreater(len(narrow.splitlines()), len(wide.splitlines()))
        self.assertEqual(narrow.split(), wide.split())


if __name__ == "__main__":
    sys.exit(main(Terminal, __doc__))
