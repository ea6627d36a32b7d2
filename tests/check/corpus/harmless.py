"""Edits that leave a kernel right: nothing may be found in it."""

from edit import after, before, cut, move, no_wait, only, put, rewrite, sub, sub_every
from table import fine

# ---- Edits that leave a kernel right: nothing may be found.
fine("gemm_pipeline", "waits_for_all", put("@wait wait_group", "cp.async.wait_all;"))
fine("gemm_pipeline", "one_more_barrier", after("@mma mma.sync #2", "bar.sync 0;"))
fine("gemm_pipeline", "one_more_syncwarp", after("@mma mma.sync #2", "bar.warp.sync 0xffffffff;"))
fine("gemm_tma", "fence_after_barrier", move("@fence_store fence", to_after="@sync_store barrier.sync"))
fine("gemm_tma", "fence_of_shared_alone", rewrite("@fence_store fence", r"async", "async.shared::cta"))
fine("gemm_tma", "waits_for_writes_too", rewrite("@wait_store wait_group", r"\.read", ""))
fine("gemm_tma", "fence_between_products", after("@product_1 wgmma", "wgmma.fence.sync.aligned;"))
fine("gemm_tma", "two_groups", after("@product_1 wgmma", "wgmma.commit_group.sync.aligned;"))
fine("gemm_tma", "fence_before_init", before("@init_full mbarrier #1", "membar.cta;"))
fine(
    "gemm_wgmma",
    "issuer_fences_after_barrier",
    [cut("@fence_reads"), after("@sync_loop bar.sync", "fence.proxy.async;")],
)
fine("ring_generic", "acquires_at_the_cluster", sub("@wait_full try_wait", ".acquire.cta", ".acquire.cluster"))
fine("ring_generic", "tests_in_place_of_trying", sub("@wait_empty try_wait", "try_wait", "test_wait"))
fine("ring_bulk", "producer_fences", [cut("@fence_read"), before("@expect mbarrier", "fence.proxy.async;")])
fine(
    "ring_bulk",
    "expects_and_arrives",
    [
        rewrite(
            "@expect mbarrier",
            r"mbarrier\.arrive\.expect_tx\.shared::cta\.b64\s+_,\s*(\S+),\s*(\S+);",
            r"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 \1, \2; mbarrier.arrive.shared::cta.b64 _, \1;",
        )
    ],
)
fine(
    "transpose_tma",
    "lane_0_waits",  # which is the one that is elected
    put("@elect_end selp", "mov.u32 %r148, %laneid; setp.eq.u32 p, %r148, 0; selp.u32 %r148, 1, 0, p;"),
)
fine("ring_bulk", "waits_for_everything", sub("@wait_read wait_group", " 1;", " 0;"))
fine(
    "reduce_last",
    "fence_acq_rel",
    [put("@fence membar", "fence.acq_rel.gpu;"), put("@fence_last membar", "fence.acq_rel.gpu;")],
)
fine(
    "reduce_last",
    "ticket_acquires_and_releases",
    [
        cut("@fence membar"),
        cut("@fence_last membar"),
        rewrite("@ticket atom", r"atom\.global", "atom.acq_rel.gpu.global"),
    ],
)
fine("lookback", "scope_of_the_system", [sub("@publish_prefix st", ".gpu", ".sys"), sub("@look ld", ".gpu", ".sys")])
fine(
    "lookback",
    "fences_and_relaxed",
    [
        sub("@publish_sum st", ".release", ".relaxed"),
        before("@publish_sum st", "fence.acq_rel.gpu;"),
        sub("@publish_prefix st", ".release", ".relaxed"),
        before("@publish_prefix st", "fence.acq_rel.gpu;"),
        sub("@look ld", ".acquire", ".relaxed"),
        after("@look ld", "fence.acq_rel.gpu;"),
    ],
)
fine(
    "message",
    "release_and_acquire",
    [
        cut("@fence_write membar"),
        cut("@fence_poll membar"),
        sub("@flag st", "st.volatile.global", "st.release.gpu.global"),
        sub("@poll ld", "ld.volatile.global", "ld.acquire.gpu.global"),
    ],
)
fine(
    "message",
    "fence_sc",
    [put("@fence_write membar", "fence.sc.gpu;"), put("@fence_poll membar", "fence.acq_rel.sys;")],
)
fine("message", "everyone_fences", [before("@sync_write bar.sync", "membar.gl;")])
fine(
    "grid_sum",
    "fence_before_relaxed",
    [sub("@arrive red", ".release", ".relaxed"), before("@arrive red", "fence.acq_rel.gpu;")],
)
fine(
    "grid_sum",
    "shuffle_of_half_by_half",
    [
        sub("@exchange mov.u32 #2", "16;", "8;"),
        only("@exchange shfl", "lane < 16"),
        sub("@exchange mov.u32 #3", "-1;", "65535;"),
    ],
)
fine(
    "spin_lock",
    "acquire_and_release",
    [
        cut("@fence_take membar"),
        cut("@fence_give membar"),
        rewrite("@take atom", r"atom\.global", "atom.acquire.gpu.global"),
        rewrite("@give atom", r"atom\.global", "atom.release.gpu.global"),
    ],
)
fine(
    "work_queue",
    "exchange_releases",
    rewrite(
        "@ready st",
        r"st\.release\.gpu\.global\.u32\s+(\S+), (\S+);",
        r"{ .reg .b32 old; atom.release.gpu.global.exch.b32 old, \1, \2; }",
    ),
)
fine(
    "lock_ttas",
    "fences_of_one_side",
    [
        sub_every("@take atom", ".acquire", ".relaxed"),
        before("@total ld.global", "fence.acquire.gpu;"),
        sub("@give st", ".release", ".relaxed"),
        before("@give st", "fence.release.gpu;"),
    ],
)
fine("lock_ticket", "scope_of_the_system", [sub("@wait ld", ".gpu", ".sys"), sub("@serve st", ".gpu", ".sys")])
fine(
    "lock_ticket", "serves_by_a_reduction", rewrite("@serve st", r"st(\S+)\.u32\s+(\S+),.*", r"red\1.add.u32 \2, 1;")
)
fine(
    "lock_mcs",
    "fences_about_the_take",
    [
        sub("@take atom", ".acq_rel", ".relaxed"),
        before("@take atom", "fence.acq_rel.gpu;"),
        after("@take atom", "fence.acq_rel.gpu;"),
    ],
)
fine("lock_readers", "steps_back_with_release", sub("@back red", ".relaxed", ".release"))
fine(
    "lock_cta",
    "scope_of_the_gpu",
    [sub("@take atom", ".acquire.cta", ".acquire.gpu"), sub("@give st", ".release.cta", ".release.cluster")],
)
fine(
    "lock_cluster",
    "scope_of_the_gpu",
    [sub("@take atom", ".acquire.cluster", ".acquire.gpu"), sub("@give st", ".release.cluster", ".release.sys")],
)
fine(
    "lock_dekker",
    "fence_of_the_system",
    [sub("@fence fence", ".gpu", ".sys"), put("@fence_again fence", "membar.gl;")],
)
fine("lock_reentrant", "acquires_what_it_need_not", sub_every("@enter ld.relaxed", ".relaxed", ".acquire"))
fine("stack_push", "looks_volatile", sub("@look ld", ".relaxed.gpu", ".volatile"))
fine(
    "hash_insert",
    "ready_by_an_exchange",
    rewrite("@ready st", r"st(\S+)\.u32(.*);", r"{ .reg .b32 old; atom\1.exch.b32 old,\2; }"),
)
fine("refcount_drop", "drop_acquires_too", [cut("@fence fence"), sub("@drop atom", ".release", ".acq_rel")])
fine("refcount_drop", "fence_acquires_alone", sub("@fence fence", ".acq_rel", ".acquire"))
fine(
    "tile_last",
    "fences_about_the_count",
    [
        sub("@count atom", ".acq_rel", ".relaxed"),
        before("@count atom", "fence.release.gpu;"),
        after("@count atom", "fence.acquire.gpu;"),
    ],
)
fine("chain_relaxed", "adds_by_a_reduction", put("@add atom", "red.relaxed.gpu.global.add.u32 [%rd3], 10;"))
fine("scan_packed", "looks_volatile", sub("@look ld", ".relaxed.gpu", ".volatile"))
fine("best_flag", "best_read_relaxed", sub("@read_best ld", "ld", "ld.relaxed.gpu"))
fine(
    "fences_cluster",
    "fence_of_the_gpu",
    [put("@fence_write fence", "fence.sc.gpu;"), sub("@fence_read fence", ".cluster", ".gpu")],
)
fine("barrier_rounds", "tells_by_a_maximum", rewrite("@tell st", r"st(\S+)\.u32(.*);", r"red\1.max.u32\2;"))
fine(
    "cluster_exchange",
    "not_aligned",
    [sub("@arrive_sent barrier", ".aligned", ""), sub("@wait_sent barrier", ".aligned", "")],
)
fine("cluster_exchange", "waits_late", move("@wait_start barrier", to_before="@send st"))
fine(
    "cluster_exchange",
    "fence_and_relaxed_arrival",
    [sub("@arrive_sent barrier", ".release", ".relaxed"), before("@arrive_sent barrier", "fence.acq_rel.cluster;")],
)
fine("cluster_bins", "counts_at_the_gpu", sub_every("@count red", ".relaxed.cluster", ".relaxed.gpu"))
fine("makers_takers", "another_id", [put("@sync_end bar.sync", "barrier.sync 7, 128;")])
fine(
    "histogram_shared",
    "early_exit",
    after(
        "@read ld.shared",
        "{ .reg .pred never; .reg .b32 who; mov.u32 who, %tid.x; setp.gt.u32 never, who, 99; @never exit; }",
    ),
)
fine(
    "scan_block",
    "counts_at_a_barrier",
    put("@sync_all bar.sync", "{ .reg .b32 n; .reg .pred yes; setp.eq.u32 yes, 0, 0; bar.red.popc.u32 n, 0, yes; }"),
)
fine("scan_block", "barrier_of_128", put("@sync_sums bar.sync", "barrier.sync 3, 128;"))
fine("bitonic", "barrier_not_aligned", put("@sync bar.sync", "barrier.sync 0;"))
fine(
    "split_stencil",
    "state_for_the_wait",
    [
        put(
            "@arrive mbarrier",
            "{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [_ZZ13split_stencilE5place]; }",
        )
    ],
)
fine("pdl_scale", "launches_early", move("@launch griddepcontrol", to_after="@wait griddepcontrol"))
fine("pdl_scale", "waits_twice", before("@store st.global", "griddepcontrol.wait;"))
fine("attention_wgmma", "one_fence_more", before("@release mbarrier", "wgmma.fence.sync.aligned;"))
fine("attention_wgmma", "fence_before_release", before("@release mbarrier", "fence.proxy.async;"))
fine("tc_attention", "s_says_that_o_is_done", no_wait("@wait_o"))
fine("tc_attention", "one_fence_less_after_o", cut("@after_o tcgen05"))
fine("tc_gemm", "fence_after_full", before("@mma_0 mov.b32", "tcgen05.fence::after_thread_sync;"))
fine("tc_operand", "waits_for_loads_too", after("@wait_st tcgen05", "tcgen05.wait::ld.sync.aligned;"))
fine("tc_rescale", "barrier_not_aligned", put("@sync_mma bar.sync", "barrier.sync 0;"))
fine("tc_turns", "fence_before_the_wait_too", before("@wait_ready mbarrier", "tcgen05.fence::before_thread_sync;"))
