"""The kernels that bugs are planted in, and how each is launched: small grids and inputs, each run a few milliseconds.

nvcc(...) is kernels/NAME.ptx, made of kernels/NAME.cu by scripts/compile_programs.sh; triton(...) a file of tests/triton/ptx.
"""

import json
import pathlib
import random
import struct
from dataclasses import dataclass

FOLDER = pathlib.Path(__file__).resolve().parent
TRITON = FOLDER.parents[1] / "triton"


@dataclass
class Argument:
    """A --arg SPEC; FILE in it is a file of `data`, OUT one that may be written."""

    spec: str
    data: bytes = None


def ints(count, below=60000, type="I"):
    """Numbers, each another than its neighbours with all but certainty, so that a race's writes differ."""
    r = random.Random(count)
    return Argument("in=FILE", struct.pack(f"<{count}{type}", *(r.randrange(below) for _ in range(count))))


def changed(count, below=1 << 16):
    """Such numbers in memory that the kernel writes to."""
    return Argument("inout=FILE:OUT", ints(count, below).data)


def halves(count):
    r = random.Random(count)
    return Argument("in=FILE", struct.pack(f"<{count}e", *(r.randrange(-4, 5) for _ in range(count))))


def floats(count):
    r = random.Random(count)
    return Argument("in=FILE", struct.pack(f"<{count}f", *(r.randrange(-64, 65) / 8 for _ in range(count))))


def scales(count):
    """Of ue8m0, from a quarter to four, four a word."""
    r = random.Random(count)
    return Argument("in=FILE", bytes(r.randrange(125, 130) for _ in range(4 * count)))


def changed_floats(count, times=1):
    r = random.Random(count)
    return Argument("inout=FILE:OUT", struct.pack(f"<{count}f", *(r.uniform(-2, 2) * times for _ in range(count))))


def out(size):
    """Zeroed memory."""
    return Argument(f"out=OUT:{size}")


def zeroed(size):
    """The same, for what may differ with the schedule: it is no output."""
    return Argument("in=FILE", bytes(size))


def words(*values):
    """Words that have these values, and are no output."""
    return Argument("in=FILE", struct.pack(f"<{len(values)}I", *values))


def scratch(size):
    """Memory that nobody has written."""
    return Argument(f"buf={size}")


def value(number, type="s32"):
    return Argument(f"{type}={number}")


def tensor_map(argument, type, dims, box, swizzle="128B"):
    size = {"f16": 2, "f32": 4, "u32": 4}[type]
    pitch, strides = size, []
    for dim in dims[:-1]:
        pitch *= dim
        strides.append(pitch)
    rows = {
        "arg": argument, "type": {"u32": "u32", "f16": "f16", "f32": "f32"}[type], "dims": dims,
        "strides_bytes": strides, "box": box, "element_strides": [1] * len(dims), "interleave": "none",
        "swizzle": swizzle, "oob_fill": "zeros", "l2_promotion": "none",
    }  # fmt: skip
    return Argument("tmap=@FILE", json.dumps(rows).encode())


@dataclass
class Base:
    name: str
    ptx: pathlib.Path
    made_by: str
    grid: str
    block: str
    options: list
    args: list


bases = {}


def nvcc(name, grid, block, args, *options):
    bases[name] = Base(name, FOLDER / "kernels" / f"{name}.ptx", "nvcc", str(grid), str(block), list(options), args)


