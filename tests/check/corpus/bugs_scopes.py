"""Bugs between the CTAs of a cluster that signal each other by mbarriers: scopes, who waits, who leaves."""

from edit import after, before, cut, last_operand, move, no_wait, only, put, some_wait, sub, sub_every
from table import bug, fine

# ---- cluster_baton: mbarriers in distributed shared memory, from CTA to CTA
K = "cluster_baton"
WORDS = ["@write st.shared", "@fetch ld"]
bug(K, "race.scope", "tells_made_at_the_cta", sub("@tell_made mbarrier", ".cluster.shared", ".cta.shared"), WORDS)
bug(
    K, "race.scope", "waits_for_made_at_the_cta", sub("@wait_made try_wait", ".acquire.cluster", ".acquire.cta"), WORDS
)
bug(
    K,
    "race.scope",
    "both_at_the_cta",
    [
        sub("@tell_made mbarrier", ".cluster.shared", ".cta.shared"),
        sub("@wait_made try_wait", ".acquire.cluster", ".acquire.cta"),
    ],
    WORDS,
)
bug(K, "race.weak|race.cluster", "tells_made_relaxed", sub("@tell_made mbarrier", ".release", ".relaxed"), WORDS)
bug(K, "race.weak|race.cluster", "waits_for_made_relaxed", sub("@wait_made try_wait", ".acquire", ".relaxed"), WORDS)
bug(
    K,
    "race.scope",
    "relaxed_with_a_fence_of_the_cta",
    [sub("@tell_made mbarrier", ".release", ".relaxed"), before("@tell_made mapa", "fence.acq_rel.cta;")],
    WORDS,
)
bug(
    K,
    "race.scope",
    "relaxed_wait_with_a_fence_of_the_cta",
    [sub("@wait_made try_wait", ".acquire", ".relaxed"), before("@fetch ld", "fence.acq_rel.cta;")],
    WORDS,
)
bug(
    K,
    "race.weak|race.cluster",
    "fence_after_the_arrival",
    [sub("@tell_made mbarrier", ".release", ".relaxed"), after("@tell_made mbarrier", "fence.acq_rel.cluster;")],
    WORDS,
)
bug(
    K,
    "race.weak|race.cluster",
    "fence_before_the_wait",
    [
        sub("@wait_made try_wait", ".acquire", ".relaxed"),
        after("@init_taken mbarrier", "fence.acq_rel.cluster;"),
    ],
    WORDS,
)
bug(
    K,
    "race.weak|race.cluster",
    "acquires_before_it_tells",
    [sub("@tell_made mbarrier", ".release", ".relaxed"), before("@tell_made mapa", "fence.acquire.cluster;")],
    WORDS,
)
bug(
    K,
    "race.weak|race.cluster",
    "releases_after_it_waits",
    [sub("@wait_made try_wait", ".acquire", ".relaxed"), before("@fetch ld", "fence.release.cluster;")],
    WORDS,
)
bug(K, "race.cluster", "tells_made_before_all_have_written", cut("@sync_write bar.warp.sync"), WORDS)
bug(K, "race.cluster", "writes_after_it_tells", move("@write st.shared", to_after="@tell_made mbarrier"), WORDS)
bug(K, "race.scope", "tells_taken_at_the_cta", sub("@tell_taken mbarrier", ".cluster.shared", ".cta.shared"), WORDS)
bug(
    K,
    "race.scope",
    "waits_for_taken_at_the_cta",
    sub("@wait_taken try_wait", ".acquire.cluster", ".acquire.cta"),
    WORDS,
)
bug(K, "race.weak|race.cluster", "tells_taken_relaxed", sub("@tell_taken mbarrier", ".release", ".relaxed"), WORDS)
bug(K, "race.weak|race.cluster", "waits_for_taken_relaxed", sub("@wait_taken try_wait", ".acquire", ".relaxed"), WORDS)
bug(K, "race.cluster", "tells_taken_before_it_reads", move("@fetch ld", to_after="@tell_taken mbarrier"), WORDS)
bug(K, "race.cluster", "half_a_warp_waits_for_made", some_wait("@wait_made", "lane < 16"), WORDS)
bug(K, "race.cluster", "half_a_warp_waits_for_taken", some_wait("@wait_taken", "lane < 16"), WORDS)
bug(
    K,
    "race.cluster",
    "lane_0_tells_for_all",
    [only("@tell_taken mbarrier", "lane == 0"), sub("@init_taken mbarrier", ", %r", ", 1; //")],
    WORDS,
)
bug(K, "cluster.exit", "leaves_unread", no_wait("@wait_last"), "@fetch | @tell_taken")
bug(
    K,
    "cluster.start|mbarrier.init",
    "tells_before_the_next_runs",
    [put("@arrive_start barrier", "bar.sync 0;"), cut("@wait_start barrier")],
    "@tell_made | @fetch | @tell_taken | @init_made | @init_taken",
)
bug(
    K,
    "cluster.arrive|mbarrier.init|cluster.start",
    "never_waits_at_the_start",
    cut("@wait_start barrier"),
    "@arrive_start | ret; | @tell_made | @tell_taken | @fetch",
)
fine(
    K,
    "relaxed_with_fences",
    [
        sub("@tell_made mbarrier", ".release", ".relaxed"),
        before("@tell_made mapa", "fence.acq_rel.cluster;"),
        sub("@wait_made try_wait", ".acquire", ".relaxed"),
        before("@fetch ld", "fence.acq_rel.cluster;"),
    ],
)
fine(
    K,
    "relaxed_with_fences_of_the_gpu",
    [
        sub("@tell_taken mbarrier", ".release", ".relaxed"),
        before("@tell_taken mapa", "fence.acq_rel.gpu;"),
        sub("@wait_taken try_wait", ".acquire", ".relaxed"),
        before("@write st.shared", "fence.sc.gpu;"),
    ],
)
fine(
    K,
    "fences_that_release_and_acquire",
    [
        sub("@tell_made mbarrier", ".release", ".relaxed"),
        before("@tell_made mapa", "fence.release.cluster;"),
        sub("@wait_made try_wait", ".acquire", ".relaxed"),
        before("@fetch ld", "fence.acquire.cluster;"),
    ],
)
fine(K, "half_a_warp_waits_at_the_end", some_wait("@wait_last", "lane < 16"))
fine(
    K,
    "lane_0_tells_after_all",
    [
        only("@tell_taken mbarrier", "lane == 0"),
        before("@tell_taken mapa", "bar.warp.sync -1;"),
        sub("@init_taken mbarrier", ", %r", ", 1; //"),
    ],
)

