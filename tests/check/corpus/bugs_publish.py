"""Bugs in what is published once and read by many: pointers, counts, the last one's work, barriers made by hand."""

from edit import cut, move, put, rewrite, sub
from table import bug

# ---- once_init: a table that is made once
K = "once_init"
TABLE = ["@write st.global", "@read ld.global"]
bug(K, "race.weak", "looks_relaxed", sub("@look ld", ".acquire", ".relaxed"), TABLE)
bug(K, "race.weak", "looks_plainly", sub("@look ld", ".acquire.gpu", ""), ["@look ld", "@claim atom | @made st"])
bug(K, "race.weak", "waits_relaxed", sub("@wait ld", ".acquire", ".relaxed"), TABLE)
bug(K, "race.weak", "made_is_relaxed", sub("@made st", ".release", ".relaxed"), TABLE)
bug(K, "race.scope", "made_for_the_cta", sub("@made st", ".gpu", ".cta"), "@made | @look | @wait | @write | @read")
bug(K, "race.scope", "claims_at_the_cta", sub("@claim atom", ".gpu", ".cta"), "@claim")
bug(K, "race.mixed-size", "looks_at_a_byte", sub("@look ld", ".u32", ".u8"), ["@look ld", "@claim atom | @made st"])
bug(K, "race.global|race.weak", "made_before_all_have_written", cut("@sync_made bar.sync"), TABLE)

# ---- rcu_versions: versions that are published, and made anew when all have read
K = "rcu_versions"
ROW = ["@write st.global", "@read ld.global"]
bug(K, "race.weak", "publishes_relaxed", sub("@publish st", ".release", ".relaxed"), ROW)
bug(K, "race.weak", "looks_relaxed", sub("@look ld", ".acquire", ".relaxed"), ROW)
bug(K, "race.weak", "looks_volatile", sub("@look ld", ".acquire.gpu", ".volatile"), ROW)
bug(K, "race.weak", "says_relaxed", sub("@say_read st", ".release", ".relaxed"), ROW)
bug(K, "race.weak", "waits_relaxed", sub("@wait_read ld", ".acquire", ".relaxed"), ROW)
bug(K, "race.scope", "publishes_to_the_cta", sub("@publish st", ".gpu", ".cta"), "@publish | @look | @write | @read")
bug(K, "race.mixed-size", "looks_at_16_bits", sub("@look ld", ".u32", ".u16"), ["@look ld", "@publish st"])
bug(K, "race.global|race.weak", "publishes_before_all_have_written", cut("@sync_written bar.warp.sync"), ROW)
bug(
    K,
    "race.global|race.weak",
    "writes_what_is_published",
    move("@write st.global", to_after="@publish st"),
    "@write st",
)

# ---- hazard_pointers: nodes that are used again when nobody is at them
K = "hazard_pointers"
NODE = ["@write st | @write_second st", "@read ld"]
bug(K, "race.weak", "replaces_relaxed", sub("@replace atom", ".acq_rel", ".relaxed"), NODE)
bug(K, "race.weak", "scans_relaxed", sub("@scan ld", ".acquire", ".relaxed"), NODE)
bug(K, "race.weak", "protects_plainly", sub("@protect st", ".release.gpu", ""), ["@protect st", "@scan ld"])
bug(K, "race.weak", "scans_plainly", sub("@scan ld", ".acquire.gpu", ""), ["@scan ld", "@protect st | @leave st"])
bug(
    K,
    "race.scope",
    "replaces_at_the_cta",
    sub("@replace atom", ".gpu", ".cta"),
    "@replace | @look | @look_again | @write | @read",
)
bug(K, "race.mixed-size", "scans_a_byte", sub("@scan ld", ".u32", ".u8"), ["@scan ld", "@protect st | @leave st"])
bug(
    K,
    "race.global|race.weak",
    "writes_after_it_replaces",
    move("@write_second st", to_after="@replace atom"),
    "@write_second st",
)

