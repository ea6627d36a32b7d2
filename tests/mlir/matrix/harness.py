"""Runs batches of rows: one kernel that has them all, from MLIR and as PTX by hand, over the same memory.

A row is one form of an operation of the dialect. It writes its own lines of MLIR and of PTX, both of which read the
row's part of one input and write its part of one output; a lane has `words_in` and `words_out` words of 32 bits there.
A row that does not compile, that ptxas refuses or that the virtual GPU does not execute is taken out of the batch and
remembered as such, so that the others still run.
"""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess

import numpy as np

import values


class Row:
    """One form. A family of operations derives from it; what a family must say is below."""

    op = ""  # of the dialect
    types = ""  # "f16 x f16 + f32 -> f32"
    shape = ""
    variant = ""  # of several forms with the same types and shape
    spelling = ""  # the PTX instruction, or the one that tells it from others
    arch = "sm_90a"
    words_in = 0
    words_out = 0
    may_be_zero = False  # all results are: then nothing but the instruction is compared
    is_exact = True  # the virtual GPU owes the bits of a GPU

    def __init__(self):
        self.lowers = self.ptxas = self.runs = self.equal = None  # None: not known; else whether
        self.refused = []  # of each illegal neighbour: whether with the message that it should have
        self.notes = []

    @property
    def targets(self):
        return self.form["targets"][0] if self.form["targets"] else ""

    def label(self):
        """Shape, variant and instruction, as the table has them."""
        return self.shape, self.variant, self.spelling

    def operands(self, rng, kind, lanes):
        """An array of lanes x words_in uint32."""
        raise NotImplementedError

    def mlir(self, prefix):
        """Lines that read %in from index %{prefix}i on and write %out from index %{prefix}o on."""
        raise NotImplementedError

    def ptx(self):
        """Lines, inside braces of their own, that read [%in] and write [%out]: the lane's own addresses."""
        raise NotImplementedError

    def neighbours(self):
        """(name, MLIR of a function body with its arguments, what the message must say) of what is illegal."""
        return []


