#!/usr/bin/env python3
"""Lines of the source in what lemma run says: of inlined code the calls, innermost first, and which is the user's own; of code with
debug information the names of parameters.

usage: lines_cli_test.py --lemma build/bin/lemma [NAME...]
       lines_cli_test.py --list
"""

import json
import re
import sys

import numpy as np

from cli_case import FAILED, FOLDER, USAGE, Case, main

INLINED, LINES = FOLDER / "inlined.ptx", FOLDER / "lines.ptx"
HEADER = "cuda/include/cuda_fp16.hpp"


def line_of(file, text):
    """The number of the one line of a source that holds the text."""
    [number] = [n for n, line in enumerate((FOLDER / file).read_text().splitlines(), 1) if text in line]
    return number


AFTER, SHIFT = line_of("inlined.cuh", "__ldcg("), line_of("inlined.cu", "after(")
STCG, PUBLISH = line_of("inlined.cuh", "__stcg("), line_of("inlined.cu", "Publisher{out}")


class Lines(Case):
    def shift(self, *options):
        """One thread too many: a fault in __ldcg(), which after() inlines, which shift() inlines."""
        return self.call("run", INLINED, "--entry", "shift", "--grid", 1, "--block", 8, *options,
                         "--arg", f"in={self.save('in.bin', np.zeros(8, np.uint32))}", "--arg", "buf=32", status=FAILED)

    def publish(self, *options):
        """A race in __stcg(), which a method inlines, which publish_all() inlines."""
        return self.call("run", "--check", INLINED, "--entry", "publish_all", "--grid", 2, "--block", 1, *options,
                         "--arg", "buf=4", status=FAILED)

    def test_a_fault_in_a_header_names_the_users_line(self):
        self.assertRegex(
            self.shift().stderr,
            rf"(?m)^  source:     {HEADER}:\d+, in __ldcg\n"
            rf"  inlined at: inlined.cuh:{AFTER}, in after\n"
            r"              return __ldcg\(in \+ i \+ 1\);\n"
            rf"  inlined at: inlined.cu:{SHIFT}, in shift\n"
            r"              out\[threadIdx.x\] = after\(in, threadIdx.x\);\n"
            r"  where:      CTA 0,0,0, warp 0, lane 7\n")

    def test_a_finding_in_a_header_names_the_users_lines(self):
        said = self.publish().stderr
        access = (rf"(?m)^inlined.cuh:{STCG}: (?:error\[race.global\]: .*|and before it)\n"
                  rf" {STCG} \|   __stcg\(out, value\);\n"
                  rf"  inlined: {HEADER}:\d+, in __stcg; called from inlined.cu:{PUBLISH}, in publish_all\n"
                  r"  PTX:     ")
        self.assertEqual(len(re.findall(access, said)), 2, said)

    def test_json_has_the_calls(self):
        place = json.loads(self.shift("--json").stdout)["fault"]["place"]
        self.assertEqual(place["file"], HEADER)
        self.assertIn("__ldcg", place["inlined_function"])
        self.assertEqual([(call["file"], call["line"]) for call in place["inlined_at"]],
                         [("inlined.cuh", AFTER), ("inlined.cu", SHIFT)])
        self.assertIn("after", place["inlined_at"][0]["function"])
        self.assertEqual(place["inlined_at"][1]["function"], place["function"])
        self.assertEqual(place["users_frame"], place["inlined_at"][0])
        self.assertEqual(place["users_frame"]["source_text"], "return __ldcg(in + i + 1);")

    def sarif(self, run):
        report = self.path("out.sarif")
        run("--sarif", report)
        with open(report, encoding="utf-8") as file:
            [result] = json.load(file)["runs"][0]["results"]
        place = lambda at: (at["physicalLocation"]["artifactLocation"]["uri"], at["physicalLocation"]["region"]["startLine"])
        return result, place(result["locations"][0]), [
            (place(at)[0].rpartition("/")[2], at["message"]["text"]) for at in result["relatedLocations"]]

    def test_sarif_is_at_the_users_line(self):
        result, at, related = self.sarif(self.shift)
        self.assertEqual(at, ("inlined.cuh", AFTER))
        self.assertIn("after", result["locations"][0]["logicalLocations"][0]["name"])
        self.assertEqual(related, [("inlined.ptx", "The instruction in the PTX"),
                                   ("cuda_fp16.hpp", "The instruction itself, in inlined code"),
                                   ("inlined.cu", "The instruction is inlined here")])
        _, at, related = self.sarif(self.publish)
        self.assertEqual(at, ("inlined.cuh", STCG))
        self.assertEqual(related[0][0], "inlined.cuh")  # the earlier access
        self.assertEqual(len(related), 7)

    def test_suppressions_know_the_calls(self):
        for place in ("inlined.cuh", f"inlined.cu:{PUBLISH}", "cuda_fp16.hpp"):
            (self.folder / "known.txt").write_text(f"race.global {place} # so it is\n")
            self.call("run", "--check", INLINED, "--entry", "publish_all", "--grid", 2, "--block", 1, "--arg", "buf=4",
                      "--suppress", self.path("known.txt"))

    def test_parameters_have_the_names_of_the_source(self):
        run = ("run", FOLDER / "debug.ptx", "--grid", 1, "--block", 8, "--arg", "buf=16")
        said = self.call(*run, "--arg", "f32=1", "--arg", "u32=8", status=FAILED).stderr
        self.assertIn("at the end of arg 0 (data: buf, 16 bytes)", said)
        said = self.call(*run, "--arg", "u32=1", "--arg", "u32=8", status=USAGE).stderr
        self.assertIn("parameter 1 (factor) is f32", said)

    def test_a_line_of_python(self):
        done = self.call("run", LINES, "--grid", 4, "--block", 32, "--arg", f"in={self.save('in.bin', np.zeros(250, np.float32))}",
                         *("--arg", "buf=16") * 3, status=FAILED)
        load, call = line_of("lines.py", "return tl.load("), line_of("lines.py", "load_row(rows, row")
        self.assertIn(f"  source:     lines.py:{load}\n"
                      "              return tl.load(rows + index * n + tl.arange(0, n))\n"
                      f"  inlined at: lines.py:{call}, in row_sums\n"
                      "              total = tl.sum(load_row(rows, row, n))\n"
                      "  where:      program (3, 0, 0), warp 0, lane 26\n", done.stderr)

    def test_a_line_in_tritons_own_functions(self):
        """Stopped within tl.sum(), which is no user's."""
        done = self.call("run", LINES, "--grid", 1, "--block", 32, "--arg", "buf=256", *("--arg", "buf=16") * 3, "--json",
                         "--max-instructions", 20, status=FAILED)
        place = json.loads(done.stdout)["fault"]["place"]
        self.assertEqual((place["file"], place["users_frame"]["file"], place["users_frame"]["line"]),
                         ("site-packages/triton/language/standard.py", "lines.py", line_of("lines.py", "tl.sum(")))


if __name__ == "__main__":
    sys.exit(main(Lines, __doc__))
