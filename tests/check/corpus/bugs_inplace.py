"""Bugs in kernels that work in place: read-only loads of what is written, tails and parts that nobody writes, grids that begin early."""

from edit import after, before, cut, move, no_wait, only, put, rewrite, sub
from table import bug, fine


def read_only(selector):
    return sub(selector, "ld.global", "ld.global.nc")


# ---- inplace_rows: neighbours in place, edges by a flag
K = "inplace_rows"
CELLS = ["@write st.global", "@read ld.global | @read_left ld.global"]
EDGE = ["@edge st.global", "@read_edge ld.global"]
bug(K, "race.global", "no_barrier_before_write", cut("@sync bar.sync"), CELLS)
bug(K, "race.global", "syncwarp_before_write", put("@sync bar.sync", "bar.warp.sync -1;"), CELLS)
bug(K, "race.global", "writes_before_the_barrier", move("@sync bar.sync", to_after="@write st.global"), CELLS)
bug(K, "race.weak", "edge_through_nc", read_only("@read_edge ld.global"), "@read_edge ld.global.nc")
bug(
    K,
    "race.global|race.weak",
    "read_left_through_nc_without_barrier",
    [read_only("@read_left ld.global"), cut("@sync bar.sync")],
    CELLS,
)
bug(
    K,
    "race.global",
    "reads_the_cell_of_the_other_cta",
    put("@read_edge ld.global", "ld.global.u32 %r14, [%rd3+-4];"),
    ["@write st.global", "@new ld.global"],
)
bug(K, "race.global|race.weak", "edge_after_the_flag", move("@edge st.global", to_after="@publish st.release"), EDGE)
bug(K, "race.weak", "publishes_relaxed", sub("@publish st", ".release", ".relaxed"), EDGE)
bug(K, "race.weak", "polls_relaxed", sub("@poll ld", ".acquire", ".relaxed"), EDGE)
bug(
    K,
    "race.scope",
    "publishes_to_the_cluster",
    sub("@publish st", ".gpu", ".cluster"),
    EDGE[0] + " | " + EDGE[1] + " | @publish | @poll",
)
bug(K, "memory.undefined", "edge_not_stored", cut("@edge st.global"), "@write st.global")
fine(K, "left_through_nc", read_only("@read_left ld.global"))
fine(K, "own_cell_not_through_nc", sub("@read ld.global", ".nc", ""))

# ---- nested_count: all load a number again and again, one thread stores it
K = "nested_count"
NUMBER = ["@write st.global", "@read ld.global"]
bug(K, "race.global", "all_store_it", cut("@who bra"), NUMBER)
bug(K, "race.global", "another_each_round", rewrite("setp.ne.s32 %p3", "%r19, 0", "%r19, %r24"), NUMBER)
bug(K, "race.global", "another_puts_its_own", rewrite("@put setp.eq.s32", ", 0", ", 40"), NUMBER)
bug(K, "race.global", "it_says_who_stores", before("@who bra", "setp.lt.u32 %p3, %r18, 7;"), NUMBER)
bug(
    K,
    "race.global",
    "waits_for_it_plainly",
    before("@sync bar.sync", "AGAIN:", "ld.global.u32 %r21, [%rd2];", "setp.eq.u32 %p6, %r21, 0;", "@%p6 bra AGAIN;"),
    ["@write st.global", "@new ld.global"],
)
bug(K, "race.global", "gets_without_barrier", cut("@sync bar.sync"), ["@write st.global", "@get ld.global"])
fine(K, "a_predicate_in_the_branchs_place", [cut("@who bra"), put("@write st.global", "@!%p3 st.global.u32 [%rd2], %r20;")])
fine(
    K,
    "all_ask_whether_to_store",
    [
        cut("@who bra"),
        before("@write st.global", "setp.gt.u32 %p6, %r18, 12;", "@%p6 bra MORE;"),
        after("@write st.global", "MORE:"),
        put("@write st.global", "@!%p3 st.global.u32 [%rd2], %r20;"),
    ],
)
fine(
    K,
    "all_compare_it",
    before("@who bra", "setp.gt.u32 %p6, %r18, 9;", "@%p6 bra MORE;", "add.s32 %r28, %r28, %r18;", "MORE:"),
)

# ---- inplace_passes: mirrored words in place, pass after pass
K = "inplace_passes"
WORDS = ["@write st.global", "@read_other ld.global"]
bug(K, "race.global", "no_barrier_after_reads", cut("@sync_read bar.sync"), WORDS)
bug(K, "race.global", "no_barrier_after_writes", cut("@sync_write bar.sync"), WORDS)
bug(
    K,
    "race.global",
    "one_barrier_a_pass",
    [cut("@sync_read bar.sync"), cut("@sync_write bar.sync"), before("@read_own ld.global", "bar.sync 0;")],
    WORDS,
)
bug(K, "race.global", "syncwarp_after_writes", put("@sync_write bar.sync", "bar.warp.sync -1;"), WORDS)
bug(K, "race.weak", "mirror_through_nc", read_only("@read_other ld.global"), "@read_other ld.global.nc")
bug(K, "race.weak", "own_word_through_nc", read_only("@read_own ld.global"), "@read_own ld.global.nc")
bug(
    K,
    "race.weak",
    "both_through_nc_with_a_fence",
    [
        read_only("@read_own ld.global"),
        read_only("@read_other ld.global"),
        after("@write st.global", "fence.acq_rel.gpu;"),
    ],
    "@read_own ld.global.nc | @read_other ld.global.nc",
)
bug(
    K,
    "race.weak",
    "makes_the_weights_of_the_next_pass",
    before(
        "@sync_write bar.sync",
        "{ .reg .pred more; .reg .b32 c; mov.u32 c, %ctaid.x; setp.lt.u32 more, %r17, 256;",
        "setp.eq.and.u32 more, c, 0, more; @more st.global.u32 [%rd13+512], %r16; }",
    ),
    "@weight ld.global.nc | @new st.global",
)
bug(
    K,
    "memory.bounds",
    "a_pass_too_many",
    before("@weight ld.global", "add.s64 %rd13, %rd13, 512;"),
    "@weight ld.global",
)
fine(K, "weights_not_through_nc", sub("@weight ld.global", ".nc", ""))