def round_up(value, step):
    return -(-value // step) * step


class Lines:
    """The lines of a program, and for each the row that it is of, or None."""

    def __init__(self):
        self.lines, self.owner = [], []

    def __call__(self, text, row=None):
        for line in text.split("\n"):
            self.lines.append(line)
            self.owner.append(row)


class Batch:
    """Rows of one target that run in one kernel."""

    unit = "lane"  # what has a part of its own in input and output
    shared_bytes = 0

    def __init__(self, options, name, rows, ctas=len(values.CLASSES), threads=32):
        self.options, self.name, self.rows = options, name, list(rows)
        self.ctas, self.threads = ctas, threads
        self.arch = rows[0].arch
        self.folder = pathlib.Path(options.work)
        self.folder.mkdir(parents=True, exist_ok=True)

    # -- memory

    @property
    def lanes(self):
        return self.ctas * self.threads

    def place(self):
        """Gives each row its part of the input and the output: word offsets, multiples of 4."""
        begin_in = begin_out = 0
        for row in self.rows:
            row.pitch_in, row.pitch_out = round_up(row.words_in, 4), round_up(row.words_out, 4)
            row.begin_in, row.begin_out = begin_in, begin_out
            begin_in += row.pitch_in * self.lanes
            begin_out += row.pitch_out * self.lanes
        self.total_in, self.total_out = max(begin_in, 4), max(begin_out, 4)

    def input(self):
        """CTA c has operands of class c."""
        memory = np.zeros(self.total_in, np.uint32)
        for row in self.rows:
            rng = np.random.default_rng([self.options.seed, *row.spelling.encode(), *row.variant.encode()])
            part = memory[row.begin_in:row.begin_in + row.pitch_in * self.lanes].reshape(self.lanes, row.pitch_in)
            for cta in range(self.ctas):
                kind = values.CLASSES[cta % len(values.CLASSES)]
                part[cta * self.threads:(cta + 1) * self.threads, :row.words_in] = row.operands(rng, kind, self.threads)
        return memory

    # -- programs: what a kind of batch adds

    def words_of_mlir(self):
        """What stands in braces in rows' lines of MLIR."""
        return {}

    def parameters(self):
        return ""

    def preamble(self):
        return ""

    def ptx_globals(self):
        return ""

    def ptx_preamble(self):
        return ""

    def mlir(self):
        """The program, and for each line the row that it is of."""
        add = Lines()
        add(f"gpu.module @{self.name} {{")
        words = {"in_type": f"memref<{self.total_in}xi32>", "out_type": f"memref<{self.total_out}xi32>"}
        words |= self.words_of_mlir()
        add(f"  gpu.func @batch(%in: {words['in_type']}, %out: {words['out_type']}{self.parameters()}) kernel {{")
        add("    %thread = gpu.thread_id x\n    %cta = gpu.block_id x")
        add(f"    %threads = arith.constant {self.threads} : index")
        add("    %first = arith.muli %cta, %threads : index\n    %lane = arith.addi %first, %thread : index")
        if self.preamble():
            add(self.preamble())
        for number, row in enumerate(self.rows):
            prefix = f"r{number}_"
            for name, begin, pitch in [("i", row.begin_in, row.pitch_in), ("o", row.begin_out, row.pitch_out)]:
                add(f"    %{prefix}{name}p = arith.constant {pitch} : index\n"
                    f"    %{prefix}{name}b = arith.constant {begin} : index\n"
                    f"    %{prefix}{name}l = arith.muli %lane, %{prefix}{name}p : index\n"
                    f"    %{prefix}{name} = arith.addi %{prefix}{name}l, %{prefix}{name}b : index", row)
            for line in row.mlir(prefix):
                add(f"    {line.format(**words)}", row)
        add("    gpu.return\n  }\n}")
        return add.lines, add.owner

    def ptx(self):
        version = max((row.since for row in self.rows), default=(8, 0))
        version = max(version, (8, 0), (8, 7) if self.arch.startswith("sm_12") else (8, 0))
        add = Lines()
        add(f".version {version[0]}.{version[1]}\n.target {self.arch}\n.address_size 64\n{self.ptx_globals()}")
        add(".visible .entry batch(.param .u64 input, .param .u64 output)\n{")
        add("  .reg .b32 %lane, %cta, %threads;\n  .reg .b64 %in0, %out0, %in, %out;")
        add("  ld.param.u64 %in0, [input];\n  ld.param.u64 %out0, [output];")
        add("  cvta.to.global.u64 %in0, %in0;\n  cvta.to.global.u64 %out0, %out0;")
        add("  mov.u32 %lane, %tid.x;\n  mov.u32 %cta, %ctaid.x;\n  mov.u32 %threads, %ntid.x;")
        add(f"  mad.lo.u32 %lane, %cta, %threads, %lane;\n{self.ptx_preamble()}")
        for row in self.rows:
            add("  {", row)
            for name, begin, pitch in [("in", row.begin_in, row.pitch_in), ("out", row.begin_out, row.pitch_out)]:
                add(f"  mad.wide.u32 %{name}, %lane, {pitch * 4}, %{name}0;\n"
                    f"  add.u64 %{name}, %{name}, {begin * 4};", row)
            for line in row.ptx():
                add(f"  {line}", row)
            add("  }", row)
        add("  ret;\n}")
        return add.lines, add.owner

    # -- steps

    def path(self, suffix):
        return self.folder / f"{self.name}{suffix}"

    def write(self, suffix, lines):
        path = self.path(suffix)
        path.write_text("\n".join(lines) + "\n")
        return path

    def run_tool(self, *command):
        return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              timeout=self.options.timeout)

    def drop(self, owner, line, what, text):
        """Takes the row of that line out of the batch."""
        row = owner[line - 1] if 0 < line <= len(owner) else None
        if row is None:
            raise RuntimeError(f"{self.name}: {what} stops outside of any row:\n{text}")
        setattr(row, what, False)
        row.notes.append(f"{what}: {text.strip().splitlines()[0] if text.strip() else ''}")
        self.rows.remove(row)

    def compile(self):
        """MLIR to PTX: whether a row is left."""
        while self.rows:
            self.place()
            lines, owner = self.mlir()
            source = self.write(".mlir", lines)
            done = self.run_tool(self.options.lemma, "compile", source, "--arch", self.arch, "-o",
                                 self.path(".mlir.ptx"))
            if done.returncode == 0:
                text = self.path(".mlir.ptx").read_text()
                self.count_instructions(text)
                return True
            where = re.search(r"\.mlir:(\d+):\d+: error: (.*)", done.stderr)
            if not where:
                raise RuntimeError(f"{self.name}: lemma compile: exit status {done.returncode}\n{done.stderr}")
            self.drop(owner, int(where[1]), "lowers", where[2])
        return False

    def count_instructions(self, text):
        """Each row's instruction is in the PTX as often as its rows ask."""
        wanted = {}
        for row in self.rows:
            for spelling, count in row.instructions().items():
                wanted[spelling] = wanted.get(spelling, 0) + count
        for row in self.rows:
            row.lowers = all(
                len(re.findall(rf"^\s*(?:@%p\d+\s+)?{re.escape(spelling)}\s", text, re.MULTILINE)) == wanted[spelling]
                for spelling in row.instructions())
            if not row.lowers:
                row.notes.append(f"lowers: the PTX should have {wanted[row.spelling]} of {row.spelling}")

    def ask_ptxas(self, path):
        """Whether ptxas takes the whole, and what it says."""
        done = self.run_tool(self.options.ptxas, "-O0", "-c", f"-arch={self.arch}", path, "-o", "/dev/null")
        if done.returncode == 0:
            return True, ""
        where = re.search(r"error\s*: (.*)", done.stderr)
        return False, where[1] if where else done.stderr

    def arguments(self, suffix):
        """Of `lemma run`. A memref is five parameters of the PTX: two addresses, offset, size, stride."""
        output = self.path(suffix + ".out")
        if suffix == ".ptx":
            return [f"in={self.path('.in')}", f"out={output}:{self.total_out * 4}"]
        return ["buf=16", f"in={self.path('.in')}", "u64=0", f"u64={self.total_in}", "u64=1",
                "buf=16", f"out={output}:{self.total_out * 4}", "u64=0", f"u64={self.total_out}", "u64=1"]

    def program(self, suffix):
        """What runs of .ptx, and of .mlir.ptx."""
        return self.path(suffix)

    def launch(self, suffix):
        """Runs the kernel of .ptx (by hand) or .mlir.ptx: the process and its report."""
        command = [self.options.lemma, "run", self.program(suffix), "--json", "--entry", "batch", "--arch", self.arch,
                   "--grid", self.ctas, "--block", self.threads, "--smem", self.shared_bytes]
        for argument in self.arguments(suffix):
            command += ["--arg", argument]
        done = self.run_tool(*command)
        try:
            report = json.loads(done.stdout)
        except ValueError:
            report = {}
        return done, report

    def output(self, suffix):
        return np.fromfile(self.path(suffix + ".out"), np.uint32)

    def run(self):
        """All steps for all rows."""
        everything = list(self.rows)
        if not self.compile():
            return
        self.ask_ptxas_about_all()
        dropped = self.run_by_hand()
        if self.options.emit and dropped:
            self.emit_unmodelled([row for row in everything if row.lowers and row.runs is False])
        if not self.rows or (dropped and not self.compile()):
            return
        done, _ = self.launch(".mlir.ptx")
        if done.returncode:
            raise RuntimeError(f"{self.path('.mlir.ptx')}: exit status {done.returncode}\n{done.stdout}\n{done.stderr}")
        self.compare(self.output(".ptx"), self.output(".mlir.ptx"))
        if self.options.emit:
            self.emit(has_results=all(row.is_exact for row in self.rows))

    def byte_range(self, row):
        """Of the row in the output."""
        return row.begin_out * 4, row.pitch_out * self.lanes * 4

    def emitted_files(self):
        return [self.path(suffix) for suffix in [".mlir", ".mlir.ptx", ".ptx", ".in"]]

    def emit(self, has_results):
        """Puts kernels, input and results where emit.write_script() finds them."""
        if self.arch != "sm_90a":
            return  # of other GPUs than those that have been asked so far
        folder = pathlib.Path(self.options.emit)
        for path in self.emitted_files():
            shutil.copy(path, folder)
        results = self.path(".ptx.out").read_bytes() if has_results else None

        def digest(begin, size):
            return hashlib.sha256(results[begin:begin + size]).hexdigest() if has_results else "-"

        launch = {"name": self.name, "grid": self.ctas, "block": self.threads, "smem": self.shared_bytes}
        # File names without their folder.
        for key, suffix in [("by_hand", ".ptx"), ("lowered", ".mlir.ptx")]:
            launch[key + "_program"] = self.program(suffix).name
            launch[key] = [text.replace(f"{self.folder}/", "") for text in self.arguments(suffix)]
        cases = [(row.op, row.spelling, row.variant, *self.byte_range(row), digest(*self.byte_range(row)))
                 for row in self.rows]
        self.options.emitted.append((launch, cases))

    def emit_unmodelled(self, rows):
        """What the virtual GPU does not execute: a GPU can still compare the two kernels."""
        rest = type(self)(self.options, f"{self.name}_unmodelled", rows, self.ctas, self.threads)
        if not rest.rows or not rest.compile():
            return
        rest.write(".ptx", rest.ptx()[0])
        rest.input().tofile(rest.path(".in"))
        rest.emit(has_results=False)

    def run_by_hand(self):
        """The direct PTX, until no row is left that the virtual GPU does not execute: whether there was one."""
        dropped = False
        while self.rows:
            self.place()
            lines, owner = self.ptx()
            if self.options.mutant:
                lines = [line.replace(*self.options.mutant) for line in lines]
            self.write(".ptx", lines)
            self.input().tofile(self.path(".in"))
            done, report = self.launch(".ptx")
            if done.returncode == 0:
                break
            fault = report.get("fault") or {}
            if done.returncode != 3 or fault.get("kind") != "unsupported":
                raise RuntimeError(f"{self.path('.ptx')}: exit status {done.returncode}\n{done.stdout}\n{done.stderr}")
            self.drop(owner, fault["place"]["ptx_line"], "runs", fault.get("text", ""))
            dropped = True
        for row in self.rows:
            row.runs = True
        return dropped

    def ask_ptxas_about_all(self):
        if not self.options.ptxas:
            return
        accepted, why = self.ask_ptxas(self.path(".mlir.ptx"))
        if accepted is True:
            for row in self.rows:
                row.ptxas = True
            return
        # Which? One at a time.
        for row in self.rows:
            alone = type(self)(self.options, f"{self.name}_alone", [row], self.ctas, self.threads)
            alone.compile()
            accepted, why = alone.ask_ptxas(alone.path(".mlir.ptx"))
            row.ptxas = accepted is True
            if not row.ptxas:
                row.notes.append(f"ptxas: {why}")

    def part(self, row, memory):
        """The row's part of the output: lanes x results."""
        part = memory[row.begin_out:row.begin_out + row.pitch_out * self.lanes]
        return part.reshape(self.lanes, row.pitch_out)[:, :row.words_out]

    def compare(self, direct, lowered):
        for row in self.rows:
            want, got = self.part(row, direct), self.part(row, lowered)
            wrong = np.argwhere(want != got)
            row.equal = len(wrong) == 0
            if not row.equal:
                unit, index = wrong[0]
                row.notes.append(f"{len(wrong)} of {want.size} results differ; first: {self.unit} {unit}, number "
                                 f"{index}: 0x{got[unit, index]:x}, the direct PTX 0x{want[unit, index]:x}")
            if not want.any() and not row.may_be_zero:
                row.equal = False
                row.notes.append("all outputs are zero: nothing was compared")


def check_neighbours(options, name, rows):
    """Asks the verifier about every illegal neighbour, all in one file."""
    chunks, cases = [], []
    line = 1
    for row in rows:
        for what, text, wanted in row.neighbours():
            cases.append((row, what, line, line + text.count("\n"), wanted))
            chunks.append(text)
            line += text.count("\n") + 1 + 1  # and the line that splits
    if not cases:
        return
    path = pathlib.Path(options.work) / f"{name}_illegal.mlir"
    path.write_text("\n// -----\n".join(chunks) + "\n")
    done = subprocess.run([options.lemma_opt, str(path), "--split-input-file", "-o", "/dev/null"], capture_output=True, text=True,
                          timeout=options.timeout)
    messages = [(int(m[1]), m[2]) for m in re.finditer(r"_illegal\.mlir:(\d+):\d+: error: (.*)", done.stderr)]
    for row, what, first, last, wanted in cases:
        found = [text for at, text in messages if first <= at <= last]
        good = any(all(part in text for part in wanted) for text in found)
        row.refused.append(good)
        if not good:
            row.notes.append(f"{what}: the message should have {wanted}: " + ("; ".join(found) or "accepted"))
