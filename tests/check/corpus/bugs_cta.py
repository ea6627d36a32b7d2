"""Bugs within a CTA: scans, sorts, transposes, named barriers, warp-synchronous code; kernels that start early, frames, the heap."""

from edit import after, cut, cut_every, move, only, put, rewrite, sub, sub_every
from table import bug

# ---- makers_takers: named barriers
K = "makers_takers"
bug(
    K,
    "race.shared",
    "writes_before_it_waits",
    move("@wait_empty barrier", to_after="@write st.shared"),
    ["@write st.shared", "@read ld.shared"],
)
bug(
    K,
    "race.shared",
    "no_barrier_at_the_end",
    cut("@sync_end bar.sync"),
    ["@total_0 | @total_1", "@read_totals ld.shared"],
)
bug(
    K,
    "barrier.id",
    "one_id_for_both_halves",
    put("@sync_takers barrier", "barrier.sync 5, 64;"),
    "@sync_takers | @sync_makers",
)
bug(
    K,
    "barrier.id",
    "one_id_for_full_and_empty",
    sub("@wait_empty add", "3;", "1;"),
    "@wait_empty | @wait_full | @free_0 | @free_1 | @arrive_full",
)
bug(K, "barrier.count|race.shared", "half_the_count", put("@sync_end bar.sync", "bar.sync 0, 64;"), "@sync_end")
bug(K, "barrier.count", "takers_count_96", put("@sync_takers barrier", "barrier.sync 6, 96;"), "@sync_takers")
bug(K, "barrier.count", "warp_that_does_not_come", only("@sync_makers barrier", "warp == 0"), "@sync_makers")

# ---- transpose_ldmatrix
K = "transpose_ldmatrix"
bug(K, "race.shared", "no_barrier_before_ldmatrix", cut("@sync_from bar.sync"), ["@write st.shared", "@ldmatrix"])
bug(K, "race.shared", "no_barrier_after_stmatrix", cut("@sync_to bar.sync"), ["@stmatrix", "@read ld.shared"])
bug(
    K,
    "race.shared",
    "syncwarp_for_barrier",
    put("@sync_to bar.sync", "bar.warp.sync -1;"),
    ["@stmatrix", "@read ld.shared"],
)
bug(K, "warp.aligned", "ldmatrix_of_the_rows_that_count", only("@ldmatrix ldmatrix", "lane < 30"), "@ldmatrix")
bug(K, "warp.aligned", "stmatrix_of_half_a_warp", only("@stmatrix stmatrix", "lane < 16"), "@stmatrix")
bug(K, "memory.undefined", "last_rows_not_loaded", only("@write st.shared", "tid < 112"), "@read | @negate | @store")
bug(
    K,
    "memory.undefined",
    "one_warp_writes_nothing",
    only("@stmatrix stmatrix", "warp != 2"),
    "@read | @negate | @store",
)
bug(K, "memory.bounds", "no_room_for_padding", sub("E4from[", "2560", "2048"), "@write | @ldmatrix")
bug(K, "barrier.divergent", "barrier_of_loaders", only("@sync_from bar.sync", "tid < 100"), "@sync_from")

# ---- scan_block
K = "scan_block"
bug(
    K,
    "race.shared",
    "no_barrier_after_sums",
    cut("@sync_sums bar.sync"),
    ["@sum st.shared", "@read_sum ld.shared | @read_other ld.shared"],
)
bug(
    K,
    "race.shared",
    "no_syncwarp_between_steps",
    cut("@sync_warp bar.warp.sync #1"),
    ["@write_sum st.shared #1", "@read_other ld.shared #2"],
)
bug(
    K,
    "race.shared",
    "no_barrier_after_scan",
    cut("@sync_scanned bar.sync"),
    ["@write_sum st.shared #2", "@read_before ld.shared"],
)
bug(
    K,
    "race.shared",
    "no_barrier_after_all",
    cut("@sync_all bar.sync"),
    ["@all st.shared", "@store ld.shared | @total ld.shared"],
)
bug(K, "warp.mask", "shuffle_within_if", only("@shuffle shfl #2", "lane >= 2"), "@shuffle shfl")
bug(
    K,
    "warp.mask",
    "syncwarp_of_the_whole_warp",
    put("@sync_warp bar.warp.sync #1", "bar.warp.sync -1;"),
    "@sync_warp",
)
bug(
    K,
    "memory.undefined",
    "second_warp_without_sum",
    only("@sum st.shared", "warp != 1"),
    "@store | @total | @read_before | @read_sum | @read_other",
)
bug(K, "memory.bounds", "all_of_three_warps", sub("E3all[", "512", "384"), "@all | @store")
bug(K, "memory.bounds", "one_buffer_of_sums", sub("E4sums[", "32", "16"), "@write_sum | @read_sum | @sum")
bug(
    K,
    "barrier.divergent|race.shared",
    "last_lanes_skip_the_barrier",
    only("@sync_all bar.sync", "tid < 122"),
    "@sync_all | @store ld.shared",
)