# ---- seqlock: a pair that is read while it is written
K = "seqlock"
NUMBER = "@odd st | @even st"
bug(K, "race.weak", "number_read_plainly", sub("@number ld", ".acquire.gpu", ""), ["@number ld", NUMBER])
bug(K, "race.weak", "number_again_plainly", sub("@again ld", ".relaxed.gpu", ""), ["@again ld", NUMBER])
bug(
    K,
    "race.weak",
    "pair_written_plainly",
    sub("@write_first st", ".relaxed.gpu", ""),
    ["@write_first st", "@read_first ld"],
)
bug(
    K,
    "race.weak",
    "pair_read_plainly",
    sub("@read_second ld", ".relaxed.gpu", ""),
    ["@write_second st", "@read_second ld"],
)
bug(K, "race.weak", "even_is_relaxed", sub("@even st", ".release", ".relaxed"), ["@extra st", "@read_extra ld"])
bug(
    K,
    "race.weak",
    "number_is_relaxed",
    [sub("@number ld", ".acquire", ".relaxed"), cut("@fence_again fence")],
    ["@extra st", "@read_extra ld"],
)
bug(K, "race.scope", "pair_of_the_cta", sub("@write_first st", ".gpu", ".cta"), ["@write_first st", "@read_first ld"])
bug(
    K,
    "race.mixed-size",
    "pair_read_at_once",
    put("@read_first ld", "{ .reg .b64 both; ld.relaxed.gpu.global.u64 both, [%rd6]; cvt.u32.u64 %r22, both; }"),
    ["@new ld", "@write_first st | @write_second st"],
)

# ---- refcount_drop: the last one frees
K = "refcount_drop"
PART = ["@write st.global", "@read ld.global | @wipe st.global"]
bug(K, "race.weak", "drops_relaxed", sub("@drop atom", ".release", ".relaxed"), PART)
bug(K, "race.weak", "last_does_not_acquire", cut("@fence fence"), PART)
bug(K, "race.weak", "fence_releases_alone", sub("@fence fence", ".acq_rel", ".release"), PART)
bug(K, "race.weak", "acquires_before_the_drop", move("@fence fence", to_before="@drop atom"), PART)
bug(K, "race.scope", "drops_at_the_cta", sub("@drop atom", ".gpu", ".cta"), "@drop atom")
bug(K, "race.scope", "fence_of_the_cta", sub("@fence fence", ".gpu", ".cta"), PART)
bug(K, "race.scope", "fence_of_the_cluster", sub("@fence fence", ".gpu", ".cluster"), PART)
bug(K, "race.global|race.weak", "writes_after_the_drop", move("@write st.global", to_after="@drop atom"), PART)

# ---- tile_last: who comes last to a tile adds up
K = "tile_last"
PART = ["@write st.global", "@read ld.global"]
bug(K, "race.weak", "counts_without_release", sub("@count atom", ".acq_rel", ".acquire"), PART)
bug(K, "race.weak", "counts_without_acquire", sub("@count atom", ".acq_rel", ".release"), PART)
bug(K, "race.weak", "counts_relaxed", sub("@count atom", ".acq_rel", ".relaxed"), PART)
bug(K, "race.scope", "counts_at_the_cta", sub("@count atom", ".gpu", ".cta"), "@count atom")
bug(K, "race.global|race.weak", "counts_before_all_have_written", cut("@sync_written bar.sync"), PART)
bug(K, "race.global|race.weak", "writes_after_it_has_counted", move("@write st.global", to_after="@count atom"), PART)
bug(K, "race.shared", "last_without_barrier", cut("@sync_last bar.sync"), ["@last st.shared", "@read_last ld.shared"])
bug(K, "race.weak", "reads_through_nc", sub("@read ld.global", "ld.global", "ld.global.nc"), "@read ld.global.nc")

