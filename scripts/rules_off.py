#!/usr/bin/env python3
"""Whether a test fails for each rule of order that the checker is made to forget.

usage: scripts/rules_off.py [--build DIR] [--list] [RULE...]

A rule of docs/checks.md ("What orders") is a line of src/check. Each is taken out, check_test is built in DIR (build) and
run: a test must fail. Where no unit test can have what the rule is about, a kernel of tests/check/corpus must. Without a rule's name all are tried: some minutes. The files are put back afterwards; they must
be as they were committed. A line of the table:

    RULE | the tests that fail

Exit status: 0 a test fails for each; 1 not so; 2 the tests fail as it is, a rule is not where it should be, or does not build.
"""

import argparse
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECK = ROOT / "src/check"


class Rule(NamedTuple):
    name: str
    file: str
    old: str  # stands there once
    new: str
    corpus: str = ""  # a kernel there, in the place of check_test


RULES = (
    Rule("program order", "accessor.h", "if (earlier.agent == warp.knowledge.agent())\n      return earlier.every_lane || record.every_lane || (earlier.whole_warp && record.whole_warp)\n                 ? vgpu::kAllLanes\n                 : own;", ""),
    Rule(
        "barriers hand on",
        "checker.cc",
        "warp->knowledge.add_own(barrier.knowledge.known, kAllLanes, epoch);",
        "(void)epoch;",
    ),
    Rule(
        "barriers hand on what lanes know that are no whole warp",
        "checker.cc",
        "barrier.knowledge.join(\n          warp.knowledge.release_later(sync.lanes, versions_.load(std::memory_order_relaxed)));",
        "warp.knowledge.release_later(sync.lanes, versions_.load(std::memory_order_relaxed));",
    ),
    Rule(
        "a barrier is of those who come",
        "checker.cc",
        "if (threads == uint64_t{block[0]} * block[1] * block[2]) {",
        "if (threads > 0 || block[0] > 0) {",
    ),
    Rule("operations and proxies outlast barriers", "checker.cc", "may_forget_ &= !outlasts_barriers(instruction.opcode);", "(void)outlasts_barriers(instruction.opcode);"),
    Rule("what waits is entered for what it may race with", "visit.cc", "if (cluster.pending.meet(what))\n      enter_pending(cluster);", "cluster.pending.meet(what);"),
    Rule("kept atomics are entered for what they may race with", "shadow.h", "enters_updates(page, offset - in_page, *std::exchange(page.updates, {}));", "page.updates = {};"),
    Rule("barriers teach", "checker.cc", "warp->knowledge.become(lanes, barrier.knowledge);", "(void)warp;"),
    Rule("bar.warp.sync", "checker.cc", "warp.knowledge.synchronize(sync.lanes, versions_.load(std::memory_order_relaxed));", ""),
    Rule(
        "barrier.cluster.arrive",
        "checker.cc",
        "hand_on(warp, sync.lanes, sync.order, kSameCta, cluster.cluster_barrier.knowledge);",
        "",
    ),
    Rule("barrier.cluster.wait", "checker.cc", "warp->knowledge.acquire(lanes, state.cluster_passed);", "(void)warp;"),
    Rule(
        "barrier.cluster.wait of a phase that has passed",
        "checker.cc",
        "warp.knowledge.acquire(passed, cluster.cluster_passed);",
        "(void)passed;",
    ),
    Rule("release", "checker.cc", "return Released{writer, warp.knowledge.release(writer.lanes)};", "return Released{writer, {}};"),
    Rule("acquire", "checker.cc", "warp.knowledge.acquire(read.lanes, released.knowledge);", ";"),
    Rule("release fence", "knowledge.cc", "group.at_fence = group.knowledge;\n      group.fence_epoch = epoch_;", ""),
    Rule("acquire fence", "knowledge.cc", "group.knowledge.join(seen);", ""),
    Rule("strong writes that were read", "conflict.cc", "if (is_observed(visit, offset, earlier, earlier_lane, lane))\n    return;", ""),
    Rule("chains of atomics", "checker.cc", "if (!keeps_chain) //", "if (true) //"),
    Rule("a release, and what its thread writes after it", "checker.cc", "return is_of(earlier, writer);", "return &earlier == nullptr;"),
    Rule("a red acquires nothing", "visit.cc", "instruction)).has(isa::effect::reduces);", "instruction)).has(isa::effect::pure);"),
    Rule(
        "scopes of what synchronizes",
        "checker.cc",
        "return includes(writer.scope, distance) && includes(order.scope, distance);",
        "return distance <= kSameGpu;",
    ),
    Rule(
        "scopes of what races",
        "accessor.h",
        "includes(record.order.scope, distance(earlier)) &&\n           includes(earlier.order.scope, distance(earlier)) &&",
        "",
    ),
    Rule(
        "mbarrier.arrive", "checker.cc",
        "hand_on(warp, arrival.lanes, arrival.order, kSameCluster, to.wide);",
        ";",
    ),
    Rule(
        "the scope of a fence before a relaxed arrival",
        "checker.cc",
        "hand_on(warp, arrival.lanes, arrival.order, kSameCluster, to.wide);",
        "hand_on(warp, arrival.lanes, arrival.order, kSameCta, to.wide);",
        "cluster_baton",
    ),
    Rule("an arrival with a scope of .cta", "checker.cc", "    if (scope != SpelledScope::cta)\n      hand_on", "    hand_on", "cluster_baton"),
    Rule(
        "an exit behind an arrival that the CTA has waited for",
        "ends.cc",
        "record.mbarrier && state.observed",
        "false && state.observed",
        "cluster_feed|multicast|cluster_ring|cluster_baton|cluster_handoff|red_async",
    ),
    Rule(
        "operations that read a CTA's memory for others",
        "ends.cc",
        "if (!state.knowledge.known.covers_any(cluster.id, reading.agent, reading.epoch))",
        "if (reading.epoch == 0)",
        "cluster_tables",
    ),
    Rule("mbarrier waits", "checker.cc", "warp.knowledge.acquire(wait.lanes, handed_on);", ";"),
    Rule(
        "completion on an mbarrier",
        "checker.cc",
        "mbarrier.gathered.operations.known.advance(cluster.id, mbarrier.agent, kAllLanes, mbarrier.phase);",
        "",
    ),
    Rule(
        "cp.async.mbarrier.arrive",
        "checker.cc",
        "done.known.advance(cluster.id, agent, LaneMask{1} << lane, epoch);",
        "(void)agent, (void)lane, (void)epoch;",
    ),
    Rule("wait_all", "operations.cc", "thread.wait_all();", ";"),
    Rule("wait_group", "operations.cc", "thread.wait(wait.pending, wait.read_only);", ";"),
    Rule("wait_group's number", "knowledge.h", "committed.size() - 1 - pending]", "committed.size() - 1]"),
    Rule("wait_group.read", "knowledge.h", "if (read_only)\n      return;", "(void)read_only;"),
    Rule("wgmma.wait_group", "operations.cc", "warp.knowledge.acquire(wait.lanes, done);", ""),
    Rule("the async proxy needs a fence", "accessor.h", "record.proxy != vgpu::Proxy::generic && earlier.proxy", "false && earlier.proxy"),
    Rule("fence.proxy.async", "checker.cc", "warp.knowledge.proxy_fence(sync.lanes, global || !shared, shared || !global);", ";"),
    Rule(
        "fence.proxy.async of one kind of memory",
        "checker.cc",
        "warp.knowledge.proxy_fence(sync.lanes, global || !shared, shared || !global);",
        "warp.knowledge.proxy_fence(sync.lanes, global || !global, shared || !shared);",
        "bulk_relay",
    ),
    Rule("fence.proxy.tensormap::generic.acquire", "checker.cc", "warp.knowledge.map_acquire(alike, sync.order.scope, map);", ";", "map_swap"),
    Rule("fence.proxy.tensormap::generic.release", "checker.cc", "warp.knowledge.map_release(sync.lanes, sync.order.scope);", ";", "map_pass"),
    Rule("the fence in tensormap.cp_fenceproxy", "visit.cc", "warp.knowledge.map_release(x.active, scope_of(x.ptx_instruction(in)));", ";", "map_swap"),
    Rule("the scope of tensormap release fences", "knowledge.cc", "if (includes(scope, static_cast<Distance>(distance)))\n      fenced->released", "fenced->released", "map_pass"),
    Rule("the scope of tensormap acquire fences", "knowledge.cc", "if (includes(scope, static_cast<Distance>(distance)))\n      acquired", "acquired", "map_pass"),
    Rule("griddepcontrol.wait", "checker.cc", "warp.knowledge.acquire(sync.lanes, waited);", ""),
    Rule(
        "copies before griddepcontrol.wait",
        "operations.cc",
        "depends_on_grids(cluster, x, place.allocation, !what.writes || what.atomic, what.writes, lanes);",
        ";",
        "pdl_bulk",
    ),
    Rule("older values that a known write has replaced", "old_values.cc", " || is_known(warp, lanes, by.cluster, by.agent, by.epoch)", ""),
    Rule("older values than was read", "old_values.cc", "old.then.version < newest_read || ", ""),
    Rule("fence.sc in the order of the run", "fences.cc", "warp.knowledge.acquire(sync.lanes, fence_order_);", ";", "lock_dekker"),
    Rule("fence.sc in the order that a thread hears of", "fences.cc", "    warp.knowledge.acquire(lanes & each.lanes, *read.knew);", ""),
    Rule("... of what was read after the fence", "fences.cc", "!writer.knew->clock().covers_any(read.cluster, read.agent, read.epoch)", "false"),
    Rule("all that many have released, heard without an acquire", "checker.cc", "if (is_new) // more than `writers` remembers", "if (false)"),
    Rule("what a relaxed word would have handed on", "checker.cc", "known.join(*warp.would_know);", ";"),
    Rule("values that a reduction finds", "undefined.cc", "    reduce(operation, report);", "    ;"),
    Rule("values that threads make together at a barrier", "undefined.cc", "    take_vote(x);", "    ;"),
    Rule("bits of a ballot", "undefined_together.cc", "    made_.set_bits(x.active, bits, given.origin);", "    ;"),
    Rule("words of a tensor map", "undefined.cc", 'report(memory_->origins[found_.origin], "says what a tensor copy accesses", std::countr_zero(used));', ";", "map_pass"),
    Rule("values of racing loads that nobody uses", "conflict.cc", "verdict.is_note || !holds(visit, earlier_id, key, width, finding, verdict.fix)", "true"),
    Rule("values of racing loads that were used by then", "held.cc", "(fate.used & given) != 0", "false"),
    Rule("loads that have come again", "held.cc", "where, !is_last, instructions", "where, is_last && false, instructions"),
    Rule("stores that a branch keeps others from", "loaded.cc", "(each.lanes & may_store_in(*region, x)) != 0", "false"),
    Rule("stores that a branch has kept others from", "loaded.cc", "      used_ |= lanes & ~kept;\n", ""),
    Rule("waits for what a load gets", "private_code.cc", "return std::find(loads_again.begin(), loads_again.end(), load) != loads_again.end();", "(void)load;\n  return false;"),
    Rule("values of racing loads that are used later", "loaded.cc", "report(used.race.number, lane);", "(void)lane;"),
    Rule("values of racing loads that a fault keeps from use", "checker.cc", "    tell_unfinished(*state);\n", "    (void)state;\n"),
    Rule("guards on the way from a load", "loaded.cc", "return in.guard_negated ? value.negated() : value;", "(void)value;\n    return {};"),
    Rule("predicates that come out the same each time", "loaded.cc", "written ? settled_->of(predicate, where_.registers)", "written ? Settled{}"),
    Rule("values that lanes make together", "undefined.cc", "    collect(x, in);", "    ;", "tail_tile"),
    Rule("tcgen05.wait::ld for others", "knowledge.cc", "clock.advance(cluster_, moves->load_agent, lanes, moves->loads - 1);", ";"),
    Rule("tcgen05.wait::st for others", "knowledge.cc", "clock.advance(cluster_, moves->store_agent, lanes, moves->stores - 1);", ";"),
    Rule("tcgen05.wait for the warp", "tensor_order.cc", "first.epoch < open ? Standing::precedes : Standing::unwaited", "Standing::precedes"),
    Rule("tcgen05.fence::before_thread_sync", "knowledge.cc", "add_own(group.knowledge.tensor, group.lanes, epoch_);", ";"),
    Rule("tcgen05.fence::after_thread_sync", "knowledge.cc", "group.tensor_fenced.join(group.knowledge.tensor);", ""),
    Rule("tcgen05.commit", "checker.cc", "done.tensor.advance(cluster.id, agent, LaneMask{1} << lane, epoch);", ";"),
    Rule("what a commit's thread came after", "checker.cc", "done.join(knew);", ";", "^tc_gemm"),
    Rule("fences of tcgen05 by relaxed arrivals", "checker.cc", "to.tensor.join(warp.knowledge.tensor_of(lanes));", ""),
    Rule("fences of tcgen05 by relaxed waits", "checker.cc", "warp.knowledge.take_tensor(wait.lanes, handed_on.tensor);", ";"),
    Rule("operations of tcgen05 that run in their order", "tensor_order.cc", "if (own && pipelined)\n    return {};", ""),
    Rule("... through fences", "tensor_order.cc", "(pipelined && is_issued(clock))", "false"),
    Rule("uses of tensor memory that later ones come after", "tensor_uses.cc", "earlier.writes && (both & ~implied) == 0", "false", "^tc_"),
    Rule("tcgen05.dealloc without fences", "tensor_order.cc", "if (fenced || (then.deed == TensorDeed::release && (known || carried)))", "if (fenced)"),
)