nvcc(
    "gemm_pipeline", "2,2", 64, [halves(64 * 96), halves(96 * 32), floats(32), out(64 * 32 * 4), value(32), value(96)]
)
nvcc(
    "gemm_tma", 1, 256,
    [tensor_map(4, "f16", [320, 64], [64, 64]), tensor_map(5, "f16", [320, 16], [64, 16]),
     tensor_map(6, "f32", [16, 64], [16, 64], "none"), value(5), halves(320 * 64), halves(320 * 16), out(64 * 16 * 4)],
    "--smem", "24640",
)  # fmt: skip
nvcc(
    "gemm_wgmma", 2, 128,
    [tensor_map(4, "f16", [320, 128], [64, 64]), tensor_map(5, "f16", [320, 16], [64, 16]), out(128 * 16 * 4), value(5),
     halves(320 * 128), halves(320 * 16)],
)  # fmt: skip
nvcc("ring_generic", 1, 64, [ints(32 * 13), out(4 * (32 * 13 + 8)), value(13)])
nvcc("ring_bulk", 2, 256, [ints(2 * 5 * 128), out(2 * 5 * 512), value(5)])
nvcc("reduce_last", 4, 64, [ints(777), scratch(16), out(4), out(4), value(777)])
nvcc("lookback", 6, 32, [ints(192), out(192 * 4), out(24), scratch(24), scratch(24)])
nvcc("message", 5, 64, [scratch(5 * 256), out(20), out(5 * 256)])
nvcc("cluster_exchange", 4, 32, [ints(128), out(512)])
nvcc("makers_takers", 1, 128, [ints(7 * 64), out(4 * (7 * 64 + 2)), value(7)])
nvcc("histogram_shared", 3, 64, [ints(500), out(64), out(4), value(500)])
nvcc("cluster_reduce", 8, 64, [ints(512), out(2048)])
nvcc(
    "cluster_multicast", 2, 160, [tensor_map(3, "u32", [32, 80], [32, 8], "none"), out(1024), value(5), ints(32 * 80)]
)
nvcc("cluster_ring", 4, 32, [ints(128), out(512), value(5)])
nvcc("cluster_bins", 2, 64, [ints(500), out(256), value(500)])
nvcc("attention_cpasync", 2, 64, [halves(1024), halves(80 * 16), halves(80 * 16), out(64 * 16 * 4), value(80)])
nvcc(
    "attention_wgmma", 1, 256,
    [tensor_map(5, "f16", [64, 64], [64, 64]), tensor_map(6, "f16", [64, 80], [64, 16]),
     tensor_map(7, "f16", [64, 80], [64, 16]), out(64 * 32 * 4), value(5),
     halves(64 * 64), halves(64 * 80), halves(64 * 80)],
)  # fmt: skip
nvcc("transpose_ldmatrix", "2,2", 128, [ints(64 * 64, type="H"), out(64 * 64 * 2), value(64)])
nvcc(
    "transpose_tma", 2, 128,
    [tensor_map(3, "u32", [96, 64], [32, 32], "none"), tensor_map(4, "u32", [64, 96], [32, 32], "none"), value(3),
     ints(96 * 64), out(96 * 64 * 4)],
)  # fmt: skip
nvcc("scan_block", 2, 128, [ints(250), out(1000), out(8), value(250)])
nvcc("bitonic", 2, 64, [ints(256), out(1024), out(1024)])
nvcc("warp_tree", 2, 64, [ints(120), out(16), value(120)])
nvcc("grid_sum", 4, 32, [changed(128), scratch(512), out(4), out(64), value(3)])
nvcc("sense_barrier", 3, 64, [changed(192), out(4), out(4), value(3)])
nvcc("spin_lock", 3, 32, [out(4), out(4), scratch(6 * 128), out(24)])
nvcc("work_queue", 3, 32, [scratch(6 * 32), out(24), out(4), out(8), out(6 * 32), value(6)])
nvcc("lock_ttas", 4, 64, [words(1), zeroed(4), changed(64), out(4)])
nvcc("lock_ticket", 3, 64, [out(4), out(4), changed(64), out(24), value(2)])
nvcc("lock_mcs", 4, 32, [words(1), out(4), zeroed(16), scratch(16), zeroed(128), value(2)])
nvcc("lock_readers", 5, 32, [words(1 << 31), zeroed(4), changed(32), scratch(640)])
nvcc("lock_bins", 3, 64, [ints(300), zeroed(6 * 16), value(300)])
nvcc("lock_pair", 16, 32, [ints(48), zeroed(16), ints(128), value(3)])
nvcc("lock_cta", 2, 128, [ints(512), scratch(1024), value(4)])
nvcc("lock_cluster", 8, 32, [ints(768), out(256), value(3)])
nvcc("lock_peterson", 2, 32, [out(8), zeroed(4), out(4), zeroed(128), value(3)])
nvcc("lock_dekker", 2, 32, [out(8), zeroed(4), zeroed(4), zeroed(128), value(3)])
nvcc("lock_bakery", 3, 32, [out(12), out(12), out(4), zeroed(128), value(2)])
nvcc("lock_splitk", 6, 64, [floats(384), out(8), out(512), value(3)])
nvcc("lock_reentrant", 3, 32, [out(4), out(4), out(12), value(4)])
nvcc("lock_list", 3, 32, [ints(12), out(52), zeroed(52), zeroed(52), out(4), value(4)])
nvcc("mailbox_two", 2, 64, [scratch(512), out(8), out(8), out(1280), value(5)])
nvcc("ring_records", 2, 32, [scratch(64), out(4), out(4), out(40), value(10)])
nvcc("semaphore_pair", 2, 64, [scratch(768), out(4), words(3), out(2048), value(8)])
nvcc("deque_steal", 4, 32, [zeroed(4), zeroed(4), zeroed(32), scratch(68), out(8), value(17)])
nvcc("queue_mpmc", 4, 32, [zeroed(96), out(4), out(4), out(4), value(3)])
nvcc("stack_push", 4, 32, [ints(96), out(4), scratch(388), scratch(388), out(4)])
nvcc("stack_tagged", 3, 32, [words(1, 0), words(0, 2, 3, 4, 0), ints(5), scratch(36), value(3)])
nvcc("hash_insert", 3, 64, [ints(300), zeroed(128), zeroed(128), scratch(128), out(96), out(768), value(300)])
nvcc("append_commit", 4, 32, [out(4), out(4), scratch(288), out(4), scratch(128), value(3)])
nvcc("pool_grow", 3, 32, [words(*[0, 1] * 24), words(1, *[0] * 23), words(1), out(4), words(1), out(4)])
nvcc("relay_ring", 4, 32, [scratch(1024), out(16), out(256), value(3)])
nvcc("fetch_past_end", 1, 128, [ints(5120), out(2048), out(512), value(5), value(0)])
nvcc("mailbox_warps", 2, 128, [ints(128), out(1024), value(4)])
nvcc("mailbox_cluster", 8, 32, [ints(256), out(1024), value(3)])
nvcc("once_init", 4, 64, [out(4), out(4), scratch(256), out(1024)])
nvcc("rcu_versions", 3, 32, [zeroed(4), out(12), scratch(256), scratch(384), value(5)])
nvcc("hazard_pointers", 3, 32, [zeroed(4), zeroed(12), ints(4), zeroed(4), scratch(12), value(6)])
nvcc("seqlock", 4, 32, [zeroed(4), zeroed(8), scratch(4), scratch(32), value(6)])
nvcc("refcount_drop", 4, 32, [words(*[4] * 6), scratch(96), out(24)])
nvcc("tile_last", 6, 64, [floats(384), scratch(1536), out(8), out(512), value(3)])
nvcc("best_flag", 4, 64, [ints(256), out(4), out(4), out(4), out(4), out(4)])
nvcc("bits_ready", 4, 64, [ints(256), out(4), scratch(1024), out(1024)])
nvcc("chain_relaxed", 3, 64, [ints(64), out(8), zeroed(4), scratch(256), out(256)])
nvcc("clocks", 5, 32, [scratch(240), out(120), out(40), value(3)])
nvcc("scan_packed", 6, 32, [ints(192), out(768), zeroed(48)])
nvcc("union_find", 3, 32, [ints(96), words(*range(48)), out(4), value(96)])
nvcc("barrier_flip", 4, 64, [changed(512), zeroed(4), value(3)])
nvcc("barrier_rounds", 5, 32, [changed(320), out(60), value(3)])
nvcc("warps_meet", 2, 128, [ints(192), out(256), value(3)])
nvcc("fences_cluster", 8, 32, [ints(256), scratch(1024), out(8), out(1024)])
nvcc("packed_counts", 3, 64, [ints(300), out(64), out(4), out(32), value(300)])
nvcc("pdl_scale", 2, 64, [ints(100), out(400), value(100)])
nvcc("pdl_norm", 2, 64, [floats(128), out(512), out(8)])
nvcc("pdl_gemv", 2, 64, [floats(256), floats(64), out(16)])
nvcc("frame_sort", 1, 32, [ints(256), out(1024)])
nvcc("frame_digits", 1, 32, [ints(32, 4000000000), out(12 * 32), out(128)])
nvcc("heap_list", 1, 32, [ints(128), out(128), value(4)])
nvcc(
    "map_swap", 1, 64,
    [tensor_map(4, "u32", [32, 16], [32, 8], "none"), scratch(128), ints(512), out(2048), ints(512)],
)  # fmt: skip
nvcc("two_teams", 1, 128, [ints(128), out(512), value(3)])
nvcc("split_stencil", 1, 64, [ints(64), out(256), value(5)])
nvcc("stream_mbar", 1, 64, [ints(320), out(256), value(5)])
nvcc("cluster_scan", 8, 32, [ints(256), out(1024)])
nvcc("cluster_baton", 4, 32, [ints(128), out(512), value(3)])
nvcc("cluster_feed", 2, 64, [ints(320), out(256), value(5)])
nvcc("bulk_relay", 3, 64, [ints(192), scratch(3 * 512), out(12), out(768)])
nvcc("bulk_votes", 3, 64, [ints(3 * 4 * 64), out(256), out(4), out(256), value(4)])
nvcc(
    "tma_inplace", 1, 64,
    [tensor_map(3, "u32", [32, 40], [32, 8], "none"), tensor_map(4, "u32", [32, 40], [32, 8], "none"), value(5),
     ints(32 * 40), out(32 * 40 * 4)],
)  # fmt: skip
nvcc("cluster_handoff", 2, 64, [ints(128), out(512), value(3)])
nvcc(
    "map_pass", 3, 32,
    [tensor_map(3, "u32", [32, 16], [32, 8], "none"), scratch(256), out(4), ints(512), ints(512), out(2048)],
)  # fmt: skip
nvcc("halo_cpasync", 1, 64, [ints(6 * 64), out(6 * 256), value(6), value(60)])
nvcc("two_feeders", 1, 128, [ints(7 * 32), out(256), value(7)])
nvcc("ping_pong", 1, 384, [ints(256), out(4 * 258), value(4)])
nvcc("inplace_rows", 3, 64, [changed(192), scratch(12), out(12)])
nvcc("inplace_passes", 2, 128, [changed(256), ints(384), value(3)])
nvcc("nested_count", 1, 96, [words(5, 3, 8, 4), changed(1), out(384), value(4)])
nvcc("multicast_leader", 4, 96, [ints(320), out(1024), value(5)])
nvcc("red_async_sums", 2, 64, [ints(128), out(256)])
nvcc("tail_tile", 3, 128, [ints(300), scratch(24), out(4), out(24), value(300)])
nvcc("pdl_bulk", 2, 64, [ints(128), ints(128), out(512)])
nvcc("cluster_tables", 2, 64, [ints(128), out(512)])
nvcc(
    "tma_totals", 2, 64,
    [tensor_map(6, "u32", [32, 64], [32, 8], "none"), tensor_map(2, "u32", [32, 8], [32, 8], "none"), out(1024), out(4),
     out(256), value(4), out(32 * 64 * 4)],
)  # fmt: skip