# ---- best_flag: the best of all, and who has it
K = "best_flag"
BEST = ["@max red", "@read_best ld"]
bug(K, "race.weak", "arrives_relaxed", sub("@arrive red", ".release", ".relaxed"), BEST)
bug(K, "race.weak", "waits_relaxed", sub("@wait ld", ".acquire", ".relaxed"), BEST)
bug(K, "race.scope", "max_of_the_cta", sub("@max red", ".gpu", ".cta"), "@max red")
bug(K, "race.global|race.weak", "arrives_before_all_have_put", cut("@sync_max bar.sync"), BEST)
bug(K, "race.global|race.weak", "one_thread_waits", cut("@sync_all bar.sync"), BEST)
bug(
    K,
    "race.weak",
    "flags_relaxed",
    sub("@flag st", ".release", ".relaxed"),
    ["@write st.global", "@read ld.global #1"],
)
bug(
    K,
    "race.weak",
    "polls_volatile",
    sub("@poll ld", ".acquire.gpu", ".volatile"),
    ["@write st.global", "@read ld.global #1"],
)
bug(
    K,
    "race.global|race.weak",
    "place_after_the_flag",
    move("@write st.global", to_after="@flag st"),
    ["@write st.global", "@read ld.global #1"],
)
bug(K, "race.mixed-size", "counts_a_byte", sub("@wait ld", ".u32", ".u8"), ["@wait ld", "@arrive red"])

# ---- bits_ready: a bit for each part
K = "bits_ready"
PART = ["@write st.global", "@read ld.global"]
bug(K, "race.weak", "sets_relaxed", sub("@set red", ".release", ".relaxed"), PART)
bug(K, "race.weak", "waits_relaxed", sub("@wait ld", ".acquire", ".relaxed"), PART)
bug(K, "race.weak", "waits_plainly", sub("@wait ld", ".acquire.gpu", ""), ["@wait ld", "@set red"])
bug(K, "race.scope", "sets_at_the_cta", sub("@set red", ".gpu", ".cta"), "@set | @wait | @write | @read")
bug(K, "race.mixed-size", "sets_in_16_bits", rewrite("@wait ld", r"u32", "u16"), ["@wait ld", "@set red"])
bug(K, "race.global|race.weak", "sets_before_all_have_written", cut("@sync_written bar.warp.sync"), PART)
bug(K, "race.global|race.weak", "one_thread_waits", cut("@sync_ready bar.sync"), PART)

# ---- chain_relaxed: a release that others' atomics carry on
K = "chain_relaxed"
bug(
    K,
    "race.weak",
    "adds_by_hand",
    put("@add atom", "st.relaxed.gpu.global.u32 [%rd3], 11;"),
    ["@write st.global", "@read ld.global"],
)
ROW = ["@write st.global", "@read ld.global"]
bug(K, "race.weak", "sets_relaxed", sub("@set st", ".release", ".relaxed"), ROW)
bug(K, "race.weak", "waits_relaxed", sub("@wait ld", ".acquire", ".relaxed"), ROW)
bug(
    K,
    "race.weak",
    "adds_plainly",
    put("@add atom", "ld.global.u32 %r8, [%rd3]; add.u32 %r8, %r8, 10; st.global.u32 [%rd3], %r8;"),
    ["@new st.global", "@wait ld"],
)
bug(K, "race.scope", "adds_at_the_cta", sub("@add atom", ".gpu", ".cta"), "@add | @set | @wait")
bug(K, "race.scope", "sets_for_the_cta", sub("@set st", ".gpu", ".cta"), "@add | @set | @wait | @look")
bug(
    K,
    "race.mixed-size",
    "adds_to_a_pair",
    put("@add atom", "{ .reg .b64 was; atom.relaxed.gpu.global.add.u64 was, [%rd3], 10; }"),
    ["@new atom", "@set st | @wait ld"],
)

# ---- clocks: messages with Lamport's time
K = "clocks"
MESSAGE = ["@write_time st | @write_word st", "@read ld"]
bug(K, "race.weak", "sends_relaxed", sub("@send st", ".release", ".relaxed"), MESSAGE)
bug(K, "race.weak", "receives_relaxed", sub("@receive ld", ".acquire", ".relaxed"), MESSAGE)
bug(K, "race.weak", "sends_volatile", sub("@send st", ".release.gpu", ".volatile"), MESSAGE)
bug(
    K,
    "race.scope",
    "receives_at_the_cta",
    sub("@receive ld", ".gpu", ".cta"),
    "@send | @receive | @read | @write_time | @write_word",
)
bug(
    K,
    "race.global|race.weak",
    "word_after_it_is_sent",
    move("@write_word st", to_after="@send st"),
    ["@write_word st", "@read ld"],
)
bug(K, "race.mixed-size", "receives_a_byte", sub("@receive ld", ".u32", ".u8"), ["@receive ld", "@send st"])

