#!/usr/bin/env python3
"""The kernels of docs/checks.md, run under `lemma run --check`: a bad one is found, with its section's id; a doubtful one
gives a note; a good one is silent. Every id of ids.def has a section with a bad kernel, or a doubtful one, and a good one, and behind the first
bad one what is printed for it today.

A block ```ptx frame``` or ```ptx frame NAME``` is a module with a line `...`. A block ```ptx bad```, ```ptx note``` or
```ptx good``` is what stands there; the name of another frame, and options of `lemma run`, follow the word. The block ```text```
behind the first bad kernel of a section, with one line between at most, has the messages of the section's id; `...` there
stands for those of others.

usage: docs_test.py --lemma build/bin/lemma [--update] [--filter REGEX] [--keep DIR]
  --update: write what is printed into the page, then test   --keep: leave the modules there
"""

import argparse
import collections
import difflib
import json
import os
import pathlib
import re
import shutil
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

# What messages are printed with: one worker, so that the order of CTAs and what is known of values repeat.
SHOWN_AS, SHOWN_WITH = "kernel.ptx", ["--deterministic"]
HEADLINE = re.compile(rf"{re.escape(SHOWN_AS)}:\d[\d:]*: (error|fault|warning|note)\[([^\]]*)\]: ")
MORE = re.compile(rf" |{re.escape(SHOWN_AS)}:\d")  # not the last line, and not what a sanitizer says

# line: of the fence before the body, from 1; body's last line is line + len(body).
Block = collections.namedtuple("Block", "section verdict frame options body line")
TEXT = "text"  # a verdict of its own


def parse(text):
    """The frames by name, the blocks of PTX and text, and the ids that are headings."""
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
        elif words == [TEXT]:
            blocks.append(Block(section, TEXT, "", [], body, begin + 1))
        begin = None
    return frames, blocks, [s for s in sections if re.fullmatch(r"[a-z0-9]+\.[a-z-]+", s)]


def module(frame, body):
    at = [line.strip() for line in frame].index("...")
    return "\n".join([*frame[:at], *("  " + line for line in body), *frame[at + 1 :], ""])


def run(lemma, file, options, folder):
    """What `lemma run --check` does in a folder: status, standard output and error."""
    (folder / "zeros.bin").write_bytes(bytes(BUFFER_BYTES))
    defaults = [] if "--grid" in options else ["--grid", "1"]
    command = [
        lemma, "run", "--check", str(file), *defaults, *options,
        "--max-instructions", str(MOST_INSTRUCTIONS), "--arg", "in=zeros.bin", "--arg", f"out=out.bin:{BUFFER_BYTES}",
    ]  # fmt: skip
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=folder, env=environment)


def run_json(lemma, file, options, folder):
    done = run(lemma, file, ["--json", *options], folder)
    try:
        return done.returncode, json.loads(done.stdout)
    except json.JSONDecodeError:
        return done.returncode, {"error": {"message": done.stderr or "no output"}}


def messages(text):
    """What was printed, as messages: error or fault, the word in brackets, the lines."""
    found, inside = [], False
    for line in text.splitlines():
        if headline := HEADLINE.match(line):
            found.append((*headline.groups(), []))
        inside = bool(headline or (inside and MORE.match(line)))
        if inside:
            found[-1][2].append(line.rstrip())
    return found


def excerpt(text, id, fault_id):
    """The messages of an id, with a line `...` for others before, between and after them; empty if there are none."""
    lines, has_any = [], False
    for kind, word, message in messages(text):
        if word == id or (kind == "fault" and fault_id == id):  # its word is deadlock, for instance
            lines += message
            has_any = True
        elif lines[-1:] != ["..."]:
            lines.append("...")
    return lines if has_any else []


def printed(lemma, block, frames, folder):
    """What the page has to show for a bad kernel."""
    (folder / SHOWN_AS).write_text(module(frames[block.frame], block.body))
    options = [*block.options, *SHOWN_WITH]
    _, said = run_json(lemma, SHOWN_AS, options, folder)
    return excerpt(run(lemma, SHOWN_AS, options, folder).stderr, block.section, (said.get("fault") or {}).get("id"))


