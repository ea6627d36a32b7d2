"""Bugs in locks: who takes one does not acquire, who gives it back does not release, or both do it for too few."""

from edit import cut, move, put, rewrite, sub, sub_every
from table import bug

# ---- lock_ttas: a lock that is looked at before it is taken
K = "lock_ttas"
ROW = "@read ld.global | @write st.global | @total"
bug(K, "race.weak", "take_is_relaxed", sub_every("@take atom", ".acquire", ".relaxed"), ROW)
bug(K, "race.weak", "give_is_relaxed", sub("@give st", ".release", ".relaxed"), ROW)
bug(K, "race.weak", "give_is_plain", sub("@give st", ".release.gpu", ""), ["@give st", "@take atom | @look ld"])
bug(K, "race.weak", "look_is_plain", sub("@look ld", ".relaxed.gpu", ""), ["@look ld", "@give st | @take atom"])
bug(K, "race.mixed-size", "looks_at_a_byte", sub("@look ld", ".u32", ".u8"), ["@look ld", "@give st | @take atom"])
bug(K, "race.scope", "taken_by_the_cta", sub_every("@take atom", ".gpu", ".cta"), ROW + " | @take | @look | @give")
bug(K, "race.scope", "given_to_the_cta", sub("@give st", ".gpu", ".cta"), ROW + " | @take | @look | @give")
bug(K, "race.global|race.weak", "gives_before_all_have_written", cut("@sync_done bar.sync"), "@write st.global")
bug(
    K,
    "race.global|race.weak",
    "reads_before_the_lock",
    move("@read ld.global", to_before="@sync_taken bar.sync"),
    "@read",
)

# ---- lock_ticket: numbers that are drawn and served
K = "lock_ticket"
ROW = "@read ld.global | @write st.global"
bug(K, "race.weak", "wait_is_relaxed", sub("@wait ld", ".acquire", ".relaxed"), ROW)
bug(K, "race.weak", "serve_is_relaxed", sub("@serve st", ".release", ".relaxed"), ROW)
bug(K, "race.weak", "wait_is_plain", sub("@wait ld", ".acquire.gpu", ""), ["@wait ld", "@serve st"])
bug(K, "race.scope", "waits_at_the_cta", sub("@wait ld", ".gpu", ".cta"), ROW + " | @wait | @serve")
bug(K, "race.scope", "draws_at_the_cta", sub("@draw atom", ".gpu", ".cta"), "@draw atom")
bug(
    K,
    "race.mixed-size",
    "serves_16_bits",
    rewrite("@serve st", r"(st\S+)u32(.*)(%r\d+);", r"{ .reg .b16 low; cvt.u16.u32 low, \3; \1u16\2low; }"),
    ["@wait ld", "@serve st"],
)
bug(K, "race.global|race.weak", "serves_before_it_writes", move("@write st.global", to_after="@serve st"), ROW)
bug(K, "race.shared", "number_without_barrier", cut("@sync_taken bar.sync"), ["@number st.shared", "@read_number"])

# ---- lock_mcs: a queue of those that wait
K = "lock_mcs"
ROW = "@read ld.global | @write st.global"
NODE = "@clear_next st | @clear_waits st"
bug(K, "race.weak", "wait_is_relaxed", sub("@wait ld", ".acquire", ".relaxed"), ROW)
bug(K, "race.weak", "hand_is_relaxed", sub("@hand st", ".release", ".relaxed"), ROW)
bug(K, "race.weak", "take_does_not_release", sub("@take atom", ".acq_rel", ".acquire"), NODE)
bug(K, "race.scope", "takes_at_the_cta", sub("@take atom", ".gpu", ".cta"), ROW + f" | {NODE} | @take | @give")
bug(K, "race.scope", "hands_to_the_cta", sub("@hand st", ".gpu", ".cta"), ROW + " | @hand | @wait")
bug(
    K,
    "race.weak",
    "waits_after_taking",
    move("@clear_waits st", to_after="@queue st"),
    ["@clear_waits st", "@hand st"],
)
bug(K, "race.mixed-size", "waits_for_a_byte", sub("@wait ld", ".u32", ".u8"), ["@wait ld", "@hand st"])
bug(K, "race.global|race.weak", "hands_before_it_writes", move("@write st.global", to_after="@hand st"), ROW)
bug(K, "race.global|race.weak", "no_syncwarp_before_give", cut("@sync_done bar.warp.sync"), ROW)

