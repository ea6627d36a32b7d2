#!/usr/bin/env python3
"""Runs the programs of programs.py through `lemma run` and compares what comes out.

Each program runs twice: as it is, and with its mutant's line in place, which must not pass; its large launches only as
it is. One line a program, the last line counts. A run that ran nothing fails. Where no reference has the bits,
recorded.json has the hashes of what an H200 wrote.

usage: run.py --lemma build/bin/lemma [--device cpu|cuda] [--filter REGEX] [--jobs N] [--no-mutants] [--no-large]
              [--keep DIR]
       run.py --lemma LEMMA --device cuda --record recorded.json   on an H200: writes those hashes
       run.py --list
       run.py --check-mutants [--ptxas PATH]   without lemma: is every mutant one line of its file, and legal?
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit("run.py: numpy is needed (Debian: python3-numpy)")

import exact
import programs

FOLDER = pathlib.Path(__file__).resolve().parent
RECORDED = FOLDER / "recorded.json"
TIMEOUT_S = 120
MUTANT_INSTRUCTIONS = 20_000_000  # far more than any of these programs executes


class Failure(Exception):
    """What went wrong, in words. `status` is the exit status of lemma, None if it never ran to its end."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status


def show(value):
    bits = int.from_bytes(value.tobytes(), "little")
    return f"0x{bits:0{2 * value.itemsize}x} ({value})"


def differences(argument, name, got, want, ulps):
    """None, or the first elements that differ. Records are compared byte by byte."""
    if want.dtype.names:
        got, want = got.view(np.uint8), want.view(np.uint8)
    unsigned = f"u{want.itemsize}"
    if ulps is None:
        bad = got.view(unsigned) != want.view(unsigned)
    else:
        bad = exact.ulp_distance(got, want) > ulps
    if not bad.any():
        return None
    lines = [f"argument {argument} ({name}): {bad.sum()} of {bad.size} elements differ"]
    for i in np.flatnonzero(bad)[:3]:
        lines.append(f"  element {i}: got {show(got[i])}, want {show(want[i])}")
    return "\n".join(lines)


def flat(array):
    return np.ascontiguousarray(array).ravel()


def entry_name(ptx, part):
    """The name of the one kernel of the file that has the part in its name."""
    names = re.findall(r"\.entry\s+([\w$]+)", ptx.read_text())
    found = [name for name in names if name == part] or [name for name in names if part in name]
    if len(found) != 1:
        raise Failure(f"{len(found)} kernels are called {part}")
    return found[0]


def hashes(path, rows, row_bytes):
    """Row -> SHA-256 of its bytes, cut to 128 bits."""
    data = pathlib.Path(path).read_bytes()
    if len(data) != len(rows) * row_bytes:
        raise Failure(f"{path}: {len(data)} bytes, want {len(rows)} rows of {row_bytes}")
    parts = [data[i * row_bytes : (i + 1) * row_bytes] for i in range(len(rows))]
    return {row: hashlib.sha256(part).hexdigest()[:32] for row, part in zip(rows, parts)}


