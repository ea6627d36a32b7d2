"""Bugs in rings and other uses of mbarriers, bulk copies and tensor copies."""

from edit import after, before, cut, last_operand, move, no_wait, only, sub, sub_every
from table import bug, fine

# ---- ring_generic: mbarriers between two warps
K = "ring_generic"
FULL = "@wait_full | @arrive_full | @init_full"
EMPTY = "@wait_empty | @arrive_empty | @init_empty"
bug(K, "mbarrier.phase", "does_not_wait_for_empty", no_wait("@wait_empty"), FULL)
bug(K, "mbarrier.phase", "does_not_wait_for_full", no_wait("@wait_full"), EMPTY)
bug(
    K,
    "race.shared",
    "frees_before_it_reads",
    move("@read ld.shared", to_after="@arrive_empty mbarrier"),
    ["@write st.shared", "@read ld.shared"],
)
bug(
    K,
    "race.shared",
    "arrives_before_it_writes",
    move("@write st.shared", to_after="@arrive_full mbarrier"),
    ["@write st.shared", "@read ld.shared"],
)
bug(K, "mbarrier.init", "no_barrier_after_init", cut("@sync_init bar.sync"), "@init_full | @init_empty")
bug(K, "mbarrier.init", "empty_not_initialised", cut("@init_empty mbarrier"), "@wait_empty | @arrive_empty")
bug(K, "mbarrier.count", "one_lane_arrives", only("@arrive_empty mbarrier", "lane == 0"), EMPTY)
bug(K, "mbarrier.count|mbarrier.phase", "full_counts_16", [sub("@init_full mbarrier", "%r20", "16")], FULL)
bug(K, "mbarrier.count", "empty_counts_64", [sub("@init_empty mbarrier", "%r20", "64")], EMPTY)
bug(K, "mbarrier.inval", "reused_without_inval", cut("@inval_full mbarrier"), "@reuse st.shared")
bug(
    K,
    "mbarrier.plain",
    "reads_a_live_object",
    before("@arrive_empty mbarrier", "{", ".reg .b32 word;", "ld.shared.u32 word, [_ZZ12ring_genericE4full];", "}"),
    "@new ld.shared",
)

# ---- ring_bulk: bulk copies to and from a ring
K = "ring_bulk"
FULL = "@wait_full | @expect | @load | @init_full_0 | @init_full_1"
EMPTY = "@wait_empty | @release | @init_empty_0 | @init_empty_1"
bug(K, "race.proxy", "reads_without_fence", cut("@fence_read"), ["@read ld.shared", "@load"])
bug(K, "race.proxy", "writes_without_fence", cut("@fence_write"), ["@write st.shared", "@store"])
bug(K, "race.proxy", "fence_of_one_thread", only("@fence_write fence", "tid == 0"), ["@write st.shared", "@store"])
bug(K, "async.unwaited", "no_wait_for_copies", no_wait("@wait_full"), ["@read ld.shared", "@load"])
bug(K, "async.unwaited", "result_refilled", cut("@wait_read wait_group"), ["@write st.shared", "@store"])
bug(K, "async.unwaited", "result_wait_2", sub("@wait_read wait_group", "1;", "2;"), ["@write st.shared", "@store"])
bug(K, "async.unwaited", "stores_not_committed", cut("@commit"), "@store")
bug(K, "async.unwaited", "exit_before_stores_have_read", cut("@wait_end wait_group"), "@store")
bug(K, "mbarrier.tx", "expects_half", sub("@expect mbarrier.arrive", "%r67;", "256;"), FULL)
bug(K, "mbarrier.tx", "expects_words_for_bytes", sub("@expect mbarrier.arrive", "%r67;", "128;"), FULL)
bug(K, "mbarrier.count|mbarrier.phase", "empty_counts_warps", sub_every("@init_empty_0 mov.u32", "128", "4"), EMPTY)
bug(
    K,
    "mbarrier.phase|mbarrier.count",
    "empty_parity_of_each_chunk",
    sub("@wait_empty shr.u32", "1;", "0;"),
    "@wait_empty",
)

