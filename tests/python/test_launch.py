"""Devices, arrays, arguments, module variables, reports and exceptions."""

import os
import pathlib
import signal
import threading
import time
import unittest
from unittest import mock

import numpy as np

import lemma
from lemma.arguments import Encoder
from lemma.launch import run_in_thread

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gpu = lemma.Device()
        cls.module = cls.gpu.load(HERE / "kernels.ptx")

    def axpy(self, *arguments, grid=4, block=256, **options):
        return self.module["axpy"][grid, block](*arguments, **options)


class Arguments(Case):
    def test_arrays_of_the_host_are_copied_in_and_out(self):
        x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
        report = self.axpy(2.0, x, y, 1000)
        self.assertTrue(report)
        self.assertEqual(report.outcome, "finished")
        self.assertTrue((y == 2 * x + 1).all())
        self.assertTrue((x == np.arange(1000)).all())

    def test_arrays_of_the_device_stay(self):
        x, y = self.gpu.array(np.arange(1000, dtype=np.float32)), self.gpu.zeros(1000)
        self.axpy(2.0, x, y, 1000)
        self.axpy(2.0, x, y, 1000)
        self.assertTrue((y.numpy() == 4 * np.arange(1000)).all())
        self.assertTrue((np.asarray(y[10:12]) == [40, 44]).all())
        self.assertEqual(y.reshape(10, 100)[3].shape, (100,))

    def test_views_keep_their_strides_and_what_is_between_them(self):
        both = np.zeros((1000, 2), np.float32)
        both[:, 1] = 7
        x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
        # Element i of both[:, 0] is at stride 8: axpy writes the first 1000 floats of that memory.
        self.axpy(1.0, x, both[:, 0], 1000)
        self.assertEqual(both[0, 0], 0.0)
        self.assertEqual(both[1, 0], 2.0)
        self.assertTrue((both[:, 1] == 7).all())  # not the view's: not written back
        self.axpy(1.0, x, y[::-1], 1)
        self.assertTrue((y == 0).all())

    def test_arrays_that_share_memory_share_it_on_the_device(self):
        x = np.ones(8, np.float32)
        self.axpy(1.0, x, x, 8, grid=1, block=8)
        self.assertTrue((x == 2).all())
        self.axpy(1.0, x[:4], x[4:], 4, grid=1, block=4)
        self.assertTrue((x == [2, 2, 2, 2, 4, 4, 4, 4]).all())

    def test_what_may_not_be_written_is_not(self):
        y = np.ones(8, np.float32)
        y.flags.writeable = False
        self.axpy(1.0, y, y, 8)
        self.assertTrue((y == 1).all())

    def test_scalars_take_the_parameters_type(self):
        out = np.zeros(9)
        half = np.float16(1.5)
        pair = np.zeros((), [("first", "i4"), ("second", "i4")])
        pair["first"], pair["second"] = 5, -6
        kernel = self.module["every_type"]
        kernel[1, 1](-3, 60000, -70000, 1 << 40, 0.1, half, True, pair[()], out)
        self.assertEqual(out.tolist(), [-3, 60000, -70000, 1 << 40, 0.1, 1.5, 1, 5, -6])
        kernel[1, 1](np.int8(3), np.uint16(6), np.int64(7), np.int32(8), np.float32(0.5), half, np.bool_(False), pair, out)
        self.assertEqual(out.tolist(), [3, 6, 7, 8, 0.5, 1.5, 0, 5, -6])

    def test_a_wrong_kind_is_an_error(self):
        x, y = np.zeros(8, np.float32), np.zeros(8, np.float32)
        for wrong, said in (
            ((2, x, y, 8), r"argument 0 .*is \.f32: 2 is an integer; write 2\.0"),
            ((2.0, x, y, 8.0), r"argument 3 .*is \.u32: 8\.0 is a floating-point number; write 8"),
            ((2.0, x, y, 1 << 32), r"argument 3 .*4294967296 does not fit"),
            ((1e300, x, y, 8), "does not fit"),
            ((2.0, 1.5, y, 8), r"argument 1 .*is \.u64"),
            ((2.0, [1.0], y, 8), r"argument 1 \(float const\*\) is \.u64: a list for a pointer; give a numpy array"),
            ((2.0, x.astype(np.float64), y, 8), r"argument 1 .*: an array of float64 for float const\*: float32 is wanted"),
            ((2.0, x, self.gpu.zeros(8, np.int32), 8), r"argument 2 .*: an array of int32 for float\*: float32 is wanted"),
            ((x, x, y, 8), r"argument 0 .*an array is for a parameter of 8"),
            ((2.0, x, y, "8"), "str is no number"),
            ((2.0, x, y), r"4 parameters, 3 arguments"),
            ((2.0, x.astype(object), y, 8), "cannot be in device memory"),
            ((2.0, x.astype(">f4"), y, 8), "cannot be in device memory"),
        ):
            with self.subTest(said), self.assertRaisesRegex(lemma.InvalidArgument, said):
                self.axpy(*wrong)
        freed, foreign = self.gpu.zeros(8), lemma.Device().zeros(8)
        freed.free()
        for wrong, said in ((freed, "argument 1 .*an Array that was freed"), (foreign, "argument 1 .*an Array of another device")):
            with self.subTest(said), self.assertRaisesRegex(lemma.InvalidArgument, said):
                self.axpy(2.0, wrong, y, 8)
        # Bits, and what a pointer's type says nothing of, are taken.
        self.axpy(1.0, x.view(np.uint32), y, 8)
        self.axpy(1.0, x.astype(np.float64).view(np.float32), y, 8)
        with self.assertRaisesRegex(lemma.InvalidArgument, r"option 'chek' \(did you mean check\?\)"):
            self.axpy(2.0, x, y, 8, chek=True)
        # Numbers that the library's types cannot hold, which ctypes would cut.
        for options, said in (
            ({"smem": 2**60}, r"smem is 1152921504606846976: numbers from 0 to 2\*\*32 - 1 are legal"),
            ({"smem": -1}, "smem is -1"),
            ({"explore": -1}, "explore is -1"),
            ({"workers": 2**70}, "workers is"),
            ({"max_instructions": -5}, "max_instructions is -5"),
            ({"engine": "jit"}, "engine is 'jit'; there are auto, interpreter, compiled"),
        ):
            with self.subTest(options), self.assertRaisesRegex(lemma.InvalidArgument, said):
                self.axpy(2.0, x, y, 8, **options)
        for threads in (2**70, 2**32 + 32, -1):
            with self.subTest(threads), self.assertRaisesRegex(lemma.InvalidArgument, "threads is"):
                lemma.occupancy(threads)
        with self.assertRaisesRegex(lemma.InvalidArgument, "memory is"):
            lemma.Device(memory=2**64)
        for shape in ((2**40, 2**40), (2**32, 2**32), 2**62):
            with self.subTest(shape), self.assertRaises(lemma.OutOfMemory):
                self.gpu.zeros(shape)
        with self.assertRaisesRegex(lemma.InvalidArgument, "negative"):
            self.gpu.zeros((3, -1))
        for grid in (0, (1, 2, 3, 4), 1.5, "2"):
            with self.subTest(grid), self.assertRaises(lemma.InvalidArgument):
                self.axpy(2.0, x, y, 8, grid=grid)


