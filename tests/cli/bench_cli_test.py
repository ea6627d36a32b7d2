#!/usr/bin/env python3
"""lemma bench and lemma tune: on the virtual GPU, and on a CUDA driver and a cuBLAS made for tests, by which every launch
takes 2.5 ms and cuBLAS's fastest algorithm 1 ms.

usage: bench_cli_test.py --lemma build/bin/lemma --fakes FOLDER:FOLDER [NAME...]
       bench_cli_test.py --list
"""

import json
import sys

import numpy as np

from cli_case import FAILED, OK, UNSUPPORTED, USAGE, Case, main

SMALL = ("--sizes", "64", "--rounds", "1", "--launches", "2", "--warm-up", "0")
PRODUCT = """
func.func @main(%a: memref<64x32xf16>, %b: memref<32x64xf16>, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.matmul ins(%a, %b : memref<64x32xf16>, memref<32x64xf16>) outs(%c : memref<64x64xf32>)
  return
}
"""
# e4m3 as linalg has it: B is transposed by a kernel first. And a kernel that is no product.
OTHERS = """
func.func @main(%a: memref<64x32xf8E4M3FN>, %b: memref<32x64xf8E4M3FN>, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.matmul ins(%a, %b : memref<64x32xf8E4M3FN>, memref<32x64xf8E4M3FN>) outs(%c : memref<64x64xf32>)
  return
}
"""
KERNEL = """
func.func @main(%n: index) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %n step %c1 {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) {
      gpu.terminator
    }
  }
  return
}
"""