# ---- transpose_tma
K = "transpose_tma"
bug(
    K,
    "race.proxy",
    "no_fence",
    cut("@fence fence"),
    ["@transpose st.shared | @transpose ld.shared", "@store | @load"],
)
bug(
    K,
    "race.proxy",
    "fence_after_barrier",
    [cut("@fence fence"), after("@elect_store elect.sync", "bar.warp.sync -1;")],
    ["@transpose st.shared", "@store"],
)
bug(
    K,
    "race.shared|async.unwaited",
    "no_barrier_before_store",
    cut("@sync_to bar.sync"),
    ["@transpose st.shared", "@store"],
)
bug(K, "async.unwaited", "to_refilled", cut("@wait_read wait_group"), ["@transpose st.shared", "@store"])
bug(K, "async.unwaited", "stores_not_committed", cut("@commit"), "@store")
bug(K, "async.unwaited", "exits_without_wait", cut("@wait_end wait_group"), "@store")
bug(K, "async.unwaited", "no_wait_for_tile", no_wait("@wait_full"), ["@transpose ld.shared", "@load"])
bug(
    K,
    "race.shared|async.unwaited",
    "no_barrier_before_refill",
    cut("@sync_free bar.sync"),
    ["@transpose st.shared", "@store"],
)
bug(
    K,
    "mbarrier.tx",
    "expects_elements",
    sub_every("@expect mov.u32", "4096", "1024"),
    "@expect | @load | @wait_full | @init",
)
bug(K, "mbarrier.phase", "parity_is_0", sub("@wait_full and.b32", "1;", "0;"), "@wait_full")
bug(K, "memory.bounds", "to_of_31_rows", sub("E2to[", "4096", "3968"), "@transpose | @store")

# ---- map_swap: a tensor map changed on the device
K = "map_swap"
bug(K, "mbarrier.count|mbarrier.init", "counts_nobody", last_operand("@init mbarrier.init", "0"), "@init")
bug(K, "race.proxy", "no_tensormap_fence", cut("@acquire fence.proxy"), "@load")
bug(K, "race.proxy", "reads_without_fence", cut("@fence_read fence"), ["@read ld.shared", "@load"])
bug(K, "mbarrier.tx", "expects_a_row", sub_every("@expect mov.u32", "1024", "128"), "@expect | @load | @wait | @init")
bug(K, "async.unwaited", "does_not_wait", no_wait("@wait"), ["@read ld.shared", "@load"])
bug(
    K,
    "race.shared|async.unwaited",
    "no_barrier_before_refill",
    cut("@sync_read bar.sync"),
    ["@read ld.shared", "@load"],
)

REPLACE = (
    "{ .reg .b64 to, from; .reg .b32 who; .reg .pred first; ld.param.u64 to, [map_swap_param_1];",
    "cvta.to.global.u64 to, to; ld.param.u64 from, [map_swap_param_2]; mov.u32 who, %tid.x; setp.eq.u32 first, who, 0;",
    "@first tensormap.replace.tile.global_address.global.b1024.b64 [to], from; }",
)
bug(
    K,
    "async.unwaited",
    "replaces_while_it_loads",
    after("@load cp.async", *REPLACE),
    ["@load cp.async", "@new tensormap"],
)
RELEASE = "fence.proxy.tensormap::generic.release.gpu;"
fine(K, "replaces_when_it_has_loaded", before("@fence_read fence", *REPLACE, RELEASE))
bug(K, "race.proxy", "replaces_without_a_release_fence", before("@fence_read fence", *REPLACE), ["@new tensormap", "@load"])

