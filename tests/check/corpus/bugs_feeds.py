"""Bugs with cp.async: groups, waits of some, arrivals of copies; and tiles of which a part is left unwritten."""

from edit import after, before, cut, last_operand, move, no_wait, only, put, rewrite, some_wait, sub
from table import bug, fine

# ---- halo_cpasync: rows that come by cp.async, read by neighbours
K = "halo_cpasync"
COPY = "@copy cp.async | @copy_first cp.async | @edge cp.async | @edge_first cp.async"
READ = "@left ld.shared"
ROW = [COPY, READ]
bug(K, "async.unwaited", "wait_group_3", sub("@wait wait_group", "2;", "3;"), ROW)
bug(K, "async.unwaited", "no_wait", cut("@wait wait_group"), ROW)
bug(K, "async.unwaited", "no_barrier_after_wait", cut("@sync bar.sync"), ROW)
bug(K, "async.unwaited", "syncwarp_after_wait", put("@sync bar.sync", "bar.warp.sync -1;"), ROW)
bug(K, "async.unwaited", "waits_after_the_barrier", move("@wait wait_group", to_after="@sync bar.sync"), ROW)
bug(K, "async.unwaited", "first_warp_waits", only("@wait wait_group", "warp == 0"), ROW)
bug(K, "async.unwaited", "last_warp_waits", only("@wait wait_group", "warp == 1"), ROW)
bug(K, "async.unwaited", "all_but_the_edge_wait", only("@wait wait_group", "tid < 63"), ROW)
bug(K, "async.unwaited", "commits_copies_alone", put("@commit", "@!%p6 cp.async.commit_group;"), ROW)
bug(K, "async.unwaited", "does_not_commit", cut("@commit"), ROW)
bug(
    K,
    "async.unwaited",
    "first_rows_in_one_group",
    [cut("@commit_first"), before("@wait wait_group", "cp.async.commit_group;")],
    ROW,
)
bug(K, "async.unwaited", "commits_before_the_edge", move("@commit_first", to_after="@copy_first cp.async"), ROW)
bug(K, "race.shared|async.unwaited", "refills_the_row_that_is_read", rewrite("@copy mad.lo", r"%r14", "%r35"), ROW)
bug(K, "memory.undefined", "edge_not_copied", cut("@edge cp.async"), "@store st.global")
bug(K, "memory.undefined", "first_edges_not_copied", cut("@edge_first cp.async"), "@store st.global")
bug(K, "memory.undefined", "left_words_of_three_rows", only("@zero st.shared", "tid < 3"), "@store st.global")
bug(
    K,
    "memory.undefined",
    "no_zeros_behind_n",
    rewrite("@copy_first cp.async", r"cp\.async", "@%p2 cp.async"),
    "@store st.global",
)
bug(K, "memory.undefined", "last_words_not_copied", only("@copy cp.async", "tid < 60"), "@store st.global")
bug(K, "memory.bounds", "three_stages", sub("E3row[", "1056", "792"), "@copy | @edge | @left | @zero")
fine(K, "waits_for_all", put("@wait wait_group", "cp.async.wait_all;"))
fine(K, "waits_for_two_more", sub("@wait wait_group", "2;", "0;"))
fine(K, "edge_in_the_next_group_of_nobody", after("@wait wait_group", "cp.async.wait_group 2;"))

