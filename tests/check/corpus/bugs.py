"""The planted bugs, a row each: kernel, id, name, edits of its PTX (edit.py), and the lines that a finding must name.

`at`: a selector of edit.py, or several in a list: the finding names a line of each. " | " between selectors: a line of
either. They are looked up in the edited PTX, so a line that was taken out cannot be named. Ids race.*, async.*
and wgmma.* must be found by the default run, the others may need --explore 8.
"""

from dataclasses import dataclass

from edit import (
    after,
    before,
    cut,
    cut_every,
    last_operand,
    move,
    no_wait,
    only,
    put,
    rewrite,
    some_wait,
    sub,
    sub_every,
)

IDS = (
    "race.shared race.cluster race.global race.scope race.weak race.mixed-size race.proxy async.unwaited "
    "wgmma.inflight wgmma.wait wgmma.fence wgmma.warps "
    "mbarrier.init mbarrier.plain mbarrier.count mbarrier.tx mbarrier.phase mbarrier.inval "
    "barrier.divergent barrier.count barrier.id "
    "warp.mask warp.aligned warp.setmaxnreg warp.elect warp.griddepcontrol "
    "cluster.start cluster.exit cluster.arrive memory.undefined memory.bounds memory.lifetime"
).split()


@dataclass
class Bug:
    name: str
    base: str
    id: str
    edits: list
    at: list
    others: list  # ids that are as right: of an access and a copy that nothing orders either may come first, for one

    @property
    def by_default(self):
        return self.id.split(".")[0] in ("race", "async", "wgmma")


bugs = []


def bug(base, id, name, edits, at):
    edits = edits if isinstance(edits, list) else [edits]
    name = f"{base}.{name}"
    id, *others = id.split("|")
    assert id in IDS and name not in {b.name for b in bugs}, name
    bugs.append(Bug(name, base, id, edits, [at] if isinstance(at, str) else at, others))


fines = []


def fine(base, name, edits):
    fines.append((f"{base}.{name}", base, edits if isinstance(edits, list) else [edits]))


# ---- gemm_pipeline: cp.async and mma.sync
K = "gemm_pipeline"
bug(
    K,
    "async.unwaited",
    "no_sync_after_wait",
    cut("@sync bar.sync"),
    ["@load_a | @load_b", "@ldmatrix_a | @ldmatrix_b"],
)
bug(K, "async.unwaited", "wait_group_2", sub("@wait wait_group", "1;", "2;"), "@ldmatrix_a | @ldmatrix_b")
bug(K, "async.unwaited", "no_wait_group", cut("@wait wait_group"), "@ldmatrix_a | @ldmatrix_b")
bug(K, "async.unwaited", "first_commit_missing", cut("@commit_0"), "@ldmatrix_a | @ldmatrix_b")
bug(K, "async.unwaited", "commits_missing_in_loop", cut("@commit commit_group"), "@ldmatrix_a | @ldmatrix_b")
bug(
    K,
    "async.unwaited",
    "wait_after_barrier",
    move("@wait wait_group", to_after="@sync bar.sync"),
    "@ldmatrix_a | @ldmatrix_b",
)
bug(K, "memory.undefined", "bias_not_staged", cut("@bias_write st.shared"), "@store")
bug(K, "warp.aligned", "ldmatrix_of_half_a_warp", only("@ldmatrix_a ldmatrix", "lane < 16"), "@ldmatrix_a")
bug(K, "warp.aligned", "mma_of_half_a_warp", only("@mma mma.sync #1", "lane < 16"), "@mma")
bug(K, "barrier.divergent", "barrier_of_those_that_copy", only("@sync bar.sync", "tid < 48"), "@sync")
bug(K, "memory.bounds", "a_has_two_stages", sub("E2as[", "4608", "3072"), "@load_a | @ldmatrix_a")
bug(K, "memory.bounds", "bias_of_eight", sub("E5added[", "64", "32"), "@bias_write | @store")