# ---- cluster_feed: st.async from one CTA to another, and stages given back
K = "cluster_feed"
STAGE = ["@send st.async", "@read ld.shared"]
FULL = "@wait_full | @expect | @expect_first | @init_full | @send"
EMPTY = "@wait_empty | @give | @init_empty | @drain | @drain_last"
bug(
    K,
    "race.scope|async.unwaited",
    "gives_at_the_cta",
    sub("@give mbarrier", ".release.cluster", ".release.cta"),
    STAGE,
)
bug(
    K,
    "race.scope|async.unwaited",
    "waits_for_empty_at_the_cta",
    sub("@wait_empty try_wait", ".acquire.cluster", ".acquire.cta"),
    STAGE,
)
bug(K, "race.weak|async.unwaited", "gives_relaxed", sub("@give mbarrier", ".release", ".relaxed"), STAGE)
bug(
    K,
    "race.weak|async.unwaited",
    "waits_for_empty_relaxed",
    sub("@wait_empty try_wait", ".acquire", ".relaxed"),
    STAGE,
)
bug(
    K,
    "race.cluster|async.unwaited",
    "gives_before_it_reads",
    move("@read ld.shared", to_after="@give mbarrier"),
    STAGE,
)
bug(K, "mbarrier.tx|race.cluster|async.unwaited", "sends_without_empty", no_wait("@wait_empty"), FULL + " | @read")
bug(K, "async.unwaited", "reads_without_full", no_wait("@wait_full"), STAGE)
bug(K, "async.unwaited", "one_warp_waits_for_full", some_wait("@wait_full", "tid < 32"), STAGE)
bug(
    K,
    "race.cluster|async.unwaited",
    "one_warp_waits_for_empty",
    some_wait("@wait_empty", "tid < 32"),
    "@send st.async",
)
bug(K, "mbarrier.count", "a_lane_of_each_warp_gives", only("@give mbarrier", "lane == 0"), EMPTY)
bug(
    K,
    "mbarrier.count|mbarrier.phase|cluster.exit",
    "empty_counts_a_warp",
    sub("@init_empty mbarrier", ", %r", ", 32; //"),
    EMPTY,
)
bug(K, "mbarrier.tx", "expects_a_warp", sub_every("@expect mov.u32", "256", "128"), FULL)
bug(K, "mbarrier.tx", "expects_first_a_warp", sub_every("@expect_first mov.u32", "256", "128"), FULL)
bug(K, "mbarrier.tx|mbarrier.count", "does_not_expect_again", cut("@expect mbarrier"), FULL)
bug(K, "mbarrier.phase", "full_parity_of_each_row", sub("@wait_full shr.u32", "1;", "0;"), FULL + " | @read")
bug(K, "cluster.exit", "leaves_before_the_last_is_given", [no_wait("@drain"), no_wait("@drain_last")], "@give")
bug(K, "cluster.exit", "does_not_wait_for_the_last", no_wait("@drain_last"), "@give")
fine(K, "waits_for_the_last_alone", no_wait("@drain"))
fine(K, "waits_relaxed_at_the_end", sub("@drain_last try_wait", ".acquire", ".relaxed"))

