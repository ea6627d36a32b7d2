"""Products, layouts, the catalogue, verification, types."""

import pathlib
import unittest

import numpy as np

import lemma

ROOT = pathlib.Path(__file__).resolve().parents[2]
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


class Mma(unittest.TestCase):
    def test_integers_are_exact(self):
        r = np.random.RandomState(0)
        a, b = r.randint(-8, 9, (16, 16)), r.randint(-8, 9, (16, 8))
        d = lemma.mma(MMA, a.astype(np.float16), b.astype(np.float16), arch="sm_80")
        self.assertEqual((d.dtype, d.shape), (np.float32, (16, 8)))
        self.assertTrue((d == a @ b).all())
        c = r.randint(-99, 99, (16, 8)).astype(np.float32)
        self.assertTrue((lemma.mma(MMA, a.astype(float), b.astype(float), c) == a @ b + c).all())

    def test_machines_round_in_their_own_ways(self):
        a, b = np.zeros((16, 16), np.float16), np.ones((16, 8), np.float16)
        a[0, :3] = 1, 2.0**-24, -1  # lost where products are cut to few bits
        c = np.zeros((16, 8), np.float32)
        c[0] = 2.0**24
        found = {arch: lemma.mma(MMA, a, b, c, arch=arch)[0, 0] for arch in ("sm_80", "sm_90")}
        self.assertEqual(set(found), {"sm_80", "sm_90"})
        rules = {arch: lemma.mma_form(MMA, arch).rule for arch in found}
        self.assertNotEqual(rules["sm_80"], rules["sm_90"])

    def test_integer_and_sparse_products(self):
        name = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
        a = np.arange(16 * 32).reshape(16, 32) % 7 - 3
        b = np.arange(32 * 8).reshape(32, 8) % 5 - 2
        self.assertTrue((lemma.mma(name, a, b) == a @ b).all())
        form = lemma.mma_form("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90")
        self.assertIsNotNone(form.stored_a)

    def test_errors(self):
        with self.assertRaises(lemma.InvalidArgument) as caught:
            lemma.mma(MMA, np.zeros((16, 8), np.float16), np.zeros((16, 8), np.float16))
        self.assertEqual(caught.exception.operand, "a")
        with self.assertRaisesRegex(lemma.InvalidArgument, "takes no metadata"):
            lemma.mma(MMA, np.zeros((16, 16)), np.zeros((16, 8)), metadata=np.zeros((16, 4), np.uint8))
        with self.assertRaises(lemma.InvalidArgument):
            lemma.mma("mma.sync.aligned.m17n8k16.row.col.f32.f16.f16.f32", np.zeros((1, 1)), np.zeros((1, 1)))
        with self.assertRaises(lemma.Unsupported):
            lemma.mma("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", np.zeros((64, 16)), np.zeros((16, 8)), arch="sm_80")