# ---- gemm_tma: TMA, wgmma, a producer warp
K = "gemm_tma"
FULL = "@expect | @wait_full | @load_a | @load_b | @init_full"
EMPTY = "@release | @wait_empty | @init_empty"
PRODUCTS = "@product_0 | @product_1 | @product_2 | @product_3"
bug(K, "race.proxy", "no_fence_before_store", cut("@fence_store"), ["@stage st.shared", "@store"])
bug(
    K,
    "race.proxy",
    "fence_after_barrier_by_one",
    [move("@fence_store fence", to_after="@sync_store barrier.sync"), only("@fence_store fence", "tid == 200")],
    ["@stage st.shared", "@store"],
)
bug(
    K,
    "race.shared|async.unwaited",
    "no_barrier_before_store",
    cut("@sync_store barrier.sync"),
    ["@stage st.shared", "@store"],
)
bug(K, "async.unwaited", "no_wait_for_full", no_wait("@wait_full"), ["@load_a | @load_b", PRODUCTS])
bug(K, "async.unwaited", "exit_before_store_has_read", cut("@wait_store"), "@store")
bug(K, "async.unwaited", "store_not_committed", cut("@commit_store"), "@store")
bug(
    K,
    "async.unwaited",
    "released_before_products_end",
    move("@wgmma_wait wgmma", to_before="@stage st.shared #1"),
    ["@load_a | @load_b", PRODUCTS],
)
bug(K, "wgmma.inflight", "no_wait_at_all", cut("@wgmma_wait wgmma"), ["@stage", PRODUCTS])
bug(K, "wgmma.wait", "wait_group_1", sub("@wgmma_wait wgmma", " 0;", " 1;"), ["@stage", PRODUCTS])
bug(K, "wgmma.wait", "not_committed", cut("@wgmma_commit wgmma"), ["@stage", PRODUCTS])
bug(K, "wgmma.fence", "no_fence", cut("@wgmma_fence wgmma"), "@product_0")
PER_WARP = [
    "{",
    ".reg .b32 w;",
    ".reg .b64 offset;",
    "mov.u32 w, %tid.x;",
    "shr.u32 w, w, 5;",
    "and.b32 w, w, 3;",
    "mul.wide.u32 offset, w, 128;",
]
bug(
    K,
    "wgmma.warps",
    "a_of_each_warp",
    [before("@product_1 wgmma", *PER_WARP, "add.s64 %rd8, %rd8, offset;", "}")],
    "@product_1",
)
bug(K, "mbarrier.tx", "bytes_of_a_alone", sub("10240;", "10240", "8192"), FULL)
bug(K, "mbarrier.tx", "bytes_of_two_b", sub("10240;", "10240", "12288"), FULL)
bug(K, "mbarrier.tx", "b_not_loaded", cut("@load_b cp.async"), FULL)
bug(K, "mbarrier.count", "empty_counts_a_warp", sub_every("@init_empty mov.u32", " 4;", " 1;"), EMPTY)
bug(K, "mbarrier.count", "full_counts_two", sub_every("@init_full mov.u32", " 1;", " 2;"), FULL)
bug(K, "mbarrier.phase", "full_parity_stays", sub("@wait_full and.b32 #-1", "1;", "0;"), "@wait_full")
bug(K, "warp.setmaxnreg", "one_warp_gives", only("@give setmaxnreg", "warp == 0"), "@give")
bug(K, "warp.setmaxnreg", "last_warp_does_not_take", only("@take setmaxnreg", "warp < 7"), "@take")
bug(K, "mbarrier.init", "no_barrier_after_init", cut("@sync_init bar.sync"), "@init_full | @init_empty")
bug(K, "mbarrier.init", "empty_not_initialised", cut_every("@init_empty mbarrier.init"), "@wait_empty | @release")
bug(K, "barrier.count", "store_waits_for_all_256", sub("@sync_store barrier.sync", "%r50", "256"), "@sync_store")

# ---- gemm_wgmma: one warpgroup in turns, A in registers
K = "gemm_wgmma"
bug(K, "race.proxy", "reads_without_fence", cut("@fence_reads"), ["@ldmatrix", "@load_a"])
bug(K, "race.shared|async.unwaited", "no_barrier_before_refill", cut("@sync_loop bar.sync"), ["@ldmatrix", "@load_a"])
bug(K, "async.unwaited", "no_wait_for_copies", no_wait("@wait_full"), ["@load_a | @load_a_first", "@ldmatrix"])
bug(K, "wgmma.inflight", "no_wait_at_all", cut("@wgmma_wait wgmma"), [PRODUCTS, "@ldmatrix | @store"])
bug(K, "wgmma.wait", "wait_group_1", sub("@wgmma_wait wgmma", " 0;", " 1;"), [PRODUCTS, "@ldmatrix | @store"])
bug(K, "wgmma.wait", "not_committed", cut("@wgmma_commit wgmma"), [PRODUCTS, "@ldmatrix | @store"])
bug(K, "wgmma.fence", "no_fence", cut("@wgmma_fence wgmma"), PRODUCTS)
bug(
    K,
    "wgmma.fence",
    "fence_before_ldmatrix",
    move("@wgmma_fence wgmma", to_before="@ldmatrix ldmatrix #1"),
    "@product_2 | @product_3",
)
bug(
    K,
    "mbarrier.tx",
    "expects_a_alone",
    sub_every("10240;", "10240", "8192"),
    "@expect | @expect_first | @load_a | @load_b | @load_a_first | @load_b_first | @wait_full",
)
bug(K, "mbarrier.init", "no_barrier_after_init", cut("@sync_init bar.sync"), "@init_0 | @init_1")
bug(
    K,
    "mbarrier.count",
    "counts_all_threads",
    sub("@init_1 mbarrier", ", %r", ", 128; //"),
    "@init_1 | @expect | @wait_full",
)

