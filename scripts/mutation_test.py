#!/usr/bin/env python3
"""Whether one wrong fact, or one look at memory that is left out, fails the tests of that, and no others.

usage: scripts/mutation_test.py [--build DIR] [--list] [MUTANT...]

A mutant is one fact of the tables changed: a row, a machine, a binding; or one condition of those that keep accesses of a kernel
within its memory. Each is built in DIR (build), the programs of PROGRAMS run, and docs/isa.md compared with what lemma says; for
memory, vgpu_test alone is run, and of it what is not arithmetic alone. The tests that fail must be those that the mutant lists.
Without a mutant's name all are tried: half an hour. ptxas_targets_test asks ptxas. The files are put back
afterwards; they must be as they were committed. A line of the table:

    MUTANT | as listed, or what fails beside the list and what does not fail

Exit status: 0 all as listed; 1 not so; 2 the tests fail without a mutant, a mutant does not apply or does not build.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ("isa_test", "ptx_test", "verify_test", "vgpu_test", "golden_test", "golden_effects_test", "ptxas_targets_test")
MEMORY = ("vgpu_test",)  # for what is about memory
PAGE = "docs/isa.md"
SLOW = "*Assembler*:Hostile.*"  # asks ptxas about every row; or is about no fact
LONGEST = 300  # seconds that a program's tests may take
VALUES = "Compare.*:ConvertNarrow.*:Half.*:SmallFloats.*:Video.*"  # of arithmetic alone, and long


class Mutant(NamedTuple):
    name: str
    file: str
    old: str  # stands there once
    new: str
    fails: tuple  # the tests that are to fail; BUILD: it does not build, and the message names `says`
    says: str = ""
    programs: tuple = PROGRAMS
    tests: str = "*"  # those of vgpu_test that are run: all, or those that a wild pointer does not end
    engine: str = ""  # LEMMA_ENGINE of these


def targets_of(programs):
    return programs if programs == MEMORY else ("lemma_rows", "lemma_cli", *programs)


BUILD = ("the build",)

# What is wrong with compiled code (src/vgpu/compiled) shows in tests that run it.
COMPILED_TESTS = "Compiled.*:AddressEdges.*:Uninitialized.*:NeverWritten.*:LocalMemory.*:Divergence.*:Spin.*:Polling.*:Float.Fma*:Integer.*:Carry*"


def compiled(name, file, old, new, fails):
    return Mutant(name, f"src/vgpu/compiled/{file}", old, new, fails, programs=MEMORY, tests=COMPILED_TESTS, engine="compiled")


MUTANTS = (
    Mutant(
        "row-type",
        "src/isa/rows/mma.inc",
        "ROW(shape(16, 8, 4), types(f32, tf32, tf32, f32), since(7, 0)",
        "ROW(shape(16, 8, 4), types(f32, bf16, bf16, f32), since(7, 0)",
        (
            "Cases.EveryFormIsRecordedOrNamed",
            "Cases.VerifierAcceptsEveryKernel",
            "Checked.ARowClaimsARecordJustWhenThatHasCasesOfIt",
            "FragmentStatement.EveryRowIsAsTheIsaSays",
            "Match.ResolvesSpellingsFoundInRealKernels",
            "PtxasTargets.AgreeWithEveryForm",
            PAGE,
        ),
    ),
    Mutant(
        "row-target",
        "src/isa/rows/mma.inc",
        'ROW(shape(16, 8, 4), types(f64, f64, f64, f64), rounding(true), since(7, 8), target("sm_90"))',
        'ROW(shape(16, 8, 4), types(f64, f64, f64, f64), rounding(true), since(7, 8), target("sm_80"))',
        ("PtxasTargets.AgreeWithEveryForm", PAGE),
    ),
    Mutant(
        "form-target",
        "src/isa/forms/integer.inc",
        'where("mode = .clamp .wrap"), since(7, 6), target("sm_70"))\nOPCODE(dp4a',
        'where("mode = .clamp .wrap"), since(7, 6), target("sm_80"))\nOPCODE(dp4a',
        ("Cases.HaveATwinThatIsAccepted", "Cases.HaveTheOneErrorThatTheyExpect"),
    ),
    Mutant(
        "form-word",
        "src/isa/forms/integer.inc",
        'FORM("sub.sat.s32  d, a, b")',
        'FORM("sub.sit.s32  d, a, b")',
        BUILD,
        "no qualifier .sit",
    ),
    Mutant(
        "form-type",
        "src/isa/forms/integer.inc",
        'FORM("mad24.hi!.sat.s32  d, a, b, c")',
        'FORM("mad24.hi!.sat.u32  d, a, b, c")',
        ("ArithmeticForms.EverySpellingHasAHandler", "Forms.ExecuteOrAreListed", "Integer.Saturation"),
    ),
    Mutant(
        "binding-order-of-spaces",
        "src/isa/match.cc",
        "          from = s + 1;",
        "          from = 0;",
        ("Cases.HaveTheOneErrorThatTheyExpect", "Match.TakesQualifiersInAnyOrderButTypesAndSpacesInTheirs"),
    ),
    Mutant(
        "binding-of-layouts",
        "src/isa/catalogue.cc",
        "int to_skip = matrix == Matrix::b ? 1 : 0;",
        "int to_skip = 0 * static_cast<int>(matrix);",
        ("Mma.GivesTheBitsOfTheModel", "Mma.MultipliesWholeNumbersExactly"),
    ),
    Mutant(
        "effect-reads",
        "src/isa/rows/m8n8.inc",
        'OPCODE(ldmatrix, "ldmatrix", by_warp | reads | faults)',
        'OPCODE(ldmatrix, "ldmatrix", by_warp | faults)',
        ("Effects.NothingIsDoneThatTheRowDenies", "Lint.ProxyFences"),
    ),
    Mutant(
        "effect-bitwise",
        "src/isa/forms/logic.inc",
        'OPCODE(xor_, "xor", pure | bitwise)',
        'OPCODE(xor_, "xor", pure)',
        ("Effects.SayWhatAPureOneMakesOfNumbers",),
    ),
    Mutant(
        "effect-commits",
        "src/isa/forms/async_copy.inc",
        '"cp.async.bulk.commit_group", commits | bulk_group)',
        '"cp.async.bulk.commit_group", bulk_group)',
        (
            "Effects.NothingIsDoneThatTheRowDenies",
            "Lint.GroupsOfBulkCopies",
            "Lint.IsSilentOnProgramsThatAreRight",
            "Lint.ProxyFences",
        ),
    ),
    Mutant(
        "effect-masked",
        "src/isa/forms/synchronization.inc",
        'OPCODE(redux_sync, "redux.sync", masked | collects | faults)',
        'OPCODE(redux_sync, "redux.sync", collects | faults)',
        (
            "Effects.LoadsStoresAndAtomicsHaveTheirOperands",
            "Effects.NothingIsDoneThatTheRowDenies",
            "Effects.WhatIsMaskedHasItsMembermaskLast",
        ),
    ),
    Mutant(
        "effect-reduces",
        "src/isa/forms/synchronization.inc",
        'OPCODE(red, "red", updates | reduces | accesses |',
        'OPCODE(red, "red", updates | accesses |',
        ("Effects.LoadsStoresAndAtomicsHaveTheirOperands",),
    ),
    Mutant(
        "machine-size",
        "src/isa/machines.def",
        '.card = "H200",\n        .sm_count = 132,',
        '.card = "H200",\n        .sm_count = 114,',
        (
            "Cooperative.a_grid_that_is_not_resident_as_a_whole_is_refused",
            "Grid.a_barrier_across_more_ctas_than_the_gpu_holds_is_a_deadlock",
            "Machine.IsAnH200ByDefault",
            "Machine.SharedMemoryLimitsWhatIsResident",
            "Machines.AreTheTableOfTheDocs",
        ),
    ),
    Mutant(
        "machine-arithmetic",
        "src/isa/machines.def",
        "MACHINE(.sm = 87, .since = {7, 4}, .arithmetic = sm_86",
        "MACHINE(.sm = 87, .since = {7, 4}, .arithmetic = sm_89",
        ("Machines.AreTheTableOfTheDocs", "Machines.HaveTheArithmeticOfTheNearest"),
    ),
    # --- Memory: what fails on a host with AVX-512 ---
    Mutant(
        "memory-bound",  # of an entry of the software TLB
        "src/vgpu/memory/memory.cc",
        "          .bytes = allocation->size_bytes,",
        "          .bytes = allocation->size_bytes + 1,",
        (
            "AddressEdges.LoadsStoresAndAtomics",
            "Builtins.PrintfFaultsWhereItsFormatIsNone",
            "Translation.is_of_live_memory_to_the_byte",
        ),
        programs=MEMORY,
    ),
    Mutant(
        "memory-generation",  # an entry of what was freed
        "src/vgpu/memory/translation.cc",
        "return entry.generation == generation && entry.holds(address, bytes);",
        "return entry.generation <= generation && entry.holds(address, bytes);",
        ("Translation.is_not_of_memory_that_another_thread_has_freed", "Translation.is_of_live_memory_to_the_byte"),
        programs=MEMORY,
    ),
    Mutant(
        "memory-other-entry",
        "src/vgpu/memory/translation.cc",
        "    return &*known;",
        "    return &entries_.front();",
        ("Translation.is_of_live_memory_to_the_byte",),
        programs=MEMORY,
        tests="Translation.*",
    ),
    Mutant(
        "memory-host-offset",  # of allocations of more than 2 GiB
        "src/vgpu/handlers/memory/lane_accesses.inc",
        "  found.host = at->host + skipped;",
        "  found.host = at->host;",
        ("MemoryVectors.FindTheirPlaceInMoreThan4GiB",),
        programs=MEMORY,
    ),
    Mutant(
        "lanes-alignment",
        "src/vgpu/handlers/memory/lane_accesses.inc",
        "  if (first > last || ((first + misfit) & (width - 1)) != 0)",
        "  if (first > last)",
        ("AddressEdges.LoadsStoresAndAtomics", "Fault.Misaligned"),
        programs=MEMORY,
    ),
    Mutant(
        "lanes-alignment-of-others",  # than the first, below AVX-512
        "src/vgpu/handlers/memory/lane_offsets.inc",
        "  return most <= last && (bits & (width - 1)) == 0;",
        "  return most <= last;",
        ("MemoryVectors.AreThePlainOnes",),
        programs=MEMORY,
        tests="MemoryVectors.*",
    ),
    Mutant(
        "lanes-read-only",
        "src/vgpu/handlers/memory/lane_accesses.inc",
        "(at->is_read_only ? writes(kind) : space_of(in) == StateSpace::const_)",
        "(!at->is_read_only && space_of(in) == StateSpace::const_)",
        ("Fault.ReadOnlyAndOtherSpaces", "MemoryVectors.StoresAreNoLoads"),
        programs=MEMORY,
    ),
    Mutant(
        "lanes-read-only-side-by-side",
        "src/vgpu/handlers/memory/regular_accesses.inc",
        "      (at->is_read_only ? writes(kind) : space_of(in) == StateSpace::const_))",
        "      (!at->is_read_only && space_of(in) == StateSpace::const_))",
        ("MemoryVectors.StoresAreNoLoads",),
        programs=MEMORY,
    ),
    Mutant(
        "lanes-inactive",
        "src/vgpu/handlers/memory/lane_accesses.inc",
        "  if (kKnown == Known::nothing && active == kAllLanes && lie_side_by_side(lanes, width)) {",
        "  if (kKnown == Known::nothing && lie_side_by_side(lanes, width)) {",
        (
            "Atomic.LanesSideBySide",
            "Calls.recursion_has_registers_of_its_own",
            "Clusters.ArrivalsAndWaitsMayLieApart",
            "Converge.BarWarpSyncWaitsForItsLanesAlone",
            "Load.EveryTypeWidthVectorSpaceAndPattern",
            "Membermask.WhatLacksALaneIsAsOnAnH200",
            "MemoryVectors.AreThePlainOnes",
            "MemoryVectors.KnowWhatWasWritten",
            "NeverWritten.ARowOfSeveralMatrices",
            "Store.EveryTypeWidthVectorSpaceAndPattern",
            "Uninitialized.SharedMemory",
        ),
        programs=MEMORY,
    ),
    Mutant(
        "lanes-inactive-own",  # what an inactive lane has of its own counts as written
        "src/vgpu/handlers/memory/memory_vectors.inc",
        "      found.own_written[i] |= active;",
        "      found.own_written[i] |= kAllLanes;",
        ("NeverWritten.LocalMemoryIsTracked",),
        programs=MEMORY,
    ),
    Mutant(
        "written-words",  # a word that is written in part counts as one that is full
        "src/vgpu/memory/written_bytes.cc",
        "filled += static_cast<uint8_t>(old != ~uint64_t{0} && (old | mask) == ~uint64_t{0});",
        "filled += static_cast<uint8_t>(old != ~uint64_t{0});",
        (
            "Uninitialized.BuffersByTheByte",
            "WrittenBytes.are_those_of_random_writes_and_copies",
            "WrittenBytes.every_range_of_three_words",
            "WrittenBytes.hold_pages_however_these_were_filled",
        ),
        programs=MEMORY,
    ),
    Mutant(
        "written-page",  # a page whose begin is written counts as whole
        "src/vgpu/memory/written_bytes.cc",
        "if (begin == page_begin && end - begin == std::min(kPageBytes, bytes_ - page_begin)) {",
        "if (begin == page_begin) {",
        (
            "NeverWritten.AsynchronousCopiesCarryItToo",
            "Poison.MemoryFollowsTheSeedOfTheLaunch",
            "Uninitialized.BuffersByTheByte",
            "WrittenBytes.are_those_of_random_writes_and_copies",
            "WrittenBytes.every_range_of_three_words",
        ),
        programs=MEMORY,
    ),
    # --- Compiled code: what fails on a host with AVX-512 ---
    compiled(
        "compiled-bound",  # of shared memory
        "emitters/memory.cc",
        "    a.cmp(x86::rsi, of(x86::rcx, cta, cta.shared, 8));\n    a.ja(slow_);",
        "    a.cmp(x86::rsi, of(x86::rcx, cta, cta.shared, 8));",
        (
            "vgpu_test ended with -11",
        ),
    ),
    compiled(
        "compiled-mask",  # lanes that do not execute keep what they have
        "emit.cc",
        "        a.k(lanes).vmovdqa32(old[i], written.to[i]);",
        "        a.vmovdqa32(old[i], written.to[i]);",
        (
            "Compiled.Calls",
            "Compiled.LanesThatGoDifferentWays",
            "Compiled.PartsThatWaitForALongLoop",
            "Compiled.SpinsGiveWay",
            "Integer.BitCounts",
            "Integer.BitFields",
            "Integer.DivisionByZeroGivesAllOnes",
            "Integer.DotProductsOfBytes",
            "Integer.MinMaxAbsNeg",
            "Integer.PackedBytesAndSaturation",
            "Integer.PackedHalves",
            "Integer.ProductsOf24Bits",
            "Integer.Saturation",
            "Integer.SumsAndProducts",
        ),
    ),
    compiled(
        "compiled-rounding",  # the direction stays for what comes next
        "emit.cc",
        "  if (mode != mode_)\n    a.ldmxcsr",
        "  if (mode != mode_ && mode != kHostDefaultMode)\n    a.ldmxcsr",
        (
            "Compiled.TheHostsRoundingIsAsBefore",
        ),
    ),
    compiled(
        "compiled-flag",  # of a predicate that a part of the warp sets
        "emit.cc",
        "    a.and_(value.r32(), active_ == Lanes::guarded ? x86::r10d : x86::r14d);\n",
        "",
        (
            "Polling.a_time_out_ends_its_loop_in_few_rounds",
        ),
    ),
    compiled(
        "compiled-stale-page",  # memory that has gone since its translation was found
        "emitters/memory.cc",
        "  a.cmp(x86::rsi, of_entry(entry.generation));\n  a.jne(slow);",
        "  a.cmp(x86::rsi, of_entry(entry.generation));",
        (
            "Compiled.MemoryThatHasGone",
        ),
    ),
    compiled(
        "compiled-fall-through",  # where lanes go that do not take a branch
        "unit.cc",
        "  return !is_branch(code, in) || in.guarded;",
        "  return !is_branch(code, in);",
        (
            "vgpu_test did not end",
        ),
    ),
    compiled(
        "compiled-spill",  # what is in a register that another value needs
        "emit.cc",
        "  if (oldest->is_new)\n    store(*oldest);\n",
        "",
        (
            "Compiled.MoreValuesThanTheHostHasRegisters",
        ),
    ),
    compiled(
        "compiled-liveness",  # a guarded write leaves what other lanes had
        "liveness.cc",
        "      if (!in.guarded && in.computes)",
        "      if (in.computes)",
        (
            "Compiled.ValuesThatSomeLanesKeep",
        ),
    ),
    compiled(
        "compiled-turn",  # the slice's end
        "generate.cc",
        "    a.cmp(x86::r15, e_.member(x_.compiled.end));\n    a.jae(over);",
        "    a.cmp(x86::r15, e_.member(x_.compiled.end));",
        (
            "vgpu_test did not end",
        ),
    ),
    compiled(
        "compiled-unwritten",  # who asks whether a register was written
        "generate.cc",
        "    const bool asks = in.checks_init || in.marks_written || in.always_run;",
        "    const bool asks = in.marks_written || in.always_run;",
        (
            "Compiled.RegistersThatWereNeverWritten",
            "Compiled.TheHostsRoundingIsAsBefore",
        ),
    ),
)


def run(build, targets):
    """Builds the targets; returns what the compiler and the build's checks say, or None if all is well."""
    done = subprocess.run(["cmake", "--build", build, "--target", *targets, "-j", str(os.cpu_count())], capture_output=True, text=True)
    return None if done.returncode == 0 else done.stdout + done.stderr


