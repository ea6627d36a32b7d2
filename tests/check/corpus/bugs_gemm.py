"""Bugs in matrix products and attention: cp.async, TMA, wgmma, who is elected, warpgroups."""

from edit import after, before, cut, cut_every, last_operand, move, no_wait, only, put, sub, sub_every
from table import bug

# ---- gemm_pipeline: cp.async and mma.sync
K = "gemm_pipeline"
bug(
    K,
    "async.unwaited",
    "no_sync_after_wait",
    cut("@sync bar.sync"),
    ["@load_a | @load_b", "@ldmatrix_a | @ldmatrix_b"],
)
bug(K, "async.unwaited", "wait_group_2", sub("@wait wait_group", "1;", "2;"), "@ldmatrix_a | @ldmatrix_b")
bug(K, "async.unwaited", "no_wait_group", cut("@wait wait_group"), "@ldmatrix_a | @ldmatrix_b")
bug(K, "async.unwaited", "first_commit_missing", cut("@commit_0"), "@ldmatrix_a | @ldmatrix_b")
bug(K, "async.unwaited", "commits_missing_in_loop", cut("@commit commit_group"), "@ldmatrix_a | @ldmatrix_b")
bug(
    K,
    "async.unwaited",
    "wait_after_barrier",
    move("@wait wait_group", to_after="@sync bar.sync"),
    "@ldmatrix_a | @ldmatrix_b",
)
bug(K, "memory.undefined", "bias_not_staged", cut("@bias_write st.shared"), "@store")
bug(K, "warp.aligned", "ldmatrix_of_half_a_warp", only("@ldmatrix_a ldmatrix", "lane < 16"), "@ldmatrix_a")
bug(K, "warp.aligned", "mma_of_half_a_warp", only("@mma mma.sync #1", "lane < 16"), "@mma")
bug(K, "barrier.divergent", "barrier_of_those_that_copy", only("@sync bar.sync", "tid < 48"), "@sync")
bug(K, "memory.bounds", "a_has_two_stages", sub("E2as[", "4608", "3072"), "@load_a | @ldmatrix_a")
bug(K, "memory.bounds", "bias_of_eight", sub("E5added[", "64", "32"), "@bias_write | @store")

# ---- gemm_tma: TMA, wgmma, a producer warp
K = "gemm_tma"
FULL = "@expect | @wait_full | @load_a | @load_b | @init_full"
EMPTY = "@release | @wait_empty | @init_empty"
PRODUCTS = "@product_0 | @product_1 | @product_2 | @product_3"
bug(K, "race.proxy", "no_fence_before_store", cut("@fence_store"), ["@stage st.shared", "@store"])
bug(
    K,
    "race.proxy",
    "fence_after_barrier_by_one",
    [move("@fence_store fence", to_after="@sync_store barrier.sync"), only("@fence_store fence", "tid == 200")],
    ["@stage st.shared", "@store"],
)
bug(
    K,
    "race.shared|async.unwaited",
    "no_barrier_before_store",
    cut("@sync_store barrier.sync"),
    ["@stage st.shared", "@store"],
)
bug(K, "async.unwaited", "no_wait_for_full", no_wait("@wait_full"), ["@load_a | @load_b", PRODUCTS])
bug(K, "async.unwaited", "exit_before_store_has_read", cut("@wait_store"), "@store")
bug(K, "async.unwaited", "store_not_committed", cut("@commit_store"), "@store")
bug(
    K,
    "async.unwaited",
    "released_before_products_end",
    move("@wgmma_wait wgmma", to_before="@stage st.shared #1"),
    ["@load_a | @load_b", PRODUCTS],
)
bug(K, "wgmma.inflight", "no_wait_at_all", cut("@wgmma_wait wgmma"), ["@stage", PRODUCTS])
bug(K, "wgmma.wait", "wait_group_1", sub("@wgmma_wait wgmma", " 0;", " 1;"), ["@stage", PRODUCTS])
bug(K, "wgmma.wait", "not_committed", cut("@wgmma_commit wgmma"), ["@stage", PRODUCTS])
bug(K, "wgmma.fence", "no_fence", cut("@wgmma_fence wgmma"), "@product_0")
PER_WARP = [
    "{",
    ".reg .b32 w;",
    ".reg .b64 offset;",
    "mov.u32 w, %tid.x;",
    "shr.u32 w, w, 5;",
    "and.b32 w, w, 3;",
    "mul.wide.u32 offset, w, 128;",
]
bug(
    K,
    "wgmma.warps",
    "a_of_each_warp",
    [before("@product_1 wgmma", *PER_WARP, "add.s64 %rd8, %rd8, offset;", "}")],
    "@product_1",
)
bug(K, "mbarrier.tx", "bytes_of_a_alone", sub("10240;", "10240", "8192"), FULL)
bug(K, "mbarrier.tx", "bytes_of_two_b", sub("10240;", "10240", "12288"), FULL)
bug(K, "mbarrier.tx", "b_not_loaded", cut("@load_b cp.async"), FULL)
bug(K, "mbarrier.count|mbarrier.phase", "empty_counts_a_warp", sub_every("@init_empty mov.u32", " 4;", " 1;"), EMPTY)
bug(K, "mbarrier.count", "full_counts_two", sub_every("@init_full mov.u32", " 1;", " 2;"), FULL)
bug(K, "mbarrier.phase", "full_parity_stays", sub("@wait_full and.b32 #-1", "1;", "0;"), "@wait_full")
bug(K, "warp.setmaxnreg", "one_warp_gives", only("@give setmaxnreg", "warp == 0"), "@give")
bug(K, "warp.setmaxnreg", "last_warp_does_not_take", only("@take setmaxnreg", "warp < 7"), "@take")
bug(K, "mbarrier.init", "no_barrier_after_init", cut("@sync_init bar.sync"), "@init_full | @init_empty")
bug(K, "mbarrier.init", "empty_not_initialised", cut_every("@init_empty mbarrier.init"), "@wait_empty | @release")
bug(K, "barrier.count", "store_waits_for_all_256", sub("@sync_store barrier.sync", "%r50", "256"), "@sync_store")

