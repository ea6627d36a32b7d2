"""Bugs with tensor maps that a kernel makes, and with memory that several proxies touch."""

from edit import after, cut, move, only, put, some_wait, sub, sub_every
from table import bug, fine

# ---- map_pass: tensor maps made by one CTA and used by others
K = "map_pass"
MAKE = "@copy st.global | @replace_0 tensormap | @replace_1 tensormap"
MAP_0, MAP_1 = "@load_0 cp.async", "@load_1 cp.async"
bug(K, "race.proxy", "first_map_not_acquired", cut("@acquire_0 fence"), MAP_0)
bug(K, "race.proxy", "second_map_not_acquired", cut("@acquire_1 fence"), MAP_1)
bug(K, "race.proxy", "first_map_acquired_twice", sub("@acquire_1 fence", "%rd12", "%rd3"), MAP_1)
bug(K, "race.proxy", "acquires_before_it_polls", move("@acquire_0 fence", to_before="@init mbarrier"), MAP_0)
bug(K, "race.proxy", "acquires_after_it_loads", move("@acquire_1 fence", to_after="@load_1 cp.async"), MAP_1)
bug(K, "race.proxy", "fence_of_the_async_proxy", put("@acquire_0 fence", "fence.proxy.async;"), MAP_0)
bug(K, "race.proxy", "fence_acq_rel", put("@acquire_1 fence", "fence.acq_rel.gpu;"), MAP_1)
bug(K, "race.proxy", "no_release_fence", cut("@release fence"), [MAKE, "@load_0 | @load_1"])
bug(
    K,
    "race.proxy",
    "release_fence_after_the_flag",
    move("@release fence", to_after="@publish st"),
    [MAKE, "@load_0 | @load_1"],
)
bug(
    K,
    "race.proxy",
    "second_replaced_after_the_release_fence",
    move("@replace_1 tensormap", to_after="@release fence"),
    ["@replace_1 tensormap", MAP_1],
)
bug(K, "race.proxy", "releases_by_fence_acq_rel", put("@release fence", "fence.acq_rel.gpu;"), [MAKE, "@load_0 | @load_1"])
bug(K, "race.scope", "release_fence_of_the_cta", sub("@release fence", ".gpu", ".cta"), [MAKE, "@load_0 | @load_1"])
bug(K, "race.scope", "release_fence_of_the_cluster", sub("@release fence", ".gpu", ".cluster"), [MAKE, "@load_0 | @load_1"])
bug(K, "race.scope", "acquire_fence_of_the_cta", sub("@acquire_0 fence", ".gpu", ".cta"), [MAKE, MAP_0])
bug(K, "race.scope", "acquire_fence_of_the_cluster", sub("@acquire_1 fence", ".gpu", ".cluster"), [MAKE, MAP_1])
bug(K, "memory.undefined", "word_3_of_the_map_not_copied", only("@copy st.global", "lane != 19"), MAP_1)
bug(K, "memory.undefined", "word_4_of_the_map_not_copied", only("@copy st.global", "lane != 20"), MAP_1)
bug(
    K,
    "race.global",
    "replaces_before_all_have_copied",
    cut("@sync_copy bar.warp.sync"),
    ["@copy st.global", "@replace_0 tensormap | @replace_1 tensormap"],
)
bug(
    K,
    "race.global",
    "second_replaced_after_the_flag",
    move("@replace_1 tensormap", to_after="@publish st"),
    ["@replace_1 tensormap", MAP_1],
)
bug(K, "race.scope", "publishes_to_the_cta", sub("@publish st", ".gpu", ".cta"), [MAKE, "@load_0 | @load_1"])
bug(K, "race.scope", "polls_at_the_cta", sub("@poll ld", ".gpu", ".cta"), [MAKE, "@load_0 | @load_1"])
bug(
    K,
    "mbarrier.tx",
    "expects_one_tile",
    sub_every("@expect mov.u32", "2048", "1024"),
    "@expect | @load_0 | @load_1 | @wait | @init",
)
bug(
    K,
    "async.unwaited",
    "lane_0_alone_waits",
    some_wait("@wait", "lane == 0"),
    ["@load_0 | @load_1", "@read ld.shared"],
)
bug(K, "mbarrier.init|mbarrier.plain", "lanes_do_not_wait_for_init", cut("@sync_init bar.warp.sync"), "@init | @wait")
fine(K, "publishes_relaxed", sub("@publish st", ".release", ".relaxed"))
fine(K, "polls_relaxed", sub("@poll ld", ".acquire", ".relaxed"))
fine(K, "release_fence_of_the_system", sub("@release fence", ".gpu", ".sys"))
fine(K, "releases_after_each_map", after("@replace_0 tensormap", "fence.proxy.tensormap::generic.release.gpu;"))
fine(K, "acquires_twice", after("@acquire_1 fence", "fence.proxy.tensormap::generic.acquire.sys [%rd3], 128;"))
