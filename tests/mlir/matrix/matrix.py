#!/usr/bin/env python3
"""The matrix of the nvgpu dialect: every form of its operations, by operation, types and shape.

Of each form: whether `lemma compile` lowers it, to the instruction that it should be; whether ptxas takes that;
whether the virtual GPU runs it; whether the outputs equal, bit for bit, those of PTX written by hand (by these scripts)
on the same operands; and whether its illegal neighbours - another K, a type that does not go with the others, a vector
too long - are refused with a message that names what is legal. What forms there are comes from the instruction tables
(list_forms.cc), so that a new row there is a new row here.

    matrix.py --lemma build/bin/lemma --lemma-opt ... --forms build/bin/nvgpu_matrix_forms [--ptxas ptxas] [GROUP...]

checks the groups (all) and compares what it finds with the table in docs/nvgpu-support.md, which `--write` writes,
together with src/inspect/nvgpu_support.inc, from which `lemma isa --nvgpu` prints it. Exit status 1: a form fails, or the
committed table says something else.

`--emit DIR` also leaves kernels, inputs and results in DIR, with a script that repeats them with any `lemma` binary:
DIR/run.sh LEMMA, on a machine with a GPU.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import emit
import harness
import memory
import mma
import table
import tma
import warpgroup


def forms_of(options, *opcodes):
    done = subprocess.run([options.forms, *opcodes], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def by_arch(options, name, rows, size=64):
    """Batches of rows of one target."""
    batches = []
    for arch in sorted({row.arch for row in rows}):
        of_arch = [row for row in rows if row.arch == arch]
        count = -(-len(of_arch) // size)
        for part in range(count):
            batches.append(mma.Products(options, f"{name}_{arch}_{part}", of_arch[part::count]))
    return batches


def mma_sync(options):
    family = mma.Family(forms_of(options, "mma"), sparse=False)
    return family.rows, by_arch(options, "mma_sync", family.rows)


def mma_sp_sync(options):
    family = mma.Family(forms_of(options, "mma"), sparse=True)
    return family.rows, by_arch(options, "mma_sp_sync", family.rows)


def warpgroup_mma(*types):
    """The group of products whose types (D A B) these are."""

    def group(options):
        family = warpgroup.Family(forms_of(options, "wgmma.mma_async"), types)
        batches = []
        for of_types in family.by_types:
            rows = [row for row in family.rows if tuple(row.form["types"]) == of_types]
            for part in range(2):
                batches.append(warpgroup.Products(options, f"warpgroup_{'_'.join(of_types)}_{part}", rows[part::2]))
        return family.rows, batches

    return group


def rcp(options):
    rows = memory.reciprocals(forms_of(options, "rcp"))
    return rows, [harness.Batch(options, f"rcp_{name}", [row for row in rows if row.is_exact == exact])
                  for name, exact in [("exact", True), ("approx", False)]]


def ldmatrix(options):
    rows = memory.ldmatrices(forms_of(options, "ldmatrix"))
    return rows, [memory.Slots(options, "ldmatrix", rows)]


def device_async_copy(options):
    rows = memory.copies(forms_of(options, "cp.async"))
    return rows, [memory.Slots(options, "device_async_copy", rows)]


def tma_groups(which):
    """Loads, or stores; a kernel takes the tensor maps of 25 at most, as its parameters."""

    def group(options):
        rows = tma.loads_and_stores(forms_of(options, "cp.async.bulk.tensor"))[which]
        name = ("tma_async_load", "tma_async_store")[which]
        count = -(-len(rows) // 25)
        return rows, [tma.Copies(options, f"{name}_{part}", rows[part::count]) for part in range(count)]

    return group


FP8 = [f"{a} {b}" for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
INT8 = [f"{a} {b}" for a in ("s8", "u8") for b in ("s8", "u8")]

GROUPS = {
    "mma_sync": mma_sync,
    "mma_sp_sync": mma_sp_sync,
    "rcp": rcp,
    "ldmatrix": ldmatrix,
    "device_async_copy": device_async_copy,
    "tma_async_load": tma_groups(0),
    "tma_async_store": tma_groups(1),
    "warpgroup_mma_f16": warpgroup_mma("f32 f16 f16", "f16 f16 f16"),
    "warpgroup_mma_bf16_tf32": warpgroup_mma("f32 bf16 bf16", "f32 tf32 tf32"),
    "warpgroup_mma_fp8_f32": warpgroup_mma(*(f"f32 {ab}" for ab in FP8)),
    "warpgroup_mma_fp8_f16": warpgroup_mma(*(f"f16 {ab}" for ab in FP8)),
    "warpgroup_mma_integer": warpgroup_mma(*(f"s32 {ab}" for ab in INT8), "s32 b1 b1"),
}


def check(options, name):
    """Runs a group: its rows, and whether all is well."""
    rows, batches = GROUPS[name](options)
    for batch in batches:
        begin = time.monotonic()
        count = len(batch.rows)
        batch.run()
        print(f"  {batch.name}: {count} forms, {time.monotonic() - begin:.1f} s")
    harness.check_neighbours(options, name, rows)
    good = True
    for row in rows:
        # Not executed is a gap that the table shows; what executes must be right.
        bad = not row.lowers or row.ptxas is False or (row.runs and not row.equal) or not all(row.refused)
        if bad:
            good = False
            print(f"FAILED {row.op} {row.spelling} {row.variant}: lowers {row.lowers}, ptxas {row.ptxas}, runs "
                  f"{row.runs}, equal {row.equal}, neighbours {row.refused}")
        if bad or options.verbose:
            for note in row.notes:
                print(f"    {note}")
    count = lambda value: sum(1 for row in rows if getattr(row, value))
    print(f"{name}: {len(rows)} forms: {count('lowers')} lower, {count('ptxas')} pass ptxas, {count('runs')} run, "
          f"{count('equal')} equal the direct PTX; {sum(map(len, (row.refused for row in rows)))} illegal neighbours "
          f"tried, {sum(sum(row.refused) for row in rows)} refused with the right message")
    return rows, good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true", help="print the groups")
    parser.add_argument("--lemma")
    parser.add_argument("--lemma-opt")
    parser.add_argument("--forms", help="the program list_forms.cc makes")
    parser.add_argument("--ptxas", default="", help="ptxas; without it that column is not asked")
    parser.add_argument("--work", help="folder for kernels and data (default: a temporary one)")
    parser.add_argument("--emit", metavar="DIR", help="folder for kernels, data and run.sh")
    parser.add_argument("--mutant", nargs=2, metavar=("OLD", "NEW"),
                        help="words to change in the PTX by hand, for the test that a difference is found")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=300, help="seconds for one process")
    parser.add_argument("--write", action="store_true", help="update the committed table")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    options = parser.parse_args()
    if options.list:
        print("\n".join(GROUPS))
        return 0
    if options.ptxas and not shutil.which(options.ptxas):
        options.ptxas = ""
    temporary = None
    if not options.work:
        temporary = tempfile.TemporaryDirectory()
        options.work = temporary.name
    options.emitted = []
    if options.emit:
        pathlib.Path(options.emit).mkdir(parents=True, exist_ok=True)
    good = True
    if options.write and not options.ptxas:
        parser.error("--write needs --ptxas")
    found = table.read()
    for name in options.groups or GROUPS:
        rows, well = check(options, name)
        good = good and well
        found[name] = table.records(rows)
        if options.write:
            continue
        if different := table.differences(name, found[name], bool(options.ptxas)):
            good = False
            print(f"the committed table differs in {len(different)} lines (- committed, + found); if what is found is right, "
                  f"matrix.py --write {name} updates it:")
            print("\n".join(different[:10]))
    if options.write:
        table.write(found, GROUPS)
    if options.emit:
        emit.write_script(options.emit, options.emitted)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