# ---- lock_readers: many readers or one writer
K = "lock_readers"
TABLE = ["@write st.global", "@read ld.global"]
bug(K, "race.weak", "leaves_relaxed", sub("@leave red", ".release", ".relaxed"), TABLE)
bug(K, "race.weak", "enters_relaxed", sub_every("@enter atom", ".acquire", ".relaxed"), TABLE)
bug(K, "race.weak", "takes_relaxed", sub("@take atom", ".acquire", ".relaxed"), "@write")
bug(K, "race.weak", "gives_relaxed", sub("@give red", ".release", ".relaxed"), "@write")
bug(K, "race.scope", "gives_to_the_cta", sub("@give red", ".gpu", ".cta"), "@give | @write")
bug(K, "race.scope", "leaves_at_the_cta", sub("@leave red", ".gpu", ".cta"), "@leave | @read")
bug(K, "race.weak", "looks_plainly", sub("@look ld", ".relaxed.gpu", ""), "@look ld")
bug(K, "race.global|race.weak", "leaves_before_all_have_read", cut("@sync_read bar.warp.sync"), TABLE)
bug(
    K,
    "race.global|race.weak",
    "one_lane_waits",
    move("@read ld.global", to_before="@sync_entered bar.warp.sync"),
    TABLE,
)

# ---- lock_bins: a lock for each bin, taken by single threads
K = "lock_bins"
BIN = "@count | @sum | @last"
bug(K, "race.weak", "takes_relaxed", sub("@take atom", ".acquire", ".relaxed"), BIN)
bug(K, "race.weak", "gives_relaxed", sub("@give st", ".release", ".relaxed"), BIN)
bug(K, "race.weak", "gives_plainly", sub("@give st", ".release.gpu", ""), ["@give st", "@take atom"])
bug(K, "race.scope", "takes_at_the_cta", sub("@take atom", ".gpu", ".cta"), BIN + " | @take | @give")
bug(K, "race.global|race.weak", "sum_after_the_lock", move("@sum st.global", to_after="@give st"), "@sum")
bug(K, "race.global|race.weak", "count_read_before", move("@count ld.global", to_before="@take atom"), "@count ld")

# ---- lock_pair: two locks at once
K = "lock_pair"
ROWS = "@read_from | @write_from | @write_to"
bug(K, "race.weak", "takes_the_higher_relaxed", sub("@take_high atom", ".acquire", ".relaxed"), ROWS)
bug(K, "race.weak", "takes_the_lower_relaxed", sub("@take_low atom", ".acquire", ".relaxed"), ROWS)
# Both: where one alone is given so, the other lock may order the rows, as the schedule has it.
bug(K, "race.weak", "gives_both_relaxed", [sub(f"@give_{side} st", ".release", ".relaxed") for side in ("to", "from")], ROWS)
bug(K, "race.scope", "gives_one_to_the_cta", sub("@give_from st", ".gpu", ".cta"), ROWS + " | @give_from")
bug(K, "race.global|race.weak", "gives_before_all_have_written", cut("@sync_done bar.warp.sync"), ROWS)
bug(K, "race.global|race.weak", "takes_one_alone", put("@take_high atom", "mov.u32 %r22, 0;"), ROWS)

# ---- lock_cta: a lock among warps, in shared memory
K = "lock_cta"
USED = "@read_used ld | @write_used st | @sum | @put | @clear_used"
bug(K, "race.weak", "takes_relaxed", sub("@take atom", ".acquire", ".relaxed"), USED)
bug(K, "race.weak", "gives_relaxed", sub("@give st", ".release", ".relaxed"), USED)
bug(K, "race.weak", "gives_plainly", sub("@give st", ".release.cta", ""), ["@give st", "@take atom"])
bug(
    K,
    "race.mixed-size",
    "gives_a_byte",
    rewrite("@give st", r"u32(.*)(%r\d+);", r"u8\1\2;"),
    ["@give st", "@take atom"],
)
bug(
    K,
    "race.shared|race.weak",
    "used_after_the_lock",
    move("@write_used st.shared", to_after="@give st"),
    "@write_used",
)
bug(
    K,
    "race.shared|race.weak",
    "used_read_before",
    move("@read_used ld", to_before="@sync_taken bar.warp.sync"),
    "@read_used",
)
bug(K, "race.shared|race.weak", "no_syncwarp_before_give", cut("@sync_put bar.warp.sync"), "@sum | @put | @read_used")
bug(K, "race.weak", "lock_cleared_without_barrier", cut("@sync_clear bar.sync"), ["@clear_lock st", "@take atom"])
bug(
    K,
    "race.shared|race.weak",
    "read_without_barrier",
    cut("@sync_end bar.sync"),
    ["@sum st | @put st", "@read_all ld"],
)

