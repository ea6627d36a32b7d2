#!/usr/bin/env python3
"""A program with a planted defect, under `lemma exec --check`: what is found must be what its comments announce, at these lines.

  ... // finding: race.shared     a finding with this id whose access, or the one before it, is in this line
  ... // fault: memory.lifetime   the fault that ends the kernel

Nothing else may be found, the names of kernels are demangled, and the exit status is 1 where the program itself succeeds.

usage: defects.py --lemma LEMMA SOURCE.cu PROGRAM
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ANNOUNCED = re.compile(r"(?://|,) (finding|fault): ([\w.-]+)")


def announced(source):
    """{(kind, id, line)} of a file's comments."""
    lines = enumerate(source.read_text().splitlines(), 1)
    return {(m.group(1), m.group(2), number) for number, line in lines for m in ANNOUNCED.finditer(line)}


def users_line(place, source):
    """The line of the program's own file that a place of the report is in; None if it is in none."""
    frames = [place, place.get("users_frame") or {}, *place.get("inlined_at", [])]
    for frame in frames:
        if os.path.basename(frame.get("file", "")) == source.name:
            return frame["line"]
    return None


def id_of(fault):
    return fault.get("id") or "fault." + fault["kind"].replace(" ", "-")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lemma", required=True)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("program")
    words = parser.parse_args()
    wanted = announced(words.source)
    if not wanted:
        sys.exit(f"{words.source}: announces nothing")
    with tempfile.TemporaryDirectory() as folder:
        report, sarif = os.path.join(folder, "report.json"), os.path.join(folder, "found.sarif")
        ran = subprocess.run([words.lemma, "exec", "--check", "--stats", "--report", report, "--sarif", sarif, words.program],
                             capture_output=True, text=True, timeout=100)
        print(ran.stdout, ran.stderr)
        found = json.loads(pathlib.Path(report).read_text())
        results = json.loads(pathlib.Path(sarif).read_text())["runs"][0]["results"]
    wrong = []
    seen = set()
    for finding in found["findings"]:
        if finding["is_note"]:
            continue
        places = [finding["access"]["place"]] + ([finding["earlier"]["place"]] if finding["earlier"] else [])
        lines = [users_line(place, words.source) for place in places]
        fits = {w for w in wanted if w[:2] == ("finding", finding["id"]) and w[2] in lines}
        if not fits:
            wrong.append(f"{finding['id']} in lines {lines} is not announced")
        seen |= fits
    for fault in found["faults"]:
        fits = {w for w in wanted if w == ("fault", id_of(fault), users_line(fault["place"], words.source))}
        if not fits:
            wrong.append(f"{id_of(fault)} in line {users_line(fault['place'], words.source)} is not announced")
        seen |= fits
    wrong += [f"not found: {each}" for each in sorted(wanted - seen)]
    if ran.returncode != 1:
        wrong.append(f"exit status {ran.returncode}")
    for kind, _, line in wanted:
        at = [r["locations"][0]["physicalLocation"] for r in results]
        related = [r["physicalLocation"] for result in results for r in result["relatedLocations"]]
        if not any(p["region"]["startLine"] == line and p["artifactLocation"]["uri"].endswith(words.source.name)
                   for p in at + related):
            wrong.append(f"the SARIF has no {kind} in line {line}")
    if any("_Z" in kernel["name"] for kernel in found["kernels"]):
        wrong.append(f"mangled names: {[k['name'] for k in found['kernels']]}")
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