def triton(name, grid, args, folder=TRITON / "ptx", launches=TRITON / "launches.json"):
    """A file of tests/triton/ptx, with the two buffers that Triton adds to the parameters."""
    launch = json.loads(launches.read_text())[name]
    ctas = 1
    for size in str(grid).split(","):
        ctas *= int(size)
    added = [scratch(max(launch["scratch_bytes"] * ctas, 16)), scratch(16)]
    options = ["--smem", str(launch["shared_bytes"])]
    bases[name] = Base(name, folder / f"{name}.ptx", "Triton", str(grid), str(launch["threads"]), options, [*args, *added])


triton("matmul.sm_80", 1, [halves(64 * 160), halves(160 * 64), out(64 * 64 * 4), value(64), value(64), value(160)])
triton(
    "matmul_descriptor.sm_90", 1,
    [halves(64 * 320), halves(320 * 64), out(64 * 64 * 4), value(64), value(64), value(320)],
)  # fmt: skip
triton(
    "layer_norm_backward.sm_90", 3,
    [out(3 * 480), halves(3 * 240), out(240 * 4), halves(3 * 240), halves(240), floats(3), floats(3), out(4), value(240),
     value(240)],
)  # fmt: skip
triton("last_program_sum.sm_90", 5, [ints(640), scratch(20), out(4), out(4), value(5)])
triton("welford.sm_80", 2, [floats(256), out(8), out(8)])
triton("cumsum.sm_90", 2, [ints(512), out(2048)])
triton("transpose.sm_80", "2,2", [halves(64 * 64), out(64 * 64 * 2), value(64), value(64)])
triton("descriptor_copy.sm_90", "2,2", [floats(64 * 64), out(64 * 64 * 4), value(64), value(64)])
triton(
    "attention.sm_80", "3,1",
    [halves(192 * 64), halves(192 * 64), halves(192 * 64), out(192 * 128), out(192 * 4), value(0.125, "f32"), value(192)],
)  # fmt: skip