class Runner:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.recorded = json.loads(RECORDED.read_text())["outputs"] if RECORDED.exists() else {}
        self.new = {}

    def compare_recorded(self, name, got):
        """None, or which rows are not what an H200 wrote."""
        if self.options.record:
            self.new.setdefault(name, {}).update(got)
            return None
        want = self.recorded.get(name, {})
        differ = [row for row in got if got[row] != want.get(row)]
        return f"not the bits of the H200: {', '.join(differ)}" if differ else None

    def launch(self, program, ptx, launch, extra):
        """Runs one launch of a program's .ptx and raises Failure unless everything is as expected."""
        command = [self.options.lemma, "run", str(ptx), "--device", self.options.device, *extra]
        if launch.entry:
            command += ["--entry", entry_name(ptx, launch.entry)]
        if launch.late:
            command += ["--async", "late"]
        command += launch.options
        command += ["--grid", ",".join(map(str, launch.grid)), "--block", ",".join(map(str, launch.block))]
        if launch.cluster:
            command += ["--cluster", ",".join(map(str, launch.cluster))]
        if launch.smem:
            command += ["--smem", str(launch.smem)]
        outputs, recorded = [], []
        for i, argument in enumerate(launch.args):
            stem = ptx.with_suffix("") / f"argument.{i}"
            stem.parent.mkdir(exist_ok=True)
            read, written = f"{stem}.in", f"{stem}.out"
            if isinstance(argument, (programs.In, programs.InOut, programs.Bytes)):
                flat(argument.array).tofile(read)
            if isinstance(argument, programs.Value):
                spec = f"{argument.type}={argument.value!r}"
            elif isinstance(argument, programs.Bytes):
                spec = f"bytes=@{read}"
            elif isinstance(argument, programs.TensorMap):
                pathlib.Path(read).write_text(json.dumps(argument.fields()))
                spec = f"tmap=@{read}"
            elif isinstance(argument, programs.In):
                spec = f"in={read}"
            elif isinstance(argument, programs.InOut):
                spec = f"inout={read}:{written}"
                outputs.append((i, "inout", written, argument.expected, None))
            elif isinstance(argument, programs.Out):
                spec = f"out={written}:{argument.expected.nbytes}"
                outputs.append((i, "out", written, argument.expected, argument.ulps))
            elif isinstance(argument, programs.Recorded):
                spec = f"out={written}:{len(argument.rows) * argument.row_bytes}"
                recorded.append((written, argument))
            else:
                spec = f"buf={argument.size_bytes}"
            command += ["--arg", spec]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT_S, errors="replace"
            )
        except subprocess.TimeoutExpired:
            raise Failure(f"no end after {TIMEOUT_S} s: {' '.join(command)}") from None
        if done.returncode != 0:
            said = (done.stderr + done.stdout).strip()[:2000]
            raise Failure(f"exit status {done.returncode}: {' '.join(command)}\n{said}", done.returncode)
        complaints = []
        for i, name, path, expected, ulps in outputs:
            want = flat(expected)
            if ulps is not None:
                ulps = np.broadcast_to(ulps, expected.shape).ravel()
            if os.path.getsize(path) != want.nbytes:
                complaints.append(f"argument {i} ({name}): {os.path.getsize(path)} bytes, want {want.nbytes}")
                continue
            complaints.append(differences(i, name, np.fromfile(path, want.dtype), want, ulps))
        for path, argument in recorded:
            got = hashes(path, argument.rows, argument.row_bytes)
            complaints.append(self.compare_recorded(program, got))
        if launch.lines is not None:
            got = sorted(line for line in done.stdout.splitlines() if line.startswith("p: "))
            want = sorted(launch.lines)
            if got != want:
                unexpected = [line for line in got if line not in want]
                missing = [line for line in want if line not in got]
                complaints.append(
                    "printed lines: "
                    + "; ".join(f"unexpected {line!r}" for line in unexpected[:3])
                    + " "
                    + "; ".join(f"missing {line!r}" for line in missing[:3])
                )
        complaints = [c for c in complaints if c]
        if complaints:
            raise Failure(f"{launch.entry or 'launch'}: " + "\n".join(complaints), 0)

    def wanted(self, launches):
        """Those of the launches that the device can do."""
        return [launch for launch in launches if self.options.device == "cpu" or not (launch.late or launch.options)]

    def run(self, name):
        """(passed, one line or more)"""
        program = programs.programs[name]()
        text = (FOLDER / name / f"{name}.ptx").read_text()
        original = self.folder / f"{name}.ptx"
        original.write_text(text)
        try:
            for launch in self.wanted(program.launches + (program.large() if self.options.large else [])):
                self.launch(name, original, launch, [])
        except Failure as failure:
            return False, f"{name}: FAILED\n{failure}"
        if not self.options.mutants:
            return True, f"{name}: ok"
        mutant, outcome = self.folder / f"{name}.mutant.ptx", program.mutant.outcome
        mutant.write_text(mutate(text, program.mutant))
        try:
            for launch in self.wanted(program.launches):
                self.launch(name, mutant, launch, ["--max-instructions", str(MUTANT_INSTRUCTIONS)])
        except Failure as failure:
            if failure.status == (0 if outcome == "differs" else 1):
                return True, f"{name}: ok, mutant failed as it must ({outcome})"
            return False, f'{name}: FAILED, mutant: not "{outcome}" but {failure}'
        return False, f"{name}: FAILED, the mutant passed: {program.mutant.new!r}"