# ---- two_feeders: copies and writes that arrive at one mbarrier
K = "two_feeders"
FULL = "@arrive_copied | @arrive_made | @wait_full | @init_full"
EMPTY = "@release | @wait_empty_0 | @wait_empty_1 | @init_empty"
COPIED, MADE = ["@copy cp.async", "@read_copied ld.shared"], ["@write st.shared", "@read_made ld.shared"]
bug(
    K,
    "async.unwaited",
    "copies_arrive_with_the_thread",
    sub(
        "@arrive_copied cp.async",
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64",
        "mbarrier.arrive.shared::cta.b64 _,",
    ),
    COPIED,
)
bug(
    K, "async.unwaited", "arrives_before_it_copies", move("@copy cp.async", to_after="@arrive_copied cp.async"), COPIED
)
bug(
    K,
    "async.unwaited",
    "commits_and_arrives",
    [
        before("@arrive_copied cp.async", "cp.async.commit_group;", "cp.async.wait_group 1;"),
        sub(
            "@arrive_copied cp.async.mbarrier",
            "cp.async.mbarrier.arrive.noinc.shared::cta.b64",
            "mbarrier.arrive.shared::cta.b64 _,",
        ),
    ],
    COPIED,
)
bug(K, "race.shared", "arrives_before_it_writes", move("@write st.shared", to_after="@arrive_made mbarrier"), MADE)
bug(K, "race.weak", "made_relaxed", sub("@arrive_made mbarrier", "arrive.shared", "arrive.relaxed.cta.shared"), MADE)
bug(
    K,
    "race.weak|race.shared|async.unwaited",
    "waits_for_full_relaxed",
    sub("@wait_full try_wait", ".acquire", ".relaxed"),
    "@read_copied | @read_made",
)
bug(K, "mbarrier.count", "copies_count_themselves", sub("@arrive_copied cp.async", ".noinc", ""), FULL)
bug(K, "mbarrier.count|mbarrier.phase", "full_counts_one_warp", last_operand("@init_full mbarrier.init", "32"), FULL)
bug(K, "mbarrier.count", "full_counts_three_warps", last_operand("@init_full mbarrier.init", "96"), FULL)
bug(
    K, "mbarrier.count|mbarrier.phase", "empty_counts_one_warp", last_operand("@init_empty mbarrier.init", "32"), EMPTY
)
bug(K, "mbarrier.count", "one_warp_releases", only("@release mbarrier", "warp == 2"), EMPTY)
bug(
    K,
    "race.shared|async.unwaited",
    "releases_before_it_reads",
    move("@read_copied ld.shared", to_after="@release mbarrier"),
    "@copy | @read_copied | @release",
)
bug(
    K,
    "mbarrier.phase|race.shared|async.unwaited",
    "copies_without_empty",
    no_wait("@wait_empty_0"),
    "@copy | @read_copied | @arrive_copied | @wait_full | @wait_empty_1",
)
bug(
    K,
    "mbarrier.phase|race.shared",
    "writes_without_empty",
    no_wait("@wait_empty_1"),
    "@write | @read_made | @arrive_made | @wait_full | @wait_empty_0",
)
bug(
    K,
    "async.unwaited|race.shared|mbarrier.phase",
    "reads_without_full",
    no_wait("@wait_full"),
    "@copy | @write | @read_copied | @read_made | @release",
)
bug(
    K,
    "async.unwaited|race.shared",
    "half_a_warp_waits_for_full",
    some_wait("@wait_full", "lane < 16"),
    "@copy | @write | @read_copied | @read_made",
)
bug(K, "mbarrier.phase", "parity_of_three_stages_is_0", last_operand("@wait_full try_wait", "0"), FULL + " | " + EMPTY)
bug(K, "mbarrier.init", "no_barrier_after_init", cut("@sync_init bar.sync"), "@init_full | @init_empty")
bug(K, "mbarrier.init", "two_of_three_stages", [only("@init_full mbarrier", "tid < 2")], FULL)
fine(
    K,
    "waits_for_copies_and_arrives",
    [
        before("@arrive_copied cp.async", "cp.async.wait_all;"),
        sub(
            "@arrive_copied cp.async.mbarrier",
            "cp.async.mbarrier.arrive.noinc.shared::cta.b64",
            "mbarrier.arrive.shared::cta.b64 _,",
        ),
    ],
)
fine(K, "releases_late", sub("@release mbarrier", "arrive.shared", "arrive.release.cluster.shared"))