# ---- multicast_leader: one CTA copies to all, the others give stages back
K = "multicast_leader"
STAGE = ["@load cp.async", "@read ld.shared"]
FULL = "@expect | @expect_first | @load | @wait_full | @init_full"
EMPTY = "@give | @wait_empty | @init_empty | @drain | @drain_last"
bug(K, "race.proxy", "reads_without_fence", cut("@fence_read fence"), STAGE)
bug(K, "race.proxy", "fences_after_it_gives", move("@fence_read fence", to_after="@give mbarrier"), STAGE)
bug(K, "race.proxy", "lane_0_fences_before_the_others", only("@fence_read fence", "lane == 0"), STAGE)
bug(K, "async.unwaited", "no_syncwarp_before_it_gives", cut("@sync_read bar.warp.sync"), STAGE)
bug(K, "async.unwaited", "gives_before_it_reads", move("@read ld.shared", to_after="@give mbarrier"), STAGE)
bug(K, "async.unwaited", "empty_counts_three_ctas", sub("@init_empty mov.u32 #-1", "8", "6"), STAGE)
bug(
    K,
    "async.unwaited|race.scope",
    "gives_at_the_cta",
    sub("@give mbarrier", ".release.cluster", ".release.cta"),
    STAGE,
)
bug(
    K,
    "async.unwaited|race.scope",
    "waits_for_empty_at_the_cta",
    sub("@wait_empty try_wait", ".acquire.cluster", ".acquire.cta"),
    STAGE,
)
bug(
    K,
    "async.unwaited|race.weak",
    "waits_for_empty_relaxed",
    sub("@wait_empty try_wait", ".acquire", ".relaxed"),
    STAGE,
)
bug(K, "async.unwaited", "does_not_wait_for_empty", no_wait("@wait_empty"), "@load cp.async")
bug(K, "mbarrier.count|async.unwaited", "does_not_wait_for_full", no_wait("@wait_full"), "@expect | @load | @read")
bug(K, "async.unwaited", "one_warp_waits_for_full", some_wait("@wait_full", "warp == 0"), STAGE)
bug(
    K,
    "async.unwaited|race.weak|race.scope",
    "waits_for_full_relaxed",
    sub("@wait_full try_wait", ".acquire", ".relaxed"),
    STAGE,
)
bug(K, "mbarrier.tx", "not_to_the_last_cta", sub("@load mov.u16", "15", "7"), FULL)
bug(K, "mbarrier.tx", "to_the_leader_alone", sub("@load mov.u16", "15", "1"), FULL)
bug(K, "mbarrier.tx", "expects_for_all_ctas", sub("@expect mov.u32", "256", "1024"), FULL)
bug(K, "mbarrier.count", "one_warp_gives", only("@give mbarrier", "warp == 0"), EMPTY)
bug(
    K,
    "mbarrier.init|cluster.start",
    "copies_before_the_others_run",
    [put("@arrive_start barrier", "bar.sync 0;"), cut("@wait_start barrier")],
    "@load | @give | @init_full | @init_empty",
)
bug(
    K,
    "mbarrier.init|cluster.start",
    "starts_relaxed_without_fence",
    [put("@arrive_start barrier", "barrier.cluster.arrive.relaxed.aligned;"), cut("@fence_init")],
    "@init_full | @init_empty",
)
bug(K, "cluster.exit", "leader_leaves_first", [no_wait("@drain"), no_wait("@drain_last")], "@give")
bug(K, "cluster.exit", "leader_does_not_wait_for_the_last", no_wait("@drain_last"), "@give")
bug(K, "cluster.exit", "last_waits_for_a_phase_before", last_operand("@drain_last try_wait", "1"), "@give")
fine(K, "waits_for_the_last_alone", no_wait("@drain"))
fine(K, "leader_fences", [cut("@fence_read fence"), before("@load cp.async", "fence.proxy.async;")])
fine(K, "starts_relaxed_with_fence", put("@arrive_start barrier", "barrier.cluster.arrive.relaxed.aligned;"))