# ---- ring_generic: mbarriers between two warps
K = "ring_generic"
FULL = "@wait_full | @arrive_full | @init_full"
EMPTY = "@wait_empty | @arrive_empty | @init_empty"
bug(K, "mbarrier.phase", "does_not_wait_for_empty", no_wait("@wait_empty"), FULL)
bug(K, "mbarrier.phase", "does_not_wait_for_full", no_wait("@wait_full"), EMPTY)
bug(
    K,
    "race.shared",
    "frees_before_it_reads",
    move("@read ld.shared", to_after="@arrive_empty mbarrier"),
    ["@write st.shared", "@read ld.shared"],
)
bug(
    K,
    "race.shared",
    "arrives_before_it_writes",
    move("@write st.shared", to_after="@arrive_full mbarrier"),
    ["@write st.shared", "@read ld.shared"],
)
bug(K, "mbarrier.init", "no_barrier_after_init", cut("@sync_init bar.sync"), "@init_full | @init_empty")
bug(K, "mbarrier.init", "empty_not_initialised", cut("@init_empty mbarrier"), "@wait_empty | @arrive_empty")
bug(K, "mbarrier.count", "one_lane_arrives", only("@arrive_empty mbarrier", "lane == 0"), EMPTY)
bug(K, "mbarrier.count|mbarrier.phase", "full_counts_16", [sub("@init_full mbarrier", "%r20", "16")], FULL)
bug(K, "mbarrier.count", "empty_counts_64", [sub("@init_empty mbarrier", "%r20", "64")], EMPTY)
bug(K, "mbarrier.inval", "reused_without_inval", cut("@inval_full mbarrier"), "@reuse st.shared")
bug(
    K,
    "mbarrier.plain",
    "reads_a_live_object",
    before("@arrive_empty mbarrier", "{", ".reg .b32 word;", "ld.shared.u32 word, [_ZZ12ring_genericE4full];", "}"),
    "@new ld.shared",
)

# ---- ring_bulk: bulk copies to and from a ring
K = "ring_bulk"
FULL = "@wait_full | @expect | @load | @init_full_0 | @init_full_1"
EMPTY = "@wait_empty | @release | @init_empty_0 | @init_empty_1"
bug(K, "race.proxy", "reads_without_fence", cut("@fence_read"), ["@read ld.shared", "@load"])
bug(K, "race.proxy", "writes_without_fence", cut("@fence_write"), ["@write st.shared", "@store"])
bug(K, "race.proxy", "fence_of_one_thread", only("@fence_write fence", "tid == 0"), ["@write st.shared", "@store"])
bug(K, "async.unwaited", "no_wait_for_copies", no_wait("@wait_full"), ["@read ld.shared", "@load"])
bug(K, "async.unwaited", "result_refilled", cut("@wait_read wait_group"), ["@write st.shared", "@store"])
bug(K, "async.unwaited", "result_wait_2", sub("@wait_read wait_group", "1;", "2;"), ["@write st.shared", "@store"])
bug(K, "async.unwaited", "stores_not_committed", cut("@commit"), "@store")
bug(K, "async.unwaited", "exit_before_stores_have_read", cut("@wait_end wait_group"), "@store")
bug(K, "mbarrier.tx", "expects_half", sub("@expect mov.u32 #-1", " 512;", " 256;"), FULL)
bug(K, "mbarrier.tx", "expects_words_for_bytes", sub("@expect mov.u32 #-1", " 512;", " 128;"), FULL)
bug(K, "mbarrier.count|mbarrier.phase", "empty_counts_warps", sub_every("@init_empty_0 mov.u32", "128", "4"), EMPTY)
bug(
    K,
    "mbarrier.phase|mbarrier.count",
    "empty_parity_of_each_chunk",
    sub("@wait_empty shr.u32", "1;", "0;"),
    "@wait_empty",
)

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
    "race.cluster",
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

# ---- gemm_tma, ring_bulk, transpose_tma, cluster_multicast: who is elected, and who acts
ELECT_HALF = "elect.sync _|p, 0x0000ffff;"
LANE_0 = [
    "{",
    ".reg .pred first;",
    ".reg .b32 who;",
    "mov.u32 who, %tid.x;",
    "and.b32 who, who, 31;",
    "setp.eq.u32 first, who, 0;",
]
bug("gemm_tma", "warp.elect|warp.mask", "mask_of_half", put("@elect elect.sync", ELECT_HALF), "@elect")
bug("gemm_tma", "warp.elect|warp.mask", "elect_in_half_a_warp", only("@elect elect.sync", "lane < 16"), "@elect")
bug("cluster_multicast", "warp.elect|warp.mask", "mask_of_half", put("@elect elect.sync", ELECT_HALF), "@elect")
bug(
    "cluster_multicast",
    "warp.elect|warp.mask",
    "elect_in_half_a_warp",
    only("@elect elect.sync", "lane >= 16"),
    "@elect",
)
bug(
    "transpose_tma",
    "warp.elect|warp.mask",
    "mask_of_one",
    put("@elect_load elect.sync", "elect.sync _|p, 1;"),
    "@elect_load",
)
bug(
    "transpose_tma",
    "warp.elect|warp.mask",
    "elect_in_part_of_a_warp",
    only("@elect_store elect.sync", "lane < 8"),
    "@elect_store",
)
bug(
    "transpose_tma",
    "warp.elect|async.unwaited",
    "lane_0_waits",
    put("@elect_end selp", "mov.u32 %r148, %laneid; setp.eq.u32 p, %r148, 0; selp.u32 %r148, 1, 0, p;"),
    "@store | @wait_end | @elect_end",
)

