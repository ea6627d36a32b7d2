"""The planted bugs, a row each: kernel, id, name, edits of its PTX (edit.py), and the lines that a finding must name.

`at`: a selector of edit.py, or several in a list: the finding names a line of each. " | " between selectors: a line of
either. They are looked up in the edited PTX, so a line that was taken out cannot be named. Ids race.*, async.*
and wgmma.* must be found by the default run, the others may need --explore 8.
"""

from dataclasses import dataclass

from edit import after, before, cut, cut_every, move, no_wait, only, put, sub, sub_every

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
    other_id: str = ""  # which is as right: whether a copy or an access that nothing orders comes first, the schedule decides

    @property
    def by_default(self):
        return self.id.split(".")[0] in ("race", "async", "wgmma")


bugs = []


def bug(base, id, name, edits, at):
    edits = edits if isinstance(edits, list) else [edits]
    name = f"{base}.{name}"
    id, _, other = id.partition("|")
    assert id in IDS and name not in {b.name for b in bugs}, name
    bugs.append(Bug(name, base, id, edits, [at] if isinstance(at, str) else at, other))


# ---- gemm_pipeline: cp.async and mma.sync
K = "gemm_pipeline"
bug(K, "async.unwaited", "no_sync_after_wait", cut("@sync bar.sync"), ["@load_a | @load_b", "@ldmatrix_a | @ldmatrix_b"])
bug(K, "async.unwaited", "wait_group_2", sub("@wait wait_group", "1;", "2;"), "@ldmatrix_a | @ldmatrix_b")
bug(K, "async.unwaited", "no_wait_group", cut("@wait wait_group"), "@ldmatrix_a | @ldmatrix_b")
bug(K, "async.unwaited", "first_commit_missing", cut("@commit_0"), "@ldmatrix_a | @ldmatrix_b")
bug(K, "async.unwaited", "commits_missing_in_loop", cut("@commit commit_group"), "@ldmatrix_a | @ldmatrix_b")
bug(K, "async.unwaited", "wait_after_barrier", move("@wait wait_group", to_after="@sync bar.sync"), "@ldmatrix_a | @ldmatrix_b")
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
bug(K, "race.proxy", "fence_after_barrier_by_one", [move("@fence_store fence", to_after="@sync_store barrier.sync"), only("@fence_store fence", "tid == 200")], ["@stage st.shared", "@store"])
bug(K, "race.shared|async.unwaited", "no_barrier_before_store", cut("@sync_store barrier.sync"), ["@stage st.shared", "@store"])
bug(K, "async.unwaited", "no_wait_for_full", no_wait("@wait_full"), ["@load_a | @load_b", PRODUCTS])
bug(K, "async.unwaited", "exit_before_store_has_read", cut("@wait_store"), "@store")
bug(K, "async.unwaited", "store_not_committed", cut("@commit_store"), "@store")
bug(K, "async.unwaited", "released_before_products_end", move("@wgmma_wait wgmma", to_before="@stage st.shared #1"), ["@load_a | @load_b", PRODUCTS])
bug(K, "wgmma.inflight", "no_wait_at_all", cut("@wgmma_wait wgmma"), ["@stage", PRODUCTS])
bug(K, "wgmma.wait", "wait_group_1", sub("@wgmma_wait wgmma", " 0;", " 1;"), ["@stage", PRODUCTS])
bug(K, "wgmma.wait", "not_committed", cut("@wgmma_commit wgmma"), ["@stage", PRODUCTS])
bug(K, "wgmma.fence", "no_fence", cut("@wgmma_fence wgmma"), "@product_0")
PER_WARP = ["{", ".reg .b32 w;", ".reg .b64 offset;", "mov.u32 w, %tid.x;", "shr.u32 w, w, 5;", "and.b32 w, w, 3;", "mul.wide.u32 offset, w, 128;"]
bug(K, "wgmma.warps", "a_of_each_warp", [before("@product_1 wgmma", *PER_WARP, "add.s64 %rd8, %rd8, offset;", "}")], "@product_1")
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
bug(K, "wgmma.fence", "fence_before_ldmatrix", move("@wgmma_fence wgmma", to_before="@ldmatrix ldmatrix #1"), "@product_2 | @product_3")
bug(K, "mbarrier.tx", "expects_a_alone", sub_every("10240;", "10240", "8192"), "@expect | @expect_first | @load_a | @load_b | @load_a_first | @load_b_first | @wait_full")
bug(K, "mbarrier.init", "no_barrier_after_init", cut("@sync_init bar.sync"), "@init_0 | @init_1")
bug(K, "mbarrier.count", "counts_all_threads", sub("@init_1 mbarrier", ", %r", ", 128; //"), "@init_1 | @expect | @wait_full")

