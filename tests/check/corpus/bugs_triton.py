"""Bugs in the PTX of Triton's kernels: lines are named by what they say and their number among those."""

from edit import before, cut, move, no_wait, only, sub
from table import bug

# ---- Triton's: lines are named by what they say and their number among those
COPIES, FROM_SHARED = "cp.async.cg.shared.global", "ldmatrix"
K = "matmul.sm_80"
bug(K, "async.unwaited", "waits_for_one_stage_less", sub("cp.async.wait_group 2", "2;", "4;"), [COPIES, FROM_SHARED])
bug(K, "async.unwaited", "barrier_after_wait_missing", cut("bar.sync #2"), [COPIES, FROM_SHARED])
bug(
    K,
    "async.unwaited",
    "wait_after_barrier",
    move("cp.async.wait_group 2", to_after="bar.sync #2"),
    [COPIES, FROM_SHARED],
)
bug(K, "async.unwaited", "commit_of_b_missing", cut("cp.async.commit_group #2"), [COPIES, FROM_SHARED])
bug(K, "async.unwaited", "epilogue_over_copies", cut("cp.async.wait_group 0"), [COPIES, "st.shared.v4"])
bug(K, "race.shared|async.unwaited", "no_barrier_before_refill", cut("bar.sync #3"), [COPIES, FROM_SHARED])
bug(K, "async.unwaited", "no_barrier_before_epilogue", cut("bar.sync #4"), [COPIES, "st.shared.v4"])
bug(K, "race.shared", "no_barrier_between_store_and_load", cut("bar.sync #5"), ["st.shared.v4", "ld.shared.v4"])
bug(K, "race.shared", "no_barrier_before_second_half", cut("bar.sync #6"), ["ld.shared.v4", "st.shared.v4"])
bug(K, "warp.aligned", "ldmatrix_of_half_a_warp", only("ldmatrix #3", "lane < 16"), "ldmatrix #3")
bug(K, "barrier.divergent", "barrier_of_half_of_each_warp", only("bar.sync #5", "lane < 16"), "bar.sync #5")

K = "matmul_descriptor.sm_90"
TILES, PRODUCT = "cp.async.bulk.tensor.2d.shared", "wgmma.mma_async"
bug(
    K,
    "race.proxy",
    "no_fence_before_store",
    cut("fence.proxy.async.shared::cta #-1"),
    ["st.shared.v2", "cp.async.bulk.tensor.2d.global"],
)
bug(
    K,
    "race.shared|async.unwaited",
    "no_barrier_before_store",
    cut("bar.sync #-2"),
    ["st.shared.v2", "cp.async.bulk.tensor.2d.global"],
)
bug(K, "race.proxy", "descriptor_not_acquired", cut("fence.proxy.tensormap #1"), TILES)
bug(K, "async.unwaited", "tiles_not_waited_for", no_wait(""), [TILES, PRODUCT])
bug(
    K,
    "async.unwaited",
    "exits_while_store_reads",
    cut("cp.async.bulk.wait_group.read 0 #-1"),
    "cp.async.bulk.tensor.2d.global",
)
bug(
    K,
    "async.unwaited",
    "refilled_while_products_read",
    sub("wgmma.wait_group.sync.aligned 1", "1;", "3;"),
    [TILES, PRODUCT],
)
bug(
    K,
    "wgmma.wait",
    "result_with_products_in_flight",
    sub("wgmma.wait_group.sync.aligned 0", "0;", "1;"),
    ["st.shared.v2", PRODUCT],
)
bug(
    K,
    "wgmma.inflight",
    "result_without_waits",
    [cut("wgmma.wait_group.sync.aligned 0"), cut("wgmma.wait_group.sync.aligned 1")],
    ["st.shared.v2", PRODUCT],
)
bug(K, "wgmma.fence", "no_fence", cut("wgmma.fence"), PRODUCT)
bug(
    K, "mbarrier.tx", "bytes_of_one_tile", sub("mbarrier.arrive.expect_tx #1", "16384", "8192"), "mbarrier | " + TILES
)
bug(
    K,
    "mbarrier.tx",
    "bytes_of_three_tiles",
    sub("mbarrier.arrive.expect_tx #-1", "16384", "24576"),
    "mbarrier | " + TILES,
)
bug(K, "mbarrier.count", "first_counts_two", sub("mbarrier.init #1", " 1;", " 2;"), "mbarrier")
bug(K, "mbarrier.init", "third_not_initialised", cut("mbarrier.init #3"), "mbarrier")
bug(K, "warp.elect|warp.mask", "elect_mask_of_half", sub("elect.sync #1", "-1;", "0xffff;"), "elect.sync #1")

