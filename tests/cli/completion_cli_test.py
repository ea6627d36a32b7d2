#!/usr/bin/env python3
"""lemma completion: every command and option of --help in every shell's words, and what bash makes of them.

usage: completion_cli_test.py --lemma build/bin/lemma [NAME...]
       completion_cli_test.py --list
"""

import re
import shutil
import subprocess
import sys

from cli_case import TIMEOUT_S, USAGE, Case, main


class Completion(Case):
    def commands(self):
        text = self.call("--help").stdout
        return re.findall(r"^  ([a-z]+) ", text[text.index("Subcommands:"):text.index("Examples:")], re.MULTILINE)

    def options(self, command):
        text = self.call(command, "--help").stdout
        return re.findall(r"^  (?:-\w,)?--([\w-]+)", text, re.MULTILINE)

    def words(self, shell):
        return self.call("completion", shell).stdout

    def checked(self, shell, text):
        """By the shell itself, where it is there."""
        if shutil.which(shell):
            done = subprocess.run([shell, "-n"], input=text.encode(), capture_output=True, timeout=TIMEOUT_S)
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def completed(self, *line):
        """What bash offers for the last word."""
        script = self.words("bash") + f"\nCOMP_WORDS=({' '.join(repr(w) for w in line)}); COMP_CWORD={len(line) - 1}\n_lemma\n" \
                                      'printf "%s\\n" "${COMPREPLY[@]}"\n'
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=TIMEOUT_S, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_completion_has_what_help_has(self):
        self.assertIn("run", self.commands())
        self.assertIn("grid", self.options("run"))
        shells = {shell: self.words(shell) for shell in ("bash", "zsh", "fish")}
        for shell, text in shells.items():
            self.checked(shell, text)
            for command in self.commands():
                self.assertRegex(text, rf"\b{command}\b")
                for option in self.options(command):
                    self.assertRegex(text, rf"-l {option}\b" if shell == "fish" else rf"--{option}\b", (shell, command))

    def test_completion_in_bash(self):
        self.assertIn("verify", self.completed("lemma", "ve"))
        self.assertEqual(self.completed("lemma", "run", "--gr"), ["--grid"])
        self.assertEqual(self.completed("lemma", "run", "--device", "cu"), ["cuda"])
        self.assertEqual(self.completed("lemma", "run", "--async", "=", "l"), ["late"])
        (self.folder / "kernel.ptx").touch()
        self.assertEqual(self.completed("lemma", "run", "ker"), ["kernel.ptx"])
        self.assertEqual(self.completed("lemma", "run", "--arg", "in", "=", "ker"), ["kernel.ptx"])

    def test_completion_of_no_shell(self):
        self.call("completion", "tcsh", status=USAGE)
        self.call("completion", status=USAGE)


if __name__ == "__main__":
    sys.exit(main(Completion, __doc__))