# ---- gemm_wgmma: one warpgroup in turns, A in registers
K = "gemm_wgmma"
bug(K, "race.proxy", "reads_without_fence", cut("@fence_reads"), ["@ldmatrix", "@load_a"])
bug(K, "race.shared|async.unwaited", "no_barrier_before_refill", cut("@sync_loop bar.sync"), ["@ldmatrix", "@load_a"])
bug(K, "async.unwaited", "no_wait_for_copies", no_wait("@wait_full"), ["@load_a | @load_a_first", "@ldmatrix"])
bug(K, "wgmma.inflight", "no_wait_at_all", cut("@wgmma_wait wgmma"), [PRODUCTS, "@ldmatrix | @store"])
bug(K, "wgmma.wait", "wait_group_1", sub("@wgmma_wait wgmma", " 0;", " 1;"), [PRODUCTS, "@ldmatrix | @store"])
bug(K, "wgmma.wait", "not_committed", cut("@wgmma_commit wgmma"), [PRODUCTS, "@ldmatrix | @store"])
bug(K, "wgmma.fence", "no_fence", cut("@wgmma_fence wgmma"), PRODUCTS)
bug(
    K,
    "wgmma.fence",
    "fence_before_ldmatrix",
    move("@wgmma_fence wgmma", to_before="@ldmatrix ldmatrix #1"),
    "@product_2 | @product_3",
)
bug(
    K,
    "mbarrier.tx",
    "expects_a_alone",
    sub_every("10240;", "10240", "8192"),
    "@expect | @expect_first | @load_a | @load_b | @load_a_first | @load_b_first | @wait_full",
)
bug(K, "mbarrier.init", "no_barrier_after_init", cut("@sync_init bar.sync"), "@init_0 | @init_1")
bug(
    K,
    "mbarrier.count",
    "counts_all_threads",
    sub("@init_1 mbarrier", ", %r", ", 128; //"),
    "@init_1 | @expect | @wait_full",
)