# ---- ring_generic: mbarriers between two warps
K = "ring_generic"
FULL = "@wait_full | @arrive_full | @init_full"
EMPTY = "@wait_empty | @arrive_empty | @init_empty"
bug(K, "mbarrier.phase", "does_not_wait_for_empty", no_wait("@wait_empty"), FULL)
bug(K, "mbarrier.phase", "does_not_wait_for_full", no_wait("@wait_full"), EMPTY)
bug(K, "race.shared", "frees_before_it_reads", move("@read ld.shared", to_after="@arrive_empty mbarrier"), ["@write st.shared", "@read ld.shared"])
bug(K, "race.shared", "arrives_before_it_writes", move("@write st.shared", to_after="@arrive_full mbarrier"), ["@write st.shared", "@read ld.shared"])
bug(K, "mbarrier.init", "no_barrier_after_init", cut("@sync_init bar.sync"), "@init_full | @init_empty")
bug(K, "mbarrier.init", "empty_not_initialised", cut("@init_empty mbarrier"), "@wait_empty | @arrive_empty")
bug(K, "mbarrier.count", "one_lane_arrives", only("@arrive_empty mbarrier", "lane == 0"), EMPTY)
bug(K, "mbarrier.count", "full_counts_16", [sub("@init_full mbarrier", "%r20", "16")], FULL)
bug(K, "mbarrier.count", "empty_counts_64", [sub("@init_empty mbarrier", "%r20", "64")], EMPTY)
bug(K, "mbarrier.inval", "reused_without_inval", cut("@inval_full mbarrier"), "@reuse st.shared")
bug(K, "mbarrier.plain", "reads_a_live_object", before("@arrive_empty mbarrier", "{", ".reg .b32 word;", "ld.shared.u32 word, [_ZZ12ring_genericE4full];", "}"), "@new ld.shared")

# ---- ring_bulk: bulk copies to and from a ring
K = "ring_bulk"
FULL = "@wait_full | @expect | @load | @init_full_0 | @init_full_1"
EMPTY = "@wait_empty | @release | @init_empty_0 | @init_empty_1"
bug(K, "race.proxy", "reads_without_fence", cut("@fence_read"), ["@read ld.shared", "@load"])
bug(K, "race.proxy", "writes_without_fence", cut("@fence_write"), ["@write st.shared", "@store"])
bug(K, "race.proxy", "fence_of_one_thread", only("@fence_write fence", "tid == 0"), ["@write st.shared", "@store"])
bug(K, "async.unwaited", "no_wait_for_copies", no_wait("@wait_full"), ["@read ld.shared", "@load"])
bug(K, "async.unwaited", "result_refilled", cut("@wait_read"), ["@write st.shared", "@store"])
bug(K, "async.unwaited", "result_wait_2", sub("@wait_read wait_group", "1;", "2;"), ["@write st.shared", "@store"])
bug(K, "async.unwaited", "stores_not_committed", cut("@commit"), "@store")
bug(K, "async.unwaited", "exit_before_stores_have_read", cut("@wait_end"), "@store")
bug(K, "mbarrier.tx", "expects_half", sub("@expect mov.u32 #-1", " 512;", " 256;"), FULL)
bug(K, "mbarrier.tx", "expects_words_for_bytes", sub("@expect mov.u32 #-1", " 512;", " 128;"), FULL)
bug(K, "mbarrier.count", "empty_counts_warps", sub_every("@init_empty_0 mov.u32", "128", "4"), EMPTY)
bug(K, "mbarrier.phase", "empty_parity_of_each_chunk", sub("@wait_empty shr.u32", "1;", "0;"), "@wait_empty")

