"""Bugs in kernels of tcgen05: tensor memory, its fences and waits, commits, allocations, descriptors, pairs of CTAs."""

from edit import cut, last_operand, move, no_wait, put, sub
from table import bug

UNORDERED = "race.tensor|async.unwaited"

# ---- tc_gemm: a warp that copies, one that multiplies, four that store
K = "tc_gemm"
MMA = "@mma_0 tcgen05 | @mma_1 tcgen05 | @mma_2 tcgen05 | @mma_3 tcgen05"
COPIES = "@load_a | @load_b"
bug(K, UNORDERED, "no_wait_for_products", no_wait("@wait_ready"), [MMA, "@ld"])
bug(K, "async.unwaited", "no_wait_ld", cut("@wait_ld"), ["@ld", MMA + " | @dealloc"], is_note=True)
bug(K, "async.unwaited", "no_wait_for_copies", no_wait("@wait_full"), [COPIES, MMA])
bug(
    K,
    "async.unwaited",
    "released_before_the_products",
    [
        move("@release tcgen05", to_before="@mma_0 mov.b32"),
        move("@release add.s32", to_before="@release tcgen05"),
        move("@release mov.u32", to_before="@release add.s32"),
    ],
    [COPIES, MMA],
)
bug(K, "tcgen05.fence", "no_fence_after_ready", cut("@after_ready"), [MMA, "@ld"])
bug(K, "tcgen05.fence", "no_fence_before_drained", cut("@before_drained"), ["@ld", MMA])
bug(K, "tcgen05.fence", "no_fence_after_drained", cut("@after_drained tcgen05"), ["@ld", MMA])
bug(K, "tcgen05.fence", "fence_before_the_wait", move("@after_ready", to_before="@wait_ready mov.u32"), [MMA, "@ld"])
bug(K, UNORDERED, "no_wait_for_drained", no_wait("@wait_drained"), ["@ld", MMA])
bug(K, "tcgen05.alloc", "never_given_back", cut("@dealloc tcgen05"), "ret;")
bug(K, "tcgen05.alloc", "twice_as_much_given_back", last_operand("@dealloc mov.b32", "64"), "@dealloc tcgen05")
bug(K, "tcgen05.alloc", "relinquished_first", move("@relinquish", to_before="@alloc mov.b32"), "@alloc tcgen05")
bug(K, "tcgen05.alloc", "columns_no_power_of_two", [last_operand("@alloc mov.b32", "48")], "@alloc tcgen05")
bug(K, "tcgen05.address", "d_wider_than_allocated", last_operand("@mma_0 mov.b32", "0x08100010"), "@mma_0 tcgen05")
bug(
    K,
    "tcgen05.descriptor",
    "descriptor_of_hopper",
    last_operand("@descriptors or.b64 #1", "0x4000004000010000"),
    "@mma_0 tcgen05",
)
bug(K, "tcgen05.descriptor", "m_of_96", last_operand("@mma_0 mov.b32", "0x06080010"), "@mma_0 tcgen05")
bug(K, "race.weak", "address_without_a_barrier", cut("@sync_start bar.sync"), ["@alloc tcgen05", "@slot"])

# ---- tc_operand: A in tensor memory
K = "tc_operand"
bug(K, "async.unwaited", "no_wait_st", cut("@wait_st"), ["@st tcgen05", "@mma tcgen05"])
bug(
    K,
    "async.unwaited",
    "wait_ld_for_wait_st",
    put("@wait_st", "tcgen05.wait::ld.sync.aligned;"),
    ["@st tcgen05", "@mma tcgen05"],
)
bug(K, "tcgen05.fence", "no_fence_before", cut("@before_mma"), ["@st tcgen05", "@mma tcgen05"])
bug(K, "tcgen05.fence", "no_fence_after", cut("@after_mma"), ["@st tcgen05", "@mma tcgen05"])
bug(
    K,
    "tcgen05.fence",
    "fence_before_the_store",
    move("@before_mma", to_before="@st tcgen05"),
    ["@st tcgen05", "@mma tcgen05"],
)
bug(K, "tcgen05.fence", "no_fence_after_buffer", cut("@after_buffer tcgen05"), ["@mma tcgen05", "@st tcgen05"])
bug(K, "async.unwaited", "buffer_in_use", no_wait("@wait_buffer"), ["@mma tcgen05", "@st tcgen05 | @fill_b"])
bug(K, UNORDERED, "no_barrier", cut("@sync_mma bar.sync"), ["@st tcgen05 | @fill_b", "@mma tcgen05"])
bug(K, "async.unwaited", "no_wait_for_the_last", no_wait("@wait_last"), ["@mma tcgen05", "@ld"])
bug(K, "tcgen05.fence", "no_fence_after_the_last", cut("@after_last tcgen05"), ["@mma tcgen05", "@ld tcgen05"])
bug(K, "race.proxy", "no_proxy_fence", cut("@fence_proxy"), ["@fill_b st.shared", "@mma tcgen05"])
bug(K, "tcgen05.alloc", "never_given_back", cut("@dealloc tcgen05"), "ret;")

