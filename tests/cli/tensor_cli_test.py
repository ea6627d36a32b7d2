#!/usr/bin/env python3
"""tcgen05 as lemma isa, layout, mma and descriptor show it; and that the virtual GPU has it so: kernels place operands where lemma layout
says, and D must be that of lemma mma.

usage: tensor_cli_test.py --lemma build/bin/lemma [NAME...]
       tensor_cli_test.py --list
"""

import json
import sys

import numpy as np

from cli_case import FAILED, UNSUPPORTED, USAGE, Case, main

HALF = "tcgen05.mma.cta_group::1.kind::f16"

# In every floating-point type down to e2m1, and so few bits that sums are exact.
EXACT = np.array([0, 0.5, 1, 1.5, 2, 3, 4, -0.5, -1, -1.5, -2, -3, -4])
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e2m3": 6, "e3m2": 6, "e2m1": 4}

LANES, COLUMNS = 128, 512
A_AT, SCALE_A_AT, SCALE_B_AT, METADATA_AT = 256, 320, 352, 384  # columns; D is at 0

# Stores a column image to tensor memory, multiplies what is there by B in shared memory, and loads D.
KERNEL = """
.version 8.8
.target %(target)s
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 tile, .param .u64 out) .reqntid 128 {
  .shared .align 1024 .b8 b[%(tile_bytes)d];
  .shared .align 8 .b64 done;
  .shared .align 4 .b32 slot;
  .reg .b64 %%from, %%to, %%desc; .reg .b32 %%t, %%warp, %%at, %%own, %%d, %%a, %%sa, %%sb, %%x<32>; .reg .pred %%first, %%warp0, %%again, %%yes, %%more;
  mov.u32 %%t, %%tid.x;
  shr.u32 %%warp, %%t, 5;
  setp.eq.u32 %%first, %%t, 0;
  setp.eq.u32 %%warp0, %%warp, 0;
  setp.eq.u32 %%yes, 0, 0;
  @!%%warp0 bra ALLOCATED;
  mov.u32 %%at, slot;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%%at], 512;
  mov.u32 %%at, done;
  @%%first mbarrier.init.shared::cta.b64 [%%at], 1;
ALLOCATED:
  ld.param.u64 %%from, [tile];
  mul.wide.u32 %%to, %%t, 4;
  add.u64 %%from, %%from, %%to;
  mov.u32 %%at, b;
  mad.lo.u32 %%at, %%t, 4, %%at;
  mov.u32 %%a, 0;
FILL:
  ld.global.b32 %%x0, [%%from];
  st.shared.b32 [%%at], %%x0;
  add.u64 %%from, %%from, 512;
  add.u32 %%at, %%at, 512;
  add.u32 %%a, %%a, 512;
  setp.lt.u32 %%more, %%a, %(tile_bytes)d;
  @%%more bra FILL;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  ld.shared.b32 %%d, [slot];
  shl.b32 %%own, %%warp, 21;
  add.u32 %%own, %%own, %%d;
  ld.param.u64 %%from, [image];
  mul.wide.u32 %%to, %%t, 2048;
  add.u64 %%from, %%from, %%to;
%(stores)s
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  @!%%first bra ISSUED;
  mov.u32 %%at, b;
  shr.u32 %%at, %%at, 4;
  cvt.u64.u32 %%desc, %%at;
  or.b64 %%desc, %%desc, %(b_desc)s;
  add.u32 %%a, %%d, %(a_at)d;
  add.u32 %%sa, %%d, %(sa_at)d;
  add.u32 %%sb, %%d, %(sb_at)d;
  add.u32 %%at, %%d, %(metadata_at)d;
  %(words)s [%%d], [%%a], %%desc, %(metadata)s%(idesc)s%(scales)s, %%yes;
  mov.u32 %%at, done;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%%at];
ISSUED:
  mov.u32 %%at, done;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %%again, [%%at], 0;
  @!%%again bra WAIT;
  tcgen05.fence::after_thread_sync;
  ld.param.u64 %%from, [out];
  add.u64 %%from, %%from, %%to;
%(loads)s
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  @!%%warp0 bra END;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %%d, 512;
END:
  ret;
}
"""


def registers(of):
    return ", ".join(f"%x{i}" for i in range(of))


