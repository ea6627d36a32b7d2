"""Triton's compiler through lemma.triton, for sm_80, sm_90 and sm_120 without a GPU: the kernels of tests/triton, whose committed
PTX runs in test_triton_ptx.py too, and what becomes of arguments. What must come out is what numpy says (tests/triton/cases.py).
"""

import json
import unittest

import numpy as np

import lemma
from triton_cases import ARCHS, TRITON, arrays_of, cases, wrong_outputs


class Sources(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import kernels
        import small_kernels

        cls.variants = {**kernels.VARIANTS, **small_kernels.VARIANTS}

    def test_for_every_target(self):
        for name, variant in self.variants.items():
            if variant.targets != (80, 90, 120):
                continue
            for arch in ARCHS:
                with self.subTest(f"{name} {arch}"):
                    case = cases.cases[name]()
                    arguments, outputs = arrays_of(case)
                    order = [p.name for p in variant.kernel.params if p.name in arguments]
                    lemma.triton.run(
                        variant.kernel, case.grid, *[arguments[n] for n in order], arch=arch, num_warps=variant.num_warps,
                        num_stages=variant.num_stages, enable_fp_fusion=variant.fusion, **variant.constants,
                    )  # fmt: skip
                    self.assertEqual(wrong_outputs(outputs), [])

    def test_it_makes_the_committed_ptx(self):
        """But for what Triton may suppose: there, sizes were said to be multiples of 16."""
        x = np.zeros(304, np.float32)
        done = lemma.triton.compile(self.variants["add"].kernel, x, x, x, 304, B=128, num_stages=2, arch="sm_90")
        committed = json.loads((TRITON / "launches.json").read_text())["add.sm_90"]
        self.assertEqual(
            (done.name, done.threads, done.shared_bytes), (committed["entry"], committed["threads"], committed["shared_bytes"])
        )
        self.assertEqual(done.signature, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "count": "i32", "B": "constexpr"})
        self.assertIn(".target sm_90a", done.ptx)


class Arguments(unittest.TestCase):
    def setUp(self):
        import triton_kernels

        self.kernels = triton_kernels

    def run_all(self, kernel, grid, *arguments, **named):
        for arch in ARCHS:
            yield lemma.triton.run(kernel, grid, *arguments, arch=arch, **named)

    def test_descriptors_of_the_host(self):
        a, b = np.arange(64 * 64, dtype=np.float16).reshape(64, 64), np.zeros((64, 64), np.float16)
        for _ in self.run_all(
            self.kernels.scale_tile, 1, lemma.triton.TensorDescriptor.from_tensor(a, [32, 32]),
            lemma.triton.TensorDescriptor.from_tensor(b, [32, 32]), 2, B=32,
        ):  # fmt: skip
            self.assertTrue((b[:32, :32] == 2 * a[:32, :32]).all() and not b[32:].any())
            b[:] = 0

    def test_descriptors_that_round_to_tf32(self):
        from triton.tools.tensor_descriptor import TensorDescriptor as Tritons

        a, b = np.full((32, 32), 1 + 2**-12, np.float32), np.zeros((32, 32), np.float32)
        source = lemma.triton.TensorDescriptor.from_tensor(a, [32, 32], round_f32_to_tf32=True)
        target = lemma.triton.TensorDescriptor.from_tensor(b, [32, 32])
        if "round_f32_to_tf32" not in Tritons.__dataclass_fields__:  # before Triton 3.9
            with self.assertRaisesRegex(lemma.InvalidArgument, "round_f32_to_tf32"):
                lemma.triton.run(self.kernels.scale_tile, 1, source, target, 2, B=32, arch="sm_90")
            return
        for _ in self.run_all(self.kernels.scale_tile, 1, source, target, 2, B=32):
            self.assertTrue((b == 2).all())
            b[:] = 0

    def test_descriptors_of_the_device_have_scratch_memory(self):
        a, b = np.arange(64 * 64, dtype=np.float32).reshape(64, 64), np.zeros((64, 64), np.float32)
        for _ in self.run_all(self.kernels.copy_tiles, (2, 2), a, b, 64, 64, B=32):
            self.assertTrue((a == b).all())
            b[:] = 0

    def test_what_is_left_out_and_what_is_a_tuple(self):
        out = np.zeros(32, np.float32)
        for _ in self.run_all(self.kernels.several, 1, out, 1, (3, 4), None, 0.5, True, B=32):
            self.assertTrue((out == 1 + 3 * 4 + 0.5 + 1).all())
            out[:] = 0

    def test_grid_function_autotune_and_heuristics(self):
        x = np.arange(300, dtype=np.float32)
        out = np.zeros_like(x)
        for _ in self.run_all(self.kernels.tuned, lambda meta: (-(-300 // meta["B"]),), x, out, 300):
            self.assertTrue((out == x + 1).all())
            out[:] = 0

    def test_device_arrays_and_options(self):
        gpu = lemma.Device("cpu", check=True)
        x, out = gpu.array(np.arange(300, dtype=np.float32)), gpu.zeros(300)
        report = lemma.triton.run(self.kernels.tuned, (3,), x, out, 300, device=gpu, launch=dict(async_="late"))
        self.assertTrue(report)
        self.assertTrue((out.numpy() == np.arange(300) + 1).all())
        with self.assertRaises(lemma.Fault) as caught:
            lemma.triton.run(self.kernels.tuned, (3,), x, gpu.zeros(100), 300, device=gpu)
        self.assertIn("triton_kernels.py", caught.exception.fault.place.file)

    def test_schedules(self):
        x, y = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
        self.assertTrue(lemma.triton.run(self.kernels.tuned, (3,), x, y, 300, launch=dict(explore=3)))
        self.assertTrue((y == x + 1).all())
        gpu = lemma.Device()
        for out in (np.full(32, -1, np.int32), gpu.array(np.full(32, -1, np.int32))):
            with self.assertRaises(lemma.Differs) as caught:
                lemma.triton.run(self.kernels.last_wins, (64,), out, B=32, device=gpu, launch=dict(explore=4, deterministic=True))
            self.assertEqual(len(caught.exception.exploration.schedules), 4)
            self.assertTrue((np.asarray(out) == 63).all())  # what the usual schedule has written
        a, b = np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
        self.assertTrue(lemma.triton.run(self.kernels.copy_tiles, (2, 2), a, b, 64, 64, B=32, launch=dict(explore=3)))
        self.assertTrue((a == b).all())

    def test_clusters(self):
        x = np.arange(512, dtype=np.float32).reshape(16, 32)
        out = np.zeros(16, np.float32)
        done = lemma.triton.compile(self.kernels.sum_rows, x, out, M=16, N=32, num_ctas=2, arch="sm_90")
        self.assertEqual(done.cluster, (2, 1, 1))
        lemma.triton.run(self.kernels.sum_rows, 1, x, out, M=16, N=32, num_ctas=2, arch="sm_90", launch=dict(check=True))
        self.assertTrue((out == x.sum(axis=1)).all())

    def test_errors(self):
        x = np.zeros(8, np.float32)
        with self.assertRaisesRegex(lemma.InvalidArgument, "is no @triton.jit function"):
            lemma.triton.run(print, 1, x)
        with self.assertRaisesRegex(lemma.InvalidArgument, "arch is 'hopper'"):
            lemma.triton.run(self.kernels.tuned, 1, x, x, 8, arch="hopper")
        with self.assertRaisesRegex(KeyError, "unrecognised"):
            lemma.triton.run(self.kernels.tuned, 1, x, x, 8, nonsense=1)


if __name__ == "__main__":
    unittest.main()