# ---- tc_rescale: threads change D between products
K = "tc_rescale"
bug(K, "async.unwaited", "no_wait_ld_before_st", cut("@wait_ld tcgen05"), ["@ld tcgen05", "@st tcgen05"], is_note=True)
bug(K, "async.unwaited", "no_wait_st", cut("@wait_st tcgen05"), ["@st tcgen05", "@mma tcgen05 | @ld_last tcgen05"])
bug(K, "async.unwaited", "no_wait_for_c", cut("@wait_first tcgen05"), ["@st_first tcgen05", "@mma tcgen05"])
bug(
    K,
    "async.unwaited",
    "no_wait_for_the_product",
    no_wait("@wait_done"),
    ["@mma tcgen05", "@ld tcgen05 | @ld_last tcgen05 | @st tcgen05 | @fill_a | @fill_b"],
)
bug(K, "tcgen05.fence", "no_fence_after_the_product", cut("@after_done tcgen05"), ["@mma tcgen05", "@ld tcgen05"])
bug(
    K,
    "tcgen05.fence",
    "no_fence_before_the_product",
    cut("@before_mma tcgen05"),
    ["@st tcgen05 | @st_first tcgen05", "@mma tcgen05"],
)
bug(
    K,
    "tcgen05.fence",
    "no_fence_by_the_multiplier",
    cut("@after_mma tcgen05"),
    ["@st tcgen05 | @st_first tcgen05", "@mma tcgen05"],
)
bug(K, UNORDERED, "no_barrier", cut("@sync_mma bar.sync"), ["@st tcgen05 | @st_first tcgen05", "@mma tcgen05"])
bug(K, "race.proxy", "no_proxy_fence", cut("@fence_proxy"), ["@fill_a st.shared | @fill_b st.shared", "@mma tcgen05"])
# ---- tc_scaled: scale factors by tcgen05.cp
K = "tc_scaled"
bug(
    K,
    "async.unwaited",
    "no_wait_for_the_product",
    no_wait("@wait_done"),
    ["@mma tcgen05 | @cp_a tcgen05 | @cp_b tcgen05", "@ld tcgen05 | @fill_a | @fill_b | @fill_sa | @fill_sb"],
)
bug(
    K,
    "race.proxy",
    "no_proxy_fence",
    cut("@fence_proxy"),
    ["@fill_a | @fill_b | @fill_sa | @fill_sb", "@mma tcgen05 | @cp_a tcgen05 | @cp_b tcgen05"],
)
bug(K, "tcgen05.address", "scales_outside", sub("@cp_a add.s32", "20", "30"), "@cp_b tcgen05")
bug(K, "tcgen05.descriptor", "type_7", last_operand("@mma mov.b32", "0x08840380"), "@mma tcgen05")
# ---- tc_relaxed: nothing but fences of tcgen05 orders
K = "tc_relaxed"
bug(K, "async.unwaited|race.tensor", "no_wait_st", cut("@wait_st tcgen05"), ["@st tcgen05", "@mma tcgen05"])
bug(K, "race.tensor", "no_fence_before_stored", cut("@before_stored"), ["@st tcgen05", "@mma tcgen05"])
bug(K, "tcgen05.fence", "no_fence_after_stored", cut("@after_stored tcgen05"), ["@st tcgen05", "@mma tcgen05"])
bug(K, "tcgen05.fence", "no_fence_after_done", cut("@after_done tcgen05"), ["@mma tcgen05", "@ld tcgen05"])
bug(K, UNORDERED, "no_wait_for_stored", no_wait("@wait_stored"), ["@st tcgen05", "@mma tcgen05"])
bug(
    K,
    "async.unwaited",
    "no_wait_ld",
    cut("@wait_ld tcgen05"),
    ["@ld tcgen05", "@st tcgen05 | @dealloc tcgen05"],
    is_note=True,
)
bug(
    K,
    "async.unwaited|race.tensor",
    "stored_behind_the_arrival",
    [move("@wait_st tcgen05", to_after="@arrive mbarrier")],
    ["@st tcgen05", "@mma tcgen05"],
)