# ---- bitonic
K = "bitonic"
bug(
    K,
    "race.shared",
    "no_barrier_between_steps",
    cut("@sync bar.sync"),
    ["@swap st.shared | @load st.shared", "@read ld.shared | @swap st.shared"],
)
bug(
    K,
    "race.shared",
    "no_barrier_at_the_end",
    cut("@sync_end bar.sync"),
    ["@swap | @swap_places", "@store ld.shared | @store_places ld.shared"],
)
bug(
    K,
    "race.shared",
    "syncwarp_for_barrier",
    put("@sync bar.sync", "bar.warp.sync -1;"),
    ["@swap st.shared | @load st.shared", "@read ld.shared | @swap st.shared"],
)
bug(K, "memory.bounds", "keys_of_half", sub("E4keys[", "512", "256"), "@load | @read | @swap")
bug(
    K,
    "memory.undefined",
    "half_of_the_keys",
    only("@load st.shared #1", "tid < 32"),
    "@read | setp.gt.u32 | @swap | @compare",
)
bug(
    K, "barrier.divergent", "barrier_within_if", move("@sync bar.sync", to_after="@swap_places st.shared #2"), "@sync"
)
bug(
    K,
    "barrier.count|race.shared",
    "count_of_one_warp",
    put("@sync_end bar.sync", "bar.sync 0, 32;"),
    "@sync_end | @swap | @swap_places",
)

# ---- warp_tree: warp-synchronous code
K = "warp_tree"
bug(K, "race.shared", "no_syncwarp_in_loop", cut("@sync bar.warp.sync"), ["@add st.shared", "@add ld.shared"])
bug(
    K,
    "race.shared",
    "no_syncwarp_after_write",
    cut("@sync_write bar.warp.sync"),
    ["@write st.shared", "@add ld.shared"],
)
bug(
    K,
    "race.shared",
    "syncwarp_within_if",
    [only("@sync bar.warp.sync", "lane < 8"), sub("@sync bar.warp.sync", "-1", "0xff")],
    ["@add st.shared", "@add ld.shared"],
)
bug(
    K,
    "race.shared",
    "no_barrier_at_the_end",
    cut("@sync_end bar.sync"),
    ["@add st.shared | @most st.shared", "@store ld"],
)
bug(
    K,
    "warp.mask",
    "redux_of_the_whole_warp",
    put("@largest redux", "redux.sync.max.u32 %r33, %r44, 0xffffffff;"),
    "@largest",
)
bug(K, "warp.mask", "ballot_of_16", sub("@ballot mov.u32", "-1", "65535"), "@ballot")
bug(K, "memory.bounds", "sums_of_one_warp", sub("E4sums[", "256", "128"), "@write | @add")
bug(K, "memory.undefined", "lane_31_not_written", only("@write st.shared", "lane < 31"), "@add | @store")

# ---- pdl_*: kernels that begin before the one they depend on has ended
bug(
    "pdl_scale",
    "warp.griddepcontrol",
    "reads_before_it_waits",
    move("@wait griddepcontrol", to_after="@read ld.global"),
    "@read ld.global",
)
bug(
    "pdl_scale",
    "warp.griddepcontrol",
    "one_warp_waits",
    only("@wait griddepcontrol", "warp == 0"),
    "@read ld.global | @read_other ld.global",
)
bug(
    "pdl_scale",
    "warp.griddepcontrol",
    "writes_before_it_waits",
    move("@wait griddepcontrol", to_after="@store st.global"),
    "@store | @read | @read_other",
)
bug(
    "pdl_norm",
    "warp.griddepcontrol",
    "waits_between_reads",
    move("@wait griddepcontrol", to_after="@read_low ld.global"),
    "@read_low ld.global",
)
bug(
    "pdl_norm",
    "warp.griddepcontrol",
    "one_lane_waits",
    only("@wait griddepcontrol", "tid == 0"),
    "@read_low ld.global | @read_high ld.global",
)
bug(
    "pdl_gemv",
    "warp.griddepcontrol",
    "x_before_the_wait",
    move("@wait griddepcontrol", to_after="@read_low ld.global"),
    "@read_low ld.global",
)
bug(
    "pdl_gemv",
    "warp.griddepcontrol",
    "second_warp_does_not_wait",
    only("@wait griddepcontrol", "warp == 0"),
    "@read_low ld.global | @read_high ld.global",
)
bug(
    "pdl_norm",
    "race.shared",
    "row_without_barrier",
    cut("@sync_row bar.sync"),
    "@read_low st.shared | @read_high st.shared",
)
bug(
    "pdl_norm",
    "race.weak",
    "total_read_without_barrier",
    cut("@sync_total bar.sync"),
    ["@add atom.shared", "@mean ld.shared"],
)

