"""bf16, fp8, fp6 and fp4: ml_dtypes' arrays."""

import unittest

import numpy as np

import lemma

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


@unittest.skipUnless(ml_dtypes, "no ml_dtypes")
class Types(unittest.TestCase):
    def test_arrays(self):
        gpu = lemma.Device()
        values = np.arange(8).astype(ml_dtypes.bfloat16)
        self.assertEqual(gpu.array(values).numpy().dtype, values.dtype)
        self.assertTrue((gpu.array(values).numpy() == values).all())
        for name in ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "int4", "uint4"):
            dtype = getattr(ml_dtypes, name)
            values = np.arange(-4 if name == "int4" else 0, 4).astype(dtype).reshape(2, -1)
            packed = lemma.pack(values)
            bits = 6 if "6" in name else 4
            self.assertEqual(packed.nbytes, (values.size * bits + 7) // 8)
            self.assertTrue((lemma.unpack(packed, dtype, values.shape) == values).all(), name)

    def test_products(self):
        name = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
        a = np.ones((16, 16), ml_dtypes.bfloat16)
        self.assertTrue((lemma.mma(name, a, np.ones((16, 8), ml_dtypes.bfloat16)) == 16).all())
        name = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32"
        a, b = np.full((16, 32), 1.5, ml_dtypes.float8_e4m3fn), np.full((32, 8), 0.5, ml_dtypes.float8_e5m2)
        self.assertTrue((lemma.mma(name, a, b) == 24).all())
        name = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m3.f32"
        a, b = np.full((16, 32), 1.5, ml_dtypes.float4_e2m1fn), np.full((32, 8), 0.5, ml_dtypes.float6_e2m3fn)
        self.assertTrue((lemma.mma(name, a, b, arch="sm_120a") == 24).all())


if __name__ == "__main__":
    unittest.main()
