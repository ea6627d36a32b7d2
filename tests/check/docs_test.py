#!/usr/bin/env python3
"""The kernels of docs/checks.md, run under `lemma run --check`: a bad one is found, with its section's id; a doubtful one
gives a note; a good one is silent. Every id of ids.def has a section with a bad and a good kernel.

A block ```ptx frame``` or ```ptx frame NAME``` is a module with a line `...`. A block ```ptx bad```, ```ptx note``` or
```ptx good``` is what stands there; the name of another frame, and options of `lemma run`, follow the word.

usage: docs_test.py --lemma build/bin/lemma [--filter REGEX] [--keep DIR]   --keep: leave the modules there
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/checks.md"
IDS = ROOT / "src/check/ids.def"
BUFFER_BYTES = 16384  # of the two that a frame's kernel takes
TIMEOUT_S = 60
MOST_INSTRUCTIONS = 100_000  # of a warp; far more than any of these kernels executes
# What each is run with: what is bad shows in every schedule; what is good is good in all.
RUNS = {"bad": ([], ["--async=late"]), "note": ([], ["--async=late"]), "good": ([], ["--explore", "8"])}

Block = collections.namedtuple("Block", "section verdict frame options body line")


def parse(text):
    """The frames by name, the blocks, and the ids that are headings."""
    frames, blocks, sections = {}, [], []
    section, begin = "", None
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if begin is None and line.startswith("## "):
            section = line[3:].strip()
            sections.append(section)
        if not line.startswith("```"):
            continue
        if begin is None:
            begin = number
            continue
        words = lines[begin][3:].split()
        body = lines[begin + 1 : number]
        if words[:2] == ["ptx", "frame"]:
            frames[" ".join(words[2:])] = body
        elif words[:1] == ["ptx"]:
            assert len(words) > 1 and words[1] in RUNS, f"line {begin + 1}: {lines[begin]}"
            named = words[2:3] if len(words) > 2 and not words[2].startswith("-") else []
            options = words[2 + len(named) :]
            blocks.append(Block(section, words[1], "".join(named), options, body, begin + 1))
        begin = None
    return frames, blocks, [s for s in sections if re.fullmatch(r"[a-z]+\.[a-z-]+", s)]


def module(frame, body):
    at = [line.strip() for line in frame].index("...")
    return "\n".join([*frame[:at], *("  " + line for line in body), *frame[at + 1 :], ""])


def run(lemma, file, options, folder):
    zeros, out = folder / "zeros.bin", folder / "out.bin"
    zeros.write_bytes(bytes(BUFFER_BYTES))
    defaults = [] if "--grid" in options else ["--grid", "1"]
    command = [
        lemma, "run", "--check", "--json", str(file), *defaults, *options, "--max-instructions", str(MOST_INSTRUCTIONS),
        "--arg", f"in={zeros}", "--arg", f"out={out}:{BUFFER_BYTES}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    try:
        return done.returncode, json.loads(done.stdout)
    except json.JSONDecodeError:
        return done.returncode, {"error": {"message": done.stderr or "no output"}}


def wrong(block, status, said):
    """What a run should not have said, or should have; empty if all is well."""
    if said.get("error") or said.get("diagnostics"):
        return f"not run: {said.get('error') or said.get('diagnostics')}"
    found = [(f["id"], f["is_note"]) for f in said.get("findings") or []]
    fault = said.get("fault") or {}
    told = ", ".join([("note " if is_note else "") + id for id, is_note in found] or ["nothing"])
    if fault:
        told += f", fault {fault.get('id')}: {fault.get('message')}"
    if block.verdict == "good" and (found or fault or status):
        return f"{told}; status {status}"
    if block.verdict == "bad" and (
        status != 1 or ((block.section, False) not in found and fault.get("id") != block.section)
    ):
        return f"{told}; status {status}"
    if block.verdict == "note" and (
        status or fault or (block.section, True) not in found or not all(is_note for _, is_note in found)
    ):
        return f"{told}; status {status}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()

    frames, blocks, sections = parse(PAGE.read_text())
    ids = re.findall(r'^FINDING\("([^"]+)"', IDS.read_text(), re.MULTILINE)
    failures = [f"{id}: no section" for id in ids if id not in sections]
    failures += [f"{section}: no id of {IDS.name}" for section in sections if section not in ids]
    for section in sections:
        shown = {block.verdict for block in blocks if block.section == section}
        failures += [f"{section}: no {verdict} kernel" for verdict in ("bad", "good") if verdict not in shown]
    failures += [f"line {b.line}: a kernel outside of the sections" for b in blocks if b.section not in sections]

    count = 0
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.keep or pathlib.Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        for block in blocks:
            name = f"{block.section}.{block.verdict}.{block.line}"
            if not re.search(arguments.filter, name):
                continue
            file = folder / f"{name}.ptx"
            file.write_text(module(frames[block.frame], block.body))
            for options in RUNS[block.verdict]:
                count += 1
                status, said = run(arguments.lemma, file, [*block.options, *options], pathlib.Path(made))
                if mistake := wrong(block, status, said):
                    how = " ".join([block.verdict, block.section, *options])
                    failures.append(f"{PAGE.name}:{block.line}: {how}: {mistake}")
    print(*failures, f"{count} runs of {len(blocks)} kernels, {len(failures)} failures", sep="\n")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