# ---- frame_*, heap_list: memory that has gone
bug(
    "frame_sort",
    "memory.lifetime",
    "returns_its_own_array",
    put(
        "@return st.param",
        "{ .reg .b64 gone; mov.u64 gone, __local_depot0; cvta.local.u64 gone, gone; st.param.b64 [func_retval0+0], gone; }",
    ),
    "@use ld",
)
bug(
    "frame_sort",
    "memory.lifetime",
    "returns_the_middle_of_its_array",
    put(
        "@return st.param",
        "{ .reg .b64 gone; mov.u64 gone, __local_depot0; cvta.local.u64 gone, gone; add.s64 gone, gone, 8; st.param.b64 [func_retval0+0], gone; }",
    ),
    "@use ld",
)
bug("frame_sort", "memory.undefined", "last_not_copied", sub("@copy setp.ne", ", 8;", ", 7;"), "@use")
bug(
    "frame_sort",
    "memory.undefined",
    "first_not_inserted",
    cut("@insert st.local #1"),
    "@compare | @use | @copy | @shift",
)
bug(
    "frame_digits",
    "memory.lifetime",
    "text_of_its_own",
    put(
        "st.param.b64 [func_retval0+0]",
        "{ .reg .b64 gone; mov.u64 gone, __local_depot0; cvta.local.u64 gone, gone; st.param.b64 [func_retval0+0], gone; }",
    ),
    "@use ld",
)
bug("frame_digits", "memory.undefined", "one_more_digit", sub("@digit add.s32 #2", ", 1;", ", 2;"), "@use")
bug("frame_digits", "memory.bounds", "own_of_four", sub("__local_depot0[", "[12]", "[4]"), "@digit | @copy")
bug(
    "heap_list",
    "memory.lifetime",
    "steps_after_free",
    [put("mov.u64 %rd18, %rd6;", "ld.u64 %rd18, [%rd18+8];")],
    "@new ld.u64",
)
bug(
    "heap_list",
    "memory.lifetime",
    "frees_while_it_lists",
    after("@next st.u64", "{ .param .b64 freed; st.param.b64 [freed], %rd18; call.uni free, (freed); }"),
    "@sum | @step | @free | @new",
)
bug("heap_list", "memory.undefined", "value_not_set", cut("@value st.u32"), "@sum | @store")
bug("heap_list", "memory.bounds", "eight_bytes", sub("@malloc st.param", ", 16;", ", 8;"), "@next | @step")

# ---- two_teams: a named barrier a team
K = "two_teams"
bug(K, "memory.undefined", "counts_without_a_value_in_a_warp", only("@sync_count ld.global", "tid < 96"), "@store st.global | @sync_count")
bug(
    K,
    "barrier.id",
    "second_team_with_the_first_id",
    put("@sync_2 barrier.sync", "barrier.sync 1, 64;"),
    "@sync_1 | @sync_2 | @sync_1_again",
)
bug(
    K,
    "barrier.id",
    "both_with_the_first_id",
    [put("@sync_2 barrier.sync", "barrier.sync 1, 64;"), put("@sync_2_again barrier.sync", "barrier.sync 1, 64;")],
    "@sync_1 | @sync_2 | @sync_1_again | @sync_2_again",
)
bug(
    K,
    "barrier.id",
    "team_meets_in_barrier_0",
    [put("@sync_2 barrier.sync", "barrier.sync 0, 64;"), put("@sync_1 barrier.sync", "barrier.sync 0, 64;")],
    "@sync_1 | @sync_2",
)
bug(
    K,
    "barrier.count",
    "count_of_both_teams",
    put("@sync_1 barrier.sync", "barrier.sync 1, 128;"),
    "@sync_1 | @sync_1_again",
)
bug(
    K,
    "barrier.count",
    "counts_differ",
    put(
        "@sync_all bar.sync",
        "{ .reg .pred low; .reg .b32 who, n; mov.u32 who, %tid.x; setp.lt.u32 low, who, 64; selp.u32 n, 128, 96, low; barrier.sync 0, n; }",
    ),
    "@sync_all",
)
bug(
    K,
    "barrier.count",
    "one_warp_goes_past",
    only("@sync_2_again barrier.sync", "warp != 3"),
    "@sync_2_again | @sync_2",
)
bug(K, "barrier.divergent", "half_of_each_warp", only("@sync_all bar.sync", "lane < 16"), "@sync_all")
bug(
    K,
    "race.shared",
    "no_barrier_after_read",
    [cut("@sync_1_again barrier.sync")],
    ["@turn st.shared", "@read ld.shared"],
)
bug(
    K,
    "race.shared",
    "no_barrier_at_the_end",
    cut("@sync_all bar.sync"),
    ["@turn st.shared", "@reduce ld.shared | @store ld.shared"],
)

# ---- fetch_past_end: registers fetched a step ahead, which nobody uses after the last tile
K = "fetch_past_end"
bug(K, "race.shared", "uses_what_it_fetched", rewrite("@keep setp.", "eq", "ne"), ["@put st.shared", "@fetch ld.shared"])
bug(K, "async.unwaited", "waits_for_fewer", sub_every("@wait cp.async.wait_group", "2;", "3;"), ["@load cp.async", "@fetch ld.shared"])
bug(K, "async.unwaited", "no_barriers", cut_every("@sync bar.sync"), ["@load cp.async", "@fetch ld.shared"])
bug(K, "race.shared", "gets_without_barrier", cut("@sync_put bar.sync"), ["@put st.shared", "@get ld.shared"])