STORES = "".join(
    "".join(f"  ld.global.v4.b32 {{%x{i}, %x{i + 1}, %x{i + 2}, %x{i + 3}}}, [%from+{4 * (at + i)}];\n" for i in range(0, 32, 4))
    + f"  tcgen05.st.sync.aligned.32x32b.x32.b32 [%own+{at}], {{{registers(32)}}};\n"
    for at in range(0, COLUMNS, 32)
)
LOADS = "".join(
    f"  tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{registers(32)}}}, [%own+{at}];\n  tcgen05.wait::ld.sync.aligned;\n"
    + "".join(f"  st.global.v4.b32 [%from+{4 * (at + i)}], {{%x{i}, %x{i + 1}, %x{i + 2}, %x{i + 3}}};\n" for i in range(0, 32, 4))
    for at in range(0, COLUMNS, 32)
)


class TensorCli(Case):
    def json_of(self, *words):
        return json.loads(self.call(*words, "--json").stdout)

    def operand(self, name, operand):
        return self.json_of("layout", name, "--operand", operand)["operands"][0]

    def bits(self, values, type):
        """The elements' bits: what a product by one gives, in a type that holds them."""
        if type in ("u8", "s8"):
            return np.asarray(values, np.int64) & 0xFF
        if type == "f16":
            return np.asarray(values, np.float16).view(np.uint16).astype(np.uint32)
        if type in ("f32", "tf32"):
            return np.asarray(values, np.float32).view(np.uint32)
        if type == "s32":
            return np.asarray(values, np.int32).view(np.uint32)
        if type == "bf16":
            return np.asarray(values, np.float32).view(np.uint32) >> 16  # exact
        exponent, mantissa, bias = {"e4m3": (4, 3, 7), "e5m2": (5, 2, 15), "e2m3": (2, 3, 1), "e3m2": (3, 2, 3), "e2m1": (2, 1, 1),
                                    "ue8m0": (8, 0, 127), "ue4m3": (4, 3, 7)}[type]  # fmt: skip
        table = {}
        for code in range(1 << (exponent + mantissa)):
            e, m = code >> mantissa, code & ((1 << mantissa) - 1)
            value = 2.0 ** (e - bias) * (1 + m / 2**mantissa) if e or not mantissa else 2.0 ** (1 - bias) * m / 2**mantissa
            table.setdefault(value, code)
        sign = 1 << (exponent + mantissa)
        flat = [table[abs(v)] | (sign if v < 0 else 0) for v in np.asarray(values, float).ravel()]
        return np.array(flat, np.uint32).reshape(np.shape(values))

    def place(self, image, name, operand, at, bits):
        """Every element of an operand in tensor memory."""
        layout = self.operand(name, operand)
        for e in layout["elements"]:
            image[e["lane"], at + e["column"]] |= np.uint32(int(bits[e["row"], e["col"]]) << e["bits"][0])

    def tile(self, b, type, swizzle, major, dense):
        """B (K x N) as the bytes of a tile, and the descriptor of its first step: K of a line of the swizzle, of which one step is there."""
        k, n = b.shape
        width = {"none": 16, "32B": 32, "64B": 64}.get(swizzle, 128)
        size = 4 if dense else max(BITS.get(type, 8), 8)  # bits of an element there
        in_line = width * 8 // size
        rows, cols = (n, max(k, in_line)) if major == "k" else (-(-n // in_line) * in_line, k)
        shown = {"rows": rows, "cols": cols // 2 if dense else cols, "type": "u8" if dense else type}
        words = [word for key, value in shown.items() for word in ("--" + key, value)]
        layout = self.json_of("layout", "smem", *words, "--swizzle", swizzle, "--major", major)
        elems = 128 // size
        memory = np.zeros(-(-layout["bytes"] // 512) * 512, np.uint8)
        for chunk in layout["chunks"]:
            first, other = (2 * chunk["k"] if dense else chunk["k"], chunk["row"]) if major == "k" else (chunk["row"], chunk["k"])
            packed = 0
            for i in range(elems):
                row, col = (first + i, other) if major == "k" else (other, first + i)
                if row < k and col < n:
                    packed |= int(b[row, col]) << i * (4 if dense else BITS.get(type, 8))
            memory[chunk["address"] : chunk["address"] + 16] = np.frombuffer(packed.to_bytes(16, "little"), np.uint8)
        return memory, int(layout["tcgen05_descriptors"][0]["descriptor"], 16)

    def check(self, name, swizzle="128B", major="k", seed=1):
        rng = np.random.default_rng(seed)
        facts = self.json_of("isa", name)
        spelling, types = facts["spelling"], {o["name"]: o["type"] for o in facts["operands"]}
        words, _, rest = spelling.rpartition(".m")
        m, n, k = (int(x) for x in rest.split(".")[0].replace("n", " ").replace("k", " ").split())
        def numbers(type, shape):
            return rng.integers(0, 100, shape) - (50 if type == "s8" else 0) if type in ("u8", "s8") else rng.choice(EXACT, shape)
        sparse = "metadata" in types
        a, b, c = numbers(types["a"], (m, k // (1 + sparse))), numbers(types["b"], (k, n)), rng.integers(-50, 50, (m, n))
        image = np.zeros((LANES, COLUMNS), np.uint32)
        self.place(image, spelling, "a", A_AT, self.bits(a, types["a"]))
        self.place(image, spelling, "d", 0, self.bits(c, types["d"]))
        scales, options = "", []
        if "scale-a" in types:
            per_row = next(o["cols"] for o in facts["operands"] if o["name"] == "scale-a")
            of_a, of_b = 2.0 ** rng.integers(-2, 3, (m, per_row)), 2.0 ** rng.integers(-2, 3, (per_row, n))
            self.place(image, spelling, "scale-a", SCALE_A_AT, self.bits(of_a, types["scale-a"]))
            self.place(image, spelling, "scale-b", SCALE_B_AT, self.bits(of_b, types["scale-b"]))
            scales = ", [%sa], [%sb]"
            options = ["--scale-a", self.save("sa.npy", of_a), "--scale-b", self.save("sb.npy", of_b)]
        if sparse:  # of 2:4, two different columns of a chunk in rising order; of 1:2, one of two
            fields = next(o for o in facts["operands"] if o["name"] == "metadata")
            legal = [0b0100, 0b1110] if types["a"] == "tf32" else [x | y << 2 for x in range(4) for y in range(x + 1, 4)]
            metadata = rng.choice(legal, (fields["rows"], fields["cols"]))
            self.place(image, spelling, "metadata", METADATA_AT, metadata)
            options += ["--metadata", self.save("metadata.npy", metadata.astype(np.uint8))]
        memory, descriptor = self.tile(self.bits(b, types["b"]), types["b"], swizzle, major, "mxf4" in words)
        idesc = int(facts["instruction_descriptor"], 16) | (1 << 16 if major == "mn" else 0)
        text = KERNEL % {"target": "sm_103a" if k == 96 else "sm_100a", "tile_bytes": memory.size, "stores": STORES, "loads": LOADS, "words": words, "scales": scales,
                         "b_desc": hex(descriptor), "idesc": hex(idesc), "a_at": A_AT, "sa_at": SCALE_A_AT, "sb_at": SCALE_B_AT,
                         "metadata_at": METADATA_AT, "metadata": "[%at], " if sparse else ""}  # fmt: skip
        with open(self.path("k.ptx"), "w") as file:
            file.write(text)
        self.call("run", self.path("k.ptx"), "--grid", 1, "--block", 128, "--arg", "in=" + self.save("image.npy", image),
                  "--arg", "in=" + self.save("tile.npy", memory), "--arg", f"out={self.path('out.npy')}:u32[{LANES},{COLUMNS}]")  # fmt: skip
        out = np.load(self.path("out.npy")).reshape(LANES, COLUMNS)
        got = np.zeros((m, n), np.uint32)
        for e in self.operand(spelling, "d")["elements"]:
            got[e["row"], e["col"]] = out[e["lane"], e["column"]] >> e["bits"][0]
        files = [self.save(f"{x}.npy", v if x != "c" or types["d"] == "s32" else v.astype(float)) for x, v in zip("abc", (a, b, c))]
        wanted = self.json_of("mma", spelling, *files, *options)
        self.assertEqual(wanted["type"], types["d"])
        bits = np.array([[int(x, 16) for x in row] for row in wanted["bits"]], np.uint32)
        np.testing.assert_array_equal(got & (0xFFFF if types["d"] == "f16" else 0xFFFFFFFF), bits, f"{name} {swizzle} {major}")
        self.assertGreater(np.count_nonzero(bits), m * n // 2)

    # --- what is drawn is what runs -----------------------------------------------------------------------------------

    def test_operands_of_16_bits_are_where_they_are_drawn(self):
        self.check(f"{HALF}.m128n64k16.f32.f16.f16", "128B")
        self.check(f"{HALF}.m64n24k16.f32.bf16.bf16", "32B")
        self.check(f"{HALF}.m64n16k16.f16.f16.f16", "none", "mn")
        self.check(f"{HALF}.m128n64k16.f32.f16.f16", "64B", "mn")

    def test_operands_of_32_bits_are_where_they_are_drawn(self):
        tf32 = "tcgen05.mma.cta_group::1.kind::tf32.m128n32k8.f32.tf32.tf32"
        self.check(tf32, "64B")
        self.check(tf32, "128B_ATOM_32B", "mn")

    def test_operands_of_8_bits_are_where_they_are_drawn(self):
        self.check("tcgen05.mma.cta_group::1.kind::i8.m128n32k32.s32.s8.u8", "128B")
        self.check("tcgen05.mma.cta_group::1.kind::f8f6f4.m64n16k32.f16.e4m3.e5m2", "32B", "mn")
        self.check("tcgen05.mma.cta_group::1.kind::f8f6f4.m128n16k32.f32.e2m3.e2m1", "64B")
        self.check("tcgen05.mma.cta_group::1.kind::f8f6f4.m128n16k32.f32.e2m1.e3m2", "none")

    def test_scale_factors_are_where_they_are_drawn(self):
        scaled = "tcgen05.mma.cta_group::1.kind::{}.block_scale.scale_vec::{}X.m128n{}k{}.f32.{}.{}.{}"
        self.check(scaled.format("mxf8f6f4", 1, 40, 32, "e3m2", "e4m3", "ue8m0"))
        self.check(scaled.format("mxf4", 2, 16, 64, "e2m1", "e2m1", "ue8m0"), "64B")
        self.check(scaled.format("mxf4nvf4", 4, 72, 64, "e2m1", "e2m1", "ue4m3"), "none")
        self.check(scaled.format("mxf4nvf4", 4, 144, 96, "e2m1", "e2m1", "ue4m3"))
        self.check(scaled.format("mxf4", 2, 48, 96, "e2m1", "e2m1", "ue8m0"))

    def test_copies_of_blocks_are_where_they_are_drawn(self):
        ws = "tcgen05.mma.ws.cta_group::1.kind::{}.m{}n64k{}.{}"
        self.check(ws.format("f16", 32, 16, "f32.f16.f16"))
        self.check(ws.format("i8", 64, 32, "s32.u8.s8"), "64B")

    def test_metadata_is_where_it_is_drawn(self):
        sparse = "tcgen05.mma.sp.cta_group::1.kind::{}.m{}n16k{}.{}"
        self.check(sparse.format("f16", 128, 32, "f32.f16.f16"))
        self.check(sparse.format("tf32", 64, 16, "f32.tf32.tf32"), "64B")
        self.check(sparse.format("f8f6f4", 128, 64, "f32.e5m2.e2m1"), "none")
        self.check("tcgen05.mma.ws.sp.cta_group::1.kind::f16.m64n64k32.f32.f16.f16")

    # --- each command -------------------------------------------------------------------------------------------------

    def test_isa_lists_and_explains_it(self):
        rows = self.json_of("isa", "tcgen05")["instructions"]
        self.assertEqual({row["opcode"] for row in rows}, {"tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp"})
        self.assertTrue(all(row["checked"] is None for row in rows))
        text = self.call("isa", f"{HALF}.m64n24k16.f32.f16.f16").stdout
        for words in ("idesc           0x04060010", "not checked on hardware", "F = 25, all K at once, rounded toward zero (published)",
                      "lane = row % 16 + 32 * (row / 16)", "N with M = 64: 8 to 256 in steps of 8",
                      "A in tensor memory: CUTLASS has its rows among the lanes that D has", "an instruction\n"):  # fmt: skip
            self.assertIn(words, text)
        self.assertIn("metadata: the ISA has figures alone; CUTLASS agrees", self.call("isa", "tcgen05.mma.sp.cta_group::1.kind::f16").stdout)
        self.assertIn("zero-column-mask-desc", self.call("isa", "tcgen05.mma.ws.cta_group::1.kind::f16").stdout)
        self.assertIn("16x256b", self.call("isa", "tcgen05.ld.sync.aligned.16x256b.x1.b32").stdout)

    def test_layout_draws_it(self):
        text = self.call("layout", "tcgen05.mma.cta_group::2.kind::f16.m128n16k16.f32.f16.f16", "--operand", "d").stdout
        self.assertIn("data path b", text)
        self.assertIn("lanes from 128 on are those of the second CTA of the pair", text)
        self.assertIn("L191:c0", text)  # row 127, column 0
        text = self.call("layout", f"{HALF}.m128n16k16.f32.f16.f16", "--format", "svg").stdout
        self.assertIn("a: 128 x 16 of f16, 8 columns of tensor memory", text)
        self.assertIn("lemma layout smem --type f16 --rows 16 --cols 64",
                      self.call("layout", f"{HALF}.m128n16k16.f32.f16.f16", "--operand", "b", status=USAGE).stderr)  # fmt: skip
        self.assertIn("T31:r0", self.call("layout", "tcgen05.st.sync.aligned.16x64b.x1.b32").stdout)
        self.assertIn("red: 32 x 1 of f32", self.call("layout", "tcgen05.ld.red.sync.aligned.32x32b.x4.min.f32").stdout)
        self.assertIn("each row goes to 4 lanes", self.call("layout", "tcgen05.cp.cta_group::1.32x128b.warpx4").stdout)

    def test_descriptor_explains_each_field(self):
        text = self.call("descriptor", "0x4000404000010040").stdout
        self.assertIn("matrix descriptor of tcgen05", text)
        self.assertRegex(text, r"0-13 +start address +0x40 +0x400\n")
        done = self.call("descriptor", "0x08110010", "--of", "kind::f16")
        self.assertRegex(done.stdout, r"16 +transpose B +0x1 +N-major\n")
        product = self.json_of("descriptor", "0x08110010", "--of", "kind::f16")["product"]
        self.assertEqual(product, f"{HALF}.m128n64k16.f32.f16.f16")
        wrong = self.call("descriptor", "0x4000004000010040", "--of", "tcgen05", status=FAILED).stdout
        self.assertIn("wrong: matrix descriptor 0x4000004000010040: version (bits 46-48) is 0b000", wrong)
        mask = self.call("descriptor", "0x0003028100000000", "--operand", "zero-column-mask-desc").stdout
        self.assertRegex(mask, r"40-47 +skip span +0x2 +3 columns are zeros\n")
        self.assertIn("column shift (bits 56-61) is 63", self.call("descriptor", "0x3f03028100000000", "--operand", "zero-column-mask-desc",
                                                                   status=FAILED).stdout)  # fmt: skip
        facts = json.loads(self.call("descriptor", "0x08060010", "--of", "tcgen05.mma.cta_group::2.kind::i8", "--json", status=FAILED).stdout)
        self.assertIn("type of D", facts["wrong"])
        self.assertIsNone(facts["product"])

    def test_descriptor_refuses(self):
        self.assertIn("0xzz is no descriptor; legal", self.call("descriptor", "0xzz", status=USAGE).stderr)
        self.assertIn("say of which it is", self.call("descriptor", "0x08110010", status=USAGE).stderr)
        self.assertIn("legal: wgmma, tcgen05, kind::f16", self.call("descriptor", "1", "--of", "mma", status=USAGE).stderr)
        self.call("descriptor", "1", "--operand", "c-desc", status=USAGE)
        self.call("descriptor", str(2**64), status=USAGE)

    def test_mma_refuses(self):
        a, b = self.save("a.npy", np.zeros((128, 16))), self.save("b.npy", np.zeros((16, 8)))
        name = f"{HALF}.m128n8k16.f32.f16.f16"
        self.call("mma", name, a, b)
        longer = "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X.m128n16k96"
        self.call("mma", longer, "--random", 1, "--arch", "sm_103a")
        self.assertIn("known: sm_103\n", self.call("mma", longer, "--random", 1, "--arch", "sm_100a", status=UNSUPPORTED).stderr)
        self.assertIn("sm_90 has no " + name, self.call("mma", name, a, b, "--arch", "sm_90", status=UNSUPPORTED).stderr)
        self.assertIn("legal for .kind::f16 with .cta_group::1: 64, 128", self.call("mma", f"{HALF}.m256n8k16", a, b, status=USAGE).stderr)
        self.assertIn("wants 64 x 16", self.call("mma", f"{HALF}.m64n8k16", a, b, status=USAGE).stderr)


if __name__ == "__main__":
    sys.exit(main(TensorCli, __doc__))