# ---- transpose_tma
K = "transpose_tma"
bug(
    K,
    "race.proxy",
    "no_fence",
    cut("@fence fence"),
    ["@transpose st.shared | @transpose ld.shared", "@store | @load"],
)
bug(
    K,
    "race.proxy",
    "fence_after_barrier",
    [cut("@fence fence"), after("@elect_store elect.sync", "bar.warp.sync -1;")],
    ["@transpose st.shared", "@store"],
)
bug(
    K,
    "race.shared|async.unwaited",
    "no_barrier_before_store",
    cut("@sync_to bar.sync"),
    ["@transpose st.shared", "@store"],
)
bug(K, "async.unwaited", "to_refilled", cut("@wait_read wait_group"), ["@transpose st.shared", "@store"])
bug(K, "async.unwaited", "stores_not_committed", cut("@commit"), "@store")
bug(K, "async.unwaited", "exits_without_wait", cut("@wait_end wait_group"), "@store")
bug(K, "async.unwaited", "no_wait_for_tile", no_wait("@wait_full"), ["@transpose ld.shared", "@load"])
bug(
    K,
    "race.shared|async.unwaited",
    "no_barrier_before_refill",
    cut("@sync_free bar.sync"),
    ["@transpose st.shared", "@store"],
)
bug(
    K,
    "mbarrier.tx",
    "expects_elements",
    sub_every("@expect mov.u32", "4096", "1024"),
    "@expect | @load | @wait_full | @init",
)
bug(K, "mbarrier.phase", "parity_is_0", sub("@wait_full and.b32", "1;", "0;"), "@wait_full")
bug(K, "memory.bounds", "to_of_31_rows", sub("E2to[", "4096", "3968"), "@transpose | @store")

# ---- attention_cpasync
K = "attention_cpasync"
KV, READ = "@load_k | @load_v", "@ldmatrix_k | @ldmatrix_v"
bug(K, "async.unwaited", "no_wait", cut("@wait wait_group"), [KV + " | @load_q", READ + " | @ldmatrix_q"])
bug(
    K,
    "async.unwaited",
    "wait_group_2",
    sub("@wait wait_group", "1;", "2;"),
    [KV + " | @load_q", READ + " | @ldmatrix_q"],
)
bug(K, "async.unwaited", "no_commit", cut("@commit commit_group"), [KV, READ])
bug(
    K,
    "async.unwaited",
    "no_barrier_after_wait",
    cut("@sync_loaded bar.sync"),
    [KV + " | @load_q", READ + " | @ldmatrix_q"],
)
bug(K, "race.shared|async.unwaited", "no_barrier_before_refill", cut("@sync_read bar.sync"), [KV, READ])
bug(
    K, "race.shared", "sums_without_syncwarp", cut("@sync_sums bar.warp.sync"), ["@sum st.shared", "@store ld.shared"]
)
bug(
    K,
    "memory.undefined",
    "half_of_the_sums",
    only("@sum st.shared #1", "lane < 12"),
    "@store st.global | @store div | @store ld.shared",
)
bug(K, "memory.bounds", "one_buffer_of_v", sub("E2vs[", "1536", "768"), "@load_v | @ldmatrix_v")
bug(K, "warp.aligned", "ldmatrix_of_three_quarters", only("@ldmatrix_v ldmatrix #1", "lane < 24"), "@ldmatrix_v")
bug(
    K,
    "warp.mask",
    "quad_exchange_in_lanes_0_to_3",
    only("@exchange_2 shfl #1", "lane < 4"),
    "@exchange_2 | @exchange_1",
)

