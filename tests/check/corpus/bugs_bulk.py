"""Bugs with bulk stores and reductions: groups, who waits, for reads or for writes; proxies."""

from edit import after, before, cut, move, only, put, rewrite, sub
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
bug(K, "race.proxy", "no_fence", cut("@fence fence"), ["@write_0 st.shared | @write_1 st.shared", "@store_0 | @store_1"])
bug(K, "race.proxy", "first_warp_fences", only("@fence fence", "tid < 32"), ["@write_0 | @write_1", "@store_0 | @store_1"])
bug(K, "race.proxy", "fences_before_it_writes", move("@fence fence", to_before="@write_0 st.shared"), ["@write_0 | @write_1", "@store_0 | @store_1"])
bug(K, "race.proxy", "fences_between_writes", move("@fence fence", to_after="@write_0 st.shared"), ["@write_1", "@store_1"])
bug(K, "race.proxy", "fence_acq_rel", put("@fence fence", "fence.acq_rel.gpu;"), ["@write_0 | @write_1", "@store_0 | @store_1"])
bug(K, "race.shared|async.unwaited", "no_barrier_before_store", cut("@sync_write bar.sync"), ["@write_0 | @write_1", "@store_0 | @store_1"])
bug(K, "memory.undefined", "stores_half_a_row", sub("@store_0 mov.u32", "256", "128"), READ)
fine(K, "one_group", cut("@commit_0"))
fine(K, "issuer_fences", [cut("@fence fence"), after("@sync_write bar.sync", "fence.proxy.async.shared::cta;")])
fine(K, "waits_for_both_apart", [after("@commit_0", "cp.async.bulk.wait_group 0;")])

# ---- bulk_votes: tables added to global memory by bulk reductions
K = "bulk_votes"
TABLE = ["@clear st.shared | @count atom.shared", "@add cp.reduce"]
TOTALS = ["@add cp.reduce", "@read ld.global"]
bug(K, "async.unwaited", "table_cleared_in_flight", cut("@wait_read wait_group"), TABLE)
bug(K, "async.unwaited", "table_wait_2", sub("@wait_read wait_group", "1;", "2;"), TABLE)
bug(K, "async.unwaited", "another_thread_waits_for_the_table", only("@wait_read wait_group", "tid == 32"), TABLE)
bug(K, "async.unwaited", "waits_after_the_barrier", move("@wait_read wait_group", to_after="@sync_free bar.sync"), TABLE)
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
