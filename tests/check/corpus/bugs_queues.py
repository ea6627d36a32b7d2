"""Bugs in queues, stacks and tables that need no lock, and in what is handed from one to another."""

from edit import cut, move, put, rewrite, sub, sub_every
from table import bug

# ---- mailbox_two: two boxes, filled and read in turns
K = "mailbox_two"
BOX = ["@write st.global", "@read ld.global"]
bug(K, "race.weak", "fills_relaxed", sub("@fill st", ".release", ".relaxed"), BOX)
bug(K, "race.weak", "waits_relaxed", sub("@wait_filled ld", ".acquire", ".relaxed"), BOX)
bug(K, "race.weak", "takes_relaxed", sub("@take st", ".release", ".relaxed"), BOX)
bug(K, "race.weak", "waits_for_taken_relaxed", sub("@wait_taken ld", ".acquire", ".relaxed"), BOX)
bug(K, "race.scope", "fills_for_the_cta", sub("@fill st", ".gpu", ".cta"), "@fill | @wait_filled | @write | @read ld")
bug(
    K,
    "race.scope",
    "waits_at_the_cta",
    sub("@wait_taken ld", ".gpu", ".cta"),
    "@take | @wait_taken | @write | @read ld",
)
bug(K, "race.weak", "take_is_plain", sub("@take st", ".release.gpu", ""), ["@take st", "@wait_taken ld"])
bug(K, "race.mixed-size", "polls_16_bits", sub("@wait_filled ld", ".u32", ".u16"), ["@wait_filled ld", "@fill st"])
bug(K, "race.global|race.weak", "fills_before_all_have_written", cut("@sync_written bar.sync"), BOX)
bug(K, "race.global|race.weak", "takes_before_all_have_read", cut("@sync_read bar.sync"), BOX)
bug(K, "race.global|race.weak", "box_after_the_flag", move("@write st.global", to_after="@fill st"), BOX)

# ---- ring_records: records of words in a ring, one thread to another
K = "ring_records"
RING = ["@put st | @put_length st", "@get ld | @get_length ld"]
bug(K, "race.weak", "pushes_relaxed", sub("@push st", ".release", ".relaxed"), RING)
bug(K, "race.weak", "looks_at_head_relaxed", sub("@look_head ld", ".acquire", ".relaxed"), RING)
bug(K, "race.weak", "pops_relaxed", sub("@pop st", ".release", ".relaxed"), RING)
bug(K, "race.weak", "looks_at_tail_relaxed", sub("@look_tail ld", ".acquire", ".relaxed"), RING)
bug(K, "race.weak", "looks_at_tail_plainly", sub("@look_tail ld", ".acquire.gpu", ""), ["@look_tail ld", "@pop st"])
bug(K, "race.scope", "pops_for_the_cta", sub("@pop st", ".gpu", ".cta"), "@pop | @look_tail | @put | @put_length")
bug(K, "race.global|race.weak", "length_after_the_push", move("@put_length st", to_after="@push st"), RING)
bug(K, "race.mixed-size", "head_of_16_bits", sub("@look_head ld", ".u32", ".u16"), ["@look_head ld", "@push st"])

# ---- semaphore_pair: two counting semaphores about a ring
K = "semaphore_pair"
ROW = ["@write st.global", "@read ld.global"]
bug(K, "race.weak", "up_is_relaxed", sub("@up_full red", ".release", ".relaxed"), ROW)
bug(K, "race.weak", "down_is_relaxed", sub("@down_full atom", ".acquire", ".relaxed"), ROW)
bug(K, "race.weak", "up_free_is_relaxed", sub("@up_free red", ".release", ".relaxed"), ROW)
bug(K, "race.weak", "down_free_is_relaxed", sub("@down_free atom", ".acquire", ".relaxed"), ROW)
bug(
    K,
    "race.scope",
    "up_for_the_cta",
    sub("@up_full red", ".gpu", ".cta"),
    "@up_full | @down_full | @read ld | @write",
)
bug(
    K,
    "race.weak",
    "looks_plainly",
    sub("@down_full ld", ".relaxed.gpu", ""),
    ["@down_full ld", "@up_full red | @down_full atom"],
)
bug(
    K,
    "race.mixed-size",
    "looks_at_a_byte",
    sub("@down_full ld", ".u32", ".u8"),
    ["@down_full ld", "@up_full red | @down_full atom"],
)
bug(K, "race.global|race.weak", "up_before_all_have_written", cut("@sync_written bar.sync"), ROW)
bug(K, "race.global|race.weak", "one_thread_goes_down", cut("@sync_full bar.sync"), ROW)

