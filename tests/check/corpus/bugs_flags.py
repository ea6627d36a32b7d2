"""Bugs in protocols over global memory and in atomics: flags, locks, look-back, barriers over the grid."""

from edit import after, before, cut, move, only, put, rewrite, sub
from table import bug

# ---- reduce_last: the CTA that ends last sums up
K = "reduce_last"
bug(K, "race.shared", "no_barrier_after_writes", cut("@sync bar.sync"), ["@write st.shared", "@read ld.shared"])
bug(
    K, "race.shared", "no_barrier_before_tree", cut("@sync_all bar.sync"), ["@write_all st.shared", "@tree ld.shared"]
)
bug(K, "race.shared", "no_barrier_in_tree", cut("@sync_tree bar.sync #1"), ["@tree st.shared #1", "@tree ld.shared"])
bug(
    K,
    "race.shared",
    "warp_synchronous_tree",
    cut("@sync_tree bar.sync #3"),
    ["@tree st.shared #3", "@tree ld.shared"],
)
bug(
    K,
    "race.shared",
    "last_read_without_barrier",
    cut("@sync_last bar.sync"),
    ["@ticket st.shared", "@read_last ld.shared"],
)
bug(K, "race.weak", "no_fence_after_partial", cut("@fence membar"), ["@partial st.global", "@read_partial ld.global"])
bug(
    K,
    "race.weak",
    "no_fence_after_ticket",
    cut("@fence_last membar"),
    ["@partial st.global", "@read_partial ld.global"],
)
bug(
    K,
    "race.scope",
    "fence_of_the_cta",
    sub("@fence membar", ".gl", ".cta"),
    ["@partial st.global", "@read_partial ld.global"],
)
bug(K, "race.scope", "ticket_of_the_cta", sub("@ticket atom", "atom.global", "atom.global.cta"), "@ticket atom")
bug(
    K,
    "race.global|race.weak",
    "partial_after_ticket",
    move("@partial st.global", to_after="@ticket atom"),
    ["@partial st.global", "@read_partial ld.global"],
)
bug(
    K,
    "warp.mask",
    "mask_of_half",
    put("@shuffle shfl #2", "shfl.sync.down.b32 %r35|%p5, %r33, %r34, %r29, 0xffff;"),
    "@shuffle shfl #2",
)
bug(K, "warp.mask", "absent_lanes", only("@shuffle shfl #3", "lane < 8"), "@shuffle shfl #3")
bug(K, "memory.undefined", "tail_not_written", only("@write st.shared", "tid < 40"), "@partial st.global | @read")
bug(K, "memory.bounds", "sums_of_a_warp", sub("E4sums[", "256", "128"), "@write | @read")
bug(K, "memory.bounds", "reads_past_the_end", sub("@read ld.shared", "+128", "+256"), "@read ld.shared")
bug(
    K,
    "barrier.divergent",
    "barrier_within_if",
    move("@sync_tree bar.sync #3", to_after="@tree st.shared #3"),
    "@sync_tree bar.sync",
)

# ---- lookback: decoupled look-back scan
K = "lookback"
bug(
    K,
    "race.scope",
    "released_to_the_cta",
    sub("@publish_prefix st", ".gpu", ".cta"),
    "@publish_prefix | @prefix | @read_prefix",
)
bug(K, "race.scope", "acquired_of_the_cta", sub("@look ld", ".gpu", ".cta"), "@look | @prefix | @sum")
bug(
    K,
    "race.weak",
    "relaxed_flag",
    sub("@publish_prefix st", ".release", ".relaxed"),
    ["@prefix st.global", "@read_prefix ld.global"],
)
bug(
    K,
    "race.weak",
    "relaxed_look",
    sub("@look ld", ".acquire", ".relaxed"),
    ["@prefix | @sum", "@read_prefix | @read_sum"],
)
bug(K, "race.weak", "plain_flag", sub("@publish_prefix st", ".release.gpu", ".global"), "@publish_prefix st")
bug(
    K,
    "race.mixed-size",
    "looks_at_a_byte",
    sub("@look ld", ".u32", ".u8"),
    ["@look ld", "@publish_prefix st | @publish_sum st"],
)
bug(
    K,
    "race.global|race.weak",
    "flag_before_data",
    move("@prefix st.global", to_after="@publish_prefix st"),
    ["@prefix st.global", "@read_prefix ld.global"],
)
bug(
    K,
    "race.global|race.weak",
    "sum_not_released",
    move("@sum st.global", to_after="@publish_sum st"),
    ["@sum st.global", "@read_sum ld.global"],
)
bug(K, "warp.mask", "shuffle_of_lane_0", only("@total shfl", "lane == 0"), "@total shfl")