class Bench(Case):
    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def on_cuda(self, *words, status=OK):
        return self.call(*words, "--device", "cuda", status=status, env={"LD_LIBRARY_PATH": self.fakes})

    def json_of(self, done):
        return json.loads(done.stdout)

    # --- on the virtual GPU -----------------------------------------------------------------------------------------

    def test_bench_times_the_virtual_gpu(self):
        found = self.json_of(self.call("bench", "--matmul", "f16,s8", *SMALL, "--json"))
        self.assertEqual(found["device"], "virtual GPU")
        self.assertIn("cuda", found["no_cublas"])
        self.assertEqual([row["product"]["type"] for row in found["products"]], ["f16", "s8"])
        for row, order, result in zip(found["products"], ("NN", "TN"), ("f16", "s32")):
            self.assertEqual((row["product"]["order"], row["product"]["result"]), (order, result))
            self.assertEqual((row["product"]["m"], row["product"]["n"], row["product"]["k"]), (64, 64, 64))
            self.assertEqual(row["lemma"]["samples"], 2)
            self.assertEqual(row["launches"], 1)
            seconds = row["lemma"]["seconds"]["median"]
            self.assertAlmostEqual(row["lemma"]["tflops"] * seconds / (2e-12 * 64**3), 1, places=6)
            self.assertNotIn("ratio", row)

    def test_bench_prints_a_table(self):
        text = self.call("bench", "--matmul", "f16", "--order", "TT", "--result", "f32", *SMALL).stdout
        self.assertRegex(text, r"(?m)^f16 TT 64x64x64 to f32 +\S+ +1 +[\d.]+ [mu]?s +[\d.]+% ")
        self.assertIn("no cuBLAS", text)

    def test_bench_fuses_what_follows(self):
        for words in (("bias_relu", "bf16", "bf16"), ("bias_gelu", "f16", "f32")):
            epilogue, kind, result = words
            row = self.json_of(
                self.call("bench", "--matmul", kind, "--epilogue", epilogue, "--result", result, *SMALL, "--json")
            )["products"][0]
            self.assertEqual(len(row["kernels"]), 1)
            self.assertEqual(row["product"]["result"], result)
        done = self.call("bench", "--matmul", "s8", "--epilogue", "bias_relu", *SMALL, status=USAGE)
        self.assertIn("products of s8", done.stderr)

    def test_bench_takes_arguments_of_a_file(self):
        specs = [self.save("a.npy", np.ones((64, 32), np.float16)), self.save("b.npy", np.ones((32, 64), np.float16))]
        words = [word for path in specs for word in ("--arg", f"in={path}")]
        file = self.write("product.mlir", PRODUCT)
        text = self.call("bench", file, *words, "--arg", f"out={self.path('c.npy')}:f32[64,64]", *SMALL[2:]).stdout
        self.assertIn("f16 NN 64x64x32 to f32", text)
        self.call("bench", file, *words, *SMALL[2:], status=USAGE)  # one is missing

    def test_bench_fills_arguments_that_nobody_gives(self):
        found = self.json_of(self.call("bench", self.write("product.mlir", PRODUCT), "--json", *SMALL[2:]))
        self.assertEqual(len(found["products"]), 1)

    def test_bench_times_copies_of_operands(self):
        row = self.json_of(self.call("bench", self.write("others.mlir", OTHERS), "--json", *SMALL[2:]))["products"][0]
        self.assertEqual(len(row["kernels"]), 2)
        self.assertIn("transpose", row["kernels"][0])
        lemma = row["lemma"]
        self.assertGreater(lemma["seconds_with_copies"]["median"], lemma["seconds"]["median"])
        self.assertLess(lemma["tflops_with_copies"], lemma["tflops"])

    def test_bench_times_all_kernels_of_a_split_product(self):
        words = ("--matmul", "bf16", "--sizes", "128x128x1024", "--schedule", "128x128_s6_k2", *SMALL[2:], "--json")
        row = self.json_of(self.on_cuda("bench", *words))["products"][0]
        self.assertEqual((len(row["kernels"]), row["launches"]), (2, 1))
        self.assertAlmostEqual(row["lemma"]["seconds"]["median"], 5e-3, places=8)

    def test_bench_counts_launches_of_other_kernels(self):
        file = self.write("kernel.mlir", KERNEL)
        row = self.json_of(self.call("bench", file, "--arg", "u64=3", "--json", *SMALL[2:]))["products"][0]
        self.assertEqual((row["name"], row["launches"]), ("main_kernel", 3))
        self.assertNotIn("product", row)
        self.call("bench", file, *SMALL[2:], status=USAGE)  # an index is not made up
        self.assertIn("launches no kernel", self.call("bench", file, "--arg", "u64=0", status=USAGE).stderr)

    def test_bench_wrong_words(self):
        for words, said in (
            ((), "FILE.mlir, or --matmul"),
            (("x.mlir", "--matmul", "f16"), "FILE.mlir, or --matmul"),
            (("--matmul", "f17"), "no type 'f17'; there are bf16, f16"),
            (("--matmul", "f16", "--sizes", "12y"), "neither N nor MxNxK"),
            (("--matmul", "f16", "--sizes", "0"), "neither N nor MxNxK"),
            (("--matmul", "f16", "--sizes", "1x2"), "neither N nor MxNxK"),
            (("--matmul", "s8", "--result", "f32"), "products of s8 are of s32"),
            (("--matmul", "f16", "--rounds", "0"), "--rounds 0: a number from 1"),
            (("--matmul", "f16", "--arg", "u32=1"), "--arg is for a file"),
            (("--matmul", "f16", "--schedule", "none", *SMALL), "there is no schedule none"),
            (("no-such-file.mlir",), "no-such-file.mlir"),
            (("--matmul", "bf16", "--arch", "sm_70", *SMALL), "launches no kernel: no product of these types"),
        ):
            with self.subTest(words):
                self.assertIn(said, self.call("bench", *words, status=None).stderr)

    def test_tune_compares_all_schedules(self):
        found = self.json_of(self.call("tune", "--matmul", "f16", *SMALL, "--json"))
        row = found["products"][0]
        names = [schedule["name"] for schedule in row["schedules"]]
        self.assertGreaterEqual(len(names), 3)
        self.assertEqual(row["best"], names[0])
        self.assertIn(row["usual"], names)
        medians = [schedule["seconds"]["median"] for schedule in row["schedules"]]
        self.assertEqual(medians, sorted(medians))

    def test_tune_prints_rows_of_the_table(self):
        two = ",".join(
            schedule["name"]
            for schedule in self.json_of(self.call("tune", "--matmul", "f16", *SMALL, "--json"))["products"][0]["schedules"][:2]
        )
        text = self.call("tune", "--matmul", "f16", "--schedules", two, *SMALL).stdout
        self.assertRegex(text, r'(?m)^    \{"f16", "NN", 64, 64, 64, "\w+"\},$')
        self.assertIn("there is no schedule 'x'", self.call("tune", "--matmul", "f16", "--schedules", "x", status=USAGE).stderr)

    # --- with a driver made for tests -------------------------------------------------------------------------------

    def test_bench_beside_cublas(self):
        found = self.json_of(self.on_cuda("bench", "--matmul", "bf16,e4m3", *SMALL, "--json"))
        self.assertEqual(found["device"], "Fake H200")
        self.assertEqual(found["cublas"]["version"], "13.0.2")
        for row in found["products"]:
            self.assertAlmostEqual(row["lemma"]["seconds"]["median"], 2.5e-3, places=8)
            self.assertAlmostEqual(row["cublas"]["seconds"]["median"], 1e-3, places=8)
            self.assertEqual(row["cublas"]["name"], "cuBLAS, heuristic 1")
            self.assertAlmostEqual(row["ratio"], 0.4, places=6)
        self.assertEqual(sorted(found["geometric_means"]), ["all", "bf16 NN", "e4m3 TN"])
        self.assertAlmostEqual(found["geometric_means"]["all"], 0.4, places=6)

    def test_bench_table_on_cuda(self):
        text = self.on_cuda("bench", "--matmul", "bf16", *SMALL).stdout
        self.assertIn("Fake H200, driver 13.0", text)
        self.assertIn("cuBLAS 13.0.2: ", text)
        self.assertRegex(text, r"(?m)^bf16 NN 64x64x64 to bf16 .* 2\.500 ms .* 0\.400$")
        self.assertIn("geometric mean of 1 ratios, bf16 NN: 0.400", text)

    def test_bench_without_cublas(self):
        found = self.json_of(self.on_cuda("bench", "--matmul", "bf16", *SMALL, "--cublaslt", "none", "--json"))
        self.assertIn("none", found["no_cublas"])
        self.assertNotIn("ratio", found["products"][0])
        done = self.on_cuda("bench", "--matmul", "bf16", *SMALL, "--cublaslt", "/nowhere.so", status=UNSUPPORTED)
        self.assertIn("/nowhere.so", done.stderr)

    def test_bench_says_what_cublas_has_not(self):
        row = self.json_of(self.on_cuda("bench", "--matmul", "e5m2", *SMALL, "--json"))["products"][0]
        self.assertIn("no algorithm for e5m2", row["no_cublas"])

    def test_tune_on_cuda(self):
        row = self.json_of(self.on_cuda("tune", "--matmul", "bf16", *SMALL, "--json"))["products"][0]
        self.assertAlmostEqual(row["schedules"][0]["seconds"]["median"], 2.5e-3, places=8)


if __name__ == "__main__":
    sys.exit(main(Bench, __doc__))