class Occupancy(unittest.TestCase):
    def test_what_limits(self):
        found = lemma.occupancy(384, smem=196672, registers=168)
        self.assertEqual((found.ctas_per_sm, found.warps_per_sm, found.sm_count), (1, 12, 132))
        self.assertEqual(found.limited_by, "shared memory, registers")
        self.assertEqual(lemma.active_clusters(384, 2, smem=196672), 66)
        self.assertEqual(lemma.best_block_size(arch="sm_89"), 768)
        self.assertEqual(lemma.best_block_size(lambda threads: 1 << 30), 0)
        self.assertEqual(lemma.best_block_size(lambda threads: 227 * threads * 4, most=300), 256)
        with self.assertRaises(lemma.InvalidArgument):
            lemma.occupancy(1025)
        with self.assertRaises(ZeroDivisionError):
            lemma.best_block_size(lambda threads: 1 // 0)


class Layouts(unittest.TestCase):
    def test_a_fragment(self):
        layout = lemma.layout(MMA)
        self.assertEqual(list(layout.operands), ["d", "a", "b", "c"])
        held = layout.map("a")
        self.assertEqual(held.shape, (16, 16))
        for row, col, lane, reg, elem in layout["a"].elements:
            self.assertEqual(tuple(held[row, col]), (lane, reg, elem))
        self.assertEqual(tuple(held[1, 2]), (5, 0, 0))
        self.assertTrue(layout._repr_html_().lstrip().startswith("<"))
        self.assertIn("<svg", layout.svg("a"))
        self.assertIn("m16n8k16", str(layout))
        with self.assertRaises(lemma.InvalidArgument):
            lemma.layout("mma.sync.aligned.m16n8k17")

    def test_a_tile(self):
        tile = lemma.tile("bf16", rows=64, cols=64, swizzle=128)
        self.assertEqual(tile.addresses.shape, (64, 8))
        self.assertEqual(tile.addresses[1, 0], 128 + 16)  # chunk 0 of line 1 is where chunk 1 would be
        self.assertTrue(tile.descriptors)
        self.assertIn("<svg", tile.svg())
        with self.assertRaises(lemma.InvalidArgument):
            lemma.tile("bf16", swizzle=48)
        atoms = lemma.tile("tf32", rows=32, cols=8, major="mn", atoms_of_32_bytes=True)
        self.assertEqual(([d.stride for d in atoms.tensor_descriptors], list(atoms.descriptors)), ([512], []))
        self.assertIn("128B_ATOM_32B", str(atoms))

    def test_tensor_memory(self):
        name = "tcgen05.mma.cta_group::1.kind::f16.m64n16k16.f32.bf16.bf16"
        layout = lemma.layout(name)
        self.assertTrue(layout["d"].in_tensor_memory)
        self.assertEqual(tuple(layout.map("d")[17, 3]), (33, 3, 0))  # lane, column
        self.assertEqual(tuple(layout.map("a")[17, 3]), (33, 1, 1))
        self.assertEqual(layout["a"].column_formula, "col / 2")
        found = lemma.descriptor(layout.description.instruction_descriptor, "kind::f16")
        self.assertEqual((found.product, found.problem), (name, ""))
        self.assertEqual({f.name: f.meaning for f in found.fields}["type of A"], "bf16")
        self.assertIn("version", lemma.descriptor(1 << 62, "tcgen05").problem)
        d = lemma.mma(name, np.ones((64, 16)), np.ones((16, 16)))
        self.assertTrue((d == 16).all())
        with self.assertRaises(lemma.InvalidArgument):
            lemma.descriptor(1, "kind::f61")


class Isa(unittest.TestCase):
    def test_tables(self):
        table = lemma.isa("wgmma", "f16")
        self.assertGreater(len(table), 3)
        self.assertTrue(all(r.opcode.startswith("wgmma") for r in table))
        self.assertIn("NVIDIA H200", str(table))
        self.assertIn("<table>", table._repr_html_())
        self.assertEqual(len(list(table[:2].rows())), 2)
        self.assertGreater(len(lemma.isa(all=True)), len(lemma.isa()))
        self.assertTrue(all("warpgroup" in r.operation for r in lemma.isa("warpgroup", nvgpu=True)))
        self.assertIn("sm_90a", lemma.targets())
        with self.assertRaises(lemma.InvalidArgument):
            lemma.isa("sm_91")


class Verify(unittest.TestCase):
    TEXT = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { .reg .b32 %r; add.s33 %r, %r, %r; ret; }\n"

    def test_messages(self):
        self.assertTrue(lemma.verify(ROOT / "examples/vector_add/vector_add.ptx"))
        found = lemma.verify(self.TEXT, name="k.ptx")
        self.assertFalse(found)
        self.assertEqual((found.messages[0].file, found.messages[0].line), ("k.ptx", 4))
        self.assertIn("add.s33", str(found))

    def test_many_texts(self):
        good = ROOT / "examples/vector_add/vector_add.ptx"
        found = lemma.verify_each([good, self.TEXT, str(good)] * 5, threads=3)
        self.assertEqual([bool(f) for f in found], [True, False, True] * 5)
        self.assertEqual(found[1].messages, lemma.verify(self.TEXT).messages)
        self.assertEqual(lemma.verify_each([]), [])
        with self.assertRaises(FileNotFoundError):
            lemma.verify_each([good, "missing.ptx"])

    def test_linking(self):
        parts = [ROOT / "examples/separate_compilation" / name for name in ("main.ptx", "helper.ptx")]
        linked = lemma.link(parts)
        self.assertIsInstance(linked, str)
        self.assertTrue(lemma.verify(linked))
        self.assertEqual(linked, lemma.link([part.read_text() for part in parts]))
        gpu = lemma.Device("cpu")
        self.assertTrue(gpu.load(linked).kernels)
        with self.assertRaises(lemma.Rejected) as caught:
            lemma.link([parts[0].read_text(), linked])
        self.assertRegex(str(caught.exception), "<text [01]>:.*define")
        self.assertTrue(caught.exception.messages)
        odd = "{ .reg .b32 %r; .reg .b64 %a; ld.global.gpu.acquire.u32 %r, [%a]; ret; }\n"
        warned = lemma.link([".version 8.0\n.target sm_90\n.address_size 64\n.visible .func f() " + odd])
        self.assertEqual([(m.file, m.id) for m in warned.messages], [("<text 0>", "qualifier-order")])
        with self.assertRaises(lemma.InvalidArgument):
            lemma.link([])
        with self.assertRaises(TypeError):
            lemma.link(parts[0])
        with self.assertRaises(FileNotFoundError):
            lemma.link(["missing.ptx"])

    def test_images(self):
        images = ROOT / "tests/unit/image/images"
        x = np.arange(32, dtype=np.float32)
        for arch in (None, "sm_90a", "sm_100a", "sm_120"):
            gpu = lemma.Device("cpu", arch=arch)
            out = x.copy()
            gpu.load(images / "several.fatbin")["scale"][1, 32](out, 3.0)
            self.assertTrue((out == 3 * x).all(), arch)
        gpu = lemma.Device("cpu", arch="sm_90a")
        out = x.copy()
        gpu.load(images / "relocatable.elf")["doubles"][1, 32](out)
        self.assertTrue((out == 2 * x).all())
        modules = lemma.ptx_of_image(images / "modules.elf", arch="sm_90a")
        self.assertEqual([m.name for m in modules], [f"{images / 'modules.elf'}({i})" for i in (1, 2)])
        self.assertIn("second", str(gpu.load(modules[1]).kernels))
        self.assertTrue(lemma.verify(lemma.link([images / "relocatable.elf"])))
        self.assertEqual(lemma.ptx_of_image((images / "zstd.fatbin").read_bytes()), lemma.ptx_of_image(images / "plain.fatbin"))
        with self.assertRaisesRegex(lemma.InvalidArgument, "modules.elf has 2 modules"):
            gpu.load(images / "modules.elf")
        with self.assertRaisesRegex(lemma.Unsupported, "holds a cubin for sm_90a.*\n.*compute_90a"):
            gpu.load(images / "no_ptx.fatbin")
        with self.assertRaisesRegex(lemma.Unsupported, "no PTX that sm_80 runs"):
            lemma.Device("cpu", arch="sm_80").load(images / "zstd.fatbin")
        with self.assertRaises(lemma.InvalidArgument):
            lemma.ptx_of_image(b"\x50\xed\x55\xba")

    def test_types(self):
        self.assertEqual(lemma.numpy_type(".f32"), np.float32)
        self.assertEqual(lemma.ptx_type(np.float16), "f16")
        self.assertEqual(lemma.numpy_type("bf16").itemsize, 2)
        for wrong in ("f33", ""):
            with self.assertRaises(ValueError):
                lemma.numpy_type(wrong)
        with self.assertRaises(ValueError):
            lemma.ptx_type(np.complex64)


if __name__ == "__main__":
    unittest.main()
