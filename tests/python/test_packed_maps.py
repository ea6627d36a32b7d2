"""Tensor maps of sm_100, used by a kernel: of elements of 4 and 6 bits, as lemma.pack() makes them, and with atoms of swizzles."""

import unittest

import numpy as np

import lemma

# One thread loads a box of 128 x 2 elements from row 1 on, and copies shared memory to out.
KERNEL = """
.version 8.7
.target sm_100a
.address_size 64
.visible .entry copy(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 bytes)
{
  .shared .align 1024 .b8 box[256];
  .shared .align 8 .b64 bar;
  .reg .b64 %map, %out;
  .reg .b32 %s, %b, %i, %r, %bytes;
  .reg .pred %p;
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
  ld.param.u64 %out, [out];
  ld.param.u32 %bytes, [bytes];
  mov.u32 %s, box;
  mov.u32 %b, bar;
  mbarrier.init.shared.b64 [%b], 1;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared.b64 _, [%b], %bytes;
  cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%map, {0, 1}], [%b];
wait:
  mbarrier.try_wait.parity.shared.b64 %p, [%b], 0;
  @!%p bra wait;
  mov.u32 %i, 0;
copy:
  ld.shared.u32 %r, [%s];
  st.global.u32 [%out], %r;
  add.u32 %s, %s, 4;
  add.u64 %out, %out, 4;
  add.u32 %i, %i, 4;
  setp.lt.u32 %p, %i, 256;
  @%p bra copy;
  ret;
}
"""


class Elements(unittest.TestCase):
    def test_a_kernel_loads_them(self):
        kernel = lemma.Device("cpu", arch="sm_100a").load(KERNEL)["copy"]
        for type, bits, chunk in (("b4x16", 4, 16), ("b4x16_p64", 4, 8), ("b6x16_p32", 6, 12)):
            with self.subTest(type):
                rows = np.random.RandomState(bits).randint(0, 256, (3, 128 * bits // 8)).astype(np.uint8)
                out = np.zeros(256, np.uint8)
                kernel[1, 1](lemma.TensorMap(rows, box=(2, 128), type=type), out, 2 * 128 * bits // 8)
                seen = out.reshape(-1, 16)[:, :chunk].ravel()[: 2 * 128 * bits // 8]
                self.assertTrue((seen == rows[1:].ravel()).all())

    def test_errors(self):
        rows = np.zeros((3, 64), np.uint8)
        for array, box, type, said in (
            (rows.view(np.uint16), (2, 128), "b4x16", "b4x16 takes an array of bytes, not of uint16"),
            (np.zeros((3, 64), np.uint8), (2, 128), "b6x16_p32", "64 bytes of the last axis are no whole elements of 6 bits"),
        ):
            with self.subTest(said), self.assertRaisesRegex(lemma.InvalidArgument, said):
                lemma.TensorMap(array, box=box, type=type)
        gpu = lemma.Device()
        with self.assertRaisesRegex(lemma.InvalidArgument, r"box\[1\] is 64: legal with b4x16_p64 is 128"):
            gpu.encode(lemma.TensorMap(gpu.array(rows), box=(2, 64), type="b4x16_p64"))

    def test_arrays_of_ml_dtypes_are_to_be_packed(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("no ml_dtypes")
        values = np.ones((3, 128), ml_dtypes.float4_e2m1fn)
        with self.assertRaisesRegex(lemma.InvalidArgument, r"elements of 4 bits packed: lemma.TensorMap\(lemma.pack\(x\)"):
            lemma.TensorMap(values, box=(2, 128))
        self.assertEqual(lemma.TensorMap(lemma.pack(values).reshape(3, -1), box=(2, 128), type="b4x16").type, "b4x16")


class Atoms(unittest.TestCase):
    def test_a_kernel_loads_them(self):
        kernel = lemma.Device("cpu", arch="sm_100a").load(KERNEL)["copy"]
        rows = np.arange(96, dtype=np.float32).reshape(3, 32)
        for swizzle, expected in (
            ("128B_ATOM_32B", rows[2].reshape(4, 8)[[1, 0, 3, 2]]),
            ("128B_ATOM_32B_FLIP_8B", rows[2].reshape(4, 2, 2, 2)[[1, 0, 3, 2]][:, :, ::-1]),
            ("128B_ATOM_64B", rows[2].reshape(2, 16)[::-1]),
        ):
            with self.subTest(swizzle):
                out = np.zeros(256, np.uint8)
                kernel[1, 1](lemma.TensorMap(rows, box=(2, 32), swizzle=swizzle), out, 256)
                seen = out.view(np.float32).reshape(2, 32)
                self.assertTrue((seen[0] == rows[1]).all())
                self.assertTrue((seen[1] == expected.ravel()).all())

    def test_errors(self):
        rows, gpu = np.zeros((3, 32), np.float32), lemma.Device("cpu", arch="sm_90a")
        with self.assertRaisesRegex(lemma.InvalidArgument, "sm_100 and up have it, the device is sm_90"):
            gpu.encode(lemma.TensorMap(gpu.array(rows), box=(2, 32), swizzle="128B_ATOM_32B"))
        with self.assertRaisesRegex(lemma.InvalidArgument, "128B_ATOM_16B"):
            lemma.TensorMap(rows, box=(2, 32), swizzle="128B_ATOM_16B")


if __name__ == "__main__":
    unittest.main()