# ---- scan_packed: state and sum in one word
K = "scan_packed"
WORD = "@sum st | @prefix st"
bug(K, "race.weak", "looks_plainly", sub("@look ld", ".relaxed.gpu", ""), ["@look ld", WORD])
bug(K, "race.weak", "prefix_is_plain", sub("@prefix st", ".relaxed.gpu", ""), ["@prefix st", "@look ld"])
bug(K, "race.scope", "sum_for_the_cta", sub("@sum st", ".gpu", ".cta"), ["@sum st", "@look ld"])
bug(K, "race.scope", "looks_at_the_cluster", sub("@look ld", ".gpu", ".cluster"), ["@look ld", WORD])
bug(
    K,
    "race.mixed-size",
    "looks_at_one_after_the_other",
    put(
        "@look ld",
        "{ .reg .b32 low, high; ld.relaxed.gpu.global.u32 high, [%rd2+4]; ld.relaxed.gpu.global.u32 low, [%rd2]; mov.b64 %rd16, {low, high}; }",
    ),
    ["@new ld", WORD],
)
bug(
    K,
    "race.mixed-size",
    "writes_one_after_the_other",
    put(
        "@sum st",
        "{ .reg .b32 low, high; mov.b64 {low, high}, %rd12; st.relaxed.gpu.global.u32 [%rd11], low; st.relaxed.gpu.global.u32 [%rd11+4], high; }",
    ),
    ["@new st", "@look ld"],
)

# ---- union_find: sets that are joined
K = "union_find"
PARENT = "@shorten st | @join atom"
bug(K, "race.weak", "looks_plainly", sub("@up ld", ".relaxed.gpu", ""), ["@up ld", PARENT])
bug(K, "race.weak", "looks_at_the_other_plainly", sub("@up_other ld", ".relaxed.gpu", ""), ["@up_other ld", PARENT])
bug(
    K,
    "race.weak",
    "shortens_plainly",
    sub("@shorten st", ".relaxed.gpu", ""),
    ["@shorten st", "@up ld | @up_other ld | @up_two ld | @join"],
)
bug(K, "race.scope", "joins_at_the_cta", sub("@join atom", ".gpu", ".cta"), ["@join"])
bug(K, "race.scope", "counts_at_the_cta", sub("@joined red", ".gpu", ".cta"), ["@joined"])
bug(K, "race.mixed-size", "looks_at_16_bits", sub("@up ld", ".u32", ".u16"), ["@up ld", PARENT])

# ---- barrier_flip: a barrier over the grid whose word needs no reset
K = "barrier_flip"
CELLS = "@cells"
bug(K, "race.weak", "arrives_relaxed", sub("@arrive atom", ".release", ".relaxed"), CELLS)
bug(K, "race.weak", "waits_relaxed", sub("@wait ld", ".acquire", ".relaxed"), CELLS)
bug(K, "race.weak", "waits_plainly", sub("@wait ld", ".acquire.gpu", ""), ["@wait ld", "@arrive atom"])
bug(K, "race.scope", "arrives_at_the_cta", sub("@arrive atom", ".gpu", ".cta"), "@arrive | @wait | @cells")
bug(K, "race.scope", "waits_at_the_cluster", sub("@wait ld", ".gpu", ".cluster"), "@arrive | @wait | @cells")
bug(K, "race.global|race.weak", "arrives_before_all_have_written", cut("@sync_arrive bar.sync"), CELLS)
bug(K, "race.global|race.weak", "one_thread_waits", cut("@sync_go bar.sync"), CELLS)
bug(
    K,
    "race.mixed-size",
    "waits_for_the_upper_half",
    rewrite("@wait ld", r"u32(.*)\[(%rd\d+)\]", r"u16\1[\2+2]"),
    ["@wait ld", "@arrive atom"],
)

