"""What the matrix found, as it is committed: src/inspect/nvgpu_support.inc, and docs/nvgpu-support.md made from that.

A record is what rows have in common that a reader would not tell apart, such as the products of every N: how many forms
it is, and how many of them lower, pass ptxas, run, and equal the direct PTX.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
DATA = ROOT / "src/inspect/nvgpu_support.inc"
PAGE = ROOT / "docs/nvgpu-support.md"

DATA_HEAD = """// What each form of the nvgpu dialect's operations can do, as tests/mlir/matrix/matrix.py --write found it. Generated: do
// not edit. docs/nvgpu-support.md has the same as a page, `lemma isa --nvgpu` prints it.
//
// SUPPORT(operation, types, shape, variant, instruction, targets, forms, lower, run, equal the direct PTX, refused, pass ptxas)
// refused: illegal neighbours of the forms that are refused with a message that names what is legal.
"""

PAGE_HEAD = """# What the nvgpu dialect can do

Every form of the dialect's matrix, copy and load operations, by types and shape. `tests/mlir/matrix/matrix.py --write`
wrote this page from what it found, a test compares the two, and `lemma isa --nvgpu` prints it.

- **lowers**: `lemma compile` makes PTX of it, with the instruction in the second column, as often as it should be there;
- **ptxas** takes that PTX;
- **runs** on the virtual GPU;
- **same bits**: the outputs are, bit for bit, those of PTX written by hand, on the same operands: any bits, ordinary
  numbers, exponents far apart, subnormals, and infinities with NaNs;
- **refused**: so many illegal neighbours (another K, a type that does not go with the others, a vector too long, ...)
  are refused by the verifier, with a message that names what is legal.

A number stands for so many of a line's forms; `matrix.py --emit DIR` writes the same cases for a GPU.
"""

LINE = re.compile(r'^SUPPORT\("(.*?)", "(.*?)", "(.*?)", "(.*?)", "(.*?)", "(.*?)", (\d+), (\d+), (\d+), (\d+), (\d+), (\d+)\)$')


def records(rows):
    """Lines of DATA."""
    merged = {}
    for row in rows:
        key = (row.op, row.types, *row.label(), row.targets)
        merged.setdefault(key, []).append(row)
    lines = []
    for key, of_key in merged.items():
        count = lambda name: sum(1 for row in of_key if getattr(row, name))
        texts = ", ".join(f'"{text}"' for text in key)
        refused = sum(sum(row.refused) for row in of_key)
        lines.append(f"SUPPORT({texts}, {len(of_key)}, {count('lowers')}, {count('runs')}, {count('equal')}, {refused}, "
                     f"{count('ptxas')})")
    return lines


def without_ptxas(line):
    return line[:line.rindex(",")]


def read():
    """Groups of DATA: their lines."""
    groups, lines = {}, []
    if DATA.exists():
        for line in DATA.read_text().splitlines():
            if match := re.fullmatch(r"// group (\w+)", line):
                lines = groups.setdefault(match[1], [])
            elif line.startswith("SUPPORT("):
                lines.append(line)
    return groups


def page(groups):
    text, last = PAGE_HEAD, None
    said = lambda count, forms: "yes" if count == forms else "no" if count == 0 else f"{count} of {forms}"
    for lines in groups.values():
        for line in lines:
            op, types, shape, variant, instruction, targets, *counts = LINE.match(line).groups()
            forms, lowers, runs, equal, refused, ptxas = map(int, counts)
            if op != last:
                text += (f"\n## nvgpu.{op}\n\n| types | shape | form | instruction | targets | forms | lowers | ptxas | runs | "
                         "same bits | refused |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
            last = op
            text += (f"| {types} | {shape} | {variant} | `{instruction}` | {targets} | {forms} | {said(lowers, forms)} | "
                     f"{said(ptxas, forms)} | {said(runs, forms)} | {said(equal, runs) if runs else ''} | {refused} |\n")
    return text


def write(groups, order):
    groups = {name: groups[name] for name in order if name in groups}
    text = DATA_HEAD
    for name, lines in groups.items():
        text += f"\n// group {name}\n" + "".join(line + "\n" for line in lines)
    DATA.write_text(text)
    PAGE.write_text(page(groups))


def differences(group, lines, asked_ptxas):
    """Between what was found of a group and what is committed."""
    committed = read()
    old, new = committed.get(group, []), lines
    if not asked_ptxas:
        old, new = list(map(without_ptxas, old)), list(map(without_ptxas, new))
    found = [f"- {line}" for line in old if line not in new] + [f"+ {line}" for line in new if line not in old]
    if not found and old != new:
        found = ["the order of lines"]
    if not PAGE.exists() or PAGE.read_text() != page(committed):
        found.append(f"{PAGE.name} is not what nvgpu_support.inc says")
    return found