# ---- attention_wgmma
K = "attention_wgmma"
S = "@product_s0 | @product_s1 | @product_s2 | @product_s3"
O = "@product_o0 | @product_o1"
FULL = "@expect | @load_k | @load_v | @wait_full | @init_full"
bug(K, "wgmma.inflight", "softmax_before_wait", cut("@wait_s wgmma"), [S, "@softmax | @fence_o | @product_o0"])
bug(
    K,
    "wgmma.inflight",
    "result_before_wait",
    move("@wait_o wgmma", to_after="@store st.global #-1"),
    [O, "@store | @softmax"],
)
bug(
    K,
    "wgmma.inflight",
    "scores_cleared_in_flight",
    before("@wait_s wgmma", "mov.f32 %f107, 0f00000000;"),
    [S, "@new mov.f32"],
)
bug(K, "wgmma.wait", "scores_wait_1", sub("@wait_s wgmma", " 0;", " 1;"), [S, "@softmax | @product_o0"])
bug(K, "wgmma.wait", "scores_not_committed", cut("@commit_s wgmma"), [S, "@softmax"])
bug(K, "wgmma.wait", "last_products_wait_1", sub("@wait_o wgmma", " 0;", " 1;"), [O, "@store | @softmax"])
bug(K, "wgmma.fence", "no_fence_before_scores", cut("@fence_s wgmma"), S)
bug(K, "wgmma.fence", "no_fence_before_p", cut("@fence_o wgmma"), O)
bug(K, "wgmma.fence", "fence_before_p_is_made", move("@fence_o wgmma", to_after="@wait_s wgmma"), O)
bug(
    K,
    "wgmma.warps",
    "k_of_each_warp",
    before("@product_s1 wgmma", *PER_WARP, "shr.u64 offset, offset, 3;", "add.s64 %rd10, %rd10, offset;", "}"),
    S,
)
bug(
    K,
    "wgmma.warps",
    "v_by_lane_group",
    before("@product_o0 wgmma", *PER_WARP, "add.s64 %rd15, %rd15, offset;", "}"),
    O,
)
bug(K, "async.unwaited", "q_not_waited_for", no_wait("@wait_q"), ["@load_q", S])
bug(
    K,
    "async.unwaited",
    "released_before_wait",
    move("@wait_o wgmma", to_after="@release mbarrier"),
    ["@load_v | @load_k", O],
)
bug(K, "mbarrier.tx", "bytes_of_k_alone", sub("@expect mov.u32 #-1", "4096", "2048"), FULL)
bug(
    K,
    "mbarrier.tx",
    "q_bytes_too_many",
    sub("@expect_q mov.u32 #-1", "8192", "16384"),
    "@expect_q | @load_q | @wait_q | @init_q",
)
bug(
    K,
    "mbarrier.count",
    "one_thread_releases",
    only("@release mbarrier", "tid == 128"),
    "@release | @wait_empty | @init_empty",
)
bug(
    K,
    "mbarrier.count",
    "q_counts_all",
    sub("@init_q mbarrier", "], %r", "], 128; //"),
    "@init_q | @expect_q | @wait_q",
)
bug(K, "mbarrier.phase", "parity_of_each_block", sub("@wait_full shr.u32", "1;", "0;"), "@wait_full")
bug(K, "warp.setmaxnreg", "copying_warp_alone_gives", only("@give setmaxnreg", "warp == 0"), "@give")
bug(K, "warp.setmaxnreg", "half_a_warp_takes", only("@take setmaxnreg", "lane < 16"), "@take")
bug(
    K,
    "warp.setmaxnreg",
    "even_warps_take_less",
    before(
        "@take setmaxnreg",
        "{",
        ".reg .pred odd;",
        ".reg .b32 w;",
        "mov.u32 w, %tid.x;",
        "and.b32 w, w, 32;",
        "setp.ne.u32 odd, w, 0;",
        "@odd bra ODD;",
        "setmaxnreg.inc.sync.aligned.u32 232;",
        "ODD:",
        "}",
    ),
    "@take | @new",
)
bug(K, "wgmma.warps", "scores_of_three_warps", only("@product_s3 wgmma", "warp != 5"), "@product_s3 | @commit_s")

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
    "last_warp_without_sum",
    only("@sum st.shared", "tid < 96"),
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
    "race.scope",
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

# ---- map_swap: a tensor map changed on the device
K = "map_swap"
bug(K, "mbarrier.count|mbarrier.init", "counts_nobody", last_operand("@init mbarrier.init", "0"), "@init")
bug(K, "race.proxy", "no_tensormap_fence", cut("@acquire fence.proxy"), "@load")
bug(K, "race.proxy", "reads_without_fence", cut("@fence_read fence"), ["@read ld.shared", "@load"])
bug(K, "mbarrier.tx", "expects_a_row", sub_every("@expect mov.u32", "1024", "128"), "@expect | @load | @wait | @init")
bug(K, "async.unwaited", "does_not_wait", no_wait("@wait"), ["@read ld.shared", "@load"])
bug(
    K,
    "race.shared|async.unwaited",
    "no_barrier_before_refill",
    cut("@sync_read bar.sync"),
    ["@read ld.shared", "@load"],
)

# ---- two_teams: a named barrier a team
K = "two_teams"
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

# ---- split_stencil: arrive and wait apart, and what becomes of the mbarrier
K = "split_stencil"
bug(K, "barrier.divergent", "half_of_each_warp", only("@sync_inval bar.sync", "lane < 16"), "@sync_inval | @sync_sum")
bug(K, "race.shared", "does_not_wait", no_wait("@wait"), ["@write st.shared", "@read ld.shared"])
bug(
    K,
    "race.shared",
    "arrives_before_it_writes",
    move("@write st.shared", to_after="@arrive mbarrier"),
    ["@write st.shared", "@read ld.shared"],
)
bug(K, "mbarrier.phase", "parity_does_not_change", last_operand("@wait try_wait", "0"), "@wait")
bug(K, "mbarrier.count", "counts_32", sub_every("@init mov.u32", " 64;", " 32;"), "@init | @arrive | @wait")
bug(K, "mbarrier.count", "counts_65", sub_every("@init mov.u32", " 64;", " 65;"), "@init | @arrive | @wait")
bug(K, "mbarrier.init", "no_barrier_after_init", cut("@sync_init bar.sync"), "@init")
bug(K, "mbarrier.inval", "sum_over_a_live_mbarrier", cut("@inval mbarrier"), "@reuse st.shared")
bug(
    K, "mbarrier.inval", "inval_after_reuse", move("@inval mbarrier", to_after="@reuse st.shared"), "@reuse st.shared"
)
bug(
    K,
    "mbarrier.plain",
    "phase_read_by_a_load",
    before("@wait try_wait", "{ .reg .b64 word; ld.shared.u64 word, [_ZZ13split_stencilE5place]; }"),
    "@new ld.shared",
)
bug(
    K,
    "mbarrier.plain",
    "reset_by_a_store",
    after(
        "@arrive mbarrier",
        "{ .reg .pred one; .reg .b32 who; mov.u32 who, %tid.x; setp.eq.u32 one, who, 5; @one st.shared.u32 [_ZZ13split_stencilE5place], 0; }",
    ),
    "@new st.shared",
)
bug(
    K,
    "mbarrier.init",
    "initialised_by_all",
    after("@sync_init bar.sync", "mbarrier.init.shared.b64 [_ZZ13split_stencilE5place], 64;"),
    "@new mbarrier.init",
)
bug(K, "memory.bounds", "cells_of_one_buffer", sub("E5cells[", "512", "256"), "@write | @read")