# ---- deque_steal: Chase and Lev's deque
K = "deque_steal"
JOB = ["@write_job st.global", "@read_job ld.global"]
bug(K, "race.weak", "no_fence_at_the_push", cut("@fence_push fence"), JOB)
bug(K, "race.weak", "fence_acquires_alone", sub("@fence_push fence", ".acq_rel", ".acquire"), JOB)
bug(K, "race.weak", "looks_at_bottom_relaxed", sub("@look_bottom ld", ".acquire", ".relaxed"), JOB)
bug(K, "race.weak", "pushes_plainly", sub("@push st", ".relaxed.gpu", ""), ["@push st", "@look_bottom ld"])
bug(K, "race.weak", "fence_after_the_push", move("@fence_push fence", to_after="@push st"), JOB)
bug(K, "race.scope", "fence_of_the_cta", sub("@fence_push fence", ".gpu", ".cta"), JOB)
bug(K, "race.scope", "steals_at_the_cta", sub("@steal atom", ".gpu", ".cta"), ["@steal atom"])
bug(K, "race.mixed-size", "looks_at_16_bits", sub("@look_bottom ld", ".u32", ".u16"), ["@look_bottom ld", "@push st"])
bug(K, "race.global|race.weak", "job_after_the_push", move("@write_job st", to_after="@push st"), JOB)

# ---- queue_mpmc: many put and many take, each cell has its turn
K = "queue_mpmc"
CELL = ["@write st | @write_twice st", "@read ld"]
bug(K, "race.weak", "passes_relaxed", sub("@pass st", ".release", ".relaxed"), CELL)
bug(K, "race.weak", "turn_is_relaxed", sub("@turn ld", ".acquire", ".relaxed"), CELL)
bug(K, "race.weak", "passes_plainly", sub("@pass st", ".release.gpu", ""), ["@pass st", "@turn ld"])
bug(K, "race.scope", "passes_to_the_cta", sub("@pass st", ".gpu", ".cta"), "@pass | @turn | @read | @write")
bug(K, "race.scope", "draws_at_the_cta", sub("@draw atom", ".gpu", ".cta"), "@draw")
bug(K, "race.weak", "counter_read_plainly", sub("@look ld", ".relaxed.gpu", ""), ["@look ld", "@draw atom"])
bug(K, "race.mixed-size", "turn_of_16_bits", sub("@turn ld", ".u32", ".u16"), ["@turn ld", "@pass st"])
bug(
    K,
    "race.global|race.weak",
    "second_word_after_the_pass",
    move("@write_twice st", to_after="@pass st"),
    "@write_twice st",
)

# ---- stack_push: a list pushed by many, taken whole
K = "stack_push"
NODE = ["@value st | @next st", "@read ld | @follow ld"]
bug(K, "race.weak", "pushes_relaxed", sub("@push atom", ".release", ".relaxed"), NODE)
bug(K, "race.weak", "takes_relaxed", sub("@take_all atom", ".acquire", ".relaxed"), NODE)
bug(K, "race.scope", "pushes_at_the_cta", sub("@push atom", ".gpu", ".cta"), NODE[0] + " | @push | @take_all")
bug(K, "race.scope", "takes_at_the_cta", sub("@take_all atom", ".gpu", ".cta"), NODE[1] + " | @push | @take_all")
bug(K, "race.weak", "looks_plainly", sub("@look ld", ".relaxed.gpu", ""), ["@look ld", "@push atom | @take_all atom"])
bug(
    K,
    "race.mixed-size",
    "looks_at_16_bits",
    sub("@look ld", ".u32", ".u16"),
    ["@look ld", "@push atom | @take_all atom"],
)
bug(
    K,
    "race.global|race.weak",
    "value_after_the_push",
    move("@value st.global", to_after="@push atom"),
    ["@value st", "@read ld"],
)
bug(
    K,
    "race.global|race.weak",
    "next_after_the_push",
    move("@next st.global", to_after="@push atom"),
    ["@next st", "@follow ld"],
)

# ---- stack_tagged: a free list with a count of pops in its head
K = "stack_tagged"
HELD = "@read ld.global | @write st.global"
bug(K, "race.weak", "pushes_relaxed", sub("@push atom", ".release", ".relaxed"), HELD)
bug(
    K,
    "race.weak",
    "pops_relaxed",
    [sub("@look ld", ".acquire", ".relaxed"), sub("@pop atom", ".acquire", ".relaxed")],
    HELD,
)
bug(
    K,
    "race.weak",
    "next_is_plain",
    [sub("@after ld", ".relaxed.gpu", ""), sub("@look ld", ".acquire", ".relaxed")],
    ["@after ld", "@next st"],
)
bug(K, "race.scope", "pops_at_the_cta", sub("@pop atom", ".gpu", ".cta"), HELD + " | @pop | @push")
bug(K, "race.scope", "pushes_at_the_cta", sub("@push atom", ".gpu", ".cta"), HELD + " | @pop | @push")
bug(K, "race.global|race.weak", "writes_after_the_push", move("@write st.global", to_after="@push atom"), HELD)
bug(
    K,
    "race.mixed-size",
    "looks_at_the_node_alone",
    rewrite("@look ld", r"u64(.*)(%rd\d+),", r"u32\1\2,"),
    ["@look ld", "@push atom | @pop atom"],
)