# ---- lock_cluster: a lock among the CTAs of a cluster
K = "lock_cluster"
SUMS = "@read ld.shared::cluster | @write st.shared::cluster"
bug(K, "race.weak", "takes_relaxed", sub("@take atom", ".acquire", ".relaxed"), SUMS)
bug(K, "race.weak", "gives_relaxed", sub("@give st", ".release", ".relaxed"), SUMS)
bug(
    K,
    "race.scope",
    "takes_at_the_cta",
    sub("@take atom", ".acquire.cluster", ".acquire.cta"),
    SUMS + " | @take | @give",
)
bug(
    K,
    "race.scope",
    "gives_to_the_cta",
    sub("@give st", ".release.cluster", ".release.cta"),
    SUMS + " | @take | @give",
)
bug(K, "race.weak", "gives_plainly", sub("@give st", ".release.cluster", ""), ["@give st", "@take atom"])
bug(K, "race.cluster|race.weak", "gives_before_all_have_written", cut("@sync_done bar.warp.sync"), SUMS)
bug(K, "race.cluster|race.weak", "not_all_lanes_wait", move("@read ld", to_before="@sync_taken bar.warp.sync"), SUMS)
bug(K, "race.mixed-size", "gives_a_byte", sub("@give st", ".u32", ".u8"), ["@give st", "@take atom"])
bug(
    K,
    "race.cluster|race.weak",
    "total_read_too_early",
    move("@read_all ld.shared", to_before="@arrive_end barrier"),
    ["@write st.shared::cluster", "@read_all ld"],
)

# ---- lock_peterson: two CTAs, no atomics
K = "lock_peterson"
ROW = "@read ld.global | @write st.global"
bug(K, "race.weak", "gives_relaxed", sub("@give st", ".release", ".relaxed"), ROW)
bug(K, "race.weak", "looks_relaxed", sub("@look ld", ".acquire", ".relaxed"), ROW)
bug(K, "race.weak", "wants_plainly", sub("@want st", ".relaxed.gpu", ""), ["@want st", "@look ld"])
bug(K, "race.weak", "turn_is_plain", sub("@yield st", ".release.gpu", ""), "@yield st")
bug(K, "race.scope", "gives_to_the_cta", sub("@give st", ".gpu", ".cta"), ROW + " | @give | @look")
bug(K, "race.mixed-size", "looks_at_a_byte", sub("@look ld", ".u32", ".u8"), ["@look ld", "@give st | @want st"])
bug(K, "race.global|race.weak", "gives_before_it_writes", cut("@sync_done bar.warp.sync"), ROW)

# ---- lock_dekker: the same with a turn that is left to the other at the end
K = "lock_dekker"
ROW = "@read ld.global | @write st.global"
bug(K, "race.weak", "gives_relaxed", sub("@give st", ".release", ".relaxed"), ROW)
bug(K, "race.weak", "looks_relaxed", sub_every("@look ld", ".acquire", ".relaxed"), ROW)
bug(
    K,
    "race.weak",
    "wants_volatile",
    [sub("@give st", ".release.gpu", ".volatile"), sub_every("@look ld", ".acquire.gpu", ".volatile")],
    ROW,
)
bug(K, "race.weak", "turn_is_plain", sub("@yield st", ".relaxed.gpu", ""), ["@yield st", "@wait ld | @look_turn ld"])
bug(K, "race.scope", "looks_at_the_cta", sub_every("@look ld", ".gpu", ".cta"), ROW + " | @give | @look | @want")
bug(K, "race.global|race.weak", "gives_before_it_writes", cut("@sync_done bar.warp.sync"), ROW)

# ---- lock_bakery: Lamport's
K = "lock_bakery"
ROW = "@read ld.global | @write st.global"
bug(K, "race.weak", "gives_relaxed", sub("@give st", ".release", ".relaxed"), ROW)
bug(
    K,
    "race.weak",
    "numbers_are_plain",
    sub("@numbers ld", ".relaxed.gpu", ""),
    ["@numbers ld", "@draw st | @give st"],
)
bug(K, "race.weak", "chooses_plainly", sub("@choose st", ".relaxed.gpu", ""), ["@choose st", "@wait_choosing ld"])
bug(K, "race.scope", "waits_at_the_cta", sub("@wait_number ld", ".gpu", ".cta"), ROW + " | @give | @draw")
bug(
    K,
    "race.mixed-size",
    "numbers_of_16_bits",
    sub("@numbers ld", ".u32", ".u16"),
    ["@numbers ld", "@draw st | @give st"],
)
bug(K, "race.global|race.weak", "gives_before_it_writes", cut("@sync_done bar.warp.sync"), ROW)