# ---- message: flags over global memory with fences
K = "message"
bug(K, "race.weak", "no_fence_before_flag", cut("@fence_write membar"), ["@write st.global", "@read ld.global"])
bug(K, "race.weak", "no_fence_after_poll", cut("@fence_poll membar"), ["@write st.global", "@read ld.global"])
bug(
    K,
    "race.weak",
    "fence_before_barrier",
    move("@fence_write membar", to_before="@sync_write bar.sync"),
    ["@write st.global", "@read ld.global"],
)
bug(K, "race.weak", "read_through_nc", sub("@read ld.global", "ld.global", "ld.global.nc"), "@read ld.global.nc")
bug(
    K,
    "race.weak",
    "flag_not_volatile",
    sub("@flag st.volatile", "st.volatile.global", "st.global"),
    ["@flag st", "@poll ld"],
)
bug(
    K,
    "race.scope",
    "fence_of_the_cta",
    sub("@fence_write membar", ".gl", ".cta"),
    ["@write st.global", "@read ld.global"],
)
bug(
    K,
    "race.scope",
    "poll_fence_of_the_cta",
    sub("@fence_poll membar", ".gl", ".cta"),
    ["@write st.global", "@read ld.global"],
)
bug(
    K,
    "race.global|race.weak",
    "only_the_poller_waits",
    cut("@sync_poll bar.sync"),
    ["@write st.global", "@read ld.global"],
)
bug(
    K,
    "race.global|race.weak",
    "flag_without_barrier",
    cut("@sync_write bar.sync"),
    ["@write st.global", "@read ld.global"],
)
bug(K, "race.mixed-size", "polls_a_byte", sub("@poll ld", ".u32", ".u8"), ["@poll ld", "@flag st"])

# ---- histogram_shared: atomics in shared memory
K = "histogram_shared"
bug(
    K, "race.weak", "cleared_without_barrier", cut("@sync_clear bar.sync"), ["@clear st.shared", "@count atom.shared"]
)
bug(K, "race.weak", "read_without_barrier", cut("@sync_count bar.sync"), ["@count atom.shared", "@read ld.shared"])
bug(K, "memory.bounds", "eight_bins", sub("E5local[", "64", "32"), "@clear | @count")
bug(K, "memory.undefined", "half_cleared", only("@clear st.shared", "tid < 8"), "@merge | @most | @read | @count")
bug(
    K,
    "race.scope",
    "merged_at_the_scope_of_the_cta",
    sub("@merge atom", "atom.global", "atom.global.cta"),
    "@merge atom",
)

# ---- grid_sum: a barrier over the grid
K = "grid_sum"
CELLS = ["@write st.global", "@read_left ld.global | @read_right ld.global"]
bug(K, "race.global", "does_not_wait", put("@wait ld", "mov.u32 %r26, 1000000;"), CELLS)
bug(K, "race.global|race.weak", "arrives_before_it_writes", move("@write st.global", to_after="@arrive red"), CELLS)
bug(K, "race.global|race.weak", "no_syncwarp_before_arrival", cut("@sync_arrive bar.warp.sync"), CELLS)
bug(K, "race.global|race.weak", "no_syncwarp_after_wait", cut("@sync_wait bar.warp.sync"), CELLS)
bug(K, "race.weak", "relaxed_arrival", sub("@arrive red", ".release", ".relaxed"), CELLS)
bug(K, "race.weak", "relaxed_wait", sub("@wait ld", ".acquire", ".relaxed"), CELLS)
bug(
    K,
    "race.scope",
    "arrives_at_the_cta",
    sub("@arrive red", ".gpu", ".cta"),
    CELLS[0] + " | " + CELLS[1] + " | @arrive | @wait",
)
bug(
    K,
    "race.scope",
    "waits_at_the_cta",
    sub("@wait ld", ".gpu", ".cta"),
    CELLS[0] + " | " + CELLS[1] + " | @arrive | @wait",
)
bug(K, "race.weak", "cells_through_nc", sub("@read_left ld.global", "ld.global", "ld.global.nc"), "@read_left ld")
bug(
    K,
    "race.global",
    "sums_added_by_hand",
    sub("@sum atom", "atom.global.add.u32 \t%r34, [%rd25], %r7", "st.global.u32 [%rd25], %r7"),
    "@sum st",
)
bug(K, "warp.mask", "shuffle_of_16", only("@exchange shfl", "lane < 16"), "@exchange")

# ---- sense_barrier: a barrier over the grid whose counter is reset
K = "sense_barrier"
CELLS = ["@write st.global", "@read ld.global"]
COUNTER = "@reset st | @arrive atom | @read_all"
bug(K, "race.weak", "no_fence_before_arrival", cut("@fence_arrive membar"), CELLS)
bug(K, "race.weak", "no_fence_after_wait", cut("@fence_go membar"), CELLS)
bug(K, "race.global|race.weak", "no_sync_before_arrival", cut("@sync_arrive bar.sync"), CELLS)
bug(K, "race.global|race.weak", "no_sync_after_wait", cut("@sync_go bar.sync"), CELLS)
bug(K, "race.weak", "no_fence_after_reset", cut("@fence_reset membar"), COUNTER)
bug(K, "race.weak", "resets_after_the_turn", move("@reset st", to_after="@turn st"), COUNTER)

