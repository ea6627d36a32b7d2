"""Bugs with bulk stores and reductions: groups, who waits, for reads or for writes; proxies."""

from edit import after, before, cut, last_operand, move, no_wait, only, put, rewrite, some_wait, sub, sub_every
from table import bug, fine

# ---- bulk_relay: rows stored by bulk copies, read from global memory
K = "bulk_relay"
READ = "@read_own ld.global | @read_0 ld.global"
ROW_0, ROW_1 = ["@store_0 cp.async", READ], ["@store_1 cp.async", READ]
BOTH = ["@store_0 cp.async | @store_1 cp.async", READ]
bug(K, "async.unwaited", "waits_for_reads_alone", sub("@wait wait_group", "wait_group", "wait_group.read"), BOTH)
bug(K, "async.unwaited", "wait_group_1", sub("@wait wait_group", "0;", "1;"), ROW_1)
bug(K, "async.unwaited", "no_wait", cut("@wait wait_group"), BOTH)
bug(K, "async.unwaited", "second_not_committed", cut("@commit_1"), ROW_1)
bug(K, "async.unwaited", "commits_before_it_stores", move("@commit_1", to_before="@store_1 cp.async"), ROW_1)
bug(K, "async.unwaited", "another_thread_waits", only("@wait wait_group", "tid == 32"), BOTH)
bug(K, "async.unwaited", "publishes_before_it_waits", move("@wait wait_group", to_after="@publish st.release"), BOTH)
bug(K, "async.unwaited|race.weak", "publishes_relaxed", sub("@publish st", ".release", ".relaxed"), BOTH)
bug(K, "async.unwaited|race.weak", "polls_relaxed", sub("@poll ld", ".acquire", ".relaxed"), BOTH)
bug(K, "async.unwaited|race.scope", "publishes_to_the_cta", sub("@publish st", ".gpu", ".cta"), BOTH)
bug(K, "async.unwaited|race.global", "only_the_poller_waits", cut("@sync_poll bar.sync"), BOTH)
bug(
    K,
    "race.proxy",
    "no_fence",
    cut("@fence fence"),
    ["@write_0 st.shared | @write_1 st.shared", "@store_0 | @store_1"],
)
bug(
    K,
    "race.proxy",
    "first_warp_fences",
    only("@fence fence", "tid < 32"),
    ["@write_0 | @write_1", "@store_0 | @store_1"],
)
bug(
    K,
    "race.proxy",
    "fences_before_it_writes",
    move("@fence fence", to_before="@write_0 st.shared"),
    ["@write_0 | @write_1", "@store_0 | @store_1"],
)
bug(
    K,
    "race.proxy",
    "fences_between_writes",
    move("@fence fence", to_after="@write_0 st.shared"),
    ["@write_1", "@store_1"],
)
bug(
    K,
    "race.proxy",
    "fence_acq_rel",
    put("@fence fence", "fence.acq_rel.gpu;"),
    ["@write_0 | @write_1", "@store_0 | @store_1"],
)
bug(
    K,
    "race.shared|async.unwaited",
    "no_barrier_before_store",
    cut("@sync_write bar.sync"),
    ["@write_0 | @write_1", "@store_0 | @store_1"],
)
bug(K, "memory.undefined", "stores_half_a_row", sub("@store_0 mov.u32", "256", "128"), READ)
fine(K, "one_group", cut("@commit_0"))
bug(K, "race.proxy", "fence_of_global_memory", sub("@fence fence", ".async", ".async.global"), ["@write_0 st.shared | @write_1 st.shared", "@store_0 | @store_1"])
fine(K, "a_fence_of_each_space", put("@fence fence", "fence.proxy.async.global; fence.proxy.async.shared::cta;"))
fine(K, "issuer_fences", [cut("@fence fence"), after("@sync_write bar.sync", "fence.proxy.async.shared::cta;")])
fine(K, "waits_for_both_apart", [after("@commit_0", "cp.async.bulk.wait_group 0;")])