def shown_of(blocks, lines):
    """By section its first bad kernel and the block of text behind it, or None. And the blocks of text elsewhere."""
    shown, stray = {}, []
    for i, block in enumerate(blocks):
        if block.verdict == "bad" and block.section not in shown:
            shown[block.section] = (block, None)
        elif block.verdict == TEXT:
            before = blocks[i - 1]
            between = lines[before.line + len(before.body) + 1 : block.line - 1]
            if shown.get(block.section) == (before, None) and sum(bool(line.strip()) for line in between) <= 1:
                shown[block.section] = (before, block)
            else:
                stray.append(block)
    return shown, stray


def difference(block, lines):
    return "\n".join(difflib.unified_diff(block.body, lines, f"{PAGE.name}:{block.line}", "printed", n=99, lineterm=""))


def check_shown(arguments, folder):
    """Compares what the page shows with what is printed, or puts that there: what is wrong, and the number compared."""
    page = PAGE.read_text()
    frames, blocks, ids = parse(page)
    lines = page.splitlines()
    shown, stray = shown_of([b for b in blocks if b.section in ids], lines)
    failures = [f"{PAGE.name}:{b.line}: ```{TEXT}``` not behind its section's first bad kernel" for b in stray]
    count = 0
    for section, (block, text) in reversed(shown.items()):  # from below, so that the numbers of lines stay right
        if not re.search(arguments.filter, f"{section}.bad.{block.line}"):
            continue
        count += 1
        now = printed(arguments.lemma, block, frames, folder)
        end = block.line + len(block.body) + 1  # index of the line behind the kernel's
        if not now:
            failures.append(f"{PAGE.name}:{block.line}: bad {section}: no message of this id is printed")
        elif arguments.update:
            if text:
                lines[text.line : text.line + len(text.body)] = now
            else:
                lines[end:end] = ["", f"```{TEXT}", *now, "```"]
        elif not text:
            failures.append(f"{PAGE.name}:{block.line}: {section}: no ```{TEXT}``` behind the first bad kernel (--update writes it)")
        elif text.body != now:
            failures.append(f"{PAGE.name}:{text.line}: {section}: not what is printed (--update writes that):\n{difference(text, now)}")
    if arguments.update and lines != page.splitlines():
        PAGE.write_text("\n".join([*lines, ""]))
        print(f"{PAGE.name}: written")
    return failures, count


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
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--filter", default="")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()

    arguments.lemma = os.path.abspath(shutil.which(arguments.lemma) or arguments.lemma)  # it runs in another folder

    with tempfile.TemporaryDirectory() as made:
        return test(arguments, pathlib.Path(made))


def test(arguments, made):
    failures, shown = check_shown(arguments, made)  # first: it may write the page
    frames, blocks, sections = parse(PAGE.read_text())
    blocks = [b for b in blocks if b.verdict != TEXT]
    ids = re.findall(r'^FINDING\("([^"]+)"', IDS.read_text(), re.MULTILINE)
    failures += [f"{id}: no section" for id in ids if id not in sections]
    failures += [f"{section}: no id of {IDS.name}" for section in sections if section not in ids]
    for section in sections:
        has = {block.verdict for block in blocks if block.section == section}
        wanted = {"bad or doubtful": {"bad", "note"}, "good": {"good"}}
        failures += [f"{section}: no {what} kernel" for what, verdicts in wanted.items() if not has & verdicts]
    failures += [f"line {b.line}: a kernel outside of the sections" for b in blocks if b.section not in sections]

    count = 0
    folder = (arguments.keep or made).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for block in blocks:
        name = f"{block.section}.{block.verdict}.{block.line}"
        if not re.search(arguments.filter, name):
            continue
        file = folder / f"{name}.ptx"
        file.write_text(module(frames[block.frame], block.body))
        for options in RUNS[block.verdict]:
            count += 1
            status, said = run_json(arguments.lemma, file, [*block.options, *options], made)
            if mistake := wrong(block, status, said):
                how = " ".join([block.verdict, block.section, *options])
                failures.append(f"{PAGE.name}:{block.line}: {how}: {mistake}")
    print(*failures, f"{count} runs of {len(blocks)} kernels, {shown} messages, {len(failures)} failures", sep="\n")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
