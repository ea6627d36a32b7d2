"""Bugs between the CTAs of a cluster that signal each other by mbarriers: scopes, who waits, who leaves."""

from edit import after, before, cut, last_operand, move, no_wait, only, put, some_wait, sub, sub_every
from table import bug, fine

# ---- cluster_baton: mbarriers in distributed shared memory, from CTA to CTA
K = "cluster_baton"
WORDS = ["@write st.shared", "@fetch ld"]
bug(K, "race.scope", "tells_made_at_the_cta", sub("@tell_made mbarrier", ".cluster.shared", ".cta.shared"), WORDS)
bug(K, "race.scope", "waits_for_made_at_the_cta", sub("@wait_made try_wait", ".acquire.cluster", ".acquire.cta"), WORDS)
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
bug(K, "race.cluster", "tells_made_before_all_have_written", cut("@sync_write bar.warp.sync"), WORDS)
bug(K, "race.cluster", "writes_after_it_tells", move("@write st.shared", to_after="@tell_made mbarrier"), WORDS)
bug(K, "race.scope", "tells_taken_at_the_cta", sub("@tell_taken mbarrier", ".cluster.shared", ".cta.shared"), WORDS)
bug(K, "race.scope", "waits_for_taken_at_the_cta", sub("@wait_taken try_wait", ".acquire.cluster", ".acquire.cta"), WORDS)
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
fine(K, "half_a_warp_waits_at_the_end", some_wait("@wait_last", "lane < 16"))
fine(K, "lane_0_tells_after_all", [only("@tell_taken mbarrier", "lane == 0"), before("@tell_taken mapa", "bar.warp.sync -1;"), sub("@init_taken mbarrier", ", %r", ", 1; //")])

# ---- cluster_feed: st.async from one CTA to another, and stages given back
K = "cluster_feed"
STAGE = ["@send st.async", "@read ld.shared"]
FULL = "@wait_full | @expect | @expect_first | @init_full | @send"
EMPTY = "@wait_empty | @give | @init_empty | @drain | @drain_last"
bug(K, "race.scope|async.unwaited", "gives_at_the_cta", sub("@give mbarrier", ".release.cluster", ".release.cta"), STAGE)
bug(K, "race.scope|async.unwaited", "waits_for_empty_at_the_cta", sub("@wait_empty try_wait", ".acquire.cluster", ".acquire.cta"), STAGE)
bug(K, "race.weak|async.unwaited", "gives_relaxed", sub("@give mbarrier", ".release", ".relaxed"), STAGE)
bug(K, "race.weak|async.unwaited", "waits_for_empty_relaxed", sub("@wait_empty try_wait", ".acquire", ".relaxed"), STAGE)
bug(K, "race.cluster|async.unwaited", "gives_before_it_reads", move("@read ld.shared", to_after="@give mbarrier"), STAGE)
bug(K, "mbarrier.tx|race.cluster|async.unwaited", "sends_without_empty", no_wait("@wait_empty"), FULL + " | @read")
bug(K, "async.unwaited", "reads_without_full", no_wait("@wait_full"), STAGE)
bug(K, "async.unwaited", "one_warp_waits_for_full", some_wait("@wait_full", "tid < 32"), STAGE)
bug(K, "race.cluster|async.unwaited", "one_warp_waits_for_empty", some_wait("@wait_empty", "tid < 32"), "@send st.async")
bug(K, "mbarrier.count", "a_lane_of_each_warp_gives", only("@give mbarrier", "lane == 0"), EMPTY)
bug(K, "mbarrier.count|mbarrier.phase|cluster.exit", "empty_counts_a_warp", sub("@init_empty mbarrier", ", %r", ", 32; //"), EMPTY)
bug(K, "mbarrier.tx", "expects_a_warp", sub_every("@expect mov.u32", "256", "128"), FULL)
bug(K, "mbarrier.tx", "expects_first_a_warp", sub_every("@expect_first mov.u32", "256", "128"), FULL)
bug(K, "mbarrier.tx|mbarrier.count", "does_not_expect_again", cut("@expect mbarrier"), FULL)
bug(K, "mbarrier.phase", "full_parity_of_each_row", sub("@wait_full shr.u32", "1;", "0;"), FULL + " | @read")
bug(K, "cluster.exit", "leaves_before_the_last_is_given", [no_wait("@drain"), no_wait("@drain_last")], "@give")
bug(K, "cluster.exit", "does_not_wait_for_the_last", no_wait("@drain_last"), "@give")
fine(K, "waits_for_the_last_alone", no_wait("@drain"))