# ---- bulk_votes: tables added to global memory by bulk reductions
K = "bulk_votes"
TABLE = ["@clear st.shared | @count atom.shared", "@add cp.reduce"]
TOTALS = ["@add cp.reduce", "@read ld.global"]
bug(K, "async.unwaited", "table_cleared_in_flight", cut("@wait_read wait_group"), TABLE)
bug(K, "async.unwaited", "table_wait_2", sub("@wait_read wait_group", "1;", "2;"), TABLE)
bug(K, "async.unwaited", "another_thread_waits_for_the_table", only("@wait_read wait_group", "tid == 32"), TABLE)
bug(
    K,
    "async.unwaited",
    "waits_after_the_barrier",
    move("@wait_read wait_group", to_after="@sync_free bar.sync"),
    TABLE,
)
bug(K, "async.unwaited|race.shared", "no_barrier_after_wait", cut("@sync_free bar.sync"), TABLE)
bug(K, "race.proxy", "counts_without_fence", cut("@fence fence"), TABLE)
bug(K, "race.proxy", "fences_before_it_counts", move("@fence fence", to_before="@count atom.shared"), TABLE)
bug(K, "race.weak|race.shared|async.unwaited", "no_barrier_after_count", cut("@sync_count bar.sync"), TABLE)
bug(K, "async.unwaited", "not_committed", cut("@commit"), "@add cp.reduce")
bug(K, "async.unwaited", "totals_wait_for_reads", sub("@wait wait_group", "wait_group", "wait_group.read"), TOTALS)
bug(K, "async.unwaited", "totals_wait_1", sub("@wait wait_group", "0;", "1;"), TOTALS)
bug(K, "async.unwaited", "ticket_before_wait", move("@wait wait_group", to_after="@ticket atom"), TOTALS)
bug(K, "async.unwaited|race.weak", "no_fence_before_ticket", cut("@fence_added membar"), TOTALS)
bug(K, "async.unwaited|race.weak", "no_fence_after_ticket", cut("@fence_last membar"), TOTALS)
bug(K, "async.unwaited|race.scope", "ticket_fence_of_the_cta", sub("@fence_added membar", ".gl", ".cta"), TOTALS)

