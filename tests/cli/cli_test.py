#!/usr/bin/env python3
"""The lemma tool as scripts see it: exit statuses, messages, files in and out, --json.

usage: cli_test.py --lemma build/bin/lemma [NAME...]
       cli_test.py --list
"""

import argparse
import json
import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
KERNELS = FOLDER / "kernels.ptx"
TIMEOUT_S = 60

OK, FAILED, USAGE, UNSUPPORTED = 0, 1, 2, 3


def line_of(text):
    """The number of the one line of kernels.ptx that holds the text."""
    lines = KERNELS.read_text().splitlines()
    found = [number for number, line in enumerate(lines, 1) if text in line]
    assert len(found) == 1, text
    return found[0]


class Cli(unittest.TestCase):
    lemma = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="lemma-cli-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def path(self, name):
        return str(self.folder / name)

    def save(self, name, array):
        """Writes .npy or raw by the name; returns the path."""
        if name.endswith(".npy"):
            np.save(self.path(name), array)
        else:
            np.asarray(array).tofile(self.path(name))
        return self.path(name)

    def call(self, *words, status=OK, env=None):
        done = subprocess.run(
            [self.lemma, *map(str, words)],
            capture_output=True,
            timeout=TIMEOUT_S,
            env={**os.environ, **(env or {})},
        )
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def run_kernel(self, entry, *specs, grid="1", block="32", options=(), status=OK, file=KERNELS):
        words = ["run", file, "--entry", entry, "--grid", grid, "--block", block, *options]
        for spec in specs:
            words += ["--arg", spec]
        return self.call(*words, status=status)

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

    # --- lemma isa ----------------------------------------------------------------------------------------------------

    def test_isa_lists_the_catalogue(self):
        rows = json.loads(self.call("isa", "--json").stdout)["instructions"]
        text = self.call("isa").stdout
        self.assertGreater(len(rows), 90)
        for row in rows:
            self.assertIn(row["name"], text)
            self.assertTrue(row["targets"] and row["ptx"] and row["section"], row)
        names = {row["name"] for row in rows} # one by itself may be longer
        self.assertLessEqual(max(len(line) for line in text.splitlines() if line not in names), 120)
        hopper = [row for row in rows if row["opcode"] == "wgmma.mma_async"]
        self.assertTrue(all(row["targets"] == [{"target": "sm_90a", "covers": "this alone"}] for row in hopper))

    def test_isa_says_how_each_was_checked(self):
        """By the records themselves: a case of mma is named by its spelling."""
        recorded = json.loads((FOLDER.parent / "golden/sm_90a/mma.json").read_text())["cases"]
        rows = json.loads(self.call("isa", "mma.sync", "f64", "--json").stdout)["instructions"]
        for row in rows:
            shape = "m{m}n{n}k{k}".format(**row["shape"])
            named = [name for name in recorded if name.startswith(shape + ".") and "f64" in name]
            self.assertEqual(row["checked"]["cases"], len(named), row["name"])
            self.assertEqual(row["checked"]["gpu"], "NVIDIA H200")
            self.assertGreaterEqual(row["checked"]["outputs"], len(named) * 2**16)
        self.assertEqual(len(rows), 4)
        self.assertIn("not checked on hardware", self.call("isa", "--all", "tcgen05.mma").stdout)

    def test_isa_filters(self):
        def names(*words):
            return [row["name"] for row in json.loads(self.call("isa", *words, "--json").stdout)["instructions"]]

        self.assertTrue(all(name.startswith("mma.") for name in names("mma.sync", "f16")))
        self.assertTrue(all("bf16" in name for name in names("bf16", "sm_80")))
        self.assertFalse([name for name in names("sm_75") if "bf16" in name or "wgmma" in name])
        self.assertTrue(all(name.startswith("wgmma") for name in names("wgmma*f32*")))
        self.assertIn("no instruction fits", self.call("isa", "wgmma", "f64", status=USAGE).stderr)
        self.assertIn("redux.sync", self.call("isa", "--all", "redux").stdout)
        self.assertIn("lemma isa --all redux", self.call("isa", "redux", status=USAGE).stderr)

    def test_isa_says_what_the_dialect_can_do(self):
        def forms(*words):
            return json.loads(self.call("isa", "--nvgpu", *words, "--json").stdout)["nvgpu"]

        self.assertEqual({row["operation"] for row in forms()}, {
            "nvgpu.mma.sync", "nvgpu.mma.sp.sync", "nvgpu.warpgroup.mma", "nvgpu.ldmatrix", "nvgpu.device_async_copy",
            "nvgpu.tma.async.load", "nvgpu.tma.async.store", "nvgpu.rcp"})
        (row,) = forms("mma.sync", "bf16", "m16n8k16", "f32.bf16")
        self.assertEqual((row["types"], row["lower"], row["run"], row["equal_direct_ptx"]),
                         ("bf16 x bf16 + f32 -> f32", 1, 1, 1))
        self.assertIn("bf16 x bf16 + f32 -> f32", self.call("isa", "--nvgpu", "bf16").stdout)
        self.assertIn("no operation", self.call("isa", "--nvgpu", "f128", status=USAGE).stderr)

    def test_isa_explains_one(self):
        name = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
        text = self.call("isa", name).stdout
        for words in ("4 x .f16x2", "row = lane / 4 + 8 * (r % 2)", "col = 2 * (lane % 4) + 8 * (r / 2) + e",
                      "PTX ISA 7.0, sm_80 and up", "sm_90   F = 25, all K at once", "sm_80   F = 24, K in steps of 8"):
            self.assertIn(words, text)
        facts = json.loads(self.call("isa", name, "--json").stdout)
        self.assertEqual([(o["name"], o["registers"]) for o in facts["operands"]], [("d", 4), ("a", 4), ("b", 2), ("c", 4)])
        self.assertEqual(facts["flops"], 2 * 16 * 8 * 16)
        # A start that only one has; N of wgmma is the spelling's.
        self.assertEqual(json.loads(self.call("isa", name[:-8], "--json").stdout), facts)
        wgmma = json.loads(self.call("isa", "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16", "--json").stdout)
        self.assertEqual(wgmma["operands"][0]["registers"], 12)

    def test_isa_suggests(self):
        done = self.call("isa", "mma.sync.aligned.m16n8k17.row.col.f32.f16.f16.f32", status=USAGE)
        self.assertIn("did you mean mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32?", done.stderr)

    # --- lemma layout -------------------------------------------------------------------------------------------------

    def test_layout_draws_fragments(self):
        name = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
        text = self.call("layout", name, "--operand", "a").stdout
        # Row g and g + 8 of lane 4g + t, columns 2t and 2t + 8: "Matrix Fragments for mma.m16n8k16".
        rows = [line.split() for line in text.splitlines() if line[:2].strip().isdigit()]
        rows = [[cell for cell in row if cell != "|"] for row in rows if ":" in row[1]]
        self.assertEqual(len(rows), 16)
        for row, cells in enumerate(rows):
            lanes = [4 * (row % 8) + t for t in range(4)]
            half = row // 8
            self.assertEqual(cells[1:], [f"T{lane}:r{half}" for lane in lanes] + [f"T{lane}:r{half + 2}" for lane in lanes])
        self.assertLessEqual(max(map(len, self.call("layout", name).stdout.splitlines())), 120)
        self.assertIn("\x1b[", self.call("layout", name, "--color", "always").stdout)
        self.assertNotIn("\x1b[", text)

    def test_layout_json_has_every_element_once(self):
        for name in ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32",
                     "wgmma.mma_async.sync.aligned.m64n24k16.f16.f16.f16", "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
                     "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8", "movmatrix"):
            for operand in json.loads(self.call("layout", name, "--json").stdout)["operands"]:
                places = [(e["row"], e["col"]) for e in operand["elements"]]
                self.assertEqual(places, [(r, c) for r in range(operand["rows"]) for c in range(operand["cols"])], name)
                holders = {(e["lane"], e["register"], e["bits"][0]) for e in operand["elements"]}
                self.assertEqual(len(holders), len(places), name)
        # wmma's f16 fragments have eight registers, so some shapes hold elements twice.
        a = json.loads(self.call("layout", "wmma.load.a.sync.aligned.row.m16n16k16.f16", "--json").stdout)["operands"][0]
        self.assertEqual(len(a["elements"]), 2 * 16 * 16)

    def test_layout_formats(self):
        import xml.etree.ElementTree as xml

        name = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
        svg = self.path("d.svg")
        self.call("layout", name, "--operand", "d", "--format", "svg", "-o", svg)
        cells = [g for g in xml.parse(svg).iter("{http://www.w3.org/2000/svg}g") if g.get("class") == "cell"]
        self.assertEqual(len(cells), 64 * 8)
        html = self.call("layout", name, "--operand", "d", "--format", "html").stdout
        self.assertIn("<!doctype html>", html)
        self.assertNotIn("http", html.replace("http://www.w3.org/2000/svg", ""))  # stands alone

    def test_layout_of_shared_memory(self):
        tile = json.loads(self.call("layout", "smem", "--type", "bf16", "--swizzle", "128B", "--major", "k", "--rows", 64,
                                    "--cols", 64, "--json").stdout)
        for chunk in tile["chunks"]:  # the chunk of a row is xored with the row: "Swizzling Modes"
            row, column = chunk["row"], chunk["k"] // 8
            self.assertEqual(chunk["address"], 128 * row + 16 * (column ^ row % 8))
        self.assertEqual([c["worst"] for c in tile["conflicts"]][:2], [1, 1])
        self.assertEqual([d["start"] for d in tile["descriptors"]], [0, 32, 64, 96])
        self.assertEqual({(d["stride"], int(d["descriptor"], 16) >> 62) for d in tile["descriptors"]}, {(1024, 1)})
        # Every byte once, whatever the tile; and every K step's descriptor is one that wgmma can have.
        for swizzle in ("none", "32B", "64B", "128B"):
            for major, rows, cols in (("k", 128, 128), ("mn", 128, 64)):
                tile = json.loads(self.call("layout", "smem", "--type", "f16", "--swizzle", swizzle, "--major", major,
                                            "--rows", rows, "--cols", cols, "--json").stdout)
                self.assertEqual(sorted(c["address"] for c in tile["chunks"]), list(range(0, rows * cols * 2, 16)))
                self.assertEqual(len(tile["descriptors"]), cols // 16)
        # What the swizzle is for: without one, rows of 32 bytes and more would meet.
        text = self.call("layout", "smem", "--swizzle", "64B", "--rows", 8, "--cols", 32).stdout
        self.assertIn("ldmatrix: 8 rows of a 16-byte chunk", text)

    def test_layout_refuses(self):
        done = self.call("layout", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "--operand", "b", status=USAGE)
        self.assertIn("lemma layout smem", done.stderr)
        self.assertIn("it has d", self.call("layout", "ldmatrix.sync.aligned.m8n8", "--operand", "scale-a", status=USAGE).stderr)
        self.assertIn("which?", self.call("layout", "mma.sync.aligned.m16n8k16", status=USAGE).stderr)
        self.assertIn("legal: multiples of 64", self.call("layout", "smem", "--cols", 40, status=USAGE).stderr)
        self.assertIn("multiples of 8", self.call("layout", "smem", "--rows", 12, status=USAGE).stderr)
        self.call("layout", "smem", "--type", "b1", status=USAGE)
        self.call("layout", "smem", "--rows", 4294967288, status=USAGE)

    # --- lemma mma ----------------------------------------------------------------------------------------------------

    def matrices(self, name, case, operands):
        """Of each unit of a dumped case, the matrix behind each plane of registers, by lemma layout."""
        out = {}
        for plane in operands:
            where = "out" if plane == "d" else "in"
            registers = np.load(self.path(f"{case}/{plane}.{where}.npy"))  # [unit][register][lane][element]
            facts = json.loads(self.call("layout", name, "--operand", plane, "--json").stdout)["operands"][0]
            matrix = np.zeros((len(registers), facts["rows"], facts["cols"]), registers.dtype)
            seen = set()
            for e in facts["elements"]:
                at = e["row"], e["col"]
                if at in seen:  # a copy, of another selector
                    continue
                seen.add(at)
                if plane == "metadata":  # whole registers
                    matrix[:, e["row"], e["col"]] = registers[:, 0, e["lane"], 0] >> e["bits"][0] & 15
                else:
                    element = e["bits"][0] // facts["element_bits"]
                    matrix[:, e["row"], e["col"]] = registers[:, e["register"], e["lane"], element]
            out[plane] = matrix
        return out

    def test_mma_gives_the_bits_of_the_virtual_gpu(self):
        """Which are the recorded ones of an H200 (golden.mma); registers become matrices by lemma layout."""
        for case in ("mma/m16n8k16.row.col.f32.f16.f16.f32", "mma/m16n8k8.row.col.f16.f16.f16.f16",
                     "mma/m16n8k16.row.col.f32.bf16.bf16.f32", "mma/m16n8k8.row.col.f32.tf32.tf32.f32",
                     "mma/m16n8k8.row.col.rz.f64.f64.f64.f64", "mma/m16n8k32.row.col.satfinite.s32.s8.u8.s32",
                     "mma_narrow/m16n8k32.row.col.f32.e4m3.e5m2.f32",
                     "mma_sp/sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32.selector0",
                     "mma_sp/sp.m16n8k16.row.col.f32.tf32.tf32.f32.selector0"):
            group, spelling = case.split("/")
            sparse = group == "mma_sp"
            self.call("record", "--dump", case, self.path(spelling))
            name = "mma.sync.aligned." + spelling
            if sparse:
                kind, rest = spelling.removesuffix(".selector0").split(".", 1)
                name = f"mma.{kind}.sync.aligned.{rest}"
            units = self.matrices(name, spelling, ["a", "b", "c", "d"] + ["metadata"] * sparse)
            if ".s8" in spelling:
                units["a"], units["c"] = units["a"].view(np.int8), units["c"].view(np.int32)
            for unit in (0, len(units["d"]) // 2, len(units["d"]) - 1):  # ordinary, cancelling, special operands
                files = [self.save(f"{plane}.npy", units[plane][unit]) for plane in "abc"]
                if sparse:
                    files += ["--metadata", self.save("metadata.npy", units["metadata"][unit])]
                done = self.call("mma", name, *files, "-o", self.path("out.npy"))
                self.assertEqual(done.stdout, "")
                got = np.load(self.path("out.npy"))
                self.assertEqual(got.tobytes(), units["d"][unit].tobytes(), (case, unit))

    def test_mma_of_integers(self):
        rng = np.random.default_rng(1)
        for name, low, high, m, n, k in (("mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32", -8, 8, 16, 8, 32),
                                         ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", -128, 128, 16, 8, 32),
                                         ("wgmma.mma_async.sync.aligned.m64n24k32.s32.u8.u8", 0, 256, 64, 24, 32)):
            a, b = rng.integers(low, high, (m, k)), rng.integers(low, high, (k, n))
            c = rng.integers(-1000, 1000, (m, n), dtype=np.int32)
            files = [self.save("a.npy", a), self.save("b.npy", b), self.save("c.npy", c)]
            self.call("mma", name, *files, "-o", self.path("d.npy"))
            np.testing.assert_array_equal(np.load(self.path("d.npy")), a @ b + c)
        a, b = rng.integers(0, 2, (16, 256)), rng.integers(0, 2, (256, 8))
        files = [self.save("a.npy", a.astype(bool)), self.save("b.npy", b.astype(np.uint8))]
        self.call("mma", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", *files, "-o", self.path("d.npy"))
        np.testing.assert_array_equal(np.load(self.path("d.npy")), a @ b)

    def test_mma_converts_and_prints(self):
        name = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32"
        a = self.save("a.npy", np.full((16, 32), 1e9))  # beyond e4m3: its largest, 448
        b = self.save("b.npy", np.full((32, 8), 0x3C, np.uint8))  # bits of 1
        rows = self.call("mma", name, a, b).stdout.splitlines()
        self.assertEqual([row.split() for row in rows], [["14336"] * 8] * 16)
        facts = json.loads(self.call("mma", name, a, b, "--json").stdout)
        self.assertEqual((facts["d"][0][0], facts["bits"][15][7], facts["arch"]), (14336, "0x46600000", "sm_90"))

    def test_mma_on_other_machines(self):
        """Of 1 + 2^-24 * 3 an H200 keeps 25 fraction bits, an A100 24."""
        name = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
        a, b, c = np.zeros((16, 8), np.float16), np.zeros((8, 8), np.float16), np.zeros((16, 8), np.float32)
        a[0, :2], b[:2, 0], c[0, 0] = 2.0**-12, 2.0**-13, 1
        files = [self.save("a.npy", a), self.save("b.npy", b), self.save("c.npy", c)]
        bits = {arch: json.loads(self.call("mma", name, *files, "--arch", arch, "--json").stdout)["bits"][0][0]
                for arch in ("sm_90", "sm_80")}
        self.assertEqual(bits, {"sm_90": "0x3f800000", "sm_80": "0x3f800000"})
        a[0, :4], b[:4, 0] = 2.0**-12, 2.0**-13  # four of 2^-25: one unit in the last place, if they are kept
        files = [self.save("a.npy", a), self.save("b.npy", b), self.save("c.npy", c)]
        bits = {arch: json.loads(self.call("mma", name, *files, "--arch", arch, "--json").stdout)["bits"][0][0]
                for arch in ("sm_90", "sm_80")}
        self.assertEqual(bits, {"sm_90": "0x3f800001", "sm_80": "0x3f800000"})
        done = self.call("mma", name.replace("f16", "bf16"), *files, "--arch", "sm_75", status=UNSUPPORTED)
        self.assertIn("sm_75 has no", done.stderr)
        self.assertIn("sm_80", done.stderr)

    def test_mma_of_a_sparse_matrix(self):
        name = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
        rng = np.random.default_rng(2)
        dense, stored = np.zeros((16, 32), np.float16), np.zeros((16, 16), np.float16)
        fields = np.zeros((16, 8), np.uint8)
        for row in range(16):
            for chunk in range(8):
                first, second = sorted(rng.choice(4, 2, replace=False))
                values = rng.integers(1, 9, 2)
                dense[row, [4 * chunk + first, 4 * chunk + second]] = values
                stored[row, 2 * chunk : 2 * chunk + 2] = values
                fields[row, chunk] = first | second << 2
        b = rng.integers(-8, 9, (32, 8)).astype(np.float16)
        files = [self.save("b.npy", b), "-o", self.path("d.npy")]
        want = dense.astype(np.float32) @ b.astype(np.float32)  # exact: small integers
        self.call("mma", name, self.save("dense.npy", dense), *files)
        np.testing.assert_array_equal(np.load(self.path("d.npy")), want)
        self.call("mma", name, self.save("stored.npy", stored), *files, "--metadata", self.save("m.npy", fields))
        np.testing.assert_array_equal(np.load(self.path("d.npy")), want)
        dense[3, 4:7] = 1
        done = self.call("mma", name, self.save("dense.npy", dense), *files, status=USAGE)
        self.assertIn("row 3, columns 4 to 7: too many are not zero; legal: 2 of 4", done.stderr)
        fields[5, 1] = 0b0101
        done = self.call("mma", name, self.save("stored.npy", stored), *files, "--metadata", self.save("m.npy", fields),
                         status=USAGE)
        self.assertIn("row 5, chunk 1", done.stderr)

    def test_mma_with_block_scales(self):
        name = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
        rng = np.random.default_rng(3)
        e2m1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
        a, b = e2m1[rng.integers(0, 8, (16, 64))], -e2m1[rng.integers(0, 8, (64, 8))]
        scale_a, scale_b = 2.0 ** rng.integers(-2, 3, (16, 2)), 2.0 ** rng.integers(-2, 3, (2, 8))
        files = [self.save("a.npy", a), self.save("b.npy", b), "-o", self.path("d.npy")]
        scales = ["--scale-a", self.save("sa.npy", scale_a), "--scale-b", self.save("sb.npy", scale_b)]
        self.call("mma", name, *files, *scales)
        want = (a * np.repeat(scale_a, 32, 1)) @ (b * np.repeat(scale_b, 32, 0))  # exact: few bits, small exponents
        np.testing.assert_array_equal(np.load(self.path("d.npy")), want)
        self.assertIn("needs --scale-a", self.call("mma", name, *files, status=USAGE).stderr)
        self.call("mma", name, *files, *scales, "--arch", "sm_90", status=UNSUPPORTED)

    def test_layout_of_what_goes_with_a_product(self):
        """Scales of row r: lane 4 * (r % 8) + r / 8; metadata of m16n8k16: rows g and g + 8 in lane 4 * g."""
        name = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
        first = {}
        for e in json.loads(self.call("layout", name, "--operand", "scale-a", "--json").stdout)["operands"][0]["elements"]:
            first.setdefault((e["row"], e["col"]), (e["lane"], e["bits"]))
        self.assertEqual(first, {(r, s): (4 * (r % 8) + r // 8, [8 * s, 8 * s + 7]) for r in range(16) for s in range(2)})
        notes = self.call("layout", name, "--operand", "scale-b").stdout
        self.assertIn("byte-id, 0 or 2, is the element", notes)
        self.assertIn("thread-id t, 0 to 3, it is the lane t further on", notes)
        text = self.call("layout", "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                         "--operand", "metadata").stdout
        self.assertIn("T28:r0.4-7", text)
        self.assertIn("selector 0, of 4", text)

    def test_mma_refuses(self):
        name = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
        a, b = self.save("a.npy", np.zeros((16, 8), np.float16)), self.save("b.npy", np.zeros((8, 8), np.float16))
        self.assertIn("a.npy: it is 16 x 8; the instruction wants 8 x 8", self.call("mma", name, a, a, status=USAGE).stderr)
        words = self.save("w.npy", np.zeros((16, 8), np.int64))
        self.assertIn("legal for f16: f2, f4, f8, or u2", self.call("mma", name, words, b, status=USAGE).stderr)
        self.assertIn("moves data", self.call("mma", "movmatrix", a, b, status=USAGE).stderr)
        self.assertIn("dense A", self.call("mma", name, a, b, "--metadata", a, status=USAGE).stderr)
        self.call("mma", name, a, b, "--arch", "sm_61", status=USAGE)
        big = self.save("big.npy", np.full((16, 32), 8))
        done = self.call("mma", "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32", big, b, status=USAGE)
        self.assertIn("element 0 is 8; legal for s4: -8 to 7", done.stderr)

    # --- what docs/ shows ---------------------------------------------------------------------------------------------

    def test_docs_list_the_catalogue(self):
        self.assertEqual((ROOT / "docs/isa.md").read_text(), self.call("isa", "--markdown").stdout,
                         "docs/isa.md is old; write it again: lemma isa --markdown > docs/isa.md")

    def test_docs_show_what_the_commands_draw(self):
        """The commands of docs/looking.md that draw into docs/pictures/ draw what is there."""
        drawn = set()
        for line in (ROOT / "docs/looking.md").read_text().splitlines():
            if line.startswith("lemma layout") and "-o docs/pictures/" in line:
                words = line.split()
                picture = ROOT / words[-1]
                drawn.add(picture.name)
                self.assertEqual(self.call(*words[1:-2]).stdout, picture.read_text(), f"{picture} is old; {line}")
        self.assertEqual(drawn, {picture.name for picture in (ROOT / "docs/pictures").iterdir()})
        self.assertEqual(len(drawn), 3)
        readme = (ROOT / "README.md").read_text()
        for name in drawn:
            self.assertIn(f"docs/pictures/{name}", readme)

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
        self.assertIn("did you mean traps", self.run_kernel("trap", status=USAGE).stderr)

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
        self.run_add(out, options=["--arch", "sm_50"], status=UNSUPPORTED)

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

    def test_stats(self):
        done = self.run_add(f"out={self.path('out')}:128", options=["--stats"])
        self.assertRegex(done.stdout, r"warp instructions +14\n")
        self.assertRegex(done.stdout, r"lane instructions +448 ")
        self.assertRegex(done.stdout, r"matrix FLOPs +0 ")
        self.assertRegex(done.stdout, r"time +\d+\.\d+ s\n")

    def test_quiet_without_stats(self):
        self.assertEqual(self.run_add(f"out={self.path('out')}:128").stdout, "")

    def test_fault(self):
        done = self.run_add(f"out={self.path('out')}:64", status=FAILED)
        line = line_of("// the store")
        self.assertRegex(done.stderr, rf"kernels\.ptx:{line}: fault\[out of bounds\]: ")
        self.assertIn(f" {line} |   st.global.u32 [%rd5], %r5; // the store", done.stderr)
        self.assertRegex(done.stderr, r"where: +CTA 0,0,0, warp 0, lane \d+")
        self.assertRegex(done.stderr, r"address: +0x0000[0-9a-f]{12}")
        self.assertIn("arg 1 (out", done.stderr)

    def test_trap(self):
        self.assertRegex(self.run_kernel("traps", status=FAILED).stderr, r"fault\[[^]]*trap[^]]*\]")

    def test_max_instructions(self):
        self.run_kernel("counts", "u32=100", options=["--max-instructions", "1000"])
        done = self.run_kernel("counts", "u32=1000", options=["--max-instructions", "1000"], status=FAILED)
        self.assertRegex(done.stderr, r"fault\[[^]]*instructions[^]]*\]")

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

    def test_uninitialized_reads(self):
        done = self.run_kernel("reads_scratch", "buf=4", f"out={self.path('out')}:4", block="1")
        self.assertIn("warning[uninitialized]", done.stderr)
        self.assertIn("1 read of what was never written", done.stderr)
        self.assertEqual(pathlib.Path(self.path("out")).read_bytes(), b"\xcb\xcb\xcb\xcb")

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

    # --- verify -----------------------------------------------------------------------------------------------------

    def test_verify(self):
        self.assertIn("accepted", self.call("verify", KERNELS).stdout)
        done = self.call("verify", KERNELS, FOLDER / "bad.ptx", FOLDER / "unsupported.ptx", status=FAILED)
        self.assertIn("bad.ptx:7:3: error[", done.stdout)
        self.assertIn("  frobnicate.u32 %r0, %r1;", done.stdout)
        self.assertIn("unsupported.ptx: accepted", done.stdout)  # legal, whether it runs or not
        self.call("verify", status=USAGE)
        self.call("verify", self.path("no.ptx"), status=USAGE)

    def test_verify_json(self):
        report = json.loads(self.call("verify", "--json", KERNELS, FOLDER / "bad.ptx", status=FAILED).stdout)
        self.assertEqual([f["accepted"] for f in report["files"]], [True, False])
        self.assertFalse(report["accepted"])
        self.assertEqual(report["files"][1]["diagnostics"][0]["severity"], "error")


def main():
    names = [name.removeprefix("test_") for name in unittest.TestLoader().getTestCaseNames(Cli)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the lemma binary")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("names", nargs="*", metavar="NAME", help="run only these")
    options = parser.parse_args()
    if options.list:
        print("\n".join(names))
        return 0
    if not options.lemma:
        parser.error("--lemma is needed")
    Cli.lemma = options.lemma
    suite = unittest.TestSuite(Cli(f"test_{name}") for name in options.names or names)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if result.testsRun == 0 or not result.wasSuccessful():
        return 1
    return 77 if len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
