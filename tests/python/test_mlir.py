"""MLIR programs from Python: run whole, and compiled to PTX; skipped where Lemma was built without MLIR."""

import pathlib
import tempfile
import unittest

import numpy as np

import lemma

KERNELS = """
gpu.module @kernels {
  gpu.func @scale(%in: memref<2x4xf32>, %factor: f32, %out: memref<?x4xf32>) kernel {
    %row = gpu.block_id x
    %column = gpu.thread_id x
    %x = memref.load %in[%row, %column] : memref<2x4xf32>
    %y = arith.mulf %x, %factor : f32
    memref.store %y, %out[%row, %column] : memref<?x4xf32>
    gpu.return
  }
  gpu.func @hello() kernel {
    gpu.printf "hello\\n"
    gpu.return
  }
}
"""

# Each of `threads` threads stores its number to the first element of the device's copy.
PROGRAM = """
func.func @main(%data: memref<?xi32>, %threads: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %data, %c0 : memref<?xi32>
  %device = gpu.alloc(%n) : memref<?xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %threads, %gy = %c1, %gz = %c1)
             threads(%x, %y, %z) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %number = arith.index_cast %bx : index to i32
    memref.store %number, %device[%n AT] : memref<?xi32>
    gpu.printf "CTA %ld\\n", %bx : index
    gpu.terminator
  }
  gpu.memcpy %data, %device : memref<?xi32>, memref<?xi32>
  %first = memref.load %data[%c0] : memref<?xi32>
  return %first : i32
}
"""

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

    def test_a_kernel_is_launched_by_hand(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "scale.mlir"
            file.write_text(KERNELS)
            module = lemma.Device().load(file)
        self.assertEqual([k.name for k in module], ["scale", "hello"])
        self.assertIn(".entry scale", module.ptx)
        x, out = np.arange(8, dtype=np.float32).reshape(2, 4), np.zeros((2, 4), np.float32)
        self.assertTrue(module["scale"][2, 4](x, 3.0, out, check=True))
        self.assertTrue((out == 3 * x).all())
        on_device = module.device.zeros((2, 4))
        module["scale"][2, 4](x, 2.0, on_device)
        self.assertTrue((on_device.numpy() == 2 * x).all())
        said = []
        module["hello"][1, 1](print=said.append)
        self.assertEqual("".join(said), "hello\n")
        for wrong, message in (
            ((x, out), r"takes 3 arguments, 2 given"),
            ((x, 2, out), r"argument 1 \(f32\).*2 is an integer"),
            ((x, 2.0, 5), r"argument 2 \(memref<\?x4xf32>\) takes an array, not int"),
            ((x[:1], 2.0, out), r"argument 0 \(memref<2x4xf32>\)"),
            ((x, 2.0, out.reshape(4, 2)), r"argument 2 \(memref<\?x4xf32>\)"),
            ((x.astype(np.float64), 2.0, out), r"argument 0 \(memref<2x4xf32>\).*float64"),
            ((x.T.copy().T, 2.0, out), r"argument 0 \(memref<2x4xf32>\).*C order"),
        ):
            with self.subTest(message), self.assertRaisesRegex(lemma.InvalidArgument, message):
                module["scale"][2, 4](*wrong)

    def test_what_a_program_prints_reports_and_does_wrong(self):
        right = PROGRAM.replace("%n AT", "%c0")
        data, said = np.full(4, 7, np.int32), []
        with lemma.reports() as seen:
            self.assertEqual(lemma.run_mlir(right, data, 1, print=said.append), 0)
        self.assertEqual("".join(said), "CTA 0\n")
        self.assertEqual([r.outcome for r in seen], ["finished"])
        with self.assertRaises(lemma.Findings) as found:
            lemma.run_mlir(right, data, 4, print=said.append, check=True)
        self.assertEqual(found.exception.findings[0].id, "race.global")
        with self.assertRaises(lemma.Fault) as fault:
            lemma.run_mlir(PROGRAM.replace("%n AT", "%n"), data, 1, print=said.append)
        self.assertEqual((fault.exception.kind, fault.exception.cta), ("out of bounds", (0, 0, 0)))

        def refuse(text):
            raise KeyError(text)

        with self.assertRaises(KeyError):
            lemma.run_mlir(right, data, 1, print=refuse)
        with self.assertRaisesRegex(lemma.InvalidArgument, "no option 'smem'"):
            lemma.run_mlir(right, data, 1, smem=4)

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