# ---- barrier_rounds: a barrier over the grid without a counter
K = "barrier_rounds"
CELLS = "@cells"
bug(K, "race.weak", "tells_relaxed", sub("@tell st", ".release", ".relaxed"), CELLS)
bug(K, "race.weak", "waits_relaxed", sub("@wait ld", ".acquire", ".relaxed"), CELLS)
bug(K, "race.weak", "tells_plainly", sub("@tell st", ".release.gpu", ""), ["@tell st", "@wait ld"])
bug(K, "race.scope", "tells_the_cta", sub("@tell st", ".gpu", ".cta"), "@tell | @wait | @cells")
bug(K, "race.global|race.weak", "tells_before_all_have_written", cut("@sync_arrive bar.warp.sync"), CELLS)
bug(K, "race.global|race.weak", "one_lane_waits", cut("@sync_go bar.warp.sync"), CELLS)
bug(K, "race.mixed-size", "tells_a_byte", sub("@tell st", ".u32", ".u8"), ["@tell st", "@wait ld"])

# ---- warps_meet: three of four warps meet at a counter
K = "warps_meet"
CELLS = "@cells"
bug(K, "race.weak", "arrives_relaxed", sub("@arrive red", ".release", ".relaxed"), CELLS)
bug(K, "race.weak", "waits_relaxed", sub("@wait ld", ".acquire", ".relaxed"), CELLS)
bug(K, "race.weak", "waits_plainly", sub("@wait ld", ".acquire.cta", ""), ["@wait ld", "@arrive red"])
bug(K, "race.weak", "ends_relaxed", sub("@end red", ".release", ".relaxed"), ["@cells st", "@sum ld"])
bug(
    K, "race.weak", "waits_for_the_end_relaxed", sub("@wait_end ld", ".acquire", ".relaxed"), ["@cells st", "@sum ld"]
)
bug(K, "race.shared|race.weak", "arrives_before_all_have_written", cut("@sync_arrive bar.warp.sync"), CELLS)
bug(K, "race.shared|race.weak", "one_lane_waits", cut("@sync_go bar.warp.sync"), CELLS)
bug(
    K, "race.shared|race.weak", "one_lane_waits_for_the_end", cut("@sync_end bar.warp.sync"), ["@cells st", "@sum ld"]
)
bug(K, "race.mixed-size", "waits_for_a_byte", rewrite("@wait ld", r"u32", "u8"), ["@wait ld", "@arrive red"])

# ---- fences_cluster: fences and atomics of the scope of a cluster
K = "fences_cluster"
ROW = ["@write st.global", "@read ld.global"]
bug(K, "race.weak", "no_fence_after_writing", cut("@fence_write fence"), ROW)
bug(K, "race.weak", "no_fence_before_reading", cut("@fence_read fence"), ROW)
bug(K, "race.weak", "fence_after_writing_acquires", sub("@fence_write fence", ".acq_rel", ".acquire"), ROW)
bug(K, "race.weak", "fence_before_reading_releases", sub("@fence_read fence", ".acq_rel", ".release"), ROW)
bug(K, "race.scope", "fence_of_the_cta", sub("@fence_write fence", ".cluster", ".cta"), ROW)
bug(K, "race.scope", "reads_with_a_fence_of_the_cta", sub("@fence_read fence", ".cluster", ".cta"), ROW)
bug(K, "race.scope", "arrives_at_the_cta", sub("@arrive red", ".cluster", ".cta"), "@arrive red")
bug(K, "race.scope", "waits_at_the_cta", sub("@wait ld", ".cluster", ".cta"), ["@wait ld", "@arrive red"])
bug(
    K,
    "race.weak",
    "fence_before_all_have_written",
    move("@fence_write fence", to_before="@sync_written bar.warp.sync"),
    ROW,
)
bug(K, "race.weak", "waits_plainly", sub("@wait ld", ".relaxed.cluster", ""), ["@wait ld", "@arrive red"])
bug(K, "race.global|race.weak", "one_lane_waits", cut("@sync_read bar.warp.sync"), ROW)
bug(K, "race.scope", "one_counter_for_all", sub("@arrive red", "[%rd16]", "[%rd9]"), "@arrive red")