# ---- tail_tile: a tile of which the last part is filled up
K = "tail_tile"
TILE = "@sum | @most | @part | @part_most | @add | @max | @result | @read"
bug(K, "memory.undefined", "tail_not_filled", cut("@fill st.shared"), TILE)
bug(K, "memory.undefined", "fills_a_warp", only("@fill st.shared", "tid < 96"), TILE)
bug(K, "memory.undefined", "three_warps_have_sums", only("@sum st.shared", "warp < 3"), TILE)
bug(K, "memory.undefined", "lane_0_of_the_first_has_the_most", only("@most st.shared", "warp == 0"), TILE)
bug(K, "memory.undefined", "most_not_stored", cut("@part_most st.global"), "@result")
bug(K, "memory.undefined", "half_of_the_most_stored", sub("@part_most st.global", ".u32", ".u16"), "@result")
bug(K, "memory.undefined", "last_not_set", only("@ticket st.shared", "tid > 0"), "@result | @ticket")
bug(K, "race.shared", "no_barrier_after_fill", cut("@sync_fill bar.sync"), ["@fill st.shared", "@read ld.shared"])
bug(
    K,
    "race.shared",
    "no_barrier_after_sums",
    cut("@sync_sums bar.sync"),
    ["@sum st.shared | @most st.shared", "@part ld.shared | @part_most ld.shared"],
)
bug(
    K,
    "race.proxy|async.unwaited|race.shared",
    "fills_all_first",
    [put("@fill setp", "setp.lt.s32 %p2, %r3, 0;")],
    ["@fill st.shared", "@load cp.async"],
)
bug(K, "async.unwaited", "does_not_wait", no_wait("@wait"), ["@load cp.async", "@read ld.shared"])
bug(K, "memory.undefined", "fills_from_the_next_word", sub("@fill setp", "lt", "le"), TILE)
bug(K, "memory.undefined", "copies_four_words_less", before("@expect mbarrier", "sub.u32 %r15, %r15, 16;"), TILE)
bug(K, "memory.undefined", "reads_for_lanes_that_count", only("@read ld.shared #1", "tid < 120"), TILE)
bug(K, "memory.bounds", "next_word_of_the_last", put("@read sub.s32", "mov.u32 %r27, %r22;"), "@read ld.shared")
bug(K, "memory.bounds", "copies_a_whole_tile", [before("@expect mbarrier", "mov.u32 %r15, 512;")], "@load cp.async")

# ---- pdl_bulk: a grid that begins early, and copies
K = "pdl_bulk"
bug(
    K,
    "warp.griddepcontrol",
    "factor_before_the_barrier",
    [
        cut("@factor ld.global"),
        before(
            "@sync_init bar.sync",
            "{ .reg .b64 from; ld.param.u64 from, [pdl_bulk_param_1]; cvta.to.global.u64 from, from; ld.global.u32 %r33, [from+20]; }",
        ),
    ],
    "@new ld.global",
)
bug(
    K,
    "warp.griddepcontrol",
    "stores_before_the_barrier",
    before(
        "@sync_init bar.sync",
        "{ .reg .b64 to; .reg .b32 who; ld.param.u64 to, [pdl_bulk_param_2]; cvta.to.global.u64 to, to;",
        "mov.u32 who, %ctaid.x; mad.lo.u32 who, who, 64, %r1; mul.wide.u32 %rd10, who, 4; add.s64 to, to, %rd10;",
        "st.global.u32 [to], 0; }",
    ),
    "@new st.global",
)
bug(
    K,
    "warp.griddepcontrol",
    "copies_before_it_waits",
    move("@wait griddepcontrol", to_after="@load_late cp.async"),
    "@load_late cp.async",
)
bug(
    K,
    "warp.griddepcontrol",
    "another_thread_waits",
    [
        cut("@wait griddepcontrol"),
        before("@sync_init bar.sync", "griddepcontrol.wait;"),
        only("@new griddepcontrol", "tid == 32"),
    ],
    "@load_late cp.async",
)
bug(
    K,
    "mbarrier.init",
    "no_barrier_after_init",
    cut("@sync_init bar.sync"),
    ["@init_0 | @init_1", "@wait_early | @wait_late"],
)
bug(
    K,
    "async.unwaited",
    "reads_the_early_without_wait",
    no_wait("@wait_early"),
    ["@load_early cp.async", "@read ld.shared"],
)
bug(
    K,
    "async.unwaited",
    "reads_the_late_without_wait",
    no_wait("@wait_late"),
    ["@load_late cp.async", "@read ld.shared"],
)
bug(
    K,
    "mbarrier.tx",
    "expects_half_of_the_late",
    [
        before("@expect_1 mbarrier", "{ .reg .b32 half; mov.u32 half, 128;"),
        sub("@expect_1 mbarrier", "%r14", "half"),
        after("@new mbarrier", "}"),
    ],
    "@expect_1 | @new | @load_late | @wait_late | @init_1",
)
fine(K, "waits_first", move("@wait griddepcontrol", to_before="@init_0 mbarrier"))
fine(K, "everybody_waits", before("@sync_init bar.sync", "griddepcontrol.wait;"))