# ---- reduce_last: the CTA that ends last sums up
K = "reduce_last"
bug(K, "race.shared", "no_barrier_after_writes", cut("@sync bar.sync"), ["@write st.shared", "@read ld.shared"])
bug(K, "race.shared", "no_barrier_before_tree", cut("@sync_all bar.sync"), ["@write_all st.shared", "@tree ld.shared"])
bug(K, "race.shared", "no_barrier_in_tree", cut("@sync_tree bar.sync #1"), ["@tree st.shared #1", "@tree ld.shared"])
bug(K, "race.shared", "warp_synchronous_tree", cut("@sync_tree bar.sync #3"), ["@tree st.shared #3", "@tree ld.shared"])
bug(K, "race.shared", "last_read_without_barrier", cut("@sync_last bar.sync"), ["@ticket st.shared", "@read_last ld.shared"])
bug(K, "race.weak", "no_fence_after_partial", cut("@fence membar"), ["@partial st.global", "@read_partial ld.global"])
bug(K, "race.weak", "no_fence_after_ticket", cut("@fence_last membar"), ["@partial st.global", "@read_partial ld.global"])
bug(K, "race.scope", "fence_of_the_cta", sub("@fence membar", ".gl", ".cta"), ["@partial st.global", "@read_partial ld.global"])
bug(K, "race.scope", "ticket_of_the_cta", sub("@ticket atom", "atom.global", "atom.global.cta"), "@ticket atom")
bug(K, "race.global", "partial_after_ticket", move("@partial st.global", to_after="@ticket atom"), ["@partial st.global", "@read_partial ld.global"])
bug(K, "warp.mask", "mask_of_half", put("@shuffle shfl #2", "shfl.sync.down.b32 %r35|%p5, %r33, %r34, %r29, 0xffff;"), "@shuffle shfl #2")
bug(K, "warp.mask", "absent_lanes", only("@shuffle shfl #3", "lane < 8"), "@shuffle shfl #3")
bug(K, "memory.undefined", "tail_not_written", only("@write st.shared", "tid < 40"), "@partial st.global | @read")
bug(K, "memory.bounds", "sums_of_a_warp", sub("E4sums[", "256", "128"), "@write | @read")
bug(K, "memory.bounds", "reads_past_the_end", sub("@read ld.shared", "+128", "+256"), "@read ld.shared")
bug(K, "barrier.divergent", "barrier_within_if", move("@sync_tree bar.sync #3", to_after="@tree st.shared #3"), "@sync_tree bar.sync")

# ---- lookback: decoupled look-back scan
K = "lookback"
bug(K, "race.scope", "released_to_the_cta", sub("@publish_prefix st", ".gpu", ".cta"), "@publish_prefix | @prefix | @read_prefix")
bug(K, "race.scope", "acquired_of_the_cta", sub("@look ld", ".gpu", ".cta"), "@look | @prefix | @sum")
bug(K, "race.weak", "relaxed_flag", sub("@publish_prefix st", ".release", ".relaxed"), ["@prefix st.global", "@read_prefix ld.global"])
bug(K, "race.weak", "relaxed_look", sub("@look ld", ".acquire", ".relaxed"), ["@prefix | @sum", "@read_prefix | @read_sum"])
bug(K, "race.weak", "plain_flag", sub("@publish_prefix st", ".release.gpu", ".global"), "@publish_prefix st")
bug(K, "race.mixed-size", "looks_at_a_byte", sub("@look ld", ".u32", ".u8"), ["@look ld", "@publish_prefix st | @publish_sum st"])
bug(K, "race.global", "flag_before_data", move("@prefix st.global", to_after="@publish_prefix st"), ["@prefix st.global", "@read_prefix ld.global"])
bug(K, "race.global", "sum_not_released", move("@sum st.global", to_after="@publish_sum st"), ["@sum st.global", "@read_sum ld.global"])
bug(K, "warp.mask", "shuffle_of_lane_0", only("@total shfl", "lane == 0"), "@total shfl")

