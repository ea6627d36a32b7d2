"""Bugs with named barriers between warpgroups, registers that are given away, and who is elected."""

from edit import after, before, cut, move, only, put, sub
from table import bug, fine

# ---- ping_pong: two warpgroups take turns by bar.arrive and bar.sync
K = "ping_pong"
TABLE = ["@write st.shared | @first st.shared", "@read ld.shared | @write st.shared"]
TURN = "@wait_turn | @give_turn | @give_first"
bug(K, "race.shared", "gives_before_it_writes", move("@write st.shared", to_after="@give_turn barrier.arrive"), TABLE)
bug(K, "race.shared", "reads_before_its_turn", move("@wait_turn barrier.sync", to_after="@read ld.shared"), TABLE)
bug(K, "race.shared", "no_barrier_after_read", cut("@sync_read barrier.sync"), TABLE)
bug(K, "race.shared", "syncwarp_after_read", put("@sync_read barrier.sync", "bar.warp.sync -1;"), TABLE)
bug(K, "barrier.count|race.shared", "turn_counts_one_group", sub("@wait_turn mov.u32", "256", "128"), TURN)
bug(K, "barrier.count", "turn_counts_all", sub("@wait_turn mov.u32", "256", "384"), TURN)
bug(K, "barrier.count", "first_turn_not_given", cut("@give_first barrier.arrive"), TURN)
bug(
    K,
    "race.shared|barrier.id",
    "both_begin",
    after("@give_first barrier.arrive", "barrier.arrive 2, 256;"),
    "@write | @new",
)
bug(
    K,
    "barrier.count|race.shared",
    "first_group_gives_itself_the_turn",
    put("@give_turn barrier.arrive", "barrier.arrive %r6, 256;"),
    TURN + " | @write | @read",
)
bug(K, "barrier.count", "three_warps_give", only("@give_turn barrier.arrive", "warp != 2"), TURN)
bug(K, "barrier.count", "one_thread_of_each_warp_gives", only("@give_first barrier.arrive", "lane == 0"), TURN)
bug(
    K,
    "race.shared",
    "done_before_it_is_written",
    [
        cut("@arrive_done barrier.arrive"),
        before(
            "@elect elect.sync",
            "{ .reg .b32 who; .reg .pred first; mov.u32 who, %tid.x; and.b32 who, who, 96; setp.eq.u32 first, who, 0;",
            "@first barrier.arrive 5, 192; }",
        ),
    ],
    ["@write_done st.shared", "@read_done ld.shared"],
)
bug(
    K,
    "race.shared",
    "done_read_before_it_waits",
    move("@sync_done barrier.sync", to_after="@read_done ld.shared"),
    ["@write_done st.shared", "@read_done ld.shared"],
)
bug(
    K,
    "race.shared|barrier.id",
    "done_counts_a_group",
    sub("@sync_done mov.u32 #2", "192", "128"),
    "@sync_done | @arrive_done | @read_done",
)
bug(
    K,
    "barrier.count",
    "done_counts_two_groups",
    sub("@sync_done mov.u32 #2", "192", "256"),
    "@sync_done | @arrive_done",
)
bug(K, "warp.setmaxnreg", "first_warp_alone_gives", only("@give setmaxnreg", "warp == 8"), "@give")
bug(K, "warp.setmaxnreg", "second_group_takes_in_three_warps", only("@take setmaxnreg", "warp != 7"), "@take")
bug(K, "warp.setmaxnreg", "gives_in_the_elected_lane", only("@give setmaxnreg", "lane == 0"), "@give")
bug(
    K,
    "warp.elect|warp.mask|memory.undefined",
    "elects_in_half_a_warp",
    only("@elect elect.sync", "lane < 16"),
    "@elect",
)
bug(
    K,
    "warp.elect|warp.mask",
    "elects_of_the_upper_half",
    put("@elect elect.sync", "elect.sync _|p, 0xffff0000;"),
    "@elect",
)
bug(
    K,
    "race.shared",
    "every_lane_is_elected",
    put("@elect elect.sync", "setp.eq.u32 p, 0, 0;"),
    "@write_done st.shared",
)
fine(K, "aligned", put("@sync_start bar.sync", "barrier.sync.aligned 0, 384;"))
fine(
    K,
    "done_by_bar_red",
    put(
        "@sync_done barrier.sync",
        "{ .reg .b32 n; .reg .pred yes; setp.eq.u32 yes, 0, 0; barrier.red.popc.u32 n, 5, 192, yes; }",
    ),
)
fine(K, "both_groups_read_at_barrier_3", put("@sync_read barrier.sync", "barrier.sync 3, 128;"))
fine(K, "turn_and_read_share_a_barrier", sub("@read add.s32 #2", ", 3;", ", 1;"))
