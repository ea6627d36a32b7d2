#!/usr/bin/env python3
"""lemma run --explore and --schedule as scripts see them.

usage: explore_cli_test.py --lemma build/bin/lemma [NAME...]
       explore_cli_test.py --list
"""

import json
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np

from cli_case import FAILED, FOLDER, OK, USAGE, Case, main

ORDER = FOLDER / "order.ptx"
RACES = FOLDER / "races.ptx"


class Explore(Case):
    def explore(self, entry, *options, schedules=8, grid=4, status=OK, file=ORDER):
        return self.call("run", file, "--entry", entry, "--grid", grid, "--block", 64, "--explore", schedules,
                         "--arg", f"out={self.path('out.npy')}:u32[64]", *options, status=status)

    def repeated(self, text):
        """What the command says that a text of lemma's names."""
        command = re.search(r"^lemma: to repeat schedule (\d+): (.*)$", text, re.MULTILINE)
        self.assertIsNotNone(command, text)
        self.assertNotIn("--explore", command[2])
        self.assertTrue(command[2].endswith(f" --schedule {command[1]}"), command[2])
        return subprocess.run(shlex.split(command[2]), capture_output=True, text=True, check=False)

    def test_a_program_that_does_not_follow_from_order(self):
        said = self.explore("right", "--check", schedules=20, grid=1, file=RACES).stderr
        self.assertTrue(said.endswith("; checked: no findings; 20 schedules\n"), said)
        self.assertEqual(np.load(self.path("out.npy")).tolist(), list(range(64)))

    def test_other_outputs(self):
        said = self.explore("last_wins", status=FAILED).stderr
        self.assertRegex(said, r"lemma: schedule 1 \(the last warps first.*\): .*out.npy differs from the usual "
                               r"schedule's in 1 byte, first at 0x0\n")
        self.assertRegex(said, r"; races not checked; 8 schedules, \d with other outputs\n$")
        self.assertEqual(np.load(self.path("out.npy"))[0], 3)  # the usual schedule's
        self.assertEqual(self.repeated(said).returncode, OK)
        self.assertNotEqual(np.load(self.path("out.npy"))[0], 3)

    def test_a_fault_in_a_schedule(self):
        said = self.explore("ticket", status=FAILED).stderr
        self.assertRegex(said, r"lemma: schedule \d \(.*\) ends with a fault:\n.*order.ptx:\d+: fault\[trap\]")
        self.assertEqual(said.count("fault[trap]"), 1)  # one defect once
        again = self.repeated(said)
        self.assertEqual(again.returncode, FAILED)
        self.assertIn("fault[trap]", again.stderr)

    def test_floating_point_atomics_explain_other_outputs(self):
        said = self.explore("sums", schedules=20, grid=64).stderr
        self.assertIn("lemma: note: the kernel has added floating-point numbers by atomics", said)
        self.assertNotIn("to repeat", said)
        self.assertRegex(said, r"; 20 schedules, \d+ with other outputs \(floating-point atomics\)\n$")

    def test_findings_of_schedules(self):
        self.call("run", "--check", ORDER, "--entry", "hidden", "--grid", 4, "--block", 64,
                  "--arg", f"out={self.path('out.bin')}:256", "--deterministic")
        said = self.explore("hidden", "--check", status=FAILED).stderr
        self.assertEqual(said.count("error[race."), 1, said)
        self.assertRegex(said, r"  count:   (\d+ times, )?in \d schedules?, first in schedule [1-7]\n")
        again = self.repeated(said)
        self.assertEqual(again.returncode, FAILED)
        self.assertIn("error[race.", again.stderr)

    def test_schedules_in_json(self):
        out = json.loads(self.explore("ticket", "--json", status=FAILED).stdout)
        explored = out["exploration"]
        self.assertEqual([run["schedule"] for run in explored["schedules"]], list(range(8)))
        faulty = [run["schedule"] for run in explored["schedules"] if run["fault"]]
        self.assertEqual(explored["first_unlike"], faulty[0])
        self.assertIn(f"--schedule {faulty[0]}", explored["command"])
        self.assertIs(explored["float_atomics"], False)
        out = json.loads(self.explore("hidden", "--check", "--json", status=FAILED).stdout)
        [finding] = [f for f in out["findings"] if not f["is_note"]]
        self.assertGreater(finding["schedule"], 0)
        self.assertGreater(finding["schedules"], 0)

    def test_exploring_repeats(self):
        one, other = (json.loads(self.explore("hidden", "--check", "--json", schedules=24, status=FAILED).stdout)
                      for _ in range(2))
        for out in (one, other):
            out.pop("stats")
        self.assertEqual(one, other)

    def test_sarif_has_the_faults_of_schedules(self):
        self.explore("ticket", "--sarif", self.path("s.sarif"), status=FAILED)
        with open(self.path("s.sarif"), encoding="utf-8") as file:
            results = json.load(file)["runs"][0]["results"]
        self.assertEqual([result["ruleId"] for result in results], ["fault.trap"])

    def test_suppressed_findings_are_not_new(self):
        with open(self.path("known.txt"), "w", encoding="utf-8") as file:
            file.write("race.* hidden # meant so\n")
        said = self.explore("hidden", "--check", "--suppress", self.path("known.txt")).stderr
        self.assertNotIn("race.", said)
        self.assertNotIn("to repeat", said)
        self.assertIn("1 suppressed", said)

    def test_options_that_exclude_each_other(self):
        words = ("run", ORDER, "--entry", "ticket", "--grid", 1, "--block", 1, "--arg", "buf=4")
        self.call(*words, "--explore", 4, "--schedule", 2, status=USAGE)
        self.call(*words, "--explore", "many", status=USAGE)
        self.call(*words, "--schedule", -1, status=USAGE)
        self.call(*words, "--explore", 4, "--device", "cuda", status=USAGE)
        self.call(*words, "--check-ctas", 4, status=USAGE)

    def test_some_ctas_are_checked(self):
        words = ("run", "--check", RACES, "--entry", "exchange", "--grid", 10, "--block", 64, "--arg", "buf=256")
        said = self.call(*words, "--check-ctas", 3, status=FAILED).stderr
        self.assertRegex(said, r"; checked: 1 finding(, \d notes? \(.*\))?, of 3 of 10 CTAs\n$")
        self.assertEqual(set(re.findall(r"where: +CTA (\d),0,0", said)) - {"0", "3", "6"}, set())
        out = json.loads(self.call(*words, "--check-ctas", 3, "--json", status=FAILED).stdout)
        self.assertEqual(out["checked_ctas"], {"checked": 3, "of": 10})
        out = json.loads(self.call(*words, "--json", status=FAILED).stdout)
        self.assertIsNone(out["checked_ctas"])

    def test_findings_between_ctas_are_notes_if_some_are_not_checked(self):
        words = ("run", "--check", ORDER, "--entry", "plain", "--grid", 6, "--block", 32, "--arg", "buf=4", "--notes")
        self.assertIn("error[race.global]: writes that nothing orders", self.call(*words, status=FAILED).stderr)
        said = self.call(*words, "--check-ctas", 2).stderr
        self.assertIn("note[race.global]: writes that nothing orders; but not all CTAs were watched", said)
        self.assertTrue(said.endswith("; checked: no findings, 1 note, of 2 of 6 CTAs\n"), said)
        self.call(*words, "--check-ctas", 6, status=FAILED)

    def test_ctrl_c_ends_an_exploration(self):
        command = self.command("run", ORDER, "--entry", "ticket", "--grid", 200, "--block", 64, "--explore", 1000000,
                               "--arg", f"out={self.path('out.bin')}:4")
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
            self.assertEqual(process.returncode, 130)


if __name__ == "__main__":
    sys.exit(main(Explore, __doc__))