# ---- tc_turns: two accumulators
K = "tc_turns"
bug(K, UNORDERED, "no_wait_for_products", no_wait("@wait_ready"), ["@mma tcgen05", "@ld_0 tcgen05 | @ld_1 tcgen05"])
bug(
    K,
    "tcgen05.fence",
    "no_fence_after_ready",
    cut("@after_ready tcgen05"),
    ["@mma tcgen05", "@ld_0 tcgen05 | @ld_1 tcgen05"],
)
bug(
    K,
    "mbarrier.phase|" + UNORDERED,
    "no_wait_for_drained",
    no_wait("@wait_drained"),
    "@wait_ready mbarrier | @mma tcgen05",
)
bug(
    K,
    "tcgen05.fence",
    "no_fence_before_drained",
    cut("@before_drained tcgen05"),
    ["@mma tcgen05", "@ld_0 tcgen05 | @ld_1 tcgen05"],
)
bug(
    K,
    "tcgen05.fence",
    "no_fence_after_drained",
    cut("@after_drained tcgen05"),
    ["@mma tcgen05", "@ld_0 tcgen05 | @ld_1 tcgen05"],
)
bug(
    K,
    "async.unwaited|race.tensor",
    "wait_ld_behind_the_arrival",
    move("@wait_ld tcgen05", to_after="@drain mbarrier"),
    ["@mma tcgen05", "@ld_0 tcgen05 | @ld_1 tcgen05"],
)
bug(
    K,
    UNORDERED,
    "arrival_before_the_loads",
    [
        move("@wait_ld tcgen05", to_after="@drain mbarrier"),
        move("@ld_1 tcgen05", to_after="@drain mbarrier"),
        move("@ld_0 tcgen05", to_after="@drain mbarrier"),
    ],
    ["@mma tcgen05", "@ld_0 tcgen05 | @ld_1 tcgen05"],
)
# ---- tc_attention: P is put where the second product has A
K = "tc_attention"
S = "@ld_s0 tcgen05 | @ld_s1 tcgen05"
bug(K, UNORDERED, "no_wait_for_s", no_wait("@wait_s"), ["@mma_s tcgen05", S])
bug(K, "tcgen05.fence", "no_fence_after_s", cut("@after_s tcgen05"), ["@mma_s tcgen05", S])
bug(K, "async.unwaited", "no_wait_st", cut("@wait_st tcgen05"), ["@st_p tcgen05", "@mma_o tcgen05"])
bug(
    K,
    "tcgen05.fence",
    "no_fence_before_p",
    cut("@before_p tcgen05"),
    ["@st_p tcgen05 | @ld_s0 tcgen05 | @ld_s1 tcgen05", "@mma_o tcgen05 | @mma_s tcgen05"],
)
bug(
    K,
    "tcgen05.fence",
    "no_fence_after_p",
    cut("@after_p tcgen05"),
    ["@st_p tcgen05 | @ld_s0 tcgen05 | @ld_s1 tcgen05", "@mma_o tcgen05 | @mma_s tcgen05"],
)
bug(
    K,
    UNORDERED,
    "no_wait_for_p",
    no_wait("@wait_p"),
    ["@st_p tcgen05 | @ld_s0 tcgen05 | @ld_s1 tcgen05", "@mma_o tcgen05 | @mma_s tcgen05"],
)
bug(K, "async.unwaited", "no_wait_ld", cut("@wait_ld tcgen05"), [S, "@mma_s tcgen05"], is_note=True)
bug(K, UNORDERED, "no_wait_for_the_last", no_wait("@wait_last"), ["@mma_o tcgen05", "@ld_o0 tcgen05 | @ld_o1 tcgen05"])

# ---- tc_pair: two CTAs
K = "tc_pair"
bug(K, UNORDERED, "no_wait_for_products", no_wait("@wait_ready"), [MMA, "@ld tcgen05"])
bug(K, "tcgen05.fence", "no_fence_after_ready", cut("@after_ready tcgen05"), [MMA, "@ld tcgen05"])
bug(K, "async.unwaited", "no_wait_for_copies", no_wait("@wait_full"), [COPIES, MMA])
bug(K, "async.unwaited", "no_wait_for_empty", no_wait("@wait_empty"), [COPIES, MMA + " | " + COPIES])
bug(
    K,
    "mbarrier.tx",
    "bytes_of_one_cta",
    last_operand("@expect mov.b32 #2", "18432"),
    "@expect mbarrier | @load_a | @load_b | @wait_full mbarrier",
)
bug(K, "mbarrier.count", "commit_to_the_even_cta_alone", last_operand("@commit mov.b16", "1"), "@wait_ready mbarrier")
bug(K, "tcgen05.alloc", "never_given_back", cut("@dealloc tcgen05"), "ret;")
bug(K, "async.unwaited", "no_wait_ld", cut("@wait_ld tcgen05"), ["@ld tcgen05", "@dealloc tcgen05"], is_note=True)