# ---- hash_insert: a table of keys, claimed by a CAS
K = "hash_insert"
VALUE = ["@write st.global", "@read ld.global"]
bug(K, "race.weak", "ready_is_relaxed", sub("@ready st", ".release", ".relaxed"), VALUE)
bug(K, "race.weak", "waits_relaxed", sub("@wait ld", ".acquire", ".relaxed"), VALUE)
bug(K, "race.weak", "ready_is_plain", sub("@ready st", ".release.gpu", ""), ["@ready st", "@wait ld"])
bug(
    K,
    "race.weak",
    "waits_for_the_key_alone",
    [put("@wait ld", "mov.u32 %r38, 1;"), sub_every("@claim atom", ".relaxed", ".acq_rel")],
    VALUE,
)
bug(K, "race.scope", "claims_at_the_cta", sub_every("@claim atom", ".gpu", ".cta"), "@claim | @write st")
bug(K, "race.scope", "ready_for_the_cta", sub("@ready st", ".gpu", ".cta"), "@ready | @wait | @read | @write")
bug(K, "race.scope", "counts_at_the_cta", sub("@count red", ".gpu", ".cta"), "@count red")
bug(K, "race.mixed-size", "waits_for_a_byte", sub("@wait ld", ".u32", ".u8"), ["@wait ld", "@ready st"])
bug(K, "race.global|race.weak", "value_after_ready", move("@write st.global", to_after="@ready st"), VALUE)

# ---- append_commit: a log that is committed in order
K = "append_commit"
LOG = ["@write st.global", "@read ld.global"]
bug(K, "race.weak", "commits_relaxed", sub("@commit st", ".release", ".relaxed"), LOG)
bug(K, "race.weak", "waits_relaxed", sub("@wait ld", ".acquire", ".relaxed"), LOG)
bug(K, "race.weak", "looks_relaxed", sub("@look ld", ".acquire", ".relaxed"), LOG)
bug(
    K,
    "race.scope",
    "commits_to_the_cta",
    sub("@commit st", ".gpu", ".cta"),
    "@commit | @wait | @look | @write | @read",
)
bug(K, "race.scope", "waits_at_the_cta", sub("@wait ld", ".gpu", ".cta"), "@commit | @wait | @write | @read")
bug(K, "race.scope", "draws_at_the_cta", sub("@draw atom", ".gpu", ".cta"), "@draw atom | @write st")
bug(K, "race.global|race.weak", "commits_before_all_have_written", cut("@sync_written bar.warp.sync"), LOG)
bug(K, "race.global|race.weak", "one_lane_looks", cut("@sync_all bar.warp.sync"), LOG)
bug(K, "race.mixed-size", "looks_at_16_bits", sub("@look ld", ".u32", ".u16"), ["@look ld", "@commit st"])

# ---- pool_grow: jobs that make jobs
K = "pool_grow"
JOB = ["@write_depth st | @write_path st", "@read ld.global"]
bug(K, "race.weak", "marks_relaxed", sub("@mark st", ".release", ".relaxed"), JOB)
bug(K, "race.weak", "polls_relaxed", sub("@poll ld", ".acquire", ".relaxed"), JOB)
bug(K, "race.weak", "marks_plainly", sub("@mark st", ".release.gpu", ""), ["@mark st", "@poll ld"])
bug(K, "race.weak", "left_read_plainly", sub("@left ld", ".relaxed.gpu", ""), ["@left ld", "@close red | @open red"])
bug(
    K,
    "race.scope",
    "polls_at_the_cta",
    sub("@poll ld", ".gpu", ".cta"),
    "@poll | @mark | @read | @write_path | @write_depth",
)
bug(K, "race.scope", "takes_at_the_cta", sub("@take atom", ".gpu", ".cta"), "@take atom")
bug(K, "race.scope", "sums_at_the_cta", sub("@sum red", ".gpu", ".cta"), "@sum red")
bug(
    K,
    "race.global|race.weak",
    "path_after_the_mark",
    move("@write_path st.global", to_after="@mark st"),
    ["@write_path st", "@read ld"],
)
bug(K, "race.mixed-size", "marks_a_byte", sub("@mark st", ".u32", ".u8"), ["@mark st", "@poll ld"])

