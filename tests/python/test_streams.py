"""Streams and events: what runs when, what stays alive until then, what is raised."""

import gc
import threading
import time
import unittest

import numpy as np

import lemma

PTX = """.version 8.0
.target sm_90
.address_size 64

// Waits until *flag is 1, then writes 7 to *out.
.visible .entry waits(.param .u64 flag, .param .u64 out)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r;
  .reg .pred %p;
  ld.param.u64 %rd1, [flag];
  ld.param.u64 %rd2, [out];
  griddepcontrol.launch_dependents;
again:
  ld.acquire.sys.global.u32 %r, [%rd1];
  setp.ne.u32 %p, %r, 1;
  @%p bra again;
  st.release.sys.global.u32 [%rd2], 7;
  ret;
}

// *flag = 1; *out += 1 when the kernel before has ended.
.visible .entry sets(.param .u64 flag, .param .u64 out)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r;
  ld.param.u64 %rd1, [flag];
  ld.param.u64 %rd2, [out];
  st.release.sys.global.u32 [%rd1], 1;
  griddepcontrol.wait;
  ld.global.u32 %r, [%rd2];
  add.u32 %r, %r, 1;
  st.global.u32 [%rd2], %r;
  ret;
}

// Every thread adds `by` to its number.
.visible .entry adds(.param .u64 out, .param .u32 by)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [by];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd1, %rd1, %rd2;
  ld.global.u32 %r3, [%rd1];
  add.u32 %r3, %r3, %r1;
  st.global.u32 [%rd1], %r3;
  ret;
}

// Two threads, one address.
.visible .entry races(.param .u64 out)
{
  .reg .b64 %rd;
  .reg .b32 %r;
  ld.param.u64 %rd, [out];
  mov.u32 %r, %tid.x;
  st.global.u32 [%rd], %r;
  ret;
}

.visible .entry traps()
{
  trap;
}
"""


class Streams(unittest.TestCase):
    def setUp(self):
        self.gpu = lemma.Device()
        self.addCleanup(self.gpu.close)
        self.module = self.gpu.load(PTX)
        self.stream = self.gpu.stream()

    def words(self, n=1):
        """Of the device and the host."""
        made = self.gpu.shared(n, np.uint32)
        return made, made.numpy()

    def test_operations_run_in_their_order(self):
        x, y, out, called = self.gpu.zeros(32, np.uint32), self.gpu.zeros(32, np.uint32), np.zeros(32, np.uint32), []
        reports = []
        with lemma.reports() as seen, self.gpu.stream() as stream:
            stream.copy(x, np.arange(32, dtype=np.uint32))
            stream.launch(self.module["adds"], 1, 32, x, 5, done=reports.append)
            stream.copy(y, x)
            stream.fill(x, 1)
            stream.copy(out, y)
            stream.call(lambda: called.append(out.copy()))
        self.assertTrue((out == np.arange(32) + 5).all())
        self.assertTrue((called[0] == out).all())
        self.assertTrue((x.numpy() == 0x01010101).all())
        self.assertEqual([r.outcome for r in reports], ["finished"])
        self.assertEqual(len(seen), 1)
        self.assertTrue(stream.is_done())

    def test_a_kernel_may_wait_for_python_while_a_thread_synchronizes(self):
        """The thread that synchronizes holds no GIL, whether it is the main one or not."""
        for threaded in (False, True):
            (flag, flag_view), (out, out_view) = self.words(), self.words()
            self.stream.launch(self.module["waits"], 1, 1, flag, out)
            self.assertFalse(self.stream.is_done())

            def later(view=flag_view):
                time.sleep(0.1)
                view[0] = 1

            other = threading.Thread(target=later)
            other.start()
            if threaded:
                waiting = threading.Thread(target=self.stream.synchronize)
                waiting.start()
                waiting.join()
            else:
                self.stream.synchronize()
            other.join()
            self.assertEqual(out_view[0], 7)

    def test_events(self):
        (flag, flag_view), (out, out_view) = self.words(), self.words()
        other = self.gpu.stream()
        begin = other.record()
        self.stream.launch(self.module["waits"], 1, 1, flag, out)
        end = self.stream.record()
        other.wait(end)
        other.launch(self.module["adds"], 1, 1, out, 1)
        self.assertFalse(end.is_done())
        with self.assertRaisesRegex(lemma.InvalidArgument, "not done"):
            begin.elapsed_seconds(end)
        flag_view[0] = 1
        end.synchronize()
        self.assertTrue(end.is_done())
        self.gpu.synchronize()
        self.assertEqual(out_view[0], 8)
        self.assertGreater(begin.elapsed_seconds(end), 0)
        with self.assertRaisesRegex(lemma.InvalidArgument, "of another device"):
            lemma.Device().stream().wait(end)

    def test_what_is_used_stays_alive(self):
        (flag, flag_view), (out, _) = self.words(), self.words()
        result = np.zeros(1 << 16, np.uint32)
        self.stream.launch(self.module["waits"], 1, 1, flag, out)
        x = self.gpu.zeros(1 << 16, np.uint32)
        self.stream.copy(x, np.full(1 << 16, 3, np.uint32))
        self.stream.launch(self.module["adds"], 1, 1, x, 1)
        self.stream.copy(result, x)
        del x, out, flag
        self.stream = None
        gc.collect()
        noise = [np.full(1 << 16, 9, np.uint32) for _ in range(4)]
        flag_view[0] = 1
        self.gpu.synchronize()
        self.assertEqual(result[0], 4)
        self.assertTrue((result[1:] == 3).all())
        del noise

    def test_programmatic(self):
        flag, out = self.gpu.zeros(1, np.uint32), self.gpu.zeros(1, np.uint32)
        self.stream.launch(self.module["waits"], 1, 1, flag, out)
        self.stream.launch(self.module["sets"], 1, 1, flag, out, programmatic=True)
        self.stream.synchronize()
        self.assertEqual(out.numpy()[0], 8)

    def test_a_fault_is_raised_once(self):
        x, ended = self.gpu.zeros(1, np.uint32), []
        self.stream.launch(self.module["traps"], 1, 1)
        self.stream.launch(self.module["adds"], 1, 1, x, 1, done=ended.append)
        with self.assertRaises(lemma.KernelFailed) as raised:
            self.stream.synchronize()
        self.assertEqual(raised.exception.report.fault.kind, "trap")
        self.assertIn("trap", str(raised.exception))
        self.assertIsInstance(ended[0], lemma.KernelFailed)
        self.stream.synchronize()
        self.assertEqual(x.numpy()[0], 0)
        self.stream.launch(self.module["traps"], 1, 1)
        with self.assertRaises(lemma.KernelFailed):
            self.gpu.synchronize()

    def test_findings_are_raised(self):
        x = self.gpu.zeros(1, np.uint32)
        self.stream.launch(self.module["races"], 1, 64, x, check=True)
        with self.assertRaises(lemma.Findings) as raised:
            self.stream.synchronize()
        self.assertEqual(raised.exception.findings[0].id, "race.global")
        self.stream.launch(self.module["races"], 1, 64, x, check=True, raises=False)
        self.stream.synchronize()

    def test_what_python_raises_is_raised(self):
        x = self.gpu.zeros(1, np.uint32)

        def fails(*_):
            raise KeyError("mine")

        self.stream.call(fails)
        self.stream.launch(self.module["adds"], 1, 1, x, 1)
        with self.assertRaises(KeyError):
            self.stream.synchronize()
        self.assertEqual(x.numpy()[0], 0)
        self.stream.launch(self.module["adds"], 1, 1, x, 1, done=fails)
        with self.assertRaises(KeyError):
            self.stream.synchronize()
        waited = []

        def waits():
            with self.assertRaises(lemma.InvalidArgument) as raised:
                self.stream.synchronize()
            waited.append(raised.exception)

        self.stream.call(waits)
        self.stream.synchronize()
        self.assertIn("callback", str(waited[0]))

    def test_wrong_arguments(self):
        x, host = self.gpu.zeros(4, np.uint32), np.zeros(4, np.uint32)
        adds = self.module["adds"]
        for call, said in (
            (lambda: self.stream.launch(adds, 1, 4, host, 1), r"argument 0 is an array of the host: .*stream\.copy\(\)"),
            (lambda: self.stream.launch(adds, 1, 4, x), "2 parameters, 1 arguments"),
            (lambda: self.stream.launch(adds, 1, 4, x, 1, explore=2), "one schedule"),
            (lambda: self.stream.copy(host, host), "one of the two is a lemma.Array"),
            (lambda: self.stream.copy(host[::2], x[:2]), "in C order"),
            (lambda: self.stream.copy(host.view(np.int32), x), r"numpy array of uint32\[4\]"),
            (lambda: self.stream.copy(x, x[:2]), "a copy of 8 bytes to 16"),
            (lambda: self.stream.fill(x, 256), "256 is no byte"),
        ):
            with self.subTest(said), self.assertRaisesRegex(lemma.InvalidArgument, said):
                call()
        self.stream.synchronize()