# ---- tma_inplace: tiles that come, are changed and go in one place
K = "tma_inplace"
CHANGE = "@write_a st.shared | @write_b st.shared"
TOUCH = CHANGE + " | @read_a ld.shared | @read_b ld.shared"
LOADS = "@load | @load_first"
bug(K, "race.proxy", "no_fence", cut("@fence fence"), [CHANGE, "@store"])
bug(K, "race.proxy", "one_warp_fences", only("@fence fence", "warp == 0"), [TOUCH, "@store | @load"])
bug(K, "race.proxy", "issuer_fences_before_the_barrier", only("@fence fence", "tid == 0"), [TOUCH, "@store | @load"])
bug(
    K,
    "race.proxy",
    "fences_before_it_changes",
    move("@fence fence", to_before="@read_a ld.shared #1"),
    [CHANGE, "@store"],
)
bug(K, "race.proxy", "fences_after_it_stores", move("@fence fence", to_after="@store cp.async"), [CHANGE, "@store"])
bug(
    K,
    "race.proxy",
    "fence_of_another_thread_after_the_barrier",
    [move("@fence fence", to_after="@sync bar.sync"), only("@fence fence", "tid == 1")],
    [CHANGE, "@store"],
)
bug(K, "async.unwaited", "refills_before_store_has_read", cut("@wait_read wait_group"), ["@store", "@load"])
bug(K, "async.unwaited", "refill_wait_2", sub("@wait_read wait_group", "1;", "2;"), ["@store", "@load"])
bug(
    K,
    "async.unwaited",
    "waits_after_it_refills",
    move("@wait_read wait_group", to_after="@load cp.async"),
    ["@store", "@load"],
)
bug(
    K,
    "async.unwaited",
    "commits_after_it_waits",
    move("@commit", to_after="@wait_read wait_group"),
    ["@store", "@load"],
)
bug(
    K,
    "async.unwaited",
    "another_thread_waits",
    [
        cut("@wait_read wait_group"),
        before("@sync bar.sync", "cp.async.bulk.wait_group.read 0;"),
        only("@new wait_group", "tid == 32"),
    ],
    ["@store", "@load"],
)
bug(K, "async.unwaited", "not_committed", cut("@commit"), "@store")
bug(K, "async.unwaited", "leaves_before_the_last_has_read", cut("@wait_end wait_group"), "@store")
bug(
    K,
    "async.unwaited",
    "another_thread_waits_at_the_end",
    [
        cut("@wait_end wait_group"),
        before("ret;", "cp.async.bulk.wait_group.read 0;"),
        only("@new wait_group", "tid == 1"),
    ],
    "@store",
)
bug(K, "race.shared|async.unwaited", "no_barrier_before_store", cut("@sync bar.sync"), [TOUCH, "@store | @load"])
bug(K, "async.unwaited", "does_not_wait_for_the_tile", no_wait("@wait_full"), [TOUCH, LOADS])
bug(K, "async.unwaited", "thread_0_alone_waits", some_wait("@wait_full", "tid == 0"), [TOUCH, LOADS])
bug(
    K,
    "mbarrier.phase|mbarrier.count",
    "parity_of_each_tile",
    last_operand("@wait_full try_wait", "0"),
    "@wait_full | @expect",
)
bug(
    K,
    "mbarrier.tx",
    "expects_a_row",
    sub_every("@expect mov.u32", "1024", "128"),
    "@expect | @load | @wait_full | @init",
)
bug(
    K,
    "mbarrier.tx",
    "loads_before_others_expects_twice",
    after(
        "@expect mbarrier",
        "{ .reg .b32 b; mov.u32 b, _ZZ11tma_inplaceE4full; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [b], 1024; }",
    ),
    "@wait_full | @new | @expect | @load",
)
fine(K, "fences_of_shared_memory", sub("@fence fence", ".async", ".async.shared::cta"))
fine(K, "issuer_fences_after_the_barrier", move("@fence fence", to_after="@sync bar.sync"))
fine(K, "waits_for_all_before_it_refills", rewrite("@wait_read wait_group", r"\.read\s+1", " 0"))