def squeeze(line):
    return " ".join(line.split())


def mutate(text, mutant):
    """The text with the mutant's line, whose words must be those of exactly one line."""
    lines = text.split("\n")
    found = [i for i, line in enumerate(lines) if squeeze(line) == squeeze(mutant.old)]
    if len(found) != 1:
        raise ValueError(f"{len(found)} lines read {mutant.old!r}, a mutant needs exactly one")
    lines[found[0]] = "\t" + mutant.new
    return "\n".join(lines)


def check_mutants(ptxas):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, make in programs.programs.items():
            try:
                path = pathlib.Path(folder) / f"{name}.ptx"
                path.write_text(mutate((FOLDER / name / f"{name}.ptx").read_text(), make().mutant))
                target = re.search(r"^\.target\s+(\w+)", path.read_text(), re.M)[1]
                done = subprocess.run(
                    [ptxas, "-c", f"-arch={target}", path, "-o", os.devnull], capture_output=True, text=True
                )
                if done.returncode:
                    raise ValueError(done.stderr.strip())
            except ValueError as error:
                failed += 1
                print(f"{name}: {error}")
    print(f"{len(programs.programs) - failed} passed, {failed} failed")
    return 1 if failed else 0


def is_recorded(program):
    return any(isinstance(argument, programs.Recorded) for launch in program.launches for argument in launch.args)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lemma", help="the lemma binary")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--filter", help="only the programs whose name this regular expression is found in")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="programs at a time")
    parser.add_argument(
        "--mutants",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="run the mutants too (default: yes on cpu, no on cuda, where a hang is a hang)",
    )
    parser.add_argument("--no-large", dest="large", action="store_false", help="leave out the large launches")
    parser.add_argument("--keep", metavar="DIR", help="leave inputs and outputs there")
    parser.add_argument("--record", metavar="FILE", help="write the hashes; programs without any do not run")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--check-mutants", action="store_true")
    parser.add_argument("--ptxas", default="ptxas")
    options = parser.parse_args()
    if options.mutants is None:
        options.mutants = options.device == "cpu"

    folders = {path.parent.name for path in FOLDER.glob("*/*.ptx")}
    if folders != set(programs.programs):
        sys.exit(f"run.py: folders and programs.py differ in {sorted(folders ^ set(programs.programs))}")
    names = [name for name in programs.programs if re.search(options.filter or "", name)]
    if options.record:
        options.mutants = False
        names = [name for name in names if is_recorded(programs.programs[name]())]
    if options.device == "cuda":
        left_out = [name for name in names if not programs.programs[name]().on_gpu]
        names = [name for name in names if name not in left_out]
        print(*[f"{name}: left out, for another GPU" for name in left_out], sep="\n", end="\n" if left_out else "")
    if options.list:
        print("\n".join(names))
        return 0
    if options.check_mutants:
        return check_mutants(options.ptxas)
    if not options.lemma:
        parser.error("--lemma is needed")

    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="lemma-programs-") as scratch:
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
        runner = Runner(options, pathlib.Path(options.keep or scratch))
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for ok, line in pool.map(runner.run, names):
                passed, failed = passed + ok, failed + (not ok)
                print(line, flush=True)
    if options.record:
        record = {"gpu": "NVIDIA H200", "outputs": runner.new}
        pathlib.Path(options.record).write_text(json.dumps(record, indent=1) + "\n")
    print(f"{passed} passed, {failed} failed")
    if not names:
        print("run.py: nothing ran", file=sys.stderr)
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