K = "layer_norm_backward.sm_90"
ROWS = "st.global.b32 | ld.global.b32"
bug(K, "race.shared", "no_barrier_in_reduction", cut("bar.sync #1"), ["st.shared.b32 #1", "ld.shared.b32"])
bug(K, "race.shared", "second_sum_over_the_first", cut("bar.sync #3"), ["ld.shared.b32 #2", "st.shared.b32"])
bug(K, "race.weak", "lock_taken_relaxed", sub("cas.b32", ".acq_rel", ".relaxed"), ROWS)
bug(K, "race.weak", "lock_given_relaxed", sub("exch.b32", ".acq_rel", ".relaxed"), ROWS)
bug(K, "race.scope", "lock_taken_at_the_cta", sub("cas.b32", ".gpu", ".cta"), ROWS + " | cas.b32 | exch.b32")
bug(K, "race.global|race.weak", "given_before_all_have_written", cut("bar.sync #-1"), ROWS)
bug(K, "warp.mask", "mask_of_half", sub("shfl.sync.bfly #2", "-1;", "0xffff;"), "shfl.sync.bfly #2")
bug(K, "warp.mask", "shuffle_within_if", only("shfl.sync.bfly #6", "lane < 4"), "shfl.sync.bfly")
bug(
    K,
    "memory.undefined",
    "last_warp_has_no_sum",
    only("st.shared.b32 #1", "tid < 96"),
    "st.global.b16 | ld.shared.b32 | shfl.sync.bfly",
)

K = "last_program_sum.sm_90"
PARTIAL = ["st.global.b32 #1", "ld.volatile.global"]
bug(K, "race.weak", "ticket_relaxed", sub("atom.global", ".acq_rel", ".relaxed"), PARTIAL)
bug(
    K,
    "race.scope",
    "ticket_at_the_cta",
    sub("atom.global", ".gpu", ".cta"),
    "atom.global | st.global.b32 #1 | ld.volatile.global",
)
bug(
    K,
    "race.global|race.weak",
    "partial_after_ticket",
    move("st.global.b32 #1", to_after="atom.global"),
    ["st.global.b32", "ld.volatile.global"],
)
bug(K, "race.shared", "ticket_read_without_barrier", cut("bar.sync #4"), ["st.shared.b32 #3", "ld.shared.b32 #3"])
bug(K, "race.shared", "ticket_over_the_sum", cut("bar.sync #3"), ["ld.shared.b32", "st.shared.b32 #3"])

K = "welford.sm_80"
bug(K, "race.shared", "no_barrier", cut("bar.sync #1"), ["st.shared.b32", "ld.shared.b32"])
bug(K, "race.shared", "result_without_barrier", cut("bar.sync #2"), ["st.shared.b32", "ld.shared.b32"])
bug(K, "memory.undefined", "no_counts", cut("st.shared.b32 #3"), "st.global | div | shfl.sync | ld.shared")
bug(K, "warp.mask", "last_step_in_a_quad", only("shfl.sync.bfly #-1", "lane < 4"), "shfl.sync.bfly #-1")

