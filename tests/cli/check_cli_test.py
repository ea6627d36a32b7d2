#!/usr/bin/env python3
"""lemma run --check as scripts see it: findings, notes, suppressions.

usage: check_cli_test.py --lemma build/bin/lemma [NAME...]
       check_cli_test.py --list
"""

import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from cli_case import FAILED, FOLDER, OK, ROOT, USAGE, Case, main

RACES = FOLDER / "races.ptx"
COUNT_STEP = ROOT / "tests" / "triton" / "training" / "ptx" / "3.9.0" / "count_step.ptx"

IN_A_LIBRARY = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry CUB_300001_runs() {
  .shared .b32 word;
  .reg .b32 %t;
  mov.u32 %t, %tid.x;
  .loc 1 LINE 0
  .loc 2 155 0, function_name $scatter, inlined_at 1 LINE 0
  st.shared.u32 [word], %t;
  ret;
}
.file 1 "/usr/local/cuda/include/cccl/cub/agent/agent_rle.cuh"
.file 2 "/usr/local/cuda/include/cccl/cub/warp/specializations/warp_exchange_smem.cuh"
.section .debug_str {
$scatter:
.b8 99,0
}
"""


def line_of(text):
    """The number of the one line of races.ptx that holds the text."""
    found = [number for number, line in enumerate(RACES.read_text().splitlines(), 1) if text in line]
    assert len(found) == 1, text
    return found[0]


class Check(Case):
    def check(self, entry, *options, status=OK, file=RACES):
        return self.call(
            "run", "--check", file, "--entry", entry, "--grid", 1, "--block", 64, "--arg", "buf=256", *options,
            status=status,
        )

    def suppress(self, entry, text, *options, status=OK):
        pathlib.Path(self.path("known.txt")).write_text(text)
        return self.check(entry, "--suppress", self.path("known.txt"), *options, status=status)

    # --- findings ---------------------------------------------------------------------------------------------------

    def test_a_finding(self):
        said = self.check("exchange", status=FAILED).stderr
        self.assertIn("error[race.shared]: a read and a write that nothing orders, at tile + 0x", said)
        store, load = line_of("exchange.cu:6"), line_of("exchange.cu:7")
        self.assertIn(f"  PTX:   {RACES}:{store}: st.shared.u32 [%a], %t;\n", said)
        self.assertIn(f"  PTX:   {RACES}:{load}: ld.shared.u32 %v, [%b];\n", said)
        self.assertRegex(said, r"where: +CTA 0,0,0, warp [01], lane \d+: writes 4 bytes")
        self.assertIn("missing: a barrier (bar.sync) between them", said)
        self.assertRegex(said, r"count: +\d+ times")
        self.assertTrue(said.endswith("; checked: 1 finding\n"), said)

    def test_of_a_triton_kernel_it_names_the_programs(self):
        run = ("run", "--check", "--deterministic", COUNT_STEP, "--grid", "1,3", "--block", 128, *("--arg", "buf=16") * 3, "--json")
        report = json.loads(self.call(*run, "--sarif", self.path("f.sarif"), status=FAILED).stdout)
        finding = next(f for f in report["findings"] if f["id"] == "race.global")
        where = [finding[side]["program_id"] for side in ("access", "earlier")]
        self.assertEqual(where, [finding[side]["cta"] for side in ("access", "earlier")])
        self.assertNotEqual(*where)
        said = self.call(*run[:-1], status=FAILED).stderr
        result = json.loads(pathlib.Path(self.path("f.sarif")).read_text())["runs"][0]["results"][0]
        for x, y, z in where:
            self.assertIn(f"program ({x}, {y}, {z}), warp ", said)
        self.assertIn("program (0, ", json.dumps(result))
        self.assertNotIn("CTA", said)
        self.assertNotIn("program_id", self.check("exchange", "--json", status=FAILED).stdout)

    def test_silence(self):
        self.assertTrue(self.check("right").stderr.endswith("; checked: no findings\n"))

    def test_a_fault_is_no_silence(self):
        """What the launch had not come to when it ended was not checked."""
        said = self.call("run", "--check", FOLDER / "kernels.ptx", "--entry", "traps", "--grid", 1, "--block", 1,
                         status=FAILED).stderr
        self.assertTrue(said.endswith("; ended by a fault; checked until then: no findings\n"), said)

    def test_a_repair(self):
        """Made in the PTX as it stands in --json and SARIF, it leaves no finding."""
        said = self.check("exchange", status=FAILED).stderr
        store, load = line_of("exchange.cu:6"), line_of("exchange.cu:7")
        self.assertIn(f"  repair:  bar.sync 0; before exchange.cu:7 ({RACES}:{load})\n", said)
        [finding] = json.loads(self.check("exchange", "--json", status=FAILED).stdout)["findings"]
        [repair] = finding["repairs"]
        self.assertEqual((repair["line"], repair["length"], repair["where"]), (load, 0, "before"))
        self.assertEqual(repair["place"]["ptx_line"], load)
        [result] = self.sarif("exchange", status=FAILED)["results"]
        [change] = result["fixes"][0]["artifactChanges"]
        [replacement] = change["replacements"]
        self.assertTrue(change["artifactLocation"]["uri"].endswith("tests/cli/races.ptx"))
        self.assertEqual(replacement["insertedContent"]["text"], repair["text"])
        region = replacement["deletedRegion"]
        self.assertEqual((region["startLine"], region["startColumn"]), (load, repair["column"]))
        self.assertEqual((region["endLine"], region["endColumn"]), (load, repair["column"]))
        lines = RACES.read_text().split("\n")
        at = repair["column"] - 1
        lines[load - 1] = lines[load - 1][:at] + repair["text"] + lines[load - 1][at:]
        mended = pathlib.Path(self.path("mended.ptx"))
        mended.write_text("\n".join(lines))
        self.check("exchange", file=mended)

    def test_source_lines(self):
        said = self.check("exchange", status=FAILED).stderr
        self.assertRegex(said, r"(?m)^exchange.cu:6: .*\n 6 \|   tile\[t\] = t;\n  PTX: ")
        self.assertRegex(said, r"(?m)^exchange.cu:7: .*\n 7 \|   out\[t\] = tile\[t \^ 32\];\n  PTX: ")
        shutil.copy(RACES, self.path("races.ptx"))  # no source beside it
        said = self.check("exchange", status=FAILED, file=self.path("races.ptx")).stderr
        self.assertRegex(said, r"(?m)^exchange.cu:6: .*\n  PTX: ")

    def many(self, *options, status=FAILED):
        """Eight stores before one load, and eleven defects more that share no line with each other."""
        return self.check("many", *options, status=status, file=FOLDER / "many_races.ptx")

    def test_findings_that_one_barrier_mends_are_one(self):
        said = self.many().stderr
        self.assertIn("  also:    lines 15 to 21 of many_races.ptx\n", said)
        self.assertRegex(said, r"  count:   \d+ times, by 8 pairs of instructions\n")
        self.assertEqual(said.count("error[race.shared]"), 10)
        self.assertRegex(said, r"\nand 2 more: --all\n.*; checked: 12 findings\n$")
        self.assertEqual(self.many("--all").stderr.count("error[race.shared]"), 12)
        out = json.loads(self.many("--json").stdout)
        self.assertEqual(out["finding_counts"]["errors"], 12)
        self.assertEqual(len(out["findings"]), 19)
        self.assertEqual(sorted({finding["group"] for finding in out["findings"]}), list(range(12)))
        self.assertEqual(sum(finding["group"] == 0 for finding in out["findings"]), 8)  # what was seen most often
        for finding in said.split("error[")[1:]:
            self.assertLessEqual(finding.count("\n"), 15)

    def test_a_baseline(self):
        """What a run before has found does not fail this one."""
        known = self.path("known.sarif")
        self.check("exchange", "--sarif", known, status=FAILED)
        said = self.check("exchange", "--baseline", known).stderr
        self.assertTrue(said.endswith("; checked: no findings, 1 suppressed\n"), said)
        out = json.loads(self.check("exchange", "--baseline", known, "--json").stdout)
        self.assertEqual(out["findings"][0]["suppressed_because"], f"known: {known}")
        self.many("--sarif", known)
        self.check("exchange", "--baseline", known, status=FAILED)
        self.assertIn("12 suppressed", self.many("--baseline", known, status=OK).stderr)
        self.assertIn("this is no SARIF file", self.check("right", "--baseline", RACES, status=USAGE).stderr)
        self.assertIn("No such file", self.check("right", "--baseline", self.path("no"), status=USAGE).stderr)

    def test_a_wrong_output_is_followed_by_the_command_that_checks(self):
        (pathlib.Path(self.path("want.bin"))).write_bytes(bytes(256))
        words = ("run", RACES, "--entry", "exchange", "--grid", 1, "--block", 64, "--arg", f"out={self.path('got.bin')}:256",
                 "--arg", f"expect={self.path('want.bin')}")
        said = self.call(*words, status=FAILED).stderr
        command = re.fullmatch(r"lemma: to look for races, missing fences and waits: (.*)", said.splitlines()[-1]).group(1)
        again = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        self.assertIn("error[race.shared]", again.stderr)
        self.assertNotIn("to look for", again.stderr)

    def test_every_id_is_declared(self):
        """What src/check calls findings stands in ids.def."""
        check = ROOT / "src" / "check"
        declared = set(re.findall(r'^FINDING\("([^"]+)"', (check / "ids.def").read_text(), re.MULTILINE))
        families = "|".join(sorted({name.split(".")[0] for name in declared}))
        used = set()
        for file in check.glob("*.cc"):
            used |= set(re.findall(rf'"((?:{families})\.[a-z-]+)"', file.read_text()))
        self.assertIn("race.shared", used)
        self.assertEqual(used - declared, set())

    # --- notes ------------------------------------------------------------------------------------------------------

    def test_notes(self):
        said = self.check("flag").stderr
        self.assertTrue(said.endswith("; checked: no findings, 1 note (--notes shows the note)\n"), said)
        self.assertNotIn("note[", said)
        said = self.check("flag", "--notes").stderr
        self.assertTrue(said.endswith("; checked: no findings, 1 note\n"), said)
        self.assertIn(f"races.ptx:{line_of('of all lanes')}: note[race.global]: unordered writes of the same value", said)

    def test_options_that_need_check(self):
        words = ("run", RACES, "--entry", "right", "--grid", 1, "--block", 1, "--arg", "buf=256")
        self.assertIn("needs --check", self.call(*words, "--notes", status=USAGE).stderr)
        self.assertIn("needs --check", self.call(*words, "--suppress", RACES, status=USAGE).stderr)
        self.assertIn("needs --check", self.call(*words, "--baseline", RACES, status=USAGE).stderr)
        self.assertIn("needs --check", self.call(*words, "--all", status=USAGE).stderr)
        self.assertIn("needs --check", self.call(*words, "--no-library-suppressions", status=USAGE).stderr)

    # --- suppressions -----------------------------------------------------------------------------------------------

    def test_suppressed_findings(self):
        for entry in (
            "race.shared", "race.*", "* races.ptx", f"race.shared races.ptx:{line_of('exchange.cu:7')}",
            "race.shared exchange.cu:6", "race.shared exchange.cu:1-6", "race.shared exchange", "race.shared ex*",
            "race.shared exchange exchange.cu",
        ):
            said = self.suppress("exchange", f"# known\n\n{entry}   # a test of it\n").stderr
            self.assertTrue(said.endswith("; checked: no findings, 1 suppressed\n"), f"{entry}\n{said}")
            self.assertNotIn("race.shared", said)

    def test_suppressions_that_do_not_fit(self):
        for entry in ("race.global", "race.shared other.cu", "race.shared exchange.cu:8", "race.shared change.cu",
                      "race.shared flag", "race.shared exchange.cu:6 flag"):
            said = self.suppress("exchange", f"{entry} # why\n", status=FAILED).stderr
            self.assertIn(f"known.txt:1:1: warning[unused-suppression]: it has suppressed nothing\n 1 | {entry} # why", said)
            self.assertTrue(said.endswith("; checked: 1 finding\n"), said)

    def test_unused_suppressions_are_no_error(self):
        self.assertIn("known.txt:2:1: warning", self.suppress("right", "\nrace.shared # why").stderr)

    def test_wrong_suppressions(self):
        for text, message in (
            ("race.shared\n", "1:1: error[suppression]: a suppression without its reason"),
            ("race.shared a.cu:3 #  \n", "1:1: error[suppression]: a suppression without its reason"),
            ("# fine\nrace.shard # why", "2:1: error[suppression]: no finding has the id 'race.shard'"),
            ("race.* a.cu:x # why", "1:8: error[suppression]: 'x' is neither a line nor a range of lines"),
            ("race.* a.cu:9-3 # why", "1:8: error[suppression]: '9-3' is neither"),
            ("race.* a.cu b.cu # why", "1:13: error[suppression]: a second place"),
            ("race.* f g # why", "1:10: error[suppression]: a second function"),
            ("race.* :3 # why", "1:8: error[suppression]: a line without its file"),
        ):
            self.assertIn(f"known.txt:{message}", self.suppress("right", text, status=USAGE).stderr)
        self.assertIn("known.txt:2:1", self.suppress("right", "race.a # b\nrace.c # d\n", status=USAGE).stderr)
        self.assertIn("No such file", self.check("right", "--suppress", self.path("no"), status=USAGE).stderr)

    def in_a_library(self, line, *options, status=OK):
        """A race in CUB's exchange, called from a line of its runs."""
        file = self.path("library.ptx")
        pathlib.Path(file).write_text(IN_A_LIBRARY.replace("LINE", str(line)))
        return self.call("run", "--check", file, "--grid", 1, "--block", 32, *options, status=status)

    def test_findings_in_libraries(self):
        said = self.in_a_library(627).stderr
        self.assertTrue(said.endswith(
            "; checked: no findings (1 in libraries is suppressed, --no-library-suppressions shows it)\n"), said)
        self.assertNotIn("race.shared", said)
        said = self.in_a_library(627, "--no-library-suppressions", status=FAILED).stderr
        self.assertIn("error[race.shared]", said)
        self.assertTrue(said.endswith("; checked: 1 finding\n"), said)
        self.assertTrue(self.in_a_library(626, status=FAILED).stderr.endswith("; checked: 1 finding\n"))
        out = json.loads(self.in_a_library(627, "--json").stdout)
        self.assertEqual(out["finding_counts"], {"errors": 0, "notes": 0, "suppressed": 1, "suppressed_in_libraries": 1})
        self.assertRegex(out["findings"][0]["suppressed_because"], r"^CUB 3.0.1 \(CUDA 13.0\): ")
        # The user's own entry comes first.
        pathlib.Path(self.path("known.txt")).write_text("race.shared # mine\n")
        said = self.in_a_library(627, "--suppress", self.path("known.txt")).stderr
        self.assertTrue(said.endswith("; checked: no findings, 1 suppressed\n"), said)

    # --- --json -----------------------------------------------------------------------------------------------------

    def test_json(self):
        done = self.check("exchange", "--json", status=FAILED)
        out = json.loads(done.stdout)
        self.assertIs(out["races_checked"], True)
        self.assertEqual(out["finding_counts"], {"errors": 1, "notes": 0, "suppressed": 0, "suppressed_in_libraries": 0})
        [finding] = out["findings"]
        self.assertEqual((finding["id"], finding["is_note"], finding["suppressed"]), ("race.shared", False, False))
        self.assertEqual(finding["kernel"], "exchange")
        self.assertGreater(finding["count"], 0)
        lines = {place["line"]: place["source_text"] for place in (finding["access"]["place"], finding["earlier"]["place"])}
        self.assertEqual(lines, {6: "tile[t] = t;", 7: "out[t] = tile[t ^ 32];"})
        again = subprocess.run(out["command"], shell=True, capture_output=True, check=False)
        self.assertEqual(again.returncode, FAILED)
        self.assertEqual(json.loads(again.stdout)["findings"], out["findings"])
        self.assertEqual(shlex.split(out["command"])[1:3], ["run", "--check"])

    def test_json_of_notes_and_suppressions(self):
        out = json.loads(self.check("flag", "--json").stdout)
        self.assertEqual(out["finding_counts"], {"errors": 0, "notes": 1, "suppressed": 0, "suppressed_in_libraries": 0})
        self.assertIs(out["findings"][0]["is_note"], True)
        self.assertIsNone(out["suppressions"])
        out = json.loads(self.suppress("exchange", "race.shared # it is so\nrace.weak # is not\n", "--json").stdout)
        self.assertEqual(out["finding_counts"], {"errors": 0, "notes": 0, "suppressed": 1, "suppressed_in_libraries": 0})
        self.assertEqual(out["findings"][0]["suppressed_because"], "it is so")
        self.assertEqual([entry["used"] for entry in out["suppressions"]["entries"]], [1, 0])

    # --- --sarif ----------------------------------------------------------------------------------------------------

    def require(self, value, form, path="sarif"):
        """That a JSON value has a form: a type, a list of one form, or a dictionary of those that must be there."""
        if isinstance(form, type):
            self.assertIsInstance(value, form, path)
            if form is str:
                self.assertTrue(value, path)
        elif isinstance(form, list):
            self.assertIsInstance(value, list, path)
            for i, one in enumerate(value):
                self.require(one, form[0], f"{path}[{i}]")
        else:
            for key, inner in form.items():
                self.assertIn(key, value, path)
                self.require(value[key], inner, f"{path}.{key}")

    def sarif(self, entry, *options, status, **kwargs):
        """The one run of the file, which has what GitHub's code scanning requires."""
        path = self.path("found.sarif")
        self.check(entry, "--sarif", path, *options, status=status, **kwargs)
        sarif = json.loads(pathlib.Path(path).read_text())
        place = {"physicalLocation": {"artifactLocation": {"uri": str}, "region": {"startLine": int}}}
        text = {"text": str}
        self.require(sarif, {"$schema": str, "version": str, "runs": [{
            "tool": {"driver": {"name": str, "semanticVersion": str, "rules": [{
                "id": str, "shortDescription": text, "fullDescription": text, "help": text,
                "defaultConfiguration": {"level": str}, "properties": {"precision": str, "tags": [str]}}]}},
            "invocations": [{"commandLine": str, "executionSuccessful": bool}],
            "results": [{"ruleId": str, "ruleIndex": int, "level": str, "message": text, "locations": [place],
                         "partialFingerprints": {"lemma/v1": str}, "suppressions": [{"kind": str}],
                         "relatedLocations": [{**place, "id": int, "message": text}]}]}]})
        self.assertEqual((sarif["version"], len(sarif["runs"])), ("2.1.0", 1))
        run = sarif["runs"][0]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        self.assertEqual(len(set(rules)), len(rules))
        prints = [result["partialFingerprints"]["lemma/v1"] for result in run["results"]]
        self.assertEqual(len(set(prints)), len(prints))
        for result in run["results"]:
            self.assertEqual(rules[result["ruleIndex"]], result["ruleId"])
            self.assertIn(result["level"], ("error", "note"))
            self.assertEqual(len(result["locations"]), 1)
            for at in result["locations"] + result["relatedLocations"]:
                self.assertGreaterEqual(at["physicalLocation"]["region"]["startLine"], 1)
                self.assertRegex(at["physicalLocation"]["artifactLocation"]["uri"], r"^(file:///)?[\w./%-]+$")
            related = [at["id"] for at in result["relatedLocations"]]
            for number in re.findall(r"\]\((\d+)\)", result["message"]["text"]):
                self.assertIn(int(number), related)
        return run

    def test_sarif_of_a_finding(self):
        run = self.sarif("exchange", status=FAILED)
        [rule] = run["tool"]["driver"]["rules"]
        self.assertEqual(rule["id"], "race.shared")
        self.assertIn("docs/checks.md#raceshared of Lemma", rule["help"]["text"])
        [result] = run["results"]
        place = lambda at: (at["physicalLocation"]["artifactLocation"]["uri"], at["physicalLocation"]["region"]["startLine"])
        accesses = {place(result["locations"][0]), place(result["relatedLocations"][0])}
        self.assertEqual(accesses, {("exchange.cu", 6), ("exchange.cu", 7)})
        behind = [place(at) for at in result["relatedLocations"][1:]]
        self.assertEqual({line for _, line in behind}, {line_of("exchange.cu:6"), line_of("exchange.cu:7")})
        self.assertTrue(all(uri.endswith("tests/cli/races.ptx") for uri, _ in behind))
        self.assertIn("Missing: a barrier (bar.sync) between them.", result["message"]["text"])
        self.assertEqual(result["suppressions"], [])
        self.assertEqual(result["locations"][0]["logicalLocations"][0]["name"], "exchange")

    def test_sarif_fingerprints_do_not_follow_lines(self):
        [before] = self.sarif("exchange", status=FAILED)["results"]
        moved = self.path("races.ptx")
        text = RACES.read_text().replace("// Each thread", "\n\n// Each thread")
        for line in (5, 6, 7):
            text = text.replace(f".loc 1 {line} 3", f".loc 1 {line + 2} 3")
        pathlib.Path(moved).write_text(text)
        source = (FOLDER / "exchange.cu").read_text()
        pathlib.Path(self.path("exchange.cu")).write_text("\n\n" + source)
        [after] = self.sarif("exchange", status=FAILED, file=moved)["results"]
        self.assertNotEqual(after["locations"], before["locations"])
        self.assertEqual(after["partialFingerprints"], before["partialFingerprints"])

    def test_sarif_of_notes_suppressions_and_silence(self):
        [result] = self.sarif("flag", status=OK)["results"]
        self.assertEqual((result["ruleId"], result["level"]), ("race.global", "note"))
        self.assertEqual(result["locations"][0]["physicalLocation"]["region"]["startLine"], line_of("of all lanes"))
        pathlib.Path(self.path("known.txt")).write_text("race.* # so it is")
        [result] = self.sarif("exchange", "--suppress", self.path("known.txt"), status=OK)["results"]
        self.assertEqual([s["justification"] for s in result["suppressions"]], ["so it is"])
        run = self.sarif("right", status=OK)
        self.assertEqual((run["results"], run["tool"]["driver"]["rules"]), ([], []))

    def test_sarif_of_a_fault(self):
        [result] = self.sarif("outside", status=FAILED)["results"]
        self.assertEqual((result["ruleId"], result["level"]), ("memory.bounds", "error"))
        self.assertEqual(result["locations"][0]["physicalLocation"]["region"]["startLine"], line_of("// beyond"))

    def test_sarif_file_that_cannot_be_written(self):
        self.assertIn("cannot write /no/such", self.check("right", "--sarif", "/no/such/file", status=USAGE).stderr)


if __name__ == "__main__":
    sys.exit(main(Check, __doc__))
