#!/usr/bin/env python3
"""lemma run, verify and link of what nvcc makes: fatbins, cubins, executables.

usage: image_cli_test.py --lemma build/bin/lemma [NAME...]
       image_cli_test.py --list
"""

import struct
import sys

import numpy as np

from cli_case import FAILED, OK, ROOT, UNSUPPORTED, USAGE, Case, main

IMAGES = ROOT / "tests/unit/image/images"
X = np.arange(32, dtype=np.float32)


class Images(Case):
    def run_image(self, file, *options, status=OK):
        """(what it made of X, standard error)"""
        out = self.path("out.npy")
        done = self.call("run", file, "--grid", 1, "--block", 32, "--arg", f"inout={self.save('x.npy', X)}:{out}", *options, status=status)
        return (np.load(out) if status == OK else None), done.stderr

    def test_image_run(self):
        for file in ("zstd.fatbin", "lz4.fatbin", "lineinfo.cubin", "several.fatbin"):
            made, _ = self.run_image(IMAGES / file, "--arg", "f32=3")
            self.assertEqual(made.tolist(), (X * 3).tolist(), file)
        made, _ = self.run_image(IMAGES / "relocatable.elf")
        self.assertEqual(made.tolist(), (X * 2).tolist())

    def test_image_arch(self):
        made, _ = self.run_image(IMAGES / "several.fatbin", "--arg", "f32=3", "--arch", "sm_120")
        self.assertEqual(made.tolist(), (X * 3).tolist())
        _, said = self.run_image(IMAGES / "zstd.fatbin", "--arg", "f32=3", "--arch", "sm_80", status=UNSUPPORTED)
        self.assertIn("there is no PTX that sm_80 runs; it holds PTX for sm_90\n", said)
        self.assertIn("\n--arch sm_90 (LEMMA_ARCH=sm_90) makes the virtual GPU one that runs sm_90\n", said)

    def test_image_of_several_modules(self):
        file = IMAGES / "modules.elf"
        made, _ = self.run_image(file, "--entry", "second")
        self.assertEqual(made.tolist(), (X * 3).tolist())
        _, said = self.run_image(file, status=USAGE)
        self.assertIn("modules.elf has several modules; --entry says which kernel is meant\nkernels: first, second", said)
        _, said = self.run_image(file, "--entry", "third", status=USAGE)
        self.assertIn("modules.elf has no kernel third in its 2 modules\nkernels: first, second", said)
        _, said = self.run_image(file, "--entry", "s", status=USAGE)
        self.assertIn("modules.elf has several kernels s\nkernels: first, second", said)

    def test_image_faults_name_the_file(self):
        done = self.call("run", IMAGES / "modules.elf", "--grid", 1, "--block", 32, "--entry", "first", "--arg", "buf=4", status=FAILED)
        self.assertRegex(done.stderr, r"modules\.elf\([12]\):\d+")

    def test_image_without_ptx(self):
        _, said = self.run_image(IMAGES / "no_ptx.cubin", status=UNSUPPORTED)
        self.assertIn("no_ptx.cubin: there is no PTX; it holds a cubin for sm_90\n", said)
        self.assertIn("nvcc -gencode arch=compute_90", said)
        _, said = self.run_image(sys.executable, status=UNSUPPORTED)
        self.assertIn("it has no code for a GPU\n", said)
        self.call("verify", IMAGES / "no_ptx.fatbin", status=USAGE)
        self.call("link", IMAGES / "no_ptx.fatbin", status=FAILED)

    def test_image_damaged(self):
        elf = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, 190) + bytes(44)
        for name, text, says in [
            ("a.cubin", elf, "it holds a cubin\n"),
            ("b.cubin", elf[:50], "it is no ELF file of 64 bits"),
            ("c.fatbin", b"\x50\xed\x55\xba" + bytes(60), "its version is 0"),
        ]:
            (self.folder / name).write_bytes(text)
            self.assertIn(says, self.call("run", self.path(name), "--grid", "1", "--block", "1", status=None).stderr)
            self.assertIn(says, self.call("verify", self.path(name), status=USAGE).stderr)

    def test_image_archive(self):
        library, linked = IMAGES / "library.a", self.path("linked.ptx")
        self.assertIn("library.a: accepted", self.call("verify", library).stdout)
        self.call("link", IMAGES / "caller.ptx", library, "-o", linked)
        made, _ = self.run_image(linked)
        self.assertEqual(made.tolist(), (X * 2).tolist())
        _, said = self.run_image(library, status=USAGE)
        self.assertIn("kernel", said)
        _, said = self.run_image(library, "--arch", "sm_75", status=UNSUPPORTED)
        self.assertIn("library.a: there is no PTX that sm_75 runs; it holds a cubin for sm_90, PTX for sm_90\n", said)

    def test_image_verify(self):
        done = self.call("verify", IMAGES / "modules.elf", IMAGES / "zstd.fatbin")
        for name in ("modules.elf(1)", "modules.elf(2)", "zstd.fatbin"):
            self.assertIn(f"{name}: accepted\n", done.stdout)
        self.assertIn("3 files: 3 accepted", done.stdout)

    def test_image_link_writes_the_ptx(self):
        ptx = self.path("out.ptx")
        self.call("link", IMAGES / "relocatable.elf", "-o", ptx)
        made, _ = self.run_image(ptx)
        self.assertEqual(made.tolist(), (X * 2).tolist())


if __name__ == "__main__":
    sys.exit(main(Images, __doc__))
