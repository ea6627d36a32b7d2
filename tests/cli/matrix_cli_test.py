#!/usr/bin/env python3
"""lemma isa, layout and mma as scripts see them: what they say of matrix instructions, and the products they compute.

usage: matrix_cli_test.py --lemma build/bin/lemma [NAME...]
       matrix_cli_test.py --list
"""

import json
import re
import sys
import xml.etree.ElementTree as xml

import numpy as np

from cli_case import FOLDER, ROOT, UNSUPPORTED, USAGE, Case, main


MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"

# In every floating-point type down to e2m1, and so few bits that every machine's sum of products is exact.
EXACT = np.array([0, 0.5, 1, 1.5, 2, 3, 4, -0.5, -1, -1.5, -2, -3, -4])
INTEGERS = {"s8": (-128, 128), "u8": (0, 256), "s4": (-8, 8), "u4": (0, 16), "b1": (0, 2)}


class MatrixCli(Case):
    def rows(self, *words):
        return json.loads(self.call("isa", *words, "--json").stdout)["instructions"]

    def refused(self, *words, status=USAGE):
        """What --json and standard error say of it."""
        done = self.call(*words, "--json", status=status)
        report = json.loads(done.stdout)
        self.assertEqual(report["exit_status"], status)
        self.assertEqual(report["error"]["kind"], "unsupported" if status == UNSUPPORTED else "invalid argument")
        self.assertEqual(done.stderr, f"lemma: {report['error']['message']}\n")
        self.assertEqual(self.call(*words, status=status).stdout, "")
        return report["error"]["message"]

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
        """By the records themselves: a case is named by its spelling."""
        def recorded(group):
            return json.loads((FOLDER.parent / f"golden/sm_90a/{group}.json").read_text())["cases"]
        rows = json.loads(self.call("isa", "mma.sync", "f64", "--json").stdout)["instructions"]
        for row in rows:
            shape = "m{m}n{n}k{k}".format(**row["shape"])
            named = [name for name in recorded("mma") if name.startswith(shape + ".") and "f64" in name]
            placed = [name for name in recorded("layout")
                      if name.startswith(f"mma.sync.aligned.{shape}.") and "f64" in name]
            self.assertEqual(row["checked"]["cases"], len(named) + len(placed), row["name"])
            self.assertEqual(row["checked"]["gpu"], "NVIDIA H200")
            self.assertGreaterEqual(row["checked"]["outputs"], len(named) * 2**16)
        self.assertEqual(len(rows), 4)
        self.assertIn("not checked on hardware", self.call("isa", "--all", "tcgen05.mma").stdout)

    def test_isa_says_how_approximate_functions_were_checked(self):
        text = self.call("isa", "--all", "ex2").stdout
        self.assertIn(".approx: all 2^32 inputs", text)
        self.assertIn("every other machine is assumed to have the same bits", text)
        self.assertNotIn("assumed", self.call("isa", "--all", "redux").stdout)
        forms = json.loads(self.call("isa", "--all", "div.how", "--json").stdout)["other_forms"]
        names = [function["name"] for form in forms for function in form.get("approximate", [])]
        self.assertEqual(names, ["div.approx.f32", "div.approx.ftz.f32"])
        page = (ROOT / "docs/isa.md").read_text()
        self.assertIn("| `div.approx.f32` | 6 x 2^26 pairs | assumed to be the same |", page)

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
        self.assertRegex(text, r"other shapes +m8n8k4, m16n8k8\n")  # dense ones
        self.assertRegex(self.call("isa", name.replace("mma.", "mma.sp.").replace("k16", "k32")).stdout,
                         r"other shapes +m16n8k16\n")
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

    def test_isa_refuses(self):
        self.assertIn("no matrix instruction is called nosuch", self.refused("isa", "nosuch"))
        self.assertIn("no instruction fits wgmma and f64", self.refused("isa", "wgmma", "f64"))
        self.assertIn("there is no target sm_999 (did you mean sm_90?)\n  all: sm_10 ", self.refused("isa", "mma", "sm_999"))
        self.assertIn("lemma isa --nvgpu", self.refused("isa", "--nvgpu", "nosuch"))
        for options in (("--markdown", "--json"), ("--markdown", "--all"), ("--nvgpu", "--markdown"), ("--nvgpu", "--all"),
                        ("--markdown", "nosuch")):
            self.assertEqual(self.call("isa", *options, status=USAGE).stdout, "")

    def test_isa_names_machines_that_have_it(self):
        """m16n8k16 begins with sm_80, m8n8k16 of integers with sm_72, which computes as sm_70 does."""
        def machines(name):
            return [a["arch"] for a in json.loads(self.call("isa", name, "--json").stdout)["arithmetic"]]

        self.assertEqual(machines(MMA)[0], "sm_80")
        self.assertEqual(machines("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32")[0], "sm_75")
        self.assertEqual(machines("wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32")[0], "sm_70")
        self.assertEqual(machines("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"), ["sm_90"])

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

    def test_layout_of_every_row(self):
        """Each can be drawn, and its fragments hold every element; every tenth can be explained too."""
        for i, row in enumerate(self.rows()):
            name = row["first_spelling"]
            with self.subTest(name):
                operands = json.loads(self.call("layout", name, "--json").stdout)["operands"]
                for operand in operands:
                    places = {(e["row"], e["col"]) for e in operand["elements"]}
                    self.assertEqual(places, {(r, c) for r in range(operand["rows"]) for c in range(operand["cols"])})
                xml.fromstring(self.call("layout", name, "--format", "svg").stdout)
                if i % 10 == 0:
                    text = self.call("isa", name).stdout
                    facts = json.loads(self.call("isa", name, "--json").stdout)
                    self.assertLessEqual({o["operand"] for o in operands}, {o["name"] for o in facts["operands"]})
                    for operand in facts["operands"]:
                        self.assertIn(f"\n  {operand['name']} ", text)

    def test_layout_formats(self):
        name = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
        svg = self.path("d.svg")
        self.call("layout", name, "--operand", "d", "--format", "svg", "-o", svg)
        cells = [g for g in xml.parse(svg).iter("{http://www.w3.org/2000/svg}g") if g.get("class") == "cell"]
        self.assertEqual(len(cells), 64 * 8)
        html = self.call("layout", name, "--operand", "d", "--format", "html").stdout
        self.assertIn("<!doctype html>", html)
        self.assertEqual(html.count('class="cell"'), 64 * 8)
        self.assertNotIn("http", html.replace("http://www.w3.org/2000/svg", ""))  # stands alone

    def grids(self, name, *options):
        """Of a drawing: by the title of each grid, where it is, and the x of every column and the width of a cell."""
        root = xml.fromstring(self.call("layout", name, "--format", "svg", *options).stdout)
        space = "{http://www.w3.org/2000/svg}"
        titles = {t.text: (int(t.get("x")), int(t.get("y"))) for t in root.iter(space + "text") if t.get("class") == "grid"}
        cells = [g.find(space + "rect") for g in root.iter(space + "g") if g.get("class") == "cell"]
        places = [tuple(int(r.get(key)) for key in ("x", "y", "width")) for r in cells]
        return int(root.get("width")), titles, places

    def test_layout_puts_b_above_d(self):
        for name in (MMA, "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
                     "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16"):
            _, titles, places = self.grids(name)
            by = {title[0]: place for title, place in titles.items()}
            self.assertEqual(by["b"][0], by["d"][0], name)
            self.assertLess(by["b"][1], by["d"][1], name)
            self.assertLess(by["a"][0], by["d"][0], name)
            self.assertEqual(by["a"][1], by["d"][1], name)
            columns = [{x for x, y, _ in places if x > by["d"][0] and (y < by["d"][1]) == above} for above in (True, False)]
            self.assertTrue(columns[1] <= columns[0], (name, columns))  # where f16 pairs are one cell, every other

    def test_layout_titles_do_not_overlap(self):
        for name in (MMA, "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
                     "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0"):
            width, titles, _ = self.grids(name)
            ends = {}
            for title, (x, y) in sorted(titles.items(), key=lambda item: item[1]):
                self.assertLessEqual(ends.get(y, 0), x, (name, title))
                ends[y] = x + 7.8 * len(title)  # 13 pixels, bold, monospace
                self.assertLessEqual(ends[y], width, (name, title))

    def test_layout_leaves_the_middle_out(self):
        name = "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"
        width, titles, places = self.grids(name, "--operand", "d")
        self.assertLess(width, 1600)
        self.assertIn("; columns 16 to 239 are left out", next(iter(titles)))
        self.assertEqual(len(places), 64 * 33)
        self.assertEqual(self.call("layout", name, "--operand", "d", "--format", "html").stdout.count('class="cell"'), 64 * 256)

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
        self.assertIn("legal: multiples of 8", self.refused("layout", "smem", "--rows", 12))
        self.assertIn("no operand e; it has d, a, b, c", self.refused("layout", MMA, "--operand", "e"))
        self.assertIn("no matrix instruction", self.refused("layout", "nosuch"))
        self.assertIn("No such file", self.refused("layout", MMA, "-o", self.path("no/d.txt")))
        self.assertIn("--rows says nothing of registers", self.refused("layout", MMA, "--rows", 64))
        self.assertIn("--operand says nothing of a tile", self.refused("layout", "smem", "--operand", "a"))
        self.assertIn("256B not in {none,32B,64B,128B,128B_ATOM_32B}", self.call("layout", "smem", "--swizzle", "256B", status=USAGE).stderr)
        self.call("layout", MMA, "--json", "--format", "svg", status=USAGE)

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
            self.call("lemma-record", "--dump", case, self.path(spelling))
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

    def test_mma_of_every_row(self):
        """One spelling of each against numpy, on numbers whose products and sums are exact."""
        rng = np.random.default_rng(7)
        cases = [(row["first_spelling"], {side: row["types"][side][0] for side in "dab"})
                 for row in self.rows() if row["opcode"] in ("mma", "wmma.mma", "wgmma.mma_async") or row["opcode"].startswith("tcgen05.mma")]
        self.assertGreater(len(cases), 120)
        for name, types in list(cases):  # bytes that hold six bits and four
            if "k64.row.col.kind::f8f6f4.f32.e4m3.e4m3" in name:
                cases += [(name.replace("f32.e4m3", f"f32.{a}"), {**types, "a": a}) for a in ("e2m1", "e2m3", "e3m2")]
        for name, types in cases:
            with self.subTest(name):
                m, n, k = map(int, re.search(r"m(\d+)n(\d+)k(\d+)", name).groups())
                a, b = (rng.integers(*INTEGERS[types[side]], shape) if types[side] in INTEGERS else rng.choice(EXACT, shape)
                        for side, shape in (("a", (m, k)), ("b", (k, n))))
                if ".sp" in name:  # the last of each two, or pair of each two pairs: -0 where the number was negative
                    packed = types["a"] in ("s4", "u4") or (types["a"] == "e2m1" and "f8f6f4" not in name)
                    a = a * (np.arange(k) // (2 if packed else 1) % 2)
                options, want = [], a @ b
                if "block_scale" in name:
                    per_line = 4 if "4X" in name else 1 if "mxf8f6f4" in name else 2
                    scale_a, scale_b = 2.0 ** rng.integers(-1, 2, (m, per_line)), 2.0 ** rng.integers(-1, 2, (per_line, n))
                    options = ["--scale-a", self.save("sa.npy", scale_a), "--scale-b", self.save("sb.npy", scale_b)]
                    want = (a * np.repeat(scale_a, k // per_line, 1)) @ (b * np.repeat(scale_b, k // per_line, 0))
                elif "xor.popc" in name:
                    want = (a[:, :, None] != b[None]).sum(1)
                c = rng.integers(-50, 50, (m, n))
                files = [self.save("a.npy", a), self.save("b.npy", b),
                         self.save("c.npy", c if types["d"] == "s32" else c.astype(float))]
                self.call("mma", name, *files, *options, "-o", self.path("d.npy"))
                np.testing.assert_array_equal(np.load(self.path("d.npy")), want + c)

    def test_mma_of_random_matrices(self):
        """--json has their bits: given as files they make the same D, on every machine its own."""
        for name in (MMA, "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32",
                     "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",
                     "tcgen05.mma.sp.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X"):
            made = json.loads(self.call("mma", name, "--random", 7, "--json").stdout)
            self.assertEqual(made, json.loads(self.call("mma", name, "--random", 7, "--json").stdout))
            self.assertNotEqual(made["bits"], json.loads(self.call("mma", name, "--random", 8, "--json").stdout)["bits"])
            self.assertGreater(len({x for row in made["bits"] for x in row}), 20)
            files, options = [], []
            for operand, rows in made["operands"].items():
                bits = np.array([[int(x, 16) for x in row] for row in rows])
                digits = len(rows[0][0]) - 2
                if "s32" in name:  # whole numbers
                    bits = np.where(bits >= 1 << 4 * digits - 1, bits - (1 << 4 * digits), bits)
                else:
                    bits = bits.astype(f"u{max(digits // 2, 1)}")
                path = self.save(operand + ".npy", bits)
                options += ["--" + operand.replace("_", "-"), path] if operand not in "abc" else []
                files += [path] if operand in "abc" else []
            self.assertEqual(json.loads(self.call("mma", name, *files, *options, "--json").stdout)["bits"], made["bits"], name)
        a = self.save("a.npy", np.zeros((16, 16), np.float16))
        self.call("mma", MMA, a, "--random", 1)
        self.assertIn("or --random", self.call("mma", MMA, a, status=USAGE).stderr)

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

    def test_mma_refuses_files(self):
        """Whatever is wrong with a file, the message names it and says what is legal."""
        good = np.zeros((16, 16), np.float16)
        b = self.save("b.npy", np.zeros((16, 8), np.float16))
        for array, words in ((np.asfortranarray(np.eye(16, dtype=np.float16)[:, ::-1]), "ascontiguousarray"),
                             (good.astype(">f2"), "little-endian"), (good.ravel(), "a matrix has 2"),
                             (good.reshape(1, 16, 16), "a matrix has 2"), (good.astype(np.int16), "legal for f16"),
                             (good[:, :8], "it is 16 x 8; the instruction wants 16 x 16"), (good[:0], "it is 0 x 16")):
            self.assertRegex(self.refused("mma", MMA, self.save("a.npy", array), b), rf"a\.npy: .*{words}")
        self.assertIn("cannot read", self.refused("mma", MMA, self.path("no.npy"), b))
        self.assertIn("numpy.save", self.refused("mma", MMA, self.save("a.bin", good), b))
        with open(self.path("cut.npy"), "wb") as file:
            file.write(open(self.save("a.npy", good), "rb").read()[:200])
        self.assertIn("72 bytes of data", self.refused("mma", MMA, self.path("cut.npy"), b))

    def test_mma_refuses_machines(self):
        files = [self.save("a.npy", np.zeros((16, 16), np.float16)), self.save("b.npy", np.zeros((16, 8), np.float16))]
        message = self.refused("mma", MMA, *files, "--arch", "sm_75", status=UNSUPPORTED)
        self.assertIn(f"sm_75 has no {MMA}\n", message)
        self.assertIn(" sm_80, sm_86, sm_87, sm_88, sm_89, sm_90, sm_100, sm_103", message)
        self.assertIn("--arch sm_999", self.refused("mma", MMA, *files, "--arch", "sm_999"))
        self.call("mma", MMA, *files, "--arch", "sm_103a")

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
        self.assertEqual(len(drawn), 4)
        readme = (ROOT / "README.md").read_text()
        for name in drawn:
            self.assertIn(f"docs/pictures/{name}", readme)


if __name__ == "__main__":
    sys.exit(main(MatrixCli, __doc__))
