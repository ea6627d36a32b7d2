#!/usr/bin/env python3
"""What becomes of a command's files: written whole or not at all, kept when the disk is full, the kernel faults or
Ctrl-C stops the run; and what a run that is stopped says.

usage: files_cli_test.py --lemma build/bin/lemma [NAME...]
       files_cli_test.py --list
"""

import json
import os
import pathlib
import re
import resource
import signal
import stat
import subprocess
import sys
import threading
import time

import numpy as np

from cli_case import FAILED, FOLDER, OK, ROOT, USAGE, TIMEOUT_S, Case, main

KERNELS = FOLDER / "kernels.ptx"
INTERRUPTED, TERMINATED = 130, 143
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
HOST_LOOP = """
func.func @main() {
  %one = llvm.mlir.constant(1 : i64) : i64
  %true = llvm.mlir.constant(true) : i1
  %flag = llvm.alloca %one x i1 : (i64) -> !llvm.ptr
  llvm.store volatile %true, %flag : i1, !llvm.ptr
  scf.while : () -> () {
    %again = llvm.load volatile %flag : !llvm.ptr -> i1
    scf.condition(%again)
  } do {
    scf.yield
  }
  return
}
"""


def limit_files(size):
    """As a disk with so little room: what is written beyond fails."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class Files(Case):
    def lemma_with(self, *words, status=OK, **popen):
        done = subprocess.run(self.command(*words), stdin=subprocess.DEVNULL, stdout=popen.pop(
            "stdout", subprocess.PIPE), stderr=subprocess.PIPE, timeout=TIMEOUT_S, **popen)
        done.stderr = done.stderr.decode()
        if status is not None:
            self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def add(self, *specs, source=None, options=()):
        """The words of a run that adds 5 to 0, 1, 2, ..."""
        source = source or "in=" + self.save("in.bin", np.arange(32, dtype=np.uint32))
        words = ["run", KERNELS, "--entry", "add", "--grid", "1", "--block", "32", *options]
        for spec in (source, *specs, "u32=5"):
            words += ["--arg", spec]
        return words

    def old(self, name, text="old contents", mode=0o640):
        path = pathlib.Path(self.path(name))
        path.write_text(text)
        path.chmod(mode)
        return path

    def assert_kept(self, *paths):
        for path in paths:
            self.assertEqual(path.read_text(), "old contents")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".lemma")], [])

    def assert_sum(self, data):
        self.assertEqual(np.frombuffer(data, np.uint32).tolist(), list(range(5, 37)))

    # --- before the run ---------------------------------------------------------------------------------------------

    def test_outputs_are_checked_before_the_run(self):
        """`traps` would end with 1."""
        trap = ["run", KERNELS, "--entry", "traps", "--grid", "1", "--block", "1"]
        for path, why in (("/no/such/folder/file", "No such file"), (self.folder, "directory"),
                          (f"{KERNELS}/file", "Not a directory"), ("/proc/version/x", "Not a directory")):
            done = self.lemma_with(*trap, "--arg", f"out={path}:4", status=USAGE)
            self.assertIn(f"cannot write {path}: ", done.stderr)
            self.assertIn(why, done.stderr)

    def test_unwritable_places(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        file = self.old("file", mode=0o444)
        self.assertIn("Permission denied", self.lemma_with(*self.add(f"out={file}:128"), status=USAGE).stderr)
        folder = self.folder / "folder"
        folder.mkdir()
        inside = folder / "file"
        inside.write_text("old contents")
        folder.chmod(0o555)
        self.addCleanup(folder.chmod, 0o755)
        self.assertIn("Permission denied", self.lemma_with(*self.add(f"out={folder}/new:128"), status=USAGE).stderr)
        self.lemma_with(*self.add(f"out={inside}:128"))  # which may be written, though not replaced
        self.assert_sum(inside.read_bytes())

    def test_compile_and_record_check_first(self):
        for words in (("compile", self.path("no.mlir"), "-o", "/no/such/file"),
                      ("lemma-record", "--out", "/proc/version/record", "--filter", "f32/add*"),
                      ("mma", MMA, "a.npy", "b.npy", "-o", "/no/such/d.npy")):
            self.assertIn("cannot write /", self.lemma_with(*words, status=USAGE).stderr)

    # --- full disks ---------------------------------------------------------------------------------------------------

    def test_full_disk_keeps_the_old_file(self):
        file = self.old("out.bin")
        done = self.lemma_with(*self.add(f"out={file}:1048576"), preexec_fn=limit_files(65536), status=USAGE)
        self.assertIn(f"cannot write {file}: File too large", done.stderr)
        self.assert_kept(file)

    def test_full_disk_keeps_all_files(self):
        first, second = self.old("first"), self.old("second")
        source = self.save("in.bin", np.arange(32, dtype=np.uint32))
        words = self.add(f"out={second}:1048576", source=f"inout={source}:{first}")
        self.lemma_with(*words, preexec_fn=limit_files(65536), status=USAGE)
        self.assert_kept(first, second)

    def test_full_device(self):
        done = self.lemma_with(*self.add("out=/dev/full:128"), status=USAGE)
        self.assertIn("cannot write /dev/full: No space left on device", done.stderr)

    def test_full_standard_output(self):
        with open("/dev/full", "wb") as full:
            for words in (("isa", "wgmma"), ("isa", "--json"), ("verify", KERNELS), ("--help",)):
                done = self.lemma_with(*words, stdout=full, status=USAGE)
                self.assertIn("No space left on device", done.stderr)

    def test_full_disk_of_every_command(self):
        for name, array in (("a.npy", np.ones((16, 16), np.float16)), ("b.npy", np.ones((16, 8), np.float16))):
            self.save(name, array)
        commands = [("layout", MMA, "--format", "svg", "-o"),
                    ("mma", MMA, self.path("a.npy"), self.path("b.npy"), "-o")]
        mlir = ROOT / "tests" / "mlir" / "run" / "fault.mlir"
        if "without MLIR" not in self.lemma_with("compile", mlir, "-o", "/dev/null", status=None).stderr:
            commands.append(("compile", mlir, "-o"))
        for words in commands:
            file = self.old("out.npy")
            done = self.lemma_with(*words, file, preexec_fn=limit_files(64), status=USAGE)
            self.assertIn(f"cannot write {file}: File too large", done.stderr)
            self.assert_kept(file)
        self.old("f32.json")
        self.lemma_with("lemma-record", "--filter", "f32/add.rn.f32", "--out", self.folder, preexec_fn=limit_files(64),
                        status=USAGE)
        self.assert_kept(pathlib.Path(self.path("f32.json")))

    # --- what stays, and what is written directly ---------------------------------------------------------------------

    def test_mode_and_links_stay(self):
        file = self.old("file", mode=0o604)
        link = self.folder / "link"
        link.symlink_to("file")
        self.lemma_with(*self.add(f"out={link}:128"))
        self.assertTrue(link.is_symlink())
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o604)
        self.assert_sum(file.read_bytes())
        (self.folder / "to-new").symlink_to("new")
        self.lemma_with(*self.add(f"out={self.folder}/to-new:128"), preexec_fn=lambda: os.umask(0o027))
        self.assertTrue((self.folder / "to-new").is_symlink())
        self.assertEqual(stat.S_IMODE((self.folder / "new").stat().st_mode), 0o640)

    def test_special_files_are_written_directly(self):
        self.lemma_with(*self.add("out=/dev/null:128"))
        self.assertFalse(stat.S_ISREG(os.stat("/dev/null").st_mode))
        self.assert_sum(self.lemma_with(*self.add("out=/dev/stdout:128")).stdout)
        with open(self.path("stdout"), "wb") as file:
            self.lemma_with(*self.add("out=/dev/stdout:128"), stdout=file)
            inode = os.fstat(file.fileno()).st_ino
        self.assertEqual(os.stat(self.path("stdout")).st_ino, inode)
        self.assert_sum(pathlib.Path(self.path("stdout")).read_bytes())
        pipe, read = self.path("pipe"), []
        os.mkfifo(pipe)
        reader = threading.Thread(target=lambda: read.append(pathlib.Path(pipe).read_bytes()))
        reader.start()
        self.lemma_with(*self.add(f"out={pipe}:128"))
        reader.join()
        self.assert_sum(read[0])
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))

    # --- faults -------------------------------------------------------------------------------------------------------

    def test_fault_writes_nothing(self):
        file = self.old("out.bin")
        done = self.lemma_with(*self.add(f"out={file}:64"), status=FAILED)
        self.assertIn("lemma: no output was written; --keep-outputs writes what there is\n", done.stderr)
        self.assert_kept(file)
        report = json.loads(self.lemma_with(*self.add(f"out={file}:64", options=["--json"]), status=FAILED).stdout)
        self.assertIs(report["outputs_written"], False)
        done = self.lemma_with("run", KERNELS, "--entry", "traps", "--grid", "1", "--block", "1", status=FAILED)
        self.assertNotIn("output", done.stderr)  # there is none

    def test_keep_outputs(self):
        file = self.old("out.bin")
        words = self.add(f"out={file}:64", f"expect={KERNELS}", options=["--keep-outputs"])
        done = self.lemma_with(*words, status=FAILED)
        self.assertIn("lemma: the outputs were written as they were", done.stderr)
        self.assertNotIn("differ", done.stderr)
        self.assertEqual(file.stat().st_size, 64)
        report = json.loads(self.lemma_with(*words, "--json", status=FAILED).stdout)
        self.assertIs(report["outputs_written"], True)

    # --- Ctrl-C -------------------------------------------------------------------------------------------------------

    def start(self, *words):
        process = subprocess.Popen([self.lemma, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def interrupt_when_running(self, process, *signals):
        """Waits until the process catches them and has been busy for a while."""
        proc, caught, ticks = pathlib.Path(f"/proc/{process.pid}"), 0, 0
        while process.poll() is None and (ticks < 0.5 * os.sysconf("SC_CLK_TCK") or not caught >> signal.SIGINT - 1 & 1):
            ticks = sum(map(int, (proc / "stat").read_text().rsplit(")", 1)[1].split()[11:13]))
            caught = int(re.search(r"SigCgt:\s*(\w+)", (proc / "status").read_text())[1], 16)
            time.sleep(0.01)
        for number in signals:
            process.send_signal(number)
        out, err = process.communicate(timeout=TIMEOUT_S)
        return out.decode(), err.decode()

    def long_words(self, file, *options):
        """A kernel of 100000 CTAs that take a second each, with an output."""
        text = KERNELS.read_text().replace(".entry counts(.param .u32 n)", ".entry counts(.param .u32 n, .param .u64 out)")
        kernel = self.folder / "counts.ptx"
        kernel.write_text(text)
        return ("run", kernel, "--entry", "counts", "--grid", "100000", "--block", "64", *options, "--arg", "u32=1000000",
                "--arg", f"out={file}:4")

    def test_interrupt(self):
        for number, status in ((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)):
            file = self.old("out.bin")
            process = self.start(*self.long_words(file))
            out, err = self.interrupt_when_running(process, number)
            self.assertEqual(process.returncode, status, err)
            self.assertRegex(err, r"counts\.ptx: stopped: on request, when \d+ of 100000 CTAs of kernel counts were done\n")
            self.assertRegex(err, r"counts\.ptx:\d+: runs: CTA \d+,0,0, warp [01], lanes 0xffffffff")
            self.assertRegex(err, r"\| LOOP:|\| +add\.u32 %r2|\| +setp|\| +@%p bra LOOP")
            self.assertIn("no output was written", err)
            self.assert_kept(file)

    def test_interrupt_json(self):
        process = self.start(*self.long_words(self.path("out"), "--json", "--keep-outputs"))
        out, err = self.interrupt_when_running(process, signal.SIGINT)
        report = json.loads(out)
        self.assertEqual((process.returncode, report["exit_status"], report["outcome"]), (INTERRUPTED, INTERRUPTED, "stopped"))
        self.assertTrue(report["waiting"])
        self.assertTrue(os.path.exists(self.path("out")))

    def test_second_interrupt_ends_at_once(self):
        """Host code that never looks: the first is not enough."""
        program = self.folder / "loop.mlir"
        program.write_text(HOST_LOOP)
        process = self.start("run", program)
        out, err = self.interrupt_when_running(process, signal.SIGINT, signal.SIGTERM)
        if "without MLIR" in err:
            self.skipTest("no MLIR")
        self.assertIn(process.returncode, (INTERRUPTED, TERMINATED), err)
        self.assertIn("lemma: stopping; once more ends at once", err)

    def test_ignored_interrupts_stay_ignored(self):
        words = self.add(f"out={self.path('out')}:128")
        self.lemma_with(*words, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))


if __name__ == "__main__":
    sys.exit(main(Files, __doc__))