# ---- gemm_tma, ring_bulk, transpose_tma, cluster_multicast: who is elected, and who acts
ELECT_HALF = "elect.sync _|p, 0x0000ffff;"
bug("gemm_tma", "warp.elect|warp.mask", "mask_of_half", put("@elect elect.sync", ELECT_HALF), "@elect")
bug("gemm_tma", "warp.elect|warp.mask|memory.undefined", "elect_in_half_a_warp", only("@elect elect.sync", "lane < 16"), "@elect")
bug("cluster_multicast", "warp.elect|warp.mask", "mask_of_half", put("@elect elect.sync", ELECT_HALF), "@elect")
bug(
    "cluster_multicast",
    "warp.elect|warp.mask|memory.undefined",
    "elect_in_half_a_warp",
    only("@elect elect.sync", "lane >= 16"),
    "@elect",
)
bug(
    "transpose_tma",
    "warp.elect|warp.mask",
    "mask_of_one",
    put("@elect_load elect.sync", "elect.sync _|p, 1;"),
    "@elect_load",
)
bug(
    "transpose_tma",
    "warp.elect|warp.mask",
    "elect_in_part_of_a_warp",
    only("@elect_store elect.sync", "lane < 8"),
    "@elect_store",
)

# ---- attention_cpasync
K = "attention_cpasync"
KV, READ = "@load_k | @load_v", "@ldmatrix_k | @ldmatrix_v"
bug(K, "async.unwaited", "no_wait", cut("@wait wait_group"), [KV + " | @load_q", READ + " | @ldmatrix_q"])
bug(
    K,
    "async.unwaited",
    "wait_group_2",
    sub("@wait wait_group", "1;", "2;"),
    [KV + " | @load_q", READ + " | @ldmatrix_q"],
)
bug(K, "async.unwaited", "no_commit", cut("@commit commit_group"), [KV, READ])
bug(
    K,
    "async.unwaited",
    "no_barrier_after_wait",
    cut("@sync_loaded bar.sync"),
    [KV + " | @load_q", READ + " | @ldmatrix_q"],
)
bug(K, "race.shared|async.unwaited", "no_barrier_before_refill", cut("@sync_read bar.sync"), [KV, READ])
bug(
    K, "race.shared", "sums_without_syncwarp", cut("@sync_sums bar.warp.sync"), ["@sum st.shared", "@store ld.shared"]
)
bug(
    K,
    "memory.undefined",
    "half_of_the_sums",
    only("@sum st.shared #1", "lane < 12"),
    "@store st.global | @store div | @store ld.shared",
)
bug(K, "memory.bounds", "one_buffer_of_v", sub("E2vs[", "1536", "768"), "@load_v | @ldmatrix_v")
bug(K, "warp.aligned", "ldmatrix_of_three_quarters", only("@ldmatrix_v ldmatrix #1", "lane < 24"), "@ldmatrix_v")
bug(
    K,
    "warp.mask",
    "quad_exchange_in_lanes_0_to_3",
    only("@exchange_2 shfl #1", "lane < 4"),
    "@exchange_2 | @exchange_1",
)