def build_and_run(build, corpus=""):
    """Returns the tests that fail, or None and what the compiler says."""
    target = "lemma_cli" if corpus else "check_test"
    made = subprocess.run(["cmake", "--build", build, "--target", target], capture_output=True, text=True)
    if made.returncode != 0:
        return None, made.stdout + made.stderr
    if corpus:
        command = [sys.executable, ROOT / "tests/check/corpus/run.py", "--lemma", f"{build}/bin/lemma", "--filter", corpus]
        done = subprocess.run(command, capture_output=True, text=True)
        return sorted(set(re.findall(r"^(?:twin )?(\S+): FAILED", done.stdout, re.MULTILINE))), ""
    done = subprocess.run([f"{build}/bin/check_test", "--gtest_brief=1"], capture_output=True, text=True)
    failed = sorted(set(re.findall(r"^\[  FAILED  \] (\w+\.\w+)", done.stdout, re.MULTILINE)))
    return failed or (["it crashes"] if done.returncode != 0 else []), ""


def without(rule, build):
    """Returns the tests that fail without the rule, or what is wrong."""
    path = CHECK / rule.file
    text = path.read_text()
    if text.count(rule.old) != 1:
        return None, f"{rule.file} has {rule.old!r} {text.count(rule.old)} times"
    try:
        path.write_text(text.replace(rule.old, rule.new))
        return build_and_run(build, rule.corpus)
    finally:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("rules", nargs="*", metavar="RULE")
    options = parser.parse_args()
    chosen = [rule for rule in RULES if not options.rules or rule.name in options.rules]
    if options.list:
        print("\n".join(f"{rule.name} | {rule.file}" for rule in chosen))
        return 0
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "src/check"], cwd=ROOT).returncode != 0:
        print("rules_off: src/check has changes that are not committed", file=sys.stderr)
        return 2
    status = 0
    failed, message = build_and_run(options.build)
    if failed != []:
        print(f"rules_off: as it is: {message or ', '.join(failed)}", file=sys.stderr)
        return 2
    for rule in chosen:
        failed, message = without(rule, options.build)
        if failed is None:
            print(f"{rule.name} | {message.strip().splitlines()[-1]}", flush=True)
            status = 2
            continue
        status = status or (0 if failed else 1)
        print(f"{rule.name} | {', '.join(failed) or 'NO TEST FAILS'}", flush=True)
    build_and_run(options.build)
    return status


if __name__ == "__main__":
    sys.exit(main())
