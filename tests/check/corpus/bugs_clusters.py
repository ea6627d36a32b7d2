"""Bugs in kernels of clusters: distributed shared memory, multicast, st.async."""

from edit import before, cut, move, no_wait, only, put, some_wait, sub, sub_every
from table import bug

# ---- cluster_exchange: distributed shared memory
K = "cluster_exchange"
bug(
    K,
    "cluster.start",
    "sends_before_the_peer_runs",
    [cut("@arrive_start barrier"), cut("@wait_start barrier")],
    "@send",
)
bug(K, "cluster.exit", "exits_while_the_peer_reads", [cut("@arrive_end barrier"), cut("@wait_end barrier")], "@fetch")
bug(K, "cluster.exit", "arrives_before_it_reads", move("@fetch ld", to_after="@arrive_end barrier"), "@fetch")
bug(K, "cluster.arrive", "never_waits_at_the_end", cut("@wait_end barrier"), "@arrive_end | ret;")
bug(K, "cluster.arrive", "arrives_twice", cut("@wait_sent barrier"), "@arrive_sent | @arrive_made")
bug(
    K,
    "race.cluster",
    "no_barrier_after_send",
    [cut("@arrive_sent barrier"), cut("@wait_sent barrier")],
    ["@send st", "@make ld.shared"],
)
bug(
    K,
    "race.cluster",
    "no_barrier_before_fetch",
    [cut("@arrive_made barrier"), cut("@wait_made barrier")],
    ["@make st.shared", "@fetch ld"],
)
bug(
    K,
    "race.weak",
    "relaxed_arrival",
    sub("@arrive_sent barrier", ".release", ".relaxed"),
    ["@send st", "@make ld.shared"],
)
bug(
    K,
    "race.cluster",
    "cta_barrier_instead",
    [put("@arrive_made barrier", "bar.sync 0;"), cut("@wait_made barrier")],
    ["@make st.shared", "@fetch ld"],
)

# ---- cluster_reduce
K = "cluster_reduce"
bug(
    K,
    "race.cluster",
    "no_barrier_before_fetch",
    [cut("@arrive_sums barrier"), cut("@wait_sums barrier")],
    ["@sum st.shared", "@fetch_sum ld"],
)
bug(
    K,
    "race.cluster",
    "total_fetched_too_early",
    [cut("@arrive_total barrier"), cut("@wait_total barrier")],
    ["@total st.shared", "@fetch_total ld"],
)
bug(
    K,
    "cluster.exit",
    "leaves_before_all_have_read",
    [cut("@arrive_end barrier"), cut("@wait_end barrier")],
    "@fetch_total",
)
bug(
    K,
    "cluster.exit",
    "reads_after_last_barrier",
    move("@fetch_total ld", to_after="@wait_end barrier"),
    "@fetch_total",
)
bug(K, "cluster.arrive", "last_wait_missing", cut("@wait_end barrier"), "@arrive_end | ret;")
bug(K, "cluster.arrive", "arrives_again", cut("@wait_sums barrier"), "@arrive_sums | @arrive_total")
bug(
    K,
    "race.shared",
    "parts_without_barrier",
    cut("@sync_parts bar.sync"),
    ["@part st.shared", "@read_parts ld.shared"],
)
bug(
    K,
    "memory.undefined",
    "last_not_loaded",
    only("@part st.shared", "tid < 50"),
    "@sum | @store | @reduce | @read_parts",
)
bug(K, "warp.mask", "exchange_mask_of_two", sub("@exchange_1 mov.u32 #-1", "15;", "3;"), "@exchange_1")

# ---- cluster_multicast
K = "cluster_multicast"
FULL = "@expect | @load | @wait_full | @init_full"
EMPTY = "@release | @wait_empty | @init_empty"
bug(
    K,
    "cluster.start|mbarrier.init",
    "copies_before_the_peer_runs",
    [put("@arrive_start barrier", "bar.sync 0;"), cut("@wait_start barrier")],
    "@load | @release",
)
bug(
    K,
    "cluster.exit",
    "leaves_while_copies_come",
    [cut("@arrive_end barrier"), cut("@wait_end barrier")],
    "@load | @release",
)
bug(
    K,
    "async.unwaited",
    "empty_counts_own_warps",
    sub_every("@init_empty mov.u32", " 8;", " 4;"),
    ["@load", "@read ld.shared"],
)
bug(K, "mbarrier.count", "releases_its_own_alone", only("@release mbarrier", "lane == 0"), EMPTY)
bug(K, "mbarrier.tx", "expects_its_own_half", sub("@expect mov.u32 #-1", "2048", "1024"), FULL)
bug(K, "mbarrier.tx", "not_multicast", sub("@load mov.u16", " 3;", " 1;"), FULL)
bug(
    K,
    "mbarrier.init",
    "no_cluster_barrier_after_init",
    [put("@arrive_start barrier", "barrier.cluster.arrive.relaxed.aligned;"), cut("@fence_init")],
    "@init_full | @init_empty",
)
bug(K, "race.proxy", "reads_without_fence", cut("@fence_read"), ["@read ld.shared", "@load"])
bug(K, "async.unwaited", "does_not_wait_for_full", no_wait("@wait_full"), ["@read ld.shared", "@load"])
bug(
    K,
    "race.shared|async.unwaited",
    "no_syncwarp_before_release",
    cut("@sync_read bar.warp.sync"),
    ["@read ld.shared", "@load"],
)
bug(K, "mbarrier.phase", "full_parity_stays", sub("@wait_full and.b32 #-1", "1;", "0;"), "@wait_full | @wait_empty")