class Options(unittest.TestCase):
    def test_without_patience_a_deadlock_is_one_at_once(self):
        with lemma.Device(patience=0) as gpu:
            flag, out, stream = gpu.zeros(1, np.uint32), gpu.zeros(1, np.uint32), gpu.stream()
            stream.launch(gpu.load(PTX)["waits"], 1, 1, flag, out)
            with self.assertRaises(lemma.KernelFailed) as raised:
                stream.synchronize()
            self.assertEqual(raised.exception.report.fault.kind, "deadlock")

    def test_what_nothing_orders(self):
        with lemma.Device(check_streams=True) as gpu:
            x = gpu.zeros(16, np.uint32)
            for ordered in (True, False):
                a, b = gpu.stream(), gpu.stream()
                a.fill(x, 1)
                if ordered:
                    b.wait(a.record())
                b.fill(x, 2)
                gpu.synchronize()
                self.assertEqual([f.id for f in gpu.stream_findings()], [] if ordered else ["stream.race"])

    def test_default_streams(self):
        with lemma.Device() as gpu:
            module = gpu.load(PTX)
            flag, out, apart = (gpu.shared(1, np.uint32) for _ in range(3))
            legacy, mine, free = gpu.default_stream(), gpu.thread_default_stream(), gpu.stream(non_blocking=True)
            legacy.launch(module["waits"], 1, 1, flag, out)
            mine.launch(module["adds"], 1, 1, out, 1)
            free.launch(module["adds"], 1, 1, apart, 1)
            free.synchronize()
            self.assertEqual((apart.numpy()[0], out.numpy()[0]), (1, 0))
            flag.numpy()[0] = 1
            mine.synchronize()
            self.assertEqual(out.numpy()[0], 8)

    def test_close_waits(self):
        gpu = lemma.Device()
        x, out = gpu.array(np.arange(1 << 16, dtype=np.uint32)), np.zeros(1 << 16, np.uint32)
        stream = gpu.stream()
        stream.copy(out, x)
        gpu.close()
        self.assertEqual(out[-1], (1 << 16) - 1)
        with self.assertRaisesRegex(lemma.InvalidArgument, "the device is closed"):
            stream.synchronize()


if __name__ == "__main__":
    unittest.main()