# ---- lock_splitk: parts of a sum over k, one after another
K = "lock_splitk"
TILE = ["@write st.global", "@read ld.global | @write st.global"]
bug(K, "race.weak", "waits_relaxed", sub("@wait ld", ".acquire", ".relaxed"), TILE)
bug(K, "race.weak", "waits_volatile", sub("@wait ld", ".acquire.gpu", ".volatile"), TILE)
bug(K, "race.weak", "passes_relaxed", sub("@pass st", ".release", ".relaxed"), TILE)
bug(K, "race.weak", "passes_plainly", sub("@pass st", ".release.gpu", ""), ["@pass st", "@wait ld"])
bug(K, "race.scope", "passes_to_the_cta", sub("@pass st", ".gpu", ".cta"), TILE[0] + " | @pass | @wait")
bug(K, "race.global|race.weak", "passes_before_all_have_written", cut("@sync_done bar.sync"), TILE)
bug(K, "race.global|race.weak", "one_thread_waits", cut("@sync_turn bar.sync"), TILE)
bug(K, "race.global|race.weak", "writes_after_it_passes", move("@write st.global", to_after="@pass st"), TILE)
bug(K, "race.weak", "reads_through_nc", sub("@read ld.global", "ld.global", "ld.global.nc"), "@read ld.global.nc")

# ---- lock_reentrant: the owner may take it again
K = "lock_reentrant"
VALUES = "@first | @second | @third | @enter ld.global | @enter st.global | @leave ld.global | @leave st.global"
bug(K, "race.weak", "enters_relaxed", sub("@enter atom", ".acquire", ".relaxed"), VALUES)
bug(K, "race.weak", "leaves_relaxed", sub("@leave st.release", ".release", ".relaxed"), VALUES)
bug(K, "race.scope", "enters_at_the_cta", sub("@enter atom", ".gpu", ".cta"), VALUES + " | @enter atom | @leave st")
bug(
    K,
    "race.weak",
    "owner_read_plainly",
    sub("@enter ld.relaxed", ".relaxed.gpu", ""),
    ["@enter ld.global #1", "@enter atom | @leave st.release"],
)
bug(
    K,
    "race.weak",
    "leaves_plainly",
    sub("@leave st.release", ".release.gpu", ""),
    ["@leave st.global #2", "@enter atom | @enter ld.relaxed"],
)
bug(
    K,
    "race.global|race.weak",
    "third_after_the_lock",
    move("@third st.global", to_after="@leave st.release"),
    "@third",
)
bug(
    K,
    "race.mixed-size",
    "looks_at_a_byte",
    sub("@enter ld.relaxed", ".u32", ".u8"),
    ["@enter ld.relaxed", "@enter atom | @leave st.release"],
)

# ---- lock_list: a list with a lock for each node
K = "lock_list"
LIST = "@follow ld | @link st | @link_new | @compare ld | @key st"
bug(K, "race.weak", "takes_the_head_relaxed", sub("@take_head atom", ".acquire", ".relaxed"), LIST)
bug(K, "race.weak", "gives_the_last_relaxed", sub("@give_last st", ".release", ".relaxed"), LIST)
bug(
    K,
    "race.scope",
    "gives_the_last_to_the_cta",
    sub("@give_last st", ".gpu", ".cta"),
    LIST + " | @give_last | @take_head",
)
bug(
    K,
    "race.global|race.weak",
    "links_after_the_lock",
    move("@link st.global", to_after="@give_last st"),
    "@link st.global",
)
bug(
    K,
    "race.global|race.weak",
    "key_after_the_lock",
    move("@key st.global", to_after="@give_last st"),
    "@key st.global",
)
bug(
    K,
    "race.global|race.weak",
    "follows_before_the_lock",
    move("@follow ld.global #1", to_before="@take_head atom"),
    "@follow ld.global #1",
)
bug(K, "race.scope", "draws_at_the_cta", sub("@draw atom", ".gpu", ".cta"), "@draw atom")