# ---- cluster_handoff: bulk copies from shared memory to that of another CTA
K = "cluster_handoff"
OUT, IN = ["@write st.shared", "@send"], ["@send", "@read ld.shared"]
bug(K, "race.proxy", "sends_without_fence", cut("@fence fence"), OUT)
bug(K, "race.proxy", "fences_before_it_writes", move("@fence fence", to_before="@write st.shared"), OUT)
fine(
    K,
    "first_lanes_tell_for_their_warps",
    [
        only("@tell mbarrier", "lane == 0"),
        before("@tell mapa", "bar.warp.sync -1;"),
        sub_every("@init_taken mov.u32", " 64;", " 2;"),
    ],
)
fine(
    K,
    "first_warp_waits_for_both",
    [some_wait("@wait_taken", "tid < 32"), before("@write st.shared", "bar.sync 1;")],
)
bug(K, "async.unwaited", "waits_for_what_comes_relaxed", sub("@wait_came try_wait", ".acquire", ".relaxed"), "@send")
fine(K, "the_other_fences", cut("@fence_read fence"))
bug(K, "race.shared|async.unwaited", "no_barrier_before_it_sends", cut("@sync bar.sync"), OUT)
bug(K, "async.unwaited", "does_not_wait_for_what_comes", no_wait("@wait_came"), IN)
bug(K, "async.unwaited", "one_warp_waits_for_what_comes", some_wait("@wait_came", "tid < 32"), IN)
bug(K, "async.unwaited", "does_not_wait_until_it_is_taken", no_wait("@wait_taken"), OUT)
bug(
    K,
    "async.unwaited",
    "one_warp_waits_until_it_is_taken",
    some_wait("@wait_taken", "tid >= 32"),
    "@write st.shared | @send | @read",
)
bug(
    K,
    "async.unwaited|race.scope",
    "tells_at_the_cta",
    sub("@tell mbarrier", ".release.cluster", ".release.cta"),
    "@send",
)
bug(
    K,
    "async.unwaited|race.scope",
    "waits_for_taken_at_the_cta",
    sub("@wait_taken try_wait", ".acquire.cluster", ".acquire.cta"),
    "@send",
)
bug(K, "async.unwaited|race.weak", "tells_relaxed", sub("@tell mbarrier", ".release", ".relaxed"), "@send")
bug(
    K,
    "async.unwaited|race.weak",
    "waits_for_taken_relaxed",
    sub("@wait_taken try_wait", ".acquire", ".relaxed"),
    "@send",
)
bug(K, "async.unwaited", "tells_before_it_reads", move("@read ld.shared", to_after="@tell mbarrier"), IN)
bug(
    K,
    "mbarrier.tx",
    "expects_half",
    [
        before("@expect mbarrier", "{ .reg .b32 half; mov.u32 half, 128;"),
        sub("@expect mbarrier", ", %r44", ", half"),
        after("@new mbarrier", "}"),
    ],
    "@expect | @new mbarrier | @send | @wait_came | @init_came",
)
bug(
    K,
    "mbarrier.count",
    "one_warp_tells",
    only("@tell mbarrier", "tid < 32"),
    "@tell | @wait_taken | @init_taken | @wait_last",
)
bug(
    K,
    "mbarrier.count|mbarrier.phase",
    "counts_one_warp",
    sub_every("@init_taken mov.u32", " 64;", " 32;"),
    "@tell | @wait_taken | @init_taken | @wait_last | @wait_came",
)
bug(K, "cluster.exit", "leaves_before_the_last_is_taken", no_wait("@wait_last"), "@send | @tell")
bug(
    K,
    "cluster.start|mbarrier.init",
    "sends_before_the_peer_runs",
    [put("@arrive_start barrier", "bar.sync 0;"), cut("@wait_start barrier")],
    "@send | @tell",
)
bug(
    K,
    "mbarrier.init|cluster.start",
    "relaxed_start_without_fence",
    [put("@arrive_start barrier", "barrier.cluster.arrive.relaxed.aligned;"), cut("@fence_init")],
    "@init_came | @init_taken",
)
bug(
    K,
    "race.proxy",
    "reads_without_any_fence",
    [cut("@fence_read fence"), cut("@fence fence"), before("@wait_taken setp", "fence.proxy.async;")],
    IN,
)

# ---- cluster_tables: bulk reductions from shared memory to that of both CTAs
K = "cluster_tables"
COUNTS, TOTALS = (
    ["@count atom.shared | @clear st.shared", "@add cp.reduce"],
    ["@clear_totals st.shared", "@add cp.reduce"],
)
CAME = "@expect | @add | @wait | @init"
bug(
    K,
    "race.proxy",
    "no_fence",
    cut("@fence fence"),
    ["@count atom.shared | @clear_totals st.shared", "@add cp.reduce"],
)
bug(K, "race.proxy", "fences_before_it_counts", move("@fence fence", to_before="@count atom.shared"), COUNTS)
bug(K, "race.proxy", "first_warp_fences", only("@fence fence", "tid < 32"), "@add cp.reduce")
bug(
    K,
    "async.unwaited",
    "leaves_while_its_table_is_read",
    [cut("@arrive_end barrier"), cut("@wait_end barrier")],
    "@add cp.reduce",
)
bug(
    K,
    "race.proxy|race.cluster",
    "fence_of_the_membar_kind",
    put("@fence fence", "fence.acq_rel.cluster;"),
    "@add cp.reduce",
)
bug(
    K,
    "async.unwaited|race.shared|race.weak",
    "counts_after_the_start",
    move("@count atom.shared", to_after="@wait_start barrier.cluster"),
    ["@wait_start atom.shared | @count atom.shared", "@add cp.reduce"],
)
bug(
    K,
    "async.unwaited|race.cluster",
    "clears_totals_after_the_start",
    move("@clear_totals st.shared", to_after="@wait_start barrier.cluster"),
    ["@clear_totals st.shared | @wait_start st.shared", "@add cp.reduce"],
)
bug(
    K,
    "race.weak|race.shared",
    "no_barrier_after_clear",
    cut("@sync_clear bar.sync"),
    ["@clear st.shared", "@count atom.shared"],
)
bug(K, "async.unwaited", "reads_without_wait", no_wait("@wait"), ["@add cp.reduce", "@read ld.shared"])
bug(K, "async.unwaited", "first_warp_waits", some_wait("@wait", "tid < 32"), ["@add cp.reduce", "@read ld.shared"])
bug(K, "mbarrier.tx", "expects_one_table", sub_every("@expect mov.u32", "512", "256"), CAME)
bug(K, "mbarrier.tx", "expects_three_tables", sub_every("@expect mov.u32", "512", "768"), CAME)
bug(K, "mbarrier.tx", "half_a_table", sub("@add mov.u32 #-1", "256", "128"), CAME)
bug(
    K,
    "mbarrier.init|cluster.start",
    "adds_before_the_other_runs",
    [put("@arrive_start barrier", "bar.sync 0;"), cut("@wait_start barrier")],
    "@add | @init",
)
bug(
    K,
    "race.cluster|race.proxy|async.unwaited|mbarrier.init",
    "starts_relaxed",
    sub("@arrive_start barrier", ".release", ".relaxed"),
    "@add | @init",
)
bug(K, "cluster.arrive", "never_waits_at_the_end", cut("@wait_end barrier"), "@arrive_end | ret;")

