"""make_abi.py: what it makes of a header, and that it refuses what it does not understand."""

import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import lemma
from lemma import _abi
from lemma._library import library

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Enums(unittest.TestCase):
    def test_names_are_the_librarys(self):
        for name in ("severity", "error_kind", "outcome", "fault_kind", "fidelity"):
            function = getattr(library, f"lemma_{name}_name")
            strings = getattr(_abi, f"_lemma_{name}")
            self.assertGreater(len(set(strings.values())), 3)
            for number, string in strings.items():
                self.assertEqual(function(number).decode(), string, name)
            self.assertEqual(function(len(strings)), b"")

    def test_every_function_is_in_the_library(self):
        header = "".join(p.read_text() for p in (ROOT / "include/lemma/c").glob("*.h"))
        declared = re.findall(r"^LEMMA_API [^(]*?\b(lemma_\w+)\(", header, re.MULTILINE)
        self.assertGreater(len(declared), 60)
        for name in declared:
            self.assertIsNotNone(getattr(library, name).argtypes, name)


class Generator(unittest.TestCase):
    def run_on(self, text):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder) / "lemma" / "c.h"
            header.parent.mkdir()
            header.write_text(text)
            made = [pathlib.Path(folder) / name for name in ("_abi.py", "abi_check.cc")]
            done = subprocess.run([sys.executable, ROOT / "python/make_abi.py", header, *made], capture_output=True, text=True)
            if done.returncode:
                return done.stderr
            scope = {"__name__": __name__}
            exec(compile(made[0].read_text(), "_abi.py", "exec"), scope)
            return scope

    def test_a_header(self):
        made = self.run_on(
            "// A thing.\ntypedef struct lemma_part {\n  const char* name; // its name\n} lemma_part;\n"
            "typedef struct lemma_thing {\n  uint32_t at[3];\n  bool on;\n  size_t part_count;\n"
            "  const lemma_part* const* parts;\n  const uint64_t* value; // null: none\n} lemma_thing;\n"
            "LEMMA_API const lemma_thing* lemma_make(const char* name, uint64_t bytes, lemma_thing** out);\n"
        )
        self.assertEqual(ctypes.sizeof(made["lemma_thing"]), 40)
        self.assertEqual(made["Part"].__doc__, "A thing.")
        part = made["lemma_part"](b"x")
        parts = (ctypes.POINTER(made["lemma_part"]) * 1)(ctypes.pointer(part))
        thing = made["lemma_thing"](part_count=1, on=True, parts=parts)
        self.assertEqual(repr(made["_lemma_thing"](thing)), "Thing(at=(0, 0, 0), on=True, parts=(Part(name='x'),), value=None)")

    def test_what_it_does_not_understand(self):
        for text in (
            "typedef union lemma_u { int a; } lemma_u;\n",
            "typedef struct lemma_s {\n  long double a;\n} lemma_s;\n",
            "typedef struct lemma_s {\n  int a : 3;\n} lemma_s;\n",
            "typedef enum lemma_e { A, B } lemma_e;\n",
            "extern int lemma_x;\n",
            "LEMMA_API unknown_t lemma_f(void);\n",
            "#pragma once\n",
            "typedef struct lemma_s {\n",
        ):
            with self.subTest(text):
                self.assertIn("not understood", self.run_on(text))


class Version(unittest.TestCase):
    def test_it_is_the_projects(self):
        text = (ROOT / "CMakeLists.txt").read_text()
        self.assertEqual(lemma.__version__, re.search(r"project\(lemma VERSION ([\d.]+)", text)[1])


if __name__ == "__main__":
    unittest.main()