# ---- stream_mbar: cp.async that arrive at mbarriers
K = "stream_mbar"
STAGE = "@read_low ld.shared | @read_high ld.shared"
FULL = "@arrive_full | @wait_full | @init_full"
EMPTY = "@arrive_empty | @wait_empty | @init_empty"
bug(
    K,
    "async.unwaited",
    "arrives_by_itself",
    sub(
        "@arrive_full cp.async.mbarrier", "cp.async.mbarrier.arrive.noinc.shared.b64", "mbarrier.arrive.shared.b64 _,"
    ),
    ["@copy", STAGE],
)
bug(
    K,
    "async.unwaited",
    "copies_after_arrival",
    move("@copy cp.async", to_after="@arrive_full cp.async"),
    ["@copy", STAGE],
)
bug(K, "mbarrier.count", "counted_twice", sub("@arrive_full cp.async.mbarrier", ".noinc", ""), FULL)
bug(K, "mbarrier.count", "empty_counts_64", sub("@init_empty mbarrier", ", %r", ", 64; //"), EMPTY)
bug(K, "mbarrier.count", "one_lane_frees", only("@arrive_empty mbarrier", "lane == 0"), EMPTY)
bug(K, "mbarrier.inval", "full_not_invalidated", cut("@inval_full mbarrier"), "@reuse st.shared")
bug(K, "mbarrier.inval", "inval_of_the_first_alone", only("@inval_full mbarrier", "tid == 0"), "@reuse st.shared")
bug(
    K,
    "mbarrier.plain",
    "zeroed_by_the_consumer",
    before(
        "@sync_end bar.sync",
        "{ .reg .pred one; .reg .b32 who; mov.u32 who, %tid.x; setp.eq.u32 one, who, 40; @one st.shared.u64 [_ZZ11stream_mbarE5empty], 0; }",
    ),
    "@new st.shared",
)
bug(
    K,
    "mbarrier.plain",
    "looks_for_empty_by_a_load",
    before("@read_low ld.shared", "{ .reg .b32 word; ld.volatile.shared.u32 word, [_ZZ11stream_mbarE5empty]; }"),
    "@new ld.volatile",
)
bug(K, "mbarrier.phase", "full_parity_stays", last_operand("@wait_full test_wait", "0"), "@wait_full | @wait_empty")
bug(K, "mbarrier.init", "no_barrier_after_init", cut("@sync_init bar.sync"), "@init_full | @init_empty")

# ---- warpgroups, and named barriers of two groups
bug(
    "gemm_wgmma",
    "wgmma.warps",
    "a_of_each_warp",
    before("@product_1 wgmma", *PER_WARP, "add.s64 %rd14, %rd14, offset;", "}"),
    PRODUCTS,
)
bug(
    "gemm_wgmma",
    "wgmma.warps",
    "b_of_each_warp",
    before("@product_2 wgmma", *PER_WARP, "add.s64 %rd16, %rd16, offset;", "}"),
    PRODUCTS,
)
bug("ring_bulk", "warp.setmaxnreg", "copying_thread_gives", only("@give setmaxnreg", "tid == 128"), "@give")
bug("ring_bulk", "warp.setmaxnreg", "three_warps_take", only("@take setmaxnreg", "warp < 3"), "@take")
bug(
    "ring_bulk",
    "barrier.id",
    "producers_meet_at_barrier_1",
    after("@give setmaxnreg", "barrier.sync 1, 128;"),
    "@new barrier.sync | @sync_free | @sync_written",
)
bug(
    "gemm_tma",
    "barrier.id",
    "producers_meet_at_barrier_1",
    after("@give setmaxnreg", "barrier.sync 1, 128;"),
    "@new barrier.sync | @sync_store",
)
bug(
    "ring_bulk",
    "barrier.count",
    "free_for_all_256",
    last_operand("@sync_free barrier.sync", "256"),
    "@sync_free | @sync_written",
)

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
    "race.cluster",
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

