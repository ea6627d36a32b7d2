#!/usr/bin/env python3
"""`lemma exec`: environment, statuses, findings and counts of many processes, files.

usage: exec_test.py --lemma build/bin/lemma [NAME ...]    LAUNCHER names the program made of launcher.cc,
RPATH_LIBRARY the library made of rpath.cc
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from cli_case import FAILED, OK, USAGE, Case, main  # noqa: E402

LAUNCHER = os.environ.get("LAUNCHER", "")
RPATH_LIBRARY = os.environ.get("RPATH_LIBRARY", "")
# Twos, added up by cuBLAS.
CUBLAS = """
import ctypes
cuda, cublas = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libcublas.so.13")
handle, x, result = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
assert cublas.cublasCreate_v2(ctypes.byref(handle)) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(x), 8) == 0 and cuda.cuMemsetD32_v2(x, 0x40000000, 2) == 0
assert cublas.cublasSasum_v2(handle, 2, x, 1, ctypes.byref(result)) == 0 and result.value == 4
"""

# A driver call in a child of a process that has used the driver, and what it says of the error.
FORKS = """import ctypes
import os

driver = ctypes.CDLL("libcuda.so.1")
assert driver.cuInit(0) == 0
child = os.fork()
if child == 0:
    count, name, text = ctypes.c_int(), ctypes.c_char_p(), ctypes.c_char_p()
    status = driver.cuDeviceGetCount(ctypes.byref(count))
    assert status == driver.cuInit(0) == 3
    assert driver.cuGetErrorName(status, ctypes.byref(name)) == driver.cuGetErrorString(status, ctypes.byref(text)) == 0
    assert name.value == b"CUDA_ERROR_NOT_INITIALIZED" and b"not initialized" in text.value
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