# ---- attention_wgmma
K = "attention_wgmma"
S = "@product_s0 | @product_s1 | @product_s2 | @product_s3"
O = "@product_o0 | @product_o1"
FULL = "@expect | @load_k | @load_v | @wait_full | @init_full"
bug(K, "wgmma.inflight", "softmax_before_wait", cut("@wait_s wgmma"), [S, "@softmax | @fence_o | @product_o0"])
bug(
    K,
    "wgmma.inflight",
    "result_before_wait",
    move("@wait_o wgmma", to_after="@store st.global #-1"),
    [O, "@store | @softmax"],
)
bug(
    K,
    "wgmma.inflight",
    "scores_cleared_in_flight",
    before("@wait_s wgmma", "mov.f32 %f107, 0f00000000;"),
    [S, "@new mov.f32"],
)
bug(K, "wgmma.wait", "scores_wait_1", sub("@wait_s wgmma", " 0;", " 1;"), [S, "@softmax | @product_o0"])
bug(K, "wgmma.wait", "scores_not_committed", cut("@commit_s wgmma"), [S, "@softmax"])
bug(K, "wgmma.wait", "last_products_wait_1", sub("@wait_o wgmma", " 0;", " 1;"), [O, "@store | @softmax"])
bug(K, "wgmma.fence", "no_fence_before_scores", cut("@fence_s wgmma"), S)
bug(K, "wgmma.fence", "no_fence_before_p", cut("@fence_o wgmma"), O)
bug(K, "wgmma.fence", "fence_before_p_is_made", move("@fence_o wgmma", to_after="@wait_s wgmma"), O)
bug(
    K,
    "wgmma.warps",
    "k_of_each_warp",
    before("@product_s1 wgmma", *PER_WARP, "shr.u64 offset, offset, 3;", "add.s64 %rd10, %rd10, offset;", "}"),
    S,
)
bug(
    K,
    "wgmma.warps",
    "v_by_lane_group",
    before("@product_o0 wgmma", *PER_WARP, "add.s64 %rd15, %rd15, offset;", "}"),
    O,
)
bug(K, "async.unwaited", "q_not_waited_for", no_wait("@wait_q"), ["@load_q", S])
bug(
    K,
    "async.unwaited",
    "released_before_wait",
    move("@wait_o wgmma", to_after="@release mbarrier"),
    ["@load_v | @load_k", O],
)
bug(K, "mbarrier.tx", "bytes_of_k_alone", sub("@expect mov.u32 #-1", "4096", "2048"), FULL)
bug(
    K,
    "mbarrier.tx",
    "q_bytes_too_many",
    sub("@expect_q mov.u32 #-1", "8192", "16384"),
    "@expect_q | @load_q | @wait_q | @init_q",
)
bug(
    K,
    "mbarrier.count",
    "one_thread_releases",
    only("@release mbarrier", "tid == 128"),
    "@release | @wait_empty | @init_empty",
)
bug(
    K,
    "mbarrier.count",
    "q_counts_all",
    sub("@init_q mbarrier", "], %r", "], 128; //"),
    "@init_q | @expect_q | @wait_q",
)
bug(K, "mbarrier.phase", "parity_of_each_block", sub("@wait_full shr.u32", "1;", "0;"), "@wait_full")
bug(K, "warp.setmaxnreg", "copying_warp_alone_gives", only("@give setmaxnreg", "warp == 0"), "@give")
bug(K, "warp.setmaxnreg", "half_a_warp_takes", only("@take setmaxnreg", "lane < 16"), "@take")
bug(
    K,
    "warp.setmaxnreg",
    "even_warps_take_less",
    before(
        "@take setmaxnreg",
        "{",
        ".reg .pred odd;",
        ".reg .b32 w;",
        "mov.u32 w, %tid.x;",
        "and.b32 w, w, 32;",
        "setp.ne.u32 odd, w, 0;",
        "@odd bra ODD;",
        "setmaxnreg.inc.sync.aligned.u32 232;",
        "ODD:",
        "}",
    ),
    "@take | @new",
)
bug(K, "wgmma.warps", "scores_of_three_warps", only("@product_s3 wgmma", "warp != 5"), "@product_s3 | @commit_s")

# ---- warpgroups, and named barriers of two groups
bug(
    "gemm_wgmma",
    "wgmma.warps",
    "a_of_each_warp",
    before("@product_1 wgmma", *PER_WARP, "add.s64 %rd14, %rd14, offset;", "}"),
    PRODUCTS,
)
bug(
    "gemm_wgmma",
    "wgmma.warps",
    "b_of_each_warp",
    before("@product_2 wgmma", *PER_WARP, "add.s64 %rd16, %rd16, offset;", "}"),
    PRODUCTS,
)
bug("ring_bulk", "warp.setmaxnreg", "copying_thread_gives", only("@give setmaxnreg", "tid == 128"), "@give")
bug("ring_bulk", "warp.setmaxnreg", "three_warps_take", only("@take setmaxnreg", "warp < 3"), "@take")
bug(
    "ring_bulk",
    "barrier.id",
    "both_groups_meet_at_barrier_1",
    [after("@give setmaxnreg", "barrier.sync 1, 128;"), after("@take setmaxnreg", "barrier.sync 1, 128;")],
    "@new barrier.sync",
)
bug(
    "gemm_tma",
    "barrier.id",
    "both_groups_meet_at_barrier_1",
    [after("@give setmaxnreg", "barrier.sync 1, 128;"), after("@take setmaxnreg", "barrier.sync 1, 128;")],
    "@new barrier.sync",
)
bug(
    "ring_bulk",
    "barrier.count",
    "free_for_all_256",
    last_operand("@sync_free barrier.sync", "256"),
    "@sync_free | @sync_written",
)
