"""MLIR programs from Python: run whole, and compiled to PTX; skipped where Lemma was built without MLIR."""

import pathlib
import unittest

import numpy as np

import lemma

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/gemm_nvgpu"


def has_mlir():
    try:
        lemma.compile_mlir("module {}\n")
    except lemma.Error as error:
        return error.kind != "unavailable"
    return True


@unittest.skipUnless(has_mlir(), "Lemma was built without MLIR")
class Programs(unittest.TestCase):
    def test_a_program_reads_and_writes_arrays(self):
        a, b = np.load(EXAMPLE / "a.npy"), np.load(EXAMPLE / "b.npy")
        d = np.zeros((256, 256), np.float32)
        self.assertEqual(lemma.run_mlir(EXAMPLE / "gemm.mlir", a, b, d), 0)
        expected = np.load(EXAMPLE / "expected.npy").reshape(256, 256)
        self.assertTrue((d.view(np.uint32) == expected.view(np.uint32)).all())

    def test_it_compiles_to_ptx_that_verifies(self):
        ptx = lemma.compile_mlir(EXAMPLE / "gemm.mlir")
        self.assertIn(".target sm_90a", ptx)
        self.assertTrue(lemma.verify(ptx).accepted)

    def test_what_is_wrong_has_its_line(self):
        with self.assertRaises(lemma.Error) as caught:
            lemma.compile_mlir("func.func @main() {\n  nvgpu.nothing\n}\n", name="wrong.mlir")
        self.assertIn("wrong.mlir:2", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