class Exec(Case):
    def exec(self, *words, status=OK, env=None):
        return self.call("exec", *words, status=status, env=env)

    def report(self, *words, status=OK, env=None):
        self.exec("--report", self.path("r.json"), *words, status=status, env=env)
        return json.loads((self.folder / "r.json").read_text())

    def test_a_program_runs(self):
        done = self.exec(LAUNCHER, "scale")
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_the_status_is_the_programs(self):
        self.exec(LAUNCHER, "status=7", status=7)
        self.exec("--stats", LAUNCHER, "scale", "status=7", status=7)
        self.exec("--check", LAUNCHER, "exchange", "status=7", status=7)
        self.exec("--stats", LAUNCHER, "scale", "abort", status=128 + signal.SIGABRT)
        self.exec("--stats", LAUNCHER, "scale", "kill", status=128 + signal.SIGKILL)

    def test_findings_fail_a_program_that_succeeds(self):
        done = self.exec("--check", LAUNCHER, "exchange", status=FAILED)
        self.assertEqual(done.stderr.count("error[race.shared]"), 1)
        self.assertIn("exchange.cu:7", done.stderr)
        self.assertIn("1 process, 1 launch; checked: 1 finding", done.stderr)
        self.exec(LAUNCHER, "exchange")
        self.assertIn("checked: no findings", self.exec("--check", LAUNCHER, "scale").stderr)

    def test_a_defect_is_told_once(self):
        report = self.report("--check", LAUNCHER, *["exchange"] * 3, status=FAILED)
        self.assertEqual(len(report["findings"]), 1)
        self.assertEqual(report["findings"][0]["count"], 3 * 64)

    def test_kernels_are_counted(self):
        done = self.exec("--stats", LAUNCHER, "scale", "exchange", "scale")
        rows = [line.split(None, 5) for line in done.stderr.splitlines() if "(unsigned int*, int)" in line]
        self.assertEqual([(r[0], r[4], r[5]) for r in rows],
                         [("2", "0", "scale(unsigned int*, int)"), ("1", "0", "exchange(unsigned int*, int)")])
        kernel = self.report(LAUNCHER, "scale", "scale")["kernels"][0]
        self.assertEqual((kernel["kernel"], kernel["launches"], kernel["warp_instructions"]), ("_Z5scalePji", 2, 2 * 2 * 8))
        self.assertIn("compiled %", done.stderr)

    def test_engines(self):
        done = self.exec("--engine", "interpreter", "--stats", LAUNCHER, "scale", env={"LEMMA_ENGINE": "compiled"})
        row, = (line.split() for line in done.stderr.splitlines() if "scale(" in line)
        self.assertEqual(row[3], "0.0")
        kernel = self.report("--engine", "interpreter", LAUNCHER, "scale")["kernels"][0]
        self.assertEqual(kernel["compiled_instructions"], 0)
        kernel = self.report("--engine", "compiled", LAUNCHER, "scale")["kernels"][0]
        self.assertLessEqual(kernel["compiled_instructions"], kernel["warp_instructions"])
        self.assertEqual(self.exec("--engine", "auto", "sh", "-c", "echo $LEMMA_ENGINE").stdout, "auto\n")
        self.assertIn("{auto,interpreter,compiled}", self.exec("--engine", "jit", LAUNCHER, "scale", status=USAGE).stderr)
        said = self.exec(LAUNCHER, "scale", status=99, env={"LEMMA_ENGINE": "jit"}).stderr
        self.assertIn("LEMMA_ENGINE is 'jit': legal are auto, interpreter, compiled", said)

    def test_nothing_is_lost_when_a_process_ends_at_once(self):
        for end in ("_exit", "kill", "abort"):
            report = self.report("--check", LAUNCHER, "exchange", "scale", end, status=None)
            self.assertEqual(report["finding_counts"]["errors"], 1, end)
            self.assertEqual([k["launches"] for k in report["kernels"]], [1, 1], end)

    def test_children_are_heard(self):
        script = f"'{LAUNCHER}' scale & '{LAUNCHER}' exchange & wait; '{LAUNCHER}' fork exchange"
        report = self.report("--check", "sh", "-c", script, status=FAILED)
        self.assertEqual(len(report["processes"]), 3)
        self.assertEqual([f["id"] for f in report["findings"]], ["race.shared"])
        self.assertEqual(report["findings"][0]["count"], 2 * 64)
        self.assertEqual({k["name"].split("(")[0]: k["launches"] for k in report["kernels"]}, {"scale": 1, "exchange": 2})

    def is_told_to_spawn(self, *words):
        for options in ((), ("--check", "--stats")):
            said = self.exec(*options, *words).stderr
            lines = [line for line in said.splitlines() if "is a child of fork" in line]
            self.assertEqual(len(lines), 1, said)
            self.assertIn("CUDA_ERROR_NOT_INITIALIZED", lines[0])
            for way in ('multiprocessing.set_start_method("spawn")', 'multiprocessing_context="spawn"'):
                self.assertIn(way, lines[0])

    def test_a_child_of_fork_is_told_to_spawn(self):
        self.is_told_to_spawn(LAUNCHER, "scale", "fork", "refused", "refused")
        self.assertNotIn("fork", self.exec("--check", LAUNCHER, "scale", "fork", "status=0").stderr)
        (self.folder / "forks.py").write_text(FORKS)
        self.is_told_to_spawn(sys.executable, self.path("forks.py"))

    def test_faults_are_in_the_report(self):
        report = self.report("--check", "--sarif", self.path("f.sarif"), LAUNCHER, "trap")
        self.assertEqual([(f["kind"], f["kernel"]) for f in report["faults"]], [("trap", "_Z4trapPji")])
        results = json.loads((self.folder / "f.sarif").read_text())["runs"][0]["results"]
        self.assertEqual([r["ruleId"] for r in results], ["fault.trap"])

    def test_a_fault_is_no_silence(self):
        said = self.exec("--check", LAUNCHER, "scale", "trap").stderr
        self.assertIn("2 launches; 1 ended by a fault; checked until then: no findings", said)
        self.assertNotIn("ended by", self.exec("--check", LAUNCHER, "scale").stderr)

    def test_sarif_has_the_lines_of_the_source(self):
        self.exec("--check", "--sarif", self.path("f.sarif"), LAUNCHER, "exchange", status=FAILED)
        result = json.loads((self.folder / "f.sarif").read_text())["runs"][0]["results"][0]
        place = result["locations"][0]["physicalLocation"]
        self.assertEqual(result["ruleId"], "race.shared")
        self.assertTrue(place["artifactLocation"]["uri"].endswith("exchange.cu"))
        self.assertIn(place["region"]["startLine"], (6, 7))

    def test_findings_are_suppressed(self):
        (self.folder / "known").write_text("race.shared exchange.cu:6-7  # on purpose\n")
        done = self.exec("--check", "--suppress", self.path("known"), LAUNCHER, "exchange")
        self.assertIn("no findings, 1 suppressed", done.stderr)
        self.assertIn("needs --check", self.exec("--notes", LAUNCHER, status=USAGE).stderr)

    def test_schedules(self):
        report = self.report("--explore", 3, "--check", LAUNCHER, "exchange", "schedule", status=5)
        self.assertEqual([(r["schedule"], r["exit_status"]) for r in report["runs"]], [(0, 0), (1, 5), (2, 5)])
        self.assertEqual(report["findings"][0]["schedules"], 3)
        done = self.exec("--explore", 2, LAUNCHER, "schedule", status=5)
        self.assertIn("2 schedules", done.stderr)
        self.assertIn("LEMMA_SCHEDULE=1", done.stderr)

    def test_what_is_doubtful_is_said_once_with_the_kernels_name(self):
        self.assertEqual(self.exec(LAUNCHER, "store").stderr, "")
        lines = self.exec("--async", "late", LAUNCHER, "store", "store").stderr.splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"^lemma: kernel store: line \d+: a bulk copy still had shared memory to read when ")

    def test_the_gpu_can_be_another_one(self):
        script = ["--arch", "sm_80", LAUNCHER, "scale"]
        self.assertIn("sm_90", self.exec(*script, status=99).stderr)

    def test_words_behind_the_program_are_its_own(self):
        self.assertEqual(self.exec("echo", "--check", "@x", "--help").stdout, "--check @x --help\n")
        self.assertEqual(self.exec("--stats", "echo", "--stats").stdout, "--stats\n")

    def test_wrong_command_lines(self):
        for words, says in {
            (): "which program",
            ("--chek", LAUNCHER): "no option --chek",
            ("no-such-program",): "PATH",
            ("/no/such/program",): "No such file",
            (str(self.folder),): "Permission denied",
            ("--report", "/no/folder/r.json", LAUNCHER): "/no/folder",
            ("--async", "soon", LAUNCHER): "soon",
        }.items():
            self.assertIn(says, self.exec(*words, status=USAGE).stderr, words)

    def test_a_tool_without_its_libraries_says_how_to_get_them(self):
        tool = self.folder / "package" / "bin" / "lemma"
        tool.parent.mkdir(parents=True)
        shutil.copy(self.lemma, tool)
        asks = [tool, "exec", "true"]
        self.assertIn("cmake -DLEMMA_DRIVER=ON", subprocess.run(asks, capture_output=True, text=True).stderr)
        (self.folder / "package" / "_abi.py").touch()
        said = subprocess.run(asks, capture_output=True, text=True)
        self.assertEqual(said.returncode, USAGE)
        self.assertIn("pip install", said.stderr)
        self.assertNotIn("cmake", said.stderr)

    def test_libraries_come_first_and_the_rest_stays(self):
        done = self.exec("sh", "-c", "echo $LD_LIBRARY_PATH; echo $LD_PRELOAD", env={"LD_LIBRARY_PATH": "/a:/b", "LD_PRELOAD": ""})
        paths, preloaded = done.stdout.splitlines()
        self.assertTrue(paths.endswith(":/a:/b"))
        self.assertTrue((pathlib.Path(paths.split(":")[0]) / "libcuda.so.1").exists())
        folder = paths.split(":")[0]
        self.assertEqual(preloaded.split(":"), [f"{folder}/{n}" for n in ("liblemma_preload.so", "libcuda.so.1", "libcudart.so.13", "libcublasLt.so.13", "libcublas.so.13")])
        names = "LD_LIBRARY_PATH LD_PRELOAD"
        again = self.exec("sh", "-c", f"'{self.lemma}' exec printenv {names}", env={"LD_LIBRARY_PATH": "/a:/b", "LD_PRELOAD": ""})
        self.assertEqual(again.stdout.splitlines(), [paths, preloaded])

    def test_a_runtime_that_a_library_has_an_rpath_for_is_not_taken(self):
        asks = [sys.executable, "-c", "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).runtime_version())", RPATH_LIBRARY]
        self.assertEqual(subprocess.run(asks, capture_output=True, text=True, check=True).stdout, "7\n")
        self.assertEqual(self.exec(*asks).stdout, "13000\n")

    def test_cublas_says_that_its_sums_are_in_another_order(self):
        said = "lemma: 1 call of cuBLAS ran on the CPU: its sums are in another order than NVIDIA's\n"
        self.assertEqual(self.exec(sys.executable, "-c", CUBLAS).stderr, said)
        self.assertEqual(self.exec(sys.executable, "-c", "import ctypes; ctypes.CDLL('libcublas.so.13')").stderr, "")

    def test_torch_is_followed_by_lemma_torch_and_no_sitecustomize_is_hidden(self):
        (self.folder / "torch.py").write_text("class version:\n    cuda = None\n")
        (self.folder / "sitecustomize.py").write_text("here = 7\n")
        asks = [sys.executable, "-c", "import sys, sitecustomize, torch; print(sitecustomize.here, 'lemma_torch' in sys.modules)"]
        self.assertEqual(self.exec(*asks, env={"PYTHONPATH": str(self.folder)}).stdout, "7 True\n")
        asks[-1] = "import sys; print('lemma_torch' in sys.modules)"
        self.assertEqual(self.exec(*asks).stdout, "False\n")

    def test_no_folder_stays(self):
        temporary = self.folder / "tmp"
        temporary.mkdir()
        self.exec("--check", LAUNCHER, "scale", env={"TMPDIR": str(temporary)})
        self.assertEqual(list(temporary.iterdir()), [])

    def test_signals_reach_the_program(self):
        words = self.command("exec", "--stats", "sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done")
        running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(running.stdout.readline(), "ready\n")
        time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        self.assertIn("exit status 9", running.communicate(timeout=30)[1])
        self.assertEqual(running.returncode, 9)

    def test_a_signal_ends_the_schedules_too(self):
        words = self.command("exec", "--explore", 3, "sh", "-c", "echo ready; exec sleep 60")
        running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(running.stdout.readline(), "ready\n")
        time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        out, said = running.communicate(timeout=30)
        self.assertEqual((out, running.returncode), ("", 128 + signal.SIGTERM))
        self.assertIn("ended by a signal in schedule 0; 2 of 3 were to follow", said)

    def spin(self, *options, env=None):
        """`lemma exec` of a launch that takes hours, when it has said twice what it is at."""
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        words = self.command("exec", *options, LAUNCHER, "spin")
        running = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(temporary), **(env or {})})
        self.addCleanup(running.stderr.close)
        self.addCleanup(running.kill)
        seen = set()
        while len(seen) < 2:
            self.assertIsNone(running.poll())
            seen |= {file.stat().st_mtime_ns for file in self.folder.rglob("*.running") if file.stat().st_size}
            time.sleep(0.02)
        return running

    def test_what_ran_is_said_when_the_program_is_ended(self):
        ran = r"lemma: when its process ended, spin had run for [\d.]+ s: 0 of 1 CTAs done, \d+ warp instructions\n  2 warps at line \d+ of the PTX: "
        for end in (signal.SIGTERM, signal.SIGINT):
            running = self.spin("--stats")
            os.kill(int(pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text()), end)  # as a terminal does
            running.send_signal(end)
            said = running.communicate(timeout=30)[1]
            self.assertRegex(said, ran)
            self.assertEqual(running.returncode, 128 + end)
        running = self.spin("--report", self.path("r.json"))
        os.kill(int(pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text()), signal.SIGKILL)
        self.assertRegex(running.communicate(timeout=30)[1], ran)
        [launch] = json.loads((self.folder / "r.json").read_text())["running"]
        self.assertEqual((launch["kernel"], launch["ctas"], launch["warps"][0]["count"]), ("spin", 1, 2))

    def test_what_ran_is_said_where_nobody_waits(self):
        (self.folder / "reports").mkdir()
        for end in (signal.SIGTERM, signal.SIGINT):
            running = self.spin(env={"LEMMA_REPORTS": self.path("reports")})
            running.send_signal(end)
            self.assertRegex(running.communicate(timeout=30)[1], r"lemma: ended by a signal: spin had run for ")
            self.assertEqual(running.returncode, -end)
            for file in (self.folder / "reports").iterdir():
                file.unlink()

    def test_a_program_that_fails_unchecked_ends_with_the_command_that_checks_it(self):
        for end, status in (("status=7", 7), ("abort", -signal.SIGABRT)):
            done = self.exec(LAUNCHER, "exchange", end, status=status)
            command = re.fullmatch(r"lemma: it failed, and was not checked: (.*) names races, missing fences and waits", done.stderr.splitlines()[-1])
            self.assertEqual(shlex.split(command.group(1))[1:], ["exec", "--check", LAUNCHER, "exchange", end])
        self.assertNotIn("it failed", self.exec(LAUNCHER, "exchange").stderr)
        self.assertNotIn("it failed", self.exec("--check", LAUNCHER, "scale", "status=7", status=7).stderr)
        child = self.exec("sh", "-c", f"'{LAUNCHER}' exchange status=7; exit 3", status=3)
        self.assertNotIn("it failed", child.stderr)  # that was not the program which was asked for

    def test_reports_that_cannot_be_written_are_an_error(self):
        # The place is gone, or has no room: the finding is on standard error, and the status is not the program's.
        done = self.exec("--check", "sh", "-c", f"rm -r $LEMMA_REPORTS; '{LAUNCHER}' exchange && echo 0", status=FAILED)
        self.assertEqual(done.stdout, "0\n")
        self.assertIn("what was found could not be written", done.stderr)
        self.assertIn("error[race.shared]", done.stderr)
        self.assertIn("this is not all: a process could not write its reports", done.stderr)
        self.exec("--check", "sh", "-c", "rm -r $LEMMA_REPORTS; exit 7", status=7)
        limited = f"ulimit -f 0; exec '{self.lemma}' exec --check '{LAUNCHER}' exchange"
        done = subprocess.run(["sh", "-c", limited], capture_output=True, text=True, timeout=60, restore_signals=False)
        self.assertEqual(done.returncode, FAILED, done.stderr)
        self.assertIn("error[race.shared]", done.stderr)
        self.assertIn("this is not all", done.stderr)

    def test_a_program_without_the_variable_is_heard(self):
        done = self.exec("--check", "env", "-u", "LEMMA_REPORTS", "sh", "-c", f"'{LAUNCHER}' exchange; true", status=FAILED)
        self.assertIn("1 process, 1 launch; checked: 1 finding", done.stderr)
        self.assertEqual(done.stderr.count("error[race.shared]"), 1)

    def test_standard_error_may_be_gone(self):
        for where in ("2>&-", "2>/dev/full"):
            for command, status in (("exec --check true", OK), (f"exec --check '{LAUNCHER}' exchange", FAILED), ("exec no-such-program", USAGE),
                                    ("run nosuch.ptx", USAGE), ("exec --stats sh -c 'exit 7'", 7)):  # fmt: skip
                done = subprocess.run(["sh", "-c", f"'{self.lemma}' {command} {where}"], capture_output=True, timeout=60)
                self.assertEqual(done.returncode, status, (command, where))


if __name__ == "__main__":
    sys.exit(main(Exec, __doc__))