# ---- split_stencil: arrive and wait apart, and what becomes of the mbarrier
K = "split_stencil"
bug(K, "barrier.divergent", "half_of_each_warp", only("@sync_inval bar.sync", "lane < 16"), "@sync_inval | @sync_sum")
bug(K, "race.shared", "does_not_wait", no_wait("@wait"), ["@write st.shared", "@read ld.shared"])
bug(
    K,
    "race.shared",
    "arrives_before_it_writes",
    move("@write st.shared", to_after="@arrive mbarrier"),
    ["@write st.shared", "@read ld.shared"],
)
bug(K, "mbarrier.phase", "parity_does_not_change", last_operand("@wait try_wait", "0"), "@wait")
bug(K, "mbarrier.count|mbarrier.phase", "counts_32", sub_every("@init mov.u32", " 64;", " 32;"), "@init | @arrive | @wait")
bug(K, "mbarrier.count", "counts_65", sub_every("@init mov.u32", " 64;", " 65;"), "@init | @arrive | @wait")
bug(K, "mbarrier.init", "no_barrier_after_init", cut("@sync_init bar.sync"), "@init")
bug(K, "mbarrier.inval", "sum_over_a_live_mbarrier", cut("@inval mbarrier"), "@reuse st.shared")
bug(
    K, "mbarrier.inval", "inval_after_reuse", move("@inval mbarrier", to_after="@reuse st.shared"), "@reuse st.shared"
)
bug(
    K,
    "mbarrier.plain",
    "phase_read_by_a_load",
    before("@wait try_wait", "{ .reg .b64 word; ld.shared.u64 word, [_ZZ13split_stencilE5place]; }"),
    "@new ld.shared",
)
bug(
    K,
    "mbarrier.plain",
    "reset_by_a_store",
    after(
        "@arrive mbarrier",
        "{ .reg .pred one; .reg .b32 who; mov.u32 who, %tid.x; setp.eq.u32 one, who, 5; @one st.shared.u32 [_ZZ13split_stencilE5place], 0; }",
    ),
    "@new st.shared",
)
bug(
    K,
    "mbarrier.init",
    "initialised_by_all",
    after("@sync_init bar.sync", "mbarrier.init.shared.b64 [_ZZ13split_stencilE5place], 64;"),
    "@new mbarrier.init",
)
bug(K, "memory.bounds", "cells_of_one_buffer", sub("E5cells[", "512", "256"), "@write | @read")

# ---- stream_mbar: cp.async that arrive at mbarriers
K = "stream_mbar"
STAGE = "@read_low ld.shared | @read_high ld.shared"
FULL = "@arrive_full | @wait_full | @init_full"
EMPTY = "@arrive_empty | @wait_empty | @init_empty"
bug(
    K,
    "async.unwaited",
    "arrives_by_itself",
    sub(
        "@arrive_full cp.async.mbarrier", "cp.async.mbarrier.arrive.noinc.shared.b64", "mbarrier.arrive.shared.b64 _,"
    ),
    ["@copy", STAGE],
)
bug(
    K,
    "async.unwaited",
    "copies_after_arrival",
    move("@copy cp.async", to_after="@arrive_full cp.async"),
    ["@copy", STAGE],
)
bug(K, "mbarrier.count", "counted_twice", sub("@arrive_full cp.async.mbarrier", ".noinc", ""), FULL)
bug(K, "mbarrier.count", "empty_counts_64", sub("@init_empty mbarrier", ", %r", ", 64; //"), EMPTY)
bug(K, "mbarrier.count", "one_lane_frees", only("@arrive_empty mbarrier", "lane == 0"), EMPTY)
bug(K, "mbarrier.inval", "full_not_invalidated", cut("@inval_full mbarrier"), "@reuse st.shared")
bug(K, "mbarrier.inval", "inval_of_the_first_alone", only("@inval_full mbarrier", "tid == 0"), "@reuse st.shared")
bug(
    K,
    "mbarrier.plain",
    "zeroed_by_the_consumer",
    before(
        "@sync_end bar.sync",
        "{ .reg .pred one; .reg .b32 who; mov.u32 who, %tid.x; setp.eq.u32 one, who, 40; @one st.shared.u64 [_ZZ11stream_mbarE5empty], 0; }",
    ),
    "@new st.shared",
)
bug(
    K,
    "mbarrier.plain",
    "looks_for_empty_by_a_load",
    before("@read_low ld.shared", "{ .reg .b32 word; ld.volatile.shared.u32 word, [_ZZ11stream_mbarE5empty]; }"),
    "@new ld.volatile",
)
bug(K, "mbarrier.phase", "full_parity_stays", last_operand("@wait_full test_wait", "0"), "@wait_full | @wait_empty")
bug(K, "mbarrier.init", "no_barrier_after_init", cut("@sync_init bar.sync"), "@init_full | @init_empty")