# ---- cluster_ring: st.async
K = "cluster_ring"
bug(
    K,
    "cluster.start|mbarrier.init",
    "sends_before_the_next_runs",
    [cut("@arrive_start barrier"), cut("@wait_start barrier")],
    "@send",
)
bug(
    K,
    "async.unwaited",
    "rounds_without_barrier",
    [cut("@arrive_round barrier"), cut("@wait_round barrier")],
    ["@send", "@send | @read ld.shared"],
)
bug(K, "async.unwaited", "half_a_warp_waits", some_wait("@wait_came", "lane < 16"), ["@send", "@read ld.shared"])
bug(
    K,
    "mbarrier.tx",
    "expects_half",
    sub_every("128;", "mov.u32 \t%r26, 128", "mov.u32 \t%r26, 64"),
    "@expect_0 | @expect_1 | @send | @wait_came",
)
bug(
    K,
    "mbarrier.phase|async.unwaited",
    "parity_of_the_round",
    sub("@wait_came shr.u32", "1;", "0;"),
    "@wait_came | @read ld.shared",
)
bug(K, "cluster.arrive", "round_without_wait", cut("@wait_round barrier"), "@arrive_round")
bug(
    K,
    "mbarrier.init",
    "came_1_not_initialised",
    [cut("@init_1 mbarrier"), cut("@expect_1 mbarrier")],
    "@send | @wait_came | @expect",
)

# ---- cluster_bins: reductions in distributed shared memory
K = "cluster_bins"
bug(
    K,
    "cluster.start",
    "counts_before_the_peer_runs",
    [put("@arrive_start barrier", "bar.sync 0;"), cut("@wait_start barrier")],
    "@count",
)
bug(
    K,
    "cluster.start",
    "no_barrier_at_the_start",
    [cut("@arrive_start barrier"), cut("@wait_start barrier")],
    "@count",
)
bug(
    K,
    "cluster.exit",
    "leaves_while_peers_count",
    [put("@arrive_end barrier", "bar.sync 0;"), cut("@wait_end barrier")],
    "@count",
)
bug(K, "cluster.arrive", "never_waits", cut("@wait_end barrier"), "@arrive_end | ret;")
bug(
    K,
    "race.weak|race.cluster",
    "reads_before_the_peer_has_counted",
    [
        put("@arrive_end barrier", "bar.sync 0;"),
        cut("@wait_end barrier"),
        before("ret;", "barrier.cluster.arrive.aligned;", "barrier.cluster.wait.aligned;"),
    ],
    ["@count red", "@read ld.shared"],
)
bug(
    K,
    "race.scope",
    "counts_at_the_scope_of_the_cta",
    sub_every("@count red", ".relaxed.cluster", ".relaxed.cta"),
    "@count red",
)
bug(K, "memory.undefined", "half_cleared", only("@clear st.shared", "tid < 16"), "@read | @count")
bug(K, "memory.bounds", "sixteen_bins", sub("E4bins[", "128", "64"), "@clear | @count | @read")

# ---- cluster_scan
K = "cluster_scan"
bug(
    K,
    "race.cluster",
    "adds_before_all_have_sent",
    [cut("@arrive_sums barrier"), cut("@wait_sums barrier")],
    ["@send st", "@add ld.shared"],
)
bug(
    K,
    "race.weak",
    "relaxed_arrival",
    sub("@arrive_sums barrier", ".release", ".relaxed"),
    ["@send st", "@add ld.shared"],
)
bug(
    K,
    "race.cluster",
    "end_read_too_early",
    [put("@arrive_end barrier", "bar.sync 0;"), cut("@wait_end barrier")],
    ["@send_end st", "@store ld.shared"],
)
bug(
    K,
    "cluster.start",
    "sends_before_the_others_run",
    [cut("@arrive_start barrier"), cut("@wait_start barrier")],
    "@send",
)
bug(K, "cluster.arrive", "never_waits_at_the_end", cut("@wait_end barrier"), "@arrive_end | ret;")
bug(K, "warp.mask", "total_of_the_whole_warp", sub_every("@total mov.u32", " 15;", " -1;"), "@total shfl")