# ---- message: flags over global memory with fences
K = "message"
bug(K, "race.weak", "no_fence_before_flag", cut("@fence_write membar"), ["@write st.global", "@read ld.global"])
bug(K, "race.weak", "no_fence_after_poll", cut("@fence_poll membar"), ["@write st.global", "@read ld.global"])
bug(K, "race.weak", "fence_before_barrier", move("@fence_write membar", to_before="@sync_write bar.sync"), ["@write st.global", "@read ld.global"])
bug(K, "race.weak", "read_through_nc", sub("@read ld.global", "ld.global", "ld.global.nc"), "@read ld.global.nc")
bug(K, "race.weak", "flag_not_volatile", sub("@flag st.volatile", "st.volatile.global", "st.global"), ["@flag st", "@poll ld"])
bug(K, "race.scope", "fence_of_the_cta", sub("@fence_write membar", ".gl", ".cta"), ["@write st.global", "@read ld.global"])
bug(K, "race.scope", "poll_fence_of_the_cta", sub("@fence_poll membar", ".gl", ".cta"), ["@write st.global", "@read ld.global"])
bug(K, "race.global", "only_the_poller_waits", cut("@sync_poll bar.sync"), ["@write st.global", "@read ld.global"])
bug(K, "race.global", "flag_without_barrier", cut("@sync_write bar.sync"), ["@write st.global", "@read ld.global"])
bug(K, "race.mixed-size", "polls_a_byte", sub("@poll ld", ".u32", ".u8"), ["@poll ld", "@flag st"])

# ---- cluster_exchange: distributed shared memory
K = "cluster_exchange"
bug(K, "cluster.start", "sends_before_the_peer_runs", [cut("@arrive_start barrier"), cut("@wait_start barrier")], "@send")
bug(K, "cluster.exit", "exits_while_the_peer_reads", [cut("@arrive_end barrier"), cut("@wait_end barrier")], "@fetch")
bug(K, "cluster.exit", "arrives_before_it_reads", move("@fetch ld", to_after="@arrive_end barrier"), "@fetch")
bug(K, "cluster.arrive", "never_waits_at_the_end", cut("@wait_end barrier"), "@arrive_end")
bug(K, "cluster.arrive", "arrives_twice", cut("@wait_sent barrier"), "@arrive_sent | @arrive_made")
bug(K, "race.cluster", "no_barrier_after_send", [cut("@arrive_sent barrier"), cut("@wait_sent barrier")], ["@send st", "@make ld.shared"])
bug(K, "race.cluster", "no_barrier_before_fetch", [cut("@arrive_made barrier"), cut("@wait_made barrier")], ["@make st.shared", "@fetch ld"])
bug(K, "race.cluster", "relaxed_arrival", sub("@arrive_sent barrier", ".release", ".relaxed"), ["@send st", "@make ld.shared"])
bug(K, "race.cluster", "cta_barrier_instead", [put("@arrive_made barrier", "bar.sync 0;"), cut("@wait_made barrier")], ["@make st.shared", "@fetch ld"])

# ---- makers_takers: named barriers
K = "makers_takers"
bug(K, "race.shared", "writes_before_it_waits", move("@wait_empty barrier", to_after="@write st.shared"), ["@write st.shared", "@read ld.shared"])
bug(K, "race.shared", "no_barrier_at_the_end", cut("@sync_end bar.sync"), ["@total_0 | @total_1", "@read_totals ld.shared"])
bug(K, "barrier.id", "one_id_for_both_halves", put("@sync_takers barrier", "barrier.sync 5, 64;"), "@sync_takers | @sync_makers")
bug(K, "barrier.id", "one_id_for_full_and_empty", sub("@wait_empty add", "3;", "1;"), "@wait_empty | @wait_full | @free_0 | @free_1 | @arrive_full")
bug(K, "barrier.count", "half_the_count", put("@sync_end bar.sync", "bar.sync 0, 64;"), "@sync_end")
bug(K, "barrier.count", "takers_count_96", put("@sync_takers barrier", "barrier.sync 6, 96;"), "@sync_takers")
bug(K, "barrier.count", "warp_that_does_not_come", only("@sync_makers barrier", "warp == 0"), "@sync_makers")
bug(K, "barrier.divergent", "half_a_warp", only("@sync_end bar.sync", "lane < 16"), "@sync_end")

# ---- histogram_shared: atomics in shared memory
K = "histogram_shared"
bug(K, "race.weak", "cleared_without_barrier", cut("@sync_clear bar.sync"), ["@clear st.shared", "@count atom.shared"])
bug(K, "race.weak", "read_without_barrier", cut("@sync_count bar.sync"), ["@count atom.shared", "@read ld.shared"])
bug(K, "memory.bounds", "eight_bins", sub("E5local[", "64", "32"), "@clear | @count")
bug(K, "memory.undefined", "half_cleared", only("@clear st.shared", "tid < 8"), "@merge | @most | @read | @count")
bug(K, "race.scope", "merged_at_the_scope_of_the_cta", sub("@merge atom", "atom.global", "atom.global.cta"), "@merge atom")