class Structs(Case):
    def setUp(self):
        self.source = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
        self.target = np.zeros((64, 64), np.float32)
        self.copies = lemma.struct(
            [("source", lemma.tensor_map), ("target", lemma.tensor_map), ("done", lemma.pointer), ("columns", np.int32)]
        )

    def test_two_tensor_maps_and_a_pointer(self):
        self.assertEqual(self.copies.itemsize, 384)
        done = np.zeros(4, np.int32)
        maps = {name: lemma.TensorMap(getattr(self, name), box=(32, 32)) for name in ("source", "target")}
        self.module["copy_by_struct"][(2, 2), 32](lemma.Struct(self.copies, **maps, done=done, columns=2))
        self.assertTrue((self.target == self.source).all())
        self.assertTrue((done == 1).all())

    def test_maps_of_device_arrays_in_a_numpy_scalar(self):
        source, target, done = self.gpu.array(self.source), self.gpu.zeros((64, 64)), self.gpu.zeros(4, np.int32)
        value = np.zeros((), self.copies)
        value["source"] = self.gpu.encode(lemma.TensorMap(source, box=(32, 32))).view("V128")[0]
        value["target"] = self.gpu.encode(lemma.TensorMap(target, box=(32, 32))).view("V128")[0]
        value["done"], value["columns"] = done.address, 2
        self.module["copy_by_struct"][(2, 2), 32](value)
        self.assertTrue((target.numpy() == self.source).all())

    def test_maps_in_global_memory(self):
        self.module["copy_by_memory"][(2, 2), 32](
            lemma.TensorMap(self.source, box=(32, 32)), lemma.TensorMap(self.target, box=(32, 32))
        )
        self.assertTrue((self.target == self.source).all())
        target = self.gpu.zeros((64, 64))
        maps = self.gpu.array(
            np.stack([self.gpu.encode(lemma.TensorMap(a, box=(32, 32))) for a in (self.gpu.array(self.source), target)])
        )
        # Of an array that was freed: the map's address is no memory any more.
        with self.assertRaises(lemma.Fault):
            self.module["copy_by_memory"][(2, 2), 32](maps[0], maps[1])

    def test_errors(self):
        with self.assertRaisesRegex(lemma.InvalidArgument, "there is no field 'rows'; there are source, target, done, columns"):
            lemma.Struct(self.copies, rows=1)
        small = lemma.struct([("a", np.int32), ("b", np.int16, (2,))])
        for fields, said in (({"a": 2**40}, "field a: 1099511627776 does not fit"), ({"a": -(2**31) - 1}, "field a: .*does not fit")):
            with self.subTest(fields), self.assertRaisesRegex(lemma.InvalidArgument, said):
                lemma.Struct(small, **fields)
        with self.assertRaisesRegex(lemma.InvalidArgument, "field b: 65536 does not fit"):
            Encoder(mock.Mock(device=self.gpu)).struct(lemma.Struct(small, a=2**31, b=[1, 2**16]))
        with self.assertRaisesRegex(lemma.InvalidArgument, r"field columns: .*floating-point"):
            self.module["copy_by_struct"][1, 32](lemma.Struct(self.copies, columns=1.5))
        for field, wrong, said in (
            ("source", self.source, "field source: a tensor map is wanted.*not an array of float32"),
            ("source", 5, "field source: a tensor map is wanted.*not an int"),
            ("columns", np.zeros(2), "field columns: an array of float64 is no number"),
            ("source", lemma.TensorMap(self.source, box=(32, 512)), r"field source: .*box\[1\] is 512: legal are 1 to 256"),
            ("source", lemma.TensorMap(np.zeros((64, 65), "f4"), box=(32, 32)), r"field source: .*strides\[0\] is 260: legal"),
        ):
            with self.subTest(said), self.assertRaisesRegex(lemma.InvalidArgument, r"argument 0 \(Copies\).*, " + said):
                self.module["copy_by_struct"][1, 32](lemma.Struct(self.copies, **{field: wrong}))
        with self.assertRaisesRegex(lemma.InvalidArgument, "argument 0 .*an array of float32 for CUtensorMap_st const.*TensorMap"):
            self.module["copy_by_memory"][1, 32](self.source, self.target)
        with self.assertRaisesRegex(lemma.InvalidArgument, "384 bytes, 4 given"):
            self.module["copy_by_struct"][1, 32](b"1234")
        with self.assertRaisesRegex(lemma.InvalidArgument, "box"):
            self.module["copy_by_memory"][1, 32](
                lemma.TensorMap(self.source, box=(32, 1000)), lemma.TensorMap(self.target, box=(32, 32))
            )
        with self.assertRaisesRegex(lemma.InvalidArgument, "swizzle is 100; there are 0, 32, 64, 128"):
            lemma.TensorMap(self.source, box=(32, 32), swizzle=100)
        with self.assertRaisesRegex(lemma.InvalidArgument, "a box of 1 dimensions"):
            lemma.TensorMap(self.source, box=(32,))
        with self.assertRaisesRegex(lemma.InvalidArgument, "not contiguous"):
            lemma.TensorMap(self.source.T, box=(32, 32))