# ---- tma_totals: tensor stores and tensor reductions from one buffer
K = "tma_totals"
TILE, SUMS = ["@make st.shared", "@store | @add"], ["@add cp.reduce", "@read ld.global"]
bug(K, "race.proxy", "no_fence", cut("@fence fence"), TILE)
bug(K, "race.proxy", "fences_before_it_makes", move("@fence fence", to_after="@sync_free bar.sync"), TILE)
bug(
    K,
    "race.proxy",
    "fences_between_words",
    move("@fence fence", to_after="@make st.shared #2"),
    ["@make st.shared #3 | @make st.shared #4", "@store | @add"],
)
bug(
    K,
    "race.proxy",
    "fences_between_store_and_add",
    move("@fence fence", to_before="@add cp.reduce"),
    ["@make st.shared", "@store"],
)
bug(K, "async.unwaited", "made_in_flight", cut("@wait_read wait_group"), TILE)
bug(K, "async.unwaited", "wait_group_3", sub("@wait_read wait_group", "2;", "3;"), ["@make st.shared", "@add"])
bug(K, "async.unwaited", "wait_group_4", sub("@wait_read wait_group", "2;", "4;"), TILE)
bug(K, "async.unwaited", "another_thread_waits", only("@wait_read wait_group", "tid == 1"), TILE)
bug(K, "async.unwaited|race.shared", "no_barrier_after_wait", cut("@sync_free bar.sync"), TILE)
bug(K, "async.unwaited|race.shared", "no_barrier_before_store", cut("@sync_made bar.sync"), TILE)
bug(
    K,
    "async.unwaited",
    "commits_before_it_adds",
    move("@commit_add", to_before="@add cp.reduce"),
    ["@add cp.reduce", "@make st.shared | @read ld.global | ret;"],
)
bug(K, "async.unwaited", "totals_wait_for_reads", sub("@wait wait_group", "wait_group", "wait_group.read"), SUMS)
bug(K, "async.unwaited", "totals_wait_1", sub("@wait wait_group", "0;", "1;"), SUMS)
bug(K, "async.unwaited", "ticket_before_wait", move("@wait wait_group", to_after="@ticket atom"), SUMS)
bug(K, "async.unwaited|race.weak", "no_fence_after_ticket", cut("@fence_last membar"), SUMS)
fine(K, "one_group_a_tile", [cut("@commit_store"), sub("@wait_read wait_group", "2;", "1;")])
fine(K, "waits_for_all", sub("@wait_read wait_group", "2;", "0;"))