def failures(build, programs, tests="*", engine=""):
    failed = set()
    left_out = f"{SLOW}:{VALUES}" if programs == MEMORY else SLOW
    for program in programs:
        command = [f"{build}/bin/{program}", "--gtest_brief=1", f"--gtest_filter={tests}-{left_out}"]
        environment = os.environ | ({"LEMMA_ENGINE": engine} if engine else {})
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            failed.add(f"{program} did not end")
            continue
        failed |= set(re.findall(r"^\[  FAILED  \] (\w+\.\w+)", done.stdout, re.MULTILINE))
        if done.returncode != 0 and not failed:
            failed.add(f"{program} ended with {done.returncode}")
    if programs == MEMORY:
        return failed
    page = subprocess.run([f"{build}/bin/lemma", "isa", "--markdown"], capture_output=True, text=True).stdout
    return failed | ({PAGE} if page != (ROOT / PAGE).read_text() else set())


def verdict(mutant, build):
    """Returns None if the mutant fails what it lists and nothing else, or what is different."""
    path = ROOT / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        return f"{mutant.file} has {mutant.old!r} {text.count(mutant.old)} times"
    try:
        path.write_text(text.replace(mutant.old, mutant.new))
        message = run(build, targets_of(mutant.programs))
        if mutant.fails == BUILD:
            return None if message and mutant.says in message else f"the build does not say {mutant.says!r}"
        if message:
            return "does not build: " + " ".join(message.splitlines()[-3:])
        failed = failures(build, mutant.programs, mutant.tests, mutant.engine)
    finally:
        path.write_text(text)
    beyond, missing = failed - set(mutant.fails), set(mutant.fails) - failed
    parts = [f"fails too: {', '.join(sorted(beyond))}"] * bool(beyond)
    parts += [f"does not fail: {', '.join(sorted(missing))}"] * bool(missing)
    return "; ".join(parts) or None


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("mutants", nargs="*", metavar="MUTANT")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.mutants or m.name in options.mutants]
    if options.list:
        for mutant in chosen:
            print(f"{mutant.name} | {mutant.file} | {' '.join(mutant.fails)}")
        return 0
    changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", *(m.file for m in chosen)], cwd=ROOT)
    if changed.returncode != 0:
        print("mutation_test: the files to change have changes that are not committed", file=sys.stderr)
        return 2
    programs = MEMORY if all(m.programs == MEMORY for m in chosen) else PROGRAMS
    if message := run(options.build, targets_of(programs)):
        print(message, file=sys.stderr)
        return 2
    if failed := failures(options.build, programs):
        print(f"mutation_test: fail without a mutant: {', '.join(sorted(failed))}", file=sys.stderr)
        return 2
    wrong = 0
    for mutant in chosen:
        difference = verdict(mutant, options.build)
        wrong += difference is not None
        print(f"{mutant.name} | {difference or 'as listed'}", flush=True)
    run(options.build, targets_of(programs))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