# ---- red_async_sums: red.async into the sums of two CTAs
K = "red_async_sums"
SUMS = ["@send red.async", "@read ld.shared"]
CAME = "@expect | @send | @wait | @init"
bug(K, "async.unwaited", "reads_without_wait", no_wait("@wait"), SUMS)
bug(K, "async.unwaited", "lane_0_alone_waits", some_wait("@wait", "lane == 0"), SUMS)
bug(
    K,
    "async.unwaited",
    "waits_after_it_reads",
    [cut("@read ld.shared"), after("@send red.async #2", "@!%p1 ld.shared.u32 %r36, [%r5];")],
    ["@send red.async", "@new ld.shared"],
)
bug(K, "async.unwaited|race.weak|race.scope", "waits_relaxed", sub("@wait try_wait", ".acquire", ".relaxed"), SUMS)
bug(K, "async.unwaited|mbarrier.tx", "expects_its_own", sub("@expect mov.u32 #-1", "512", "256"), CAME)
bug(K, "memory.undefined", "half_cleared", only("@clear st.shared", "tid < 16"), "@send | @read")
bug(K, "mbarrier.tx", "expects_four_ctas", sub("@expect mov.u32 #-1", "512", "1024"), CAME)
bug(K, "mbarrier.tx", "some_do_not_send", only("@send red.async #2", "tid < 60"), CAME)
bug(
    K,
    "race.cluster|async.unwaited|race.shared",
    "clears_after_the_start",
    [cut("@clear st.shared"), after("@wait_start barrier.cluster", "@!%p1 st.shared.u32 [%r5], %r2;")],
    ["@new st.shared", "@send red.async"],
)
bug(
    K,
    "mbarrier.init|cluster.start",
    "sends_before_the_other_runs",
    [put("@arrive_start barrier", "bar.sync 0;"), cut("@wait_start barrier")],
    "@send | @init",
)
bug(
    K,
    "cluster.exit",
    "leaves_before_all_have_come",
    [no_wait("@wait"), cut("@read ld.shared"), cut("@read st.global")],
    "@send",
)
