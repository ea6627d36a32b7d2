"""Hostile inputs: each file of inputs/ says in its first lines how a tool is called with it (%s: the file), how
that ends, and what is said then; hostile_files.py makes others. Whatever is said has no control characters, and comes
within a minute and 4 GB. Without MLIR, what needs it is a skip (77).

usage: hostile_test.py --list | [--sanitized] --lemma PATH --lemma-record PATH NAME
"""

import argparse
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

import hostile_files
import hostile_memory

INPUTS = pathlib.Path(__file__).resolve().parent / "inputs"
TIMEOUT_S = 60
MEMORY_BYTES = 4 << 30
SKIPPED = 77
WITHOUT_MLIR = "built without MLIR"


def limit_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))


def areas_of(process):
    """What is mapped of a process that waits for its standard input."""
    until = time.monotonic() + TIMEOUT_S
    proc = pathlib.Path("/proc") / str(process.pid)
    while process.poll() is None and time.monotonic() < until:
        if (proc / "stat").read_text().rpartition(")")[2].split()[0] == "S":  # it sleeps
            break
        time.sleep(0.001)
    lines = [line.split(maxsplit=5) for line in (proc / "maps").read_text().splitlines()]
    areas = []
    for addresses, may, *_, path in (line if len(line) == 6 else [*line, ""] for line in lines):
        begin, end = (int(address, 16) for address in addresses.split("-"))
        areas.append(hostile_memory.Area(begin, end, "w" in may, path.strip()))
    return areas


class Tool:
    def __init__(self, lemma, recorder, sanitized):
        self.lemma, self.recorder, self.sanitized = lemma, recorder, sanitized

    def run(self, words, make_input=None):
        # Shadow memory counts as data: the sanitizer keeps the limit itself then.
        limit = f"hard_rss_limit_mb={MEMORY_BYTES >> 20}:allocator_may_return_null=1:detect_leaks=0"
        is_recorder = words[0] == "lemma-record"
        command = [self.recorder, *words[1:]] if is_recorder else [self.lemma, *words]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE if make_input else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=None if self.sanitized else limit_memory,
            env={**os.environ, **({"ASAN_OPTIONS": limit} if self.sanitized else {})},
        ) as process:
            try:
                text = make_input(areas_of(process), os.path.realpath(command[0])).encode() if make_input else None
                out, errors = process.communicate(text, TIMEOUT_S)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(command, process.returncode, out, errors)

    def has_mlir(self):
        return WITHOUT_MLIR not in self.run(["compile", "/dev/null"]).stderr.decode()

    def fault_of(self, words, exit, says, make_input=None, prints=None):
        """What is wrong with how a call ends; empty: nothing."""
        try:
            done = self.run(words, make_input)
        except subprocess.TimeoutExpired:
            return f"it ran for more than {TIMEOUT_S} s"
        said = (done.stdout + done.stderr).decode(errors="replace")
        if done.returncode < 0:
            return f"signal {-done.returncode}\n{said}"
        if "Sanitizer" in said or "runtime error" in said:
            return said
        if (exit == "nonzero" and done.returncode == 0) or (exit.isdigit() and done.returncode != int(exit)):
            return f"it ended with {done.returncode}, not {exit}\n{said}"
        if prints is not None and done.stdout.decode(errors="replace") != prints:
            return f"it prints {done.stdout!r}"
        if not re.search(says, said):
            return f"it does not say {says!r}:\n{said}"
        if re.search("[\x00-\x08\x0b-\x1f\x7f]", said):
            return f"control characters in {said!r}"
        return "" if len(said) < 100_000 else f"{len(said)} characters of messages"


def field(text, name):
    return re.search(rf"^// {name}:[ ]?(.*)$", text, re.MULTILINE).group(1)


def kept_input(tool, path):
    text = path.read_text(errors="replace")
    words = [word.replace("%s", str(path)) for word in field(text, "args").split()]
    return [tool.fault_of(words, field(text, "exit"), field(text, "says"))]


def write(path, body):
    if isinstance(body, int):
        with open(path, "wb") as file:
            file.truncate(body)
    else:
        path.write_bytes(body.encode() if isinstance(body, str) else body)


def made_inputs(tool, calls):
    faults = []
    for number, call in enumerate(calls):
        with tempfile.TemporaryDirectory(prefix="lemma-hostile-") as folder:
            for name, body in call.files.items():
                write(pathlib.Path(folder) / name, body)
            words = [word.replace("%d", folder) for word in call.args.split()]
            fault = tool.fault_of(words, call.exit, call.says, call.input, call.prints)
            for name, body in call.leaves.items():
                path = pathlib.Path(folder) / name
                left = path.read_bytes() if path.exists() else None
                if not fault and left != body:
                    fault = f"{name} holds {left[:256] if left else left!r}, not {body[:256]!r}"
            if fault:
                bodies = {name: body if isinstance(body, int) else body[:200] for name, body in call.files.items()}
                faults.append(f"call {number}, {call.args}\n{bodies}\n{fault}")
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--lemma")
    parser.add_argument("--lemma-record")
    parser.add_argument("--sanitized", action="store_true", help="the tool is under AddressSanitizer")
    parser.add_argument("name", nargs="?")
    options = parser.parse_args()
    if options.list:
        print("\n".join(sorted([path.stem for path in INPUTS.iterdir()] + list(hostile_files.CASES))))
        return 0
    tool = Tool(options.lemma, options.lemma_record, options.sanitized)
    if options.name in hostile_files.CASES:
        calls = list(hostile_files.CASES[options.name]())
        if any(call.needs_mlir for call in calls) and not tool.has_mlir():
            print("skipped:", WITHOUT_MLIR)
            return SKIPPED
        faults = made_inputs(tool, calls)
    else:
        faults = kept_input(tool, next(INPUTS.glob(options.name + ".*")))
    faults = [fault for fault in faults if fault]
    for fault in faults:
        print(f"{options.name}: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