# ---- relay_ring: words that CTAs hand on in a ring
K = "relay_ring"
BOX = ["@write st.global", "@read ld.global"]
bug(K, "race.weak", "passes_relaxed", sub("@pass st", ".release", ".relaxed"), BOX)
bug(K, "race.weak", "waits_relaxed", sub("@wait ld", ".acquire", ".relaxed"), BOX)
bug(
    K,
    "race.weak",
    "waits_volatile",
    [sub("@wait ld", ".acquire.gpu", ".volatile"), sub("@pass st", ".release.gpu", ".volatile")],
    BOX,
)
bug(K, "race.scope", "passes_to_the_cta", sub("@pass st", ".gpu", ".cta"), "@pass | @wait | @write | @read")
bug(K, "race.scope", "passes_to_the_cluster", sub("@pass st", ".gpu", ".cluster"), "@pass | @wait | @write | @read")
bug(K, "race.global|race.weak", "one_lane_waits", cut("@sync_wait bar.warp.sync"), BOX)
bug(K, "race.global|race.weak", "passes_before_all_have_written", cut("@sync_write bar.warp.sync"), BOX)
bug(
    K,
    "race.global|race.weak",
    "flag_before_the_box",
    move("@write st.global", to_after="@pass st"),
    "@write st.global",
)
bug(K, "race.weak", "reads_through_nc", sub("@read ld.global", "ld.global", "ld.global.nc"), "@read ld.global.nc")

# ---- mailbox_warps: boxes between warps, flags in shared memory
K = "mailbox_warps"
BOX = ["@write st.shared", "@read ld.shared"]
bug(K, "race.weak", "fills_relaxed", sub("@fill st", ".release", ".relaxed"), BOX)
bug(K, "race.weak", "waits_relaxed", sub("@wait_filled ld", ".acquire", ".relaxed"), BOX)
bug(K, "race.weak", "empties_relaxed", sub("@empty st", ".release", ".relaxed"), BOX)
bug(K, "race.weak", "waits_for_empty_relaxed", sub("@wait_emptied ld", ".acquire", ".relaxed"), BOX)
bug(K, "race.weak", "fills_plainly", sub("@fill st", ".release.cta", ""), ["@fill st", "@wait_filled ld"])
bug(K, "race.shared|race.weak", "fills_before_all_have_written", cut("@sync_write bar.warp.sync"), BOX)
bug(K, "race.shared|race.weak", "one_lane_waits", cut("@sync_filled bar.warp.sync"), BOX)
bug(K, "race.shared|race.weak", "empties_before_all_have_read", cut("@sync_read bar.warp.sync"), BOX)
bug(K, "race.shared|race.weak", "box_after_the_flag", move("@write st.shared", to_after="@fill st"), BOX)
bug(K, "race.mixed-size", "fills_a_byte", rewrite("@fill st", r"u32", "u8"), ["@fill st", "@wait_filled ld"])
bug(K, "race.weak", "cleared_without_barrier", cut("@sync_clear bar.sync"), "@clear st")

# ---- mailbox_cluster: boxes and flags in the shared memory of others
K = "mailbox_cluster"
BOX = ["@write st.shared::cluster", "@read ld.shared"]
bug(K, "race.weak", "fills_relaxed", sub("@fill st", ".release", ".relaxed"), BOX)
bug(K, "race.weak", "waits_relaxed", sub("@wait_filled ld", ".acquire", ".relaxed"), BOX)
bug(K, "race.weak", "empties_relaxed", sub("@empty st", ".release", ".relaxed"), BOX)
bug(
    K,
    "race.scope",
    "fills_for_the_cta",
    sub("@fill st", ".release.cluster", ".release.cta"),
    "@fill | @wait_filled | @write | @read",
)
bug(
    K,
    "race.scope",
    "waits_at_the_cta",
    sub("@wait_filled ld", ".acquire.cluster", ".acquire.cta"),
    "@fill | @wait_filled | @write | @read",
)
bug(K, "race.cluster|race.weak", "fills_before_all_have_written", cut("@sync_write bar.warp.sync"), BOX)
bug(K, "race.cluster|race.weak", "one_lane_waits", cut("@sync_filled bar.warp.sync"), BOX)
bug(K, "race.cluster|race.weak", "empties_before_all_have_read", cut("@sync_read bar.warp.sync"), BOX)
bug(K, "race.mixed-size", "fills_a_byte", sub("@fill st", ".u32", ".u8"), ["@fill st", "@wait_filled ld"])
bug(K, "race.weak", "fills_plainly", sub("@fill st", ".release.cluster", ""), ["@fill st", "@wait_filled ld"])