class Modules(Case):
    def test_names(self):
        exact = self.module["_ZN6nested4fillIfEEvPT_S1_"]
        self.assertIs(self.module["void nested::fill<float>(float*, float)"], exact)
        self.assertIs(self.module["fill<float>"], exact)
        self.assertEqual(self.module["copy_by_s"].name, "_Z14copy_by_struct6Copies")
        for name in ("fill", "nonsense", None):
            with self.subTest(name), self.assertRaises(lemma.InvalidArgument):
                self.module.kernel(name)
        self.assertEqual([p.type for p in self.module["axpy"].parameters], [".f32", ".u64", ".u64", ".u32"])

    def test_variables(self):
        module = self.gpu.load(HERE / "kernels.ptx")
        self.assertEqual(module.variables["counter"].get(), 5)
        module.variables["counter"].set(41)
        module.variable("factors").set(np.array([2, 2, 0.5, 0.5], np.float32))
        out = np.zeros(5, np.float32)
        module["use_variables"][1, 4](out)
        self.assertEqual(out.tolist(), [2, 4, 1.5, 2, 41])
        self.assertEqual(module.variables["counter"].get(), 42)
        self.assertEqual(module.variables["table"].get(np.float32).tolist(), [1, 2, 3, 4])
        self.assertEqual((module.variables["table"].nbytes, module.variables["factors"].space), (16, "const"))
        with self.assertRaisesRegex(lemma.InvalidArgument, "give a numpy array"):
            module.variables["table"].set([1.0, 2.0])
        with self.assertRaises(lemma.InvalidArgument):
            module.variables["table"].set(np.zeros(5, np.float32))
        with self.assertRaisesRegex(lemma.InvalidArgument, "counter"):
            module.variable("missing")
        with self.assertRaisesRegex(lemma.InvalidArgument, "no variable 'missing'; it has: counter"):
            module.variables["missing"]
        for wrong, said in (
            (1.5, "variable counter is .u32: 1.5 is a floating-point number"), (1 << 40, "1099511627776 does not fit"),
            (np.array([1.5]), "an array of float64, not of integers"), (np.array([1 << 40]), "do not fit"),
        ):  # fmt: skip
            with self.subTest(said), self.assertRaisesRegex(lemma.InvalidArgument, said):
                module.variables["counter"].set(wrong)
        module.variables["counter"].set([7])
        self.assertEqual(module.variables["counter"].get(), 7)
        self.assertEqual(self.module.variables["counter"].get(), 5)

    def test_rejected(self):
        text = (HERE / "kernels.ptx").read_text().replace("fma.rn.f32", "fma.ry.f32")
        with self.assertRaises(lemma.Rejected) as caught:
            self.gpu.load(text, name="bad.ptx")
        self.assertEqual(caught.exception.messages[0].file, "bad.ptx")
        self.assertGreater(caught.exception.messages[0].line, 0)
        self.assertIn("fma.ry.f32", str(caught.exception))
        error = self.gpu.load(text, raises=False)
        self.assertFalse(error)
        self.assertIsInstance(error, lemma.Rejected)
        with self.assertRaises(lemma.InvalidArgument):
            lemma.Device("cpu", arch="sm_1")
        with self.assertRaises(FileNotFoundError):
            self.gpu.load("missing.ptx")

    def test_a_radix_sort_of_several_kernels(self):
        module = self.gpu.load(ROOT / "tests/programs/cub_radix_sort_keys/cub_radix_sort_keys.ptx")
        count, tile, nothing = 20000, 384 * 20, b"\0"
        keys = np.random.RandomState(1).randint(0, 1 << 32, count, np.uint64).astype(np.uint32)
        now, next = self.gpu.array(keys), self.gpu.empty(count, np.uint32)
        bins = self.gpu.zeros((4, 256), np.uint32)
        module["DeviceRadixSortHistogramKernel"][6, 128](bins, now, count, 0, 32, nothing)
        module["DeviceRadixSortExclusiveSumKernel"][4, 256](bins)
        tiles = -(-count // tile)
        for digit in range(4):
            lookback, counter = self.gpu.zeros(tiles * 256, np.uint32), self.gpu.zeros(1, np.uint32)
            module["DeviceRadixSortOnesweepKernel"][tiles, 384](
                lookback, counter, None, bins[digit], next, now, None, None, count, 8 * digit, 8, nothing
            )
            now, next = next, now
        self.assertTrue((now.numpy() == np.sort(keys)).all())


class Reports(Case):
    def test_a_fault_has_fields(self):
        x, y = np.ones(1000, np.float32), np.ones(1000, np.float32)
        with self.assertRaises(lemma.Fault) as caught:
            self.module["axpy_all"][4, 256](1.0, x, y)
        fault = caught.exception
        self.assertEqual((fault.kind, fault.cta, fault.warp), ("out of bounds", (3, 0, 0), 7))
        self.assertIsNotNone(fault.address)
        self.assertGreater(fault.line, 0)
        self.assertEqual(fault.fault.place.file, "tests/python/kernels.cu")
        self.assertIn("out of bounds", str(fault))
        self.assertTrue((y == 1).all())  # nothing is copied back
        report = self.module["axpy_all"][4, 256](1.0, x, y, raises=False)
        self.assertFalse(report)
        self.assertEqual((report.outcome, report.fault.kind), ("fault", "out of bounds"))

    def test_places_have_the_calls_of_inlined_code(self):
        module = self.gpu.load(ROOT / "tests/cli/inlined.ptx")
        with self.assertRaises(lemma.Fault) as caught:
            module["shift"][1, 8](np.zeros(8, np.uint32), np.zeros(8, np.uint32))
        place = caught.exception.fault.place
        self.assertEqual(place.file, "cuda/include/cuda_fp16.hpp")
        self.assertEqual([call.file for call in place.inlined_at], ["inlined.cuh", "inlined.cu"])
        self.assertEqual(place.inlined_at[1].function, place.function)
        self.assertEqual((place.users_frame.file, place.users_frame.line), ("inlined.cuh", place.inlined_at[0].line))
        self.assertEqual(place.users_frame.source_text, "return __ldcg(in + i + 1);")

    def test_findings_have_fields(self):
        out = np.zeros(1, np.int32)
        self.assertTrue(self.module["race"][1, 64](out))
        with self.assertRaises(lemma.Findings) as caught:
            self.module["race"][1, 64](out, check=True)
        finding = caught.exception.findings[0]
        self.assertEqual(finding.id, "race.shared")
        self.assertEqual(finding.access.place.file, "tests/python/kernels.cu")
        for access in (finding.access, finding.earlier):
            self.assertEqual(access.text, f"{access.what} at {access.address:#x}" + (f": {access.value}" if access.value else ""))
        self.assertRegex(finding.access.text, r"^(reads|writes) 4 bytes at 0x")
        self.assertIn("race.shared", str(caught.exception))
        report = self.module["race"][1, 64](out, check=True, raises=False)
        self.assertFalse(report)
        self.assertEqual(len(report.errors), 1)

    def test_repairs_of_a_finding_mend_it(self):
        text = """.version 8.0
.target sm_90
.address_size 64
.visible .entry swap(.param .u64 out) {
  .shared .align 4 .b8 tile[256];
  .reg .b32 %r<5>; .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, tile;
  mad.lo.u32 %r2, %r0, 4, %r1;
  st.shared.u32 [%r2], %r0;
  xor.b32 %r3, %r0, 32;
  mad.lo.u32 %r3, %r3, 4, %r1;
  ld.shared.u32 %r4, [%r3];
  mul.wide.u32 %rd1, %r0, 4;
  add.s64 %rd1, %rd1, %rd0;
  st.global.u32 [%rd1], %r4;
  ret;
}
"""
        out = np.zeros(64, np.uint32)
        [finding] = self.gpu.load(text)["swap"][1, 64](out, check=True, raises=False).errors
        self.assertEqual((finding.group, finding.alternatives), (0, ()))
        [repair] = finding.repairs
        self.assertEqual((repair.where, repair.replaced, repair.edit.length), ("before", "", 0))
        self.assertIn("bar.sync 0;", repair.edit.text)
        lines = text.split("\n")
        line, at = lines[repair.edit.line - 1], repair.edit.column - 1
        lines[repair.edit.line - 1] = line[:at] + repair.edit.text + line[at:]
        self.assertTrue(self.gpu.load("\n".join(lines))["swap"][1, 64](out, check=True))
        self.assertEqual(list(out), [i ^ 32 for i in range(64)])

    def test_suppressions(self):
        import tempfile

        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("race.shared kernels.cu  # the test's\n")
            file.flush()
            try:
                report = self.module["race"][1, 64](np.zeros(1, np.int32), check=True, suppress=file.name)
            except lemma.Rejected as error:
                self.fail(str(error))
            self.assertTrue(report)
            self.assertTrue(report.findings[0].suppressed)
            explored = self.module["race"][1, 64](np.zeros(1, np.int32), check=True, suppress=file.name, explore=2, raises=False)
            self.assertTrue(explored)
            self.assertTrue(explored.findings[0].suppressed)
            self.assertEqual((explored.text, explored.findings[0].schedules), ("", 2))
        with self.assertRaises(lemma.Findings):
            self.module["race"][1, 64](np.zeros(1, np.int32), check=True, explore=2)

    def test_options_of_device_and_block(self):
        gpu = lemma.Device("cpu", check=True)
        kernel = gpu.load(HERE / "kernels.ptx")["race"]
        out = np.zeros(1, np.int32)
        with self.assertRaises(lemma.Findings):
            kernel[1, 64](out)
        self.assertTrue(kernel[1, 64, dict(check=False)](out))
        with lemma.defaults(check=True), lemma.reports() as seen:
            with self.assertRaises(lemma.Findings):
                self.module["race"][1, 64](out)
            with self.assertRaises(lemma.Findings):
                self.module["race"][1, 64](out, raises=True)
        self.assertEqual([r.ok for r in seen], [False, False])

    def test_explore(self):
        out = np.zeros(1, np.int32)
        with self.assertRaises(lemma.Differs) as caught:
            self.module["last_wins"][64, 32](out, explore=4, deterministic=True)
        exploration = caught.exception.exploration
        self.assertEqual(len(exploration.schedules), 4)
        self.assertTrue(exploration.differing)
        x, y = np.arange(1000, dtype=np.float32), self.gpu.array(np.ones(1000, np.float32))
        self.assertTrue(self.axpy(2.0, x, y, 1000, explore=4))
        self.assertTrue((y.numpy() == 2 * x + 1).all())
        self.assertTrue(lemma.schedule_text(1))

    def test_reads_of_what_was_never_written(self):
        y = np.zeros(8, np.float32)
        report = self.axpy(1.0, self.gpu.empty(8), y, 8)
        self.assertEqual(report.uninitialized_reads, 8)
        self.assertIn("'array'", report.uninitialized[0].what)

    def test_counts(self):
        x, y = np.ones(64, np.float32), np.ones(64, np.float32)
        report = self.axpy(1.0, x, y, 64, grid=1, block=64, count_accesses=True)
        self.assertEqual(sum(a.bytes for a in report.stats.accesses if (a.space, a.kind) == ("global", "write")), 256)
        self.assertGreater(report.stats.lane_instructions, 64)

    def test_engines(self):
        x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
        stats = self.axpy(1.0, x, y, 64, grid=1, block=64, engine="interpreter").stats
        self.assertEqual((stats.compiled_instructions, stats.called), (0, ()))
        for engine in ("compiled", "auto", None):
            stats = self.axpy(1.0, x, y, 64, grid=1, block=64, engine=engine).stats
            self.assertLessEqual(stats.compiled_instructions, stats.warp_instructions)
            self.assertLessEqual(sum(each.count for each in stats.called), stats.compiled_instructions)
            self.assertTrue(all(each.opcode for each in stats.called))
        self.assertTrue((y == 4).all())
        with mock.patch.dict(os.environ, LEMMA_ENGINE="jit"):
            self.axpy(1.0, x, y, 64, engine="auto")
            with self.assertRaisesRegex(lemma.InvalidArgument, "LEMMA_ENGINE is 'jit': legal are auto, interpreter, compiled"):
                self.axpy(1.0, x, y, 64)

    def test_fidelity(self):
        x, y = np.ones(64, np.float32), np.ones(64, np.float32)
        reports = [self.axpy(1.0, x, y, 64, grid=1, block=64, fidelity=True) for _ in range(2)]
        self.assertRegex(reports[0].fidelity, r"^fidelity on sm_\d+: ")
        self.assertEqual(lemma.fidelity_text(reports[:1]), reports[0].fidelity)
        self.assertNotEqual(lemma.fidelity_text(reports), reports[0].fidelity)
        self.assertEqual(self.axpy(1.0, x, y, 64).fidelity, "")
        self.assertEqual(lemma.fidelity_text([]), "")

    def test_printing(self):
        said = []
        self.module["print_value"][1, 2](7, print=said.append)
        self.assertEqual("".join(said), "value 7\nvalue 7\n")

        def refuse(text):
            raise KeyError(text)

        with self.assertRaises(KeyError):
            self.module["print_value"][1, 1](7, print=refuse)

    def test_limits_and_another_thread(self):
        flag = np.zeros(2, np.int32)
        with self.assertRaises(lemma.Fault) as caught:
            self.module["forever"][1, 1](flag, max_instructions=10000)
        self.assertEqual(caught.exception.kind, "too many instructions")
        results = []
        x = np.ones(8, np.float32)
        threads = [
            threading.Thread(target=lambda: results.append(self.axpy(1.0, x, np.ones(8, np.float32), 8))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([bool(r) for r in results], [True] * 4)

    def test_interrupt(self):
        # In the background of a shell that has no job control, SIGINT is ignored from the beginning.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            self.module["forever"][1, 1](np.zeros(2, np.int32))
        self.assertTrue(self.axpy(1.0, np.ones(8, np.float32), np.ones(8, np.float32), 8))

    def test_interrupt_waits_until_the_library_has_returned(self):
        returned = []

        def call():
            time.sleep(0.5)
            returned.append(True)

        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            run_in_thread(call, None)
        self.assertEqual(returned, [True])

    def test_interrupt_before_it_runs(self):
        start = threading.Thread.start

        def start_and_interrupt(thread):
            start(thread)
            raise KeyboardInterrupt

        with mock.patch.object(threading.Thread, "start", start_and_interrupt), self.assertRaises(KeyboardInterrupt):
            self.module["forever"][1, 1](np.zeros(2, np.int32))
        self.assertTrue(self.axpy(1.0, np.ones(8, np.float32), np.ones(8, np.float32), 8))
        called = []
        with mock.patch.object(threading.Thread, "start", start_and_interrupt), self.assertRaises(KeyboardInterrupt):
            run_in_thread(lambda: called.append(True), None)
        for thread in threading.enumerate():
            if thread.name == "lemma launch":
                thread.join()
        self.assertEqual(called, [])

    def test_a_closed_device(self):
        with lemma.Device() as gpu:
            array = gpu.zeros(8)
            kernel = gpu.load(HERE / "kernels.ptx")["axpy"]
        with self.assertRaises(lemma.InvalidArgument):
            kernel[1, 1](1.0, array, array, 8)


if __name__ == "__main__":
    unittest.main()