def training(name, grid, args):
    """One of tests/triton/training."""
    folder = TRITON / "training" / "ptx" / "3.9.0"
    triton(name, grid, args, folder, folder / "launches.json")


training("softmax_in_place", 3, [changed_floats(3 * 11), value(11)])
training("running_mean", 3, [floats(90), changed_floats(3), changed(3), value(30), value(0.5, "f32")])
training("sine_in_place", 2, [changed_floats(50, 200000), value(50)])
training("clip_in_place", 2, [changed_floats(50), value(50)])

# ---- tcgen05
nvcc(
    "tc_gemm", 1, 192,
    [tensor_map(5, "f16", [192, 256], [64, 128]), tensor_map(6, "f16", [192, 32], [64, 32]), out(256 * 32 * 4), value(2),
     value(3), halves(192 * 256), halves(192 * 32)],
    "--smem", "40960",
)  # fmt: skip
nvcc("tc_operand", 1, 128, [halves(128 * 48), halves(16 * 48), out(128 * 16 * 4), value(3)])
nvcc("tc_rescale", 1, 128, [halves(128 * 32), halves(16 * 32), floats(128 * 16), out(128 * 16 * 4), value(2)])
nvcc(
    "tc_scaled", 1, 128,
    [ints(128 * 16, 0x77777777), scales(128 * 2), ints(16 * 16, 0x77777777), scales(16 * 2), out(128 * 16 * 4), value(2)],
)  # fmt: skip
nvcc("tc_relaxed", 1, 160, [halves(128 * 16), halves(16 * 16), floats(2 * 128 * 16), out(2 * 128 * 16 * 4), value(2)])
nvcc("tc_turns", 1, 160, [halves(128 * 16), halves(4 * 16 * 16), out(4 * 128 * 16 * 4), value(4)])
nvcc(
    "tc_attention", 1, 160, [halves(128 * 16), halves(3 * 256), halves(3 * 256), out(128 * 16 * 4), value(3)]
)  # fmt: skip
nvcc(
    "tc_pair", 2, 160,
    [tensor_map(4, "f16", [128, 256], [64, 128]), tensor_map(5, "f16", [128, 32], [64, 16]), out(256 * 32 * 4), value(2),
     halves(128 * 256), halves(128 * 32)],
)  # fmt: skip