# ---- spin_lock
K = "spin_lock"
bug(
    K,
    "race.weak",
    "no_fence_after_take",
    cut("@fence_take membar"),
    "@read_count ld.global | @write_count st.global | @read_row ld.global | @write_row st.global",
)
bug(
    K,
    "race.weak",
    "no_fence_before_give",
    cut("@fence_give membar"),
    "@read_count ld.global | @write_count st.global | @read_row ld.global | @write_row st.global",
)
bug(
    K,
    "race.scope|race.weak",  # as the other CTA is seen through one or the other
    "fence_of_the_cta",
    sub("@fence_give membar", ".gl", ".cta"),
    "@read_count ld.global | @write_count st.global | @read_row ld.global | @write_row st.global",
)
bug(K, "race.scope", "lock_of_the_cta", sub("@take atom", "atom.global", "atom.global.cta"), "@take | @give")
bug(
    K,
    "race.weak",
    "plain_store_gives",
    rewrite("@give atom", r"atom\S+\s+\S+,", "st.global.u32"),
    ["@give st", "@take"],
)
bug(
    K,
    "race.global|race.weak",
    "row_after_the_lock",
    move("@write_row st.global", to_after="@sync_again bar.warp.sync"),
    "@read_row ld.global",
)
bug(
    K,
    "race.global|race.weak",
    "no_syncwarp_before_give",
    cut("@sync_done bar.warp.sync"),
    "@read_row ld.global | @write_row st.global",
)
bug(
    K,
    "race.shared",
    "no_syncwarp_after_take",
    cut("@sync_taken bar.warp.sync"),
    ["@read_count st.shared", "@place ld.shared"],
)
bug(
    K,
    "race.shared",
    "no_syncwarp_at_the_end",
    [cut("@sync_done bar.warp.sync"), cut("@sync_again bar.warp.sync")],
    ["@read_count st.shared", "@place ld.shared"],
)

# ---- work_queue
K = "work_queue"
JOBS = ["@put st.global", "@get ld.global"]
bug(K, "race.global|race.weak", "no_syncwarp_before_ready", cut("@sync_put bar.warp.sync"), JOBS)
bug(K, "race.global|race.weak", "no_syncwarp_after_poll", cut("@sync_poll bar.warp.sync"), JOBS)
bug(K, "race.global", "puts_after_ready", put("@poll ld", "add.s32 %r20, %r5, 1;"), JOBS)
bug(K, "race.weak", "ready_is_relaxed", sub("@ready st", ".release", ".relaxed"), JOBS)
bug(K, "race.weak", "polls_relaxed", sub("@poll ld", ".acquire", ".relaxed"), JOBS)
bug(K, "race.weak", "polls_volatile", sub("@poll ld", "ld.acquire.gpu.global", "ld.volatile.global"), JOBS)
bug(K, "race.weak", "jobs_through_nc", sub("@get ld.global", "ld.global", "ld.global.nc"), "@get ld")
bug(
    K,
    "race.scope",
    "ready_for_the_cta",
    sub("@ready st", ".gpu", ".cta"),
    JOBS[0] + " | " + JOBS[1] + " | @ready | @poll",
)
bug(K, "race.scope", "taken_at_the_cta", sub("@take atom", "atom.global", "atom.global.cta"), "@take atom")
bug(K, "race.mixed-size", "polls_a_byte", sub("@poll ld", ".u32", ".u8"), ["@poll ld", "@ready st"])
bug(
    K,
    "race.mixed-size",
    "stats_of_32_bits",
    [
        before("ret;", "ld.param.u64 %rd16, [work_queue_param_3];", "atom.global.add.u32 %r28, [%rd16], 1;"),
        only("@new atom", "tid == 0"),
    ],
    ["@stats atom", "@new atom"],
)

# ---- packed_counts: 64-bit atomics on pairs
K = "packed_counts"
bug(K, "race.weak", "clear_without_barrier", cut("@sync_clear bar.sync"), ["@clear st.shared", "@count atom.shared"])
bug(K, "race.weak", "merge_without_barrier", cut("@sync_count bar.sync"), ["@count atom.shared", "@merge ld.shared"])
bug(
    K,
    "race.weak",
    "unpacked_by_a_load",
    [put("@unpack atom", "ld.global.u64 %rd22, [%rd21];"), cut("@fence_last membar")],
    ["@unpack ld", "@merge atom"],
)
bug(
    K,
    "race.mixed-size",
    "counts_32_bits",
    after("@count atom.shared", "{ .reg .b32 old; atom.shared.add.u32 old, [%r17], %r20; }"),
    ["@count atom.shared", "@new atom.shared"],
)
bug(
    K,
    "race.mixed-size",
    "merges_32_bits",
    after("@merge atom", "{ .reg .b32 old; atom.global.add.u32 old, [%rd16], %r1; }"),
    ["@merge atom", "@new atom"],
)
bug(K, "race.scope", "merged_at_the_cta", sub("@merge atom", "atom.global", "atom.global.cta"), "@merge atom")
bug(K, "race.scope", "ticket_of_the_cta", sub("@ticket atom", "atom.global", "atom.global.cta"), "@ticket atom")
bug(K, "race.shared", "ticket_without_barrier", cut("@sync_ticket bar.sync"), "@ticket st.shared")
bug(K, "memory.undefined", "four_cleared", only("@clear st.shared", "tid < 4"), "@merge | @count | @store")