# ---- Triton's: lines are named by what they say and their number among those
COPIES, FROM_SHARED = "cp.async.cg.shared.global", "ldmatrix"
K = "matmul.sm_80"
bug(K, "async.unwaited", "waits_for_one_stage_less", sub("cp.async.wait_group 2", "2;", "4;"), [COPIES, FROM_SHARED])
bug(K, "async.unwaited", "barrier_after_wait_missing", cut("bar.sync #2"), [COPIES, FROM_SHARED])
bug(
    K,
    "async.unwaited",
    "wait_after_barrier",
    move("cp.async.wait_group 2", to_after="bar.sync #2"),
    [COPIES, FROM_SHARED],
)
bug(K, "async.unwaited", "commit_of_b_missing", cut("cp.async.commit_group #2"), [COPIES, FROM_SHARED])
bug(K, "async.unwaited", "epilogue_over_copies", cut("cp.async.wait_group 0"), [COPIES, "st.shared.v4"])
bug(K, "race.shared|async.unwaited", "no_barrier_before_refill", cut("bar.sync #3"), [COPIES, FROM_SHARED])
bug(K, "async.unwaited", "no_barrier_before_epilogue", cut("bar.sync #4"), [COPIES, "st.shared.v4"])
bug(K, "race.shared", "no_barrier_between_store_and_load", cut("bar.sync #5"), ["st.shared.v4", "ld.shared.v4"])
bug(K, "race.shared", "no_barrier_before_second_half", cut("bar.sync #6"), ["ld.shared.v4", "st.shared.v4"])
bug(K, "warp.aligned", "ldmatrix_of_half_a_warp", only("ldmatrix #3", "lane < 16"), "ldmatrix #3")
bug(K, "barrier.divergent", "barrier_of_half_of_each_warp", only("bar.sync #5", "lane < 16"), "bar.sync #5")

K = "matmul_descriptor.sm_90"
TILES, PRODUCT = "cp.async.bulk.tensor.2d.shared", "wgmma.mma_async"
bug(
    K,
    "race.proxy",
    "no_fence_before_store",
    cut("fence.proxy.async.shared::cta #-1"),
    ["st.shared.v2", "cp.async.bulk.tensor.2d.global"],
)
bug(
    K,
    "race.shared|async.unwaited",
    "no_barrier_before_store",
    cut("bar.sync #-2"),
    ["st.shared.v2", "cp.async.bulk.tensor.2d.global"],
)
bug(K, "race.proxy", "descriptor_not_acquired", cut("fence.proxy.tensormap #1"), TILES)
bug(K, "async.unwaited", "tiles_not_waited_for", no_wait(""), [TILES, PRODUCT])
bug(
    K,
    "async.unwaited",
    "exits_while_store_reads",
    cut("cp.async.bulk.wait_group.read 0 #-1"),
    "cp.async.bulk.tensor.2d.global",
)
bug(
    K,
    "async.unwaited",
    "refilled_while_products_read",
    sub("wgmma.wait_group.sync.aligned 1", "1;", "3;"),
    [TILES, PRODUCT],
)
bug(
    K,
    "wgmma.wait",
    "result_with_products_in_flight",
    sub("wgmma.wait_group.sync.aligned 0", "0;", "1;"),
    ["st.shared.v2", PRODUCT],
)
bug(
    K,
    "wgmma.inflight",
    "result_without_waits",
    [cut("wgmma.wait_group.sync.aligned 0"), cut("wgmma.wait_group.sync.aligned 1")],
    ["st.shared.v2", PRODUCT],
)
bug(K, "wgmma.fence", "no_fence", cut("wgmma.fence"), PRODUCT)
bug(
    K, "mbarrier.tx", "bytes_of_one_tile", sub("mbarrier.arrive.expect_tx #1", "16384", "8192"), "mbarrier | " + TILES
)
bug(
    K,
    "mbarrier.tx",
    "bytes_of_three_tiles",
    sub("mbarrier.arrive.expect_tx #-1", "16384", "24576"),
    "mbarrier | " + TILES,
)
bug(K, "mbarrier.count", "first_counts_two", sub("mbarrier.init #1", " 1;", " 2;"), "mbarrier")
bug(K, "mbarrier.init", "third_not_initialised", cut("mbarrier.init #3"), "mbarrier")
bug(K, "warp.elect|warp.mask", "elect_mask_of_half", sub("elect.sync #1", "-1;", "0xffff;"), "elect.sync #1")

K = "layer_norm_backward.sm_90"
ROWS = "st.global.b32 | ld.global.b32"
bug(K, "race.shared", "no_barrier_in_reduction", cut("bar.sync #1"), ["st.shared.b32 #1", "ld.shared.b32"])
bug(K, "race.shared", "second_sum_over_the_first", cut("bar.sync #3"), ["ld.shared.b32 #2", "st.shared.b32"])
bug(K, "race.weak", "lock_taken_relaxed", sub("cas.b32", ".acq_rel", ".relaxed"), ROWS)
bug(K, "race.weak", "lock_given_relaxed", sub("exch.b32", ".acq_rel", ".relaxed"), ROWS)
bug(K, "race.scope", "lock_taken_at_the_cta", sub("cas.b32", ".gpu", ".cta"), ROWS + " | cas.b32 | exch.b32")
bug(K, "race.global|race.weak", "given_before_all_have_written", cut("bar.sync #-1"), ROWS)
bug(K, "warp.mask", "mask_of_half", sub("shfl.sync.bfly #2", "-1;", "0xffff;"), "shfl.sync.bfly #2")
bug(K, "warp.mask", "shuffle_within_if", only("shfl.sync.bfly #6", "lane < 4"), "shfl.sync.bfly")
bug(
    K,
    "memory.undefined",
    "last_warp_has_no_sum",
    only("st.shared.b32 #1", "tid < 96"),
    "st.global.b16 | ld.shared.b32 | shfl.sync.bfly",
)