K = "cumsum.sm_90"
bug(K, "race.shared", "no_barrier", cut("bar.sync #1"), ["st.shared.b32", "ld.shared"])
bug(K, "memory.undefined", "third_warp_has_no_sum", only("st.shared.b32", "warp != 1"), "st.global | ld.shared | add")
bug(K, "warp.mask", "mask_without_lane_0", sub("shfl.sync.up #1", "-1;", "0xfffffffe;"), "shfl.sync.up #1")

K = "transpose.sm_80"
bug(K, "race.shared", "no_barrier", cut("bar.sync #1"), ["st.shared.v4", "ldmatrix"])
bug(K, "warp.aligned", "ldmatrix_of_half_a_warp", only("ldmatrix", "lane >= 16"), "ldmatrix")

K = "descriptor_copy.sm_90"
bug(
    K,
    "race.proxy",
    "no_fence_before_store",
    cut("fence.proxy.async.shared::cta #-1"),
    ["stmatrix", "cp.async.bulk.tensor.2d.global"],
)
bug(K, "race.proxy", "descriptor_not_acquired", cut("fence.proxy.tensormap #2"), "cp.async.bulk.tensor.2d.global")
bug(K, "async.unwaited", "tile_not_waited_for", no_wait(""), [TILES, "ldmatrix"])
bug(
    K,
    "async.unwaited",
    "store_not_committed",
    cut("cp.async.bulk.commit_group #-1"),
    "cp.async.bulk.tensor.2d.global",
)
bug(
    K,
    "race.shared|async.unwaited",
    "no_barrier_before_store",
    cut("bar.sync #-2"),
    ["stmatrix", "cp.async.bulk.tensor.2d.global"],
)
bug(K, "race.shared", "stored_over_what_others_read", cut("bar.sync #-3"), ["ldmatrix", "stmatrix"])
bug(K, "mbarrier.tx", "half_the_bytes", sub("mbarrier.arrive.expect_tx", "4096", "2048"), "mbarrier | " + TILES)
bug(K, "mbarrier.count", "counts_a_warp", sub("mbarrier.init", " 1;", " 32;"), "mbarrier")
bug(
    K,
    "mbarrier.plain|mbarrier.inval",
    "zeroed_before_inval",
    before("mbarrier.inval", "@%p2 st.shared.b64 [%r17], 0;"),
    "@new st.shared",
)

K = "attention.sm_80"
bug(
    K,
    "async.unwaited",
    "waits_for_one_stage_less",
    sub("cp.async.wait_group 2 #1", "2;", "4;"),
    [COPIES, FROM_SHARED],
)
bug(K, "async.unwaited", "barrier_after_wait_missing", cut("bar.sync #2"), [COPIES, FROM_SHARED])
bug(K, "warp.mask", "row_sum_in_a_quad", only("shfl.sync.bfly #1", "lane < 4"), "shfl.sync.bfly")

# ---- in place: a number that one thread stores lies in others, too, which all have loaded it
LOAD, STORE = "ld.global.b32", "st.global.b32"
bug("softmax_in_place", "race.global", "all_that_have_it_store", sub("and.pred %p2", "%p11,", "%p1,"), [LOAD, STORE])
bug("clip_in_place", "race.global", "all_that_have_it_decide", sub("and.pred %p6", "%p5,", "%p3,"), [LOAD, STORE])
bug(
    "clip_in_place",
    "race.global",
    "it_is_an_address",
    before("abs.f32", "mad.wide.s32 %rd1, %r1, 0, %rd1;", "@%p1 ld.global.b32 %r3, [%rd1];"),
    [LOAD, STORE],
)
bug(
    "running_mean",
    "race.global",
    "it_ends_the_program",
    before("setp.eq.b32 %p2", "setp.lt.s32 %p2, %r3, -77;", "@%p2 ret;"),
    ["ld.global.b32 { %r3 }", "st.global.b32 [ %rd2"],
)
bug(
    "sine_in_place",
    "race.global",
    "a_branch_past_a_store",
    before("add.s32 %r28, %r27", "st.global.b32 [ %rd10 + 0 ], { %r27 };"),
    [LOAD, STORE],
)