K = "last_program_sum.sm_90"
PARTIAL = ["st.global.b32 #1", "ld.volatile.global"]
bug(K, "race.weak", "ticket_relaxed", sub("atom.global", ".acq_rel", ".relaxed"), PARTIAL)
bug(
    K,
    "race.scope",
    "ticket_at_the_cta",
    sub("atom.global", ".gpu", ".cta"),
    "atom.global | st.global.b32 #1 | ld.volatile.global",
)
bug(
    K,
    "race.global|race.weak",
    "partial_after_ticket",
    move("st.global.b32 #1", to_after="atom.global"),
    ["st.global.b32", "ld.volatile.global"],
)
bug(K, "race.shared", "ticket_read_without_barrier", cut("bar.sync #4"), ["st.shared.b32 #3", "ld.shared.b32 #3"])
bug(K, "race.shared", "ticket_over_the_sum", cut("bar.sync #3"), ["ld.shared.b32", "st.shared.b32 #3"])

K = "welford.sm_80"
bug(K, "race.shared", "no_barrier", cut("bar.sync #1"), ["st.shared.b32", "ld.shared.b32"])
bug(K, "race.shared", "result_without_barrier", cut("bar.sync #2"), ["st.shared.b32", "ld.shared.b32"])
bug(K, "memory.undefined", "no_counts", cut("st.shared.b32 #3"), "st.global | div | shfl.sync | ld.shared")
bug(K, "warp.mask", "last_step_in_a_quad", only("shfl.sync.bfly #-1", "lane < 4"), "shfl.sync.bfly #-1")

K = "cumsum.sm_90"
bug(K, "race.shared", "no_barrier", cut("bar.sync #1"), ["st.shared.b32", "ld.shared"])
bug(K, "memory.undefined", "third_warp_has_no_sum", only("st.shared.b32", "warp != 1"), "st.global | ld.shared | add")
bug(K, "warp.mask", "mask_without_lane_0", sub("shfl.sync.up #1", "-1;", "0xfffffffe;"), "shfl.sync.up #1")

K = "transpose.sm_80"
bug(K, "race.shared", "no_barrier", cut("bar.sync #1"), ["st.shared.v4", "ldmatrix"])
bug(K, "warp.aligned", "ldmatrix_of_half_a_warp", only("ldmatrix", "lane >= 16"), "ldmatrix")

K = "descriptor_copy.sm_90"
bug(
    K,
    "race.proxy",
    "no_fence_before_store",
    cut("fence.proxy.async.shared::cta #-1"),
    ["stmatrix", "cp.async.bulk.tensor.2d.global"],
)
bug(K, "race.proxy", "descriptor_not_acquired", cut("fence.proxy.tensormap #2"), "cp.async.bulk.tensor.2d.global")
bug(K, "async.unwaited", "tile_not_waited_for", no_wait(""), [TILES, "ldmatrix"])
bug(
    K,
    "async.unwaited",
    "store_not_committed",
    cut("cp.async.bulk.commit_group #-1"),
    "cp.async.bulk.tensor.2d.global",
)
bug(
    K,
    "race.shared|async.unwaited",
    "no_barrier_before_store",
    cut("bar.sync #-2"),
    ["stmatrix", "cp.async.bulk.tensor.2d.global"],
)
bug(K, "race.shared", "stored_over_what_others_read", cut("bar.sync #-3"), ["ldmatrix", "stmatrix"])
bug(K, "mbarrier.tx", "half_the_bytes", sub("mbarrier.arrive.expect_tx", "4096", "2048"), "mbarrier | " + TILES)
bug(K, "mbarrier.count", "counts_a_warp", sub("mbarrier.init", " 1;", " 32;"), "mbarrier")
bug(
    K,
    "mbarrier.plain|mbarrier.inval",
    "zeroed_before_inval",
    before("mbarrier.inval", "@%p2 st.shared.b64 [%r17], 0;"),
    "@new st.shared",
)

K = "attention.sm_80"
bug(
    K,
    "async.unwaited",
    "waits_for_one_stage_less",
    sub("cp.async.wait_group 2 #1", "2;", "4;"),
    [COPIES, FROM_SHARED],
)
bug(K, "async.unwaited", "barrier_after_wait_missing", cut("bar.sync #2"), [COPIES, FROM_SHARED])
bug(K, "warp.mask", "row_sum_in_a_quad", only("shfl.sync.bfly #1", "lane < 4"), "shfl.sync.bfly")

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
