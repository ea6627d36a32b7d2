"""Gluon, the language below Triton in which a program says where its tiles are: tensor memory as a place for values, a product
with A and what it is added to in tensor memory, products from a ring of tiles, and products by pairs of CTAs.

Only compile.py reads this file, and only it needs Triton.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    allocate_tensor_memory,
    mbarrier,
    tcgen05_commit,
    tcgen05_mma,
    tcgen05_mma_scaled,
    tma,
)

from kernels import Variant


@gluon.jit
def store(c, sum, row, column, m, n):
    rows = row + gl.arange(0, sum.shape[0], gl.SliceLayout(1, sum.type.layout))
    columns = column + gl.arange(0, sum.shape[1], gl.SliceLayout(0, sum.type.layout))
    gl.store(c + rows[:, None] * n + columns[None, :], sum, mask=(rows[:, None] < m) & (columns[None, :] < n))


@gluon.jit
def load_tile(at, layout: gl.constexpr, M: gl.constexpr, N: gl.constexpr):
    rows = gl.arange(0, M, gl.SliceLayout(1, layout))
    columns = gl.arange(0, N, gl.SliceLayout(0, layout))
    return gl.load(at + rows[:, None] * N + columns[None, :])


# Values go through tensor memory, in blocks of 64 rows, which it has side by side and below each other.
@gluon.jit
def through_kernel(a, c, M: gl.constexpr, N: gl.constexpr, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, num_warps], [1, 0])
    cells = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([64, 64], 1))
    cells.store(gl.convert_layout(load_tile(a, layout, M, N), cells.get_reg_layout()))
    store(c, gl.convert_layout(cells.load(), layout), 0, 0, M, N)


# One product: C is added to in tensor memory, and A lies there, two of its elements a cell.
@gluon.jit
def added_kernel(a, b, c, d, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    b_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([K, N], gl.float16)
    b_tensor = tma.make_tensor_descriptor(b, [K, N], [N, 1], [K, N], b_layout)
    b_tile = gl.allocate_shared_memory(gl.float16, [K, N], b_layout)
    loaded = mbarrier.allocate_mbarrier()
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, count=1)
    mbarrier.init(done, count=1)
    mbarrier.expect(loaded, b_tensor.nbytes_per_cta)
    tma.async_load(b_tensor, [0, 0], loaded, b_tile)
    acc = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    acc.store(load_tile(c, acc.get_reg_layout(), M, N))
    a_cells = allocate_tensor_memory(gl.float16, [M, K], TensorMemoryLayout([M, K], 1))
    a_cells.store(load_tile(a, a_cells.get_reg_layout(), M, K))
    mbarrier.wait(loaded, 0)
    tcgen05_mma(a_cells, b_tile, acc)
    tcgen05_commit(done)
    mbarrier.wait(done, 0)
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(done)
    sum = acc.load()
    store(d, sum, 0, 0, M, N)


@gluon.jit
def load_stage(a_tensor, b_tensor, row, column, step, a_ring, b_ring, loaded, STAGES: gl.constexpr, BLOCK_K: gl.constexpr):
    full = loaded.index(step % STAGES)
    mbarrier.expect(full, a_tensor.nbytes_per_cta + b_tensor.nbytes_per_cta)
    tma.async_load(a_tensor, [row, step * BLOCK_K], full, a_ring.index(step % STAGES))
    tma.async_load(b_tensor, [step * BLOCK_K, column], full, b_ring.index(step % STAGES))


# A tile of C from a ring of tiles of A and B, two products on their way at a time.
@gluon.jit
def ring_kernel(
    a, b, c, m, n, k, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr
):
    a_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_M, BLOCK_K], gl.float16)
    b_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_K, BLOCK_N], gl.float16)
    a_tensor = tma.make_tensor_descriptor(a, [m, k], [k, 1], [BLOCK_M, BLOCK_K], a_layout)
    b_tensor = tma.make_tensor_descriptor(b, [k, n], [n, 1], [BLOCK_K, BLOCK_N], b_layout)
    a_ring = gl.allocate_shared_memory(gl.float16, [STAGES, BLOCK_M, BLOCK_K], a_layout)
    b_ring = gl.allocate_shared_memory(gl.float16, [STAGES, BLOCK_K, BLOCK_N], b_layout)
    loaded = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(loaded.index(stage), count=1)
        mbarrier.init(free.index(stage), count=1)
    acc = allocate_tensor_memory(gl.float32, [BLOCK_M, BLOCK_N], TensorMemoryLayout([BLOCK_M, BLOCK_N], 1))
    row, column = gl.program_id(0) * BLOCK_M, gl.program_id(1) * BLOCK_N
    steps = gl.cdiv(k, BLOCK_K)
    for step in gl.static_range(STAGES - 1):
        load_stage(a_tensor, b_tensor, row, column, step, a_ring, b_ring, loaded, STAGES, BLOCK_K)
    for step in range(steps):
        mbarrier.wait(loaded.index(step % STAGES), step // STAGES & 1)
        at = step % STAGES
        tcgen05_mma(a_ring.index(at), b_ring.index(at), acc, use_acc=step != 0, mbarriers=[free.index(at)])
        if step > 0:
            mbarrier.wait(free.index((step - 1) % STAGES), (step - 1) // STAGES & 1)
        if step + STAGES - 1 < steps:
            load_stage(a_tensor, b_tensor, row, column, step + STAGES - 1, a_ring, b_ring, loaded, STAGES, BLOCK_K)
    mbarrier.wait(free.index((steps - 1) % STAGES), (steps - 1) // STAGES & 1)
    for stage in gl.static_range(STAGES):
        mbarrier.invalidate(loaded.index(stage))
        mbarrier.invalidate(free.index(stage))
    store(c, acc.load(), row, column, m, n)


@gluon.jit
def pair_kernel(a, b, c, m, n, k, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, BLOCK_K: gl.constexpr):
    a_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_M, BLOCK_K], gl.float16, cga_layout=[[1, 0]])
    b_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_K, BLOCK_N], gl.float16, cga_layout=[[0, 1]])
    a_tensor = tma.make_tensor_descriptor(a, [m, k], [k, 1], [BLOCK_M, BLOCK_K], a_layout)
    b_tensor = tma.make_tensor_descriptor(b, [k, n], [n, 1], [BLOCK_K, BLOCK_N], b_layout)
    a_tile = gl.allocate_shared_memory(gl.float16, [BLOCK_M, BLOCK_K], a_layout)
    b_tile = gl.allocate_shared_memory(gl.float16, [BLOCK_K, BLOCK_N], b_layout)
    acc_layout: gl.constexpr = TensorMemoryLayout([BLOCK_M // 2, BLOCK_N], 1, cga_layout=[[1, 0]], two_ctas=True)
    acc = allocate_tensor_memory(gl.float32, [BLOCK_M, BLOCK_N], acc_layout)
    loaded = mbarrier.allocate_mbarrier(two_ctas=True)
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, count=1)
    mbarrier.init(done, count=1)
    row, column = gl.program_id(0) * BLOCK_M, gl.program_id(1) * BLOCK_N
    phase = 0
    for at in range(0, k, BLOCK_K):
        mbarrier.expect(loaded, a_tensor.nbytes_per_cta + b_tensor.nbytes_per_cta)
        tma.async_load(a_tensor, [row, at], loaded, a_tile)
        tma.async_load(b_tensor, [at, column], loaded, b_tile)
        mbarrier.wait(loaded, phase)
        tcgen05_mma(a_tile, b_tile, acc, use_acc=at != 0, mbarriers=[done])
        mbarrier.wait(done, phase)
        phase ^= 1
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(done)
    store(c, acc.load(), row, column, m, n)


@gluon.jit
def load_scales(scale, tensor, row, block, stride):
    layout: gl.constexpr = tensor.get_reg_layout()
    rows = row + gl.arange(0, tensor.shape[0], gl.SliceLayout(1, layout))
    blocks = block + gl.arange(0, tensor.shape[1], gl.SliceLayout(0, layout))
    tensor.store(gl.load(scale + rows[:, None] * stride + blocks[None, :]))


# Each CTA has the scale factors of its own rows of A, and those of all columns of B.
@gluon.jit
def pair_scaled_kernel(
    a, scale_a, b, scale_b, c, m, n, k, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, BLOCK_K: gl.constexpr
):
    E4M3: gl.constexpr = gl.float8e4nv
    a_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_M, BLOCK_K], E4M3, cga_layout=[[1, 0]])
    b_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_N, BLOCK_K], E4M3, cga_layout=[[1, 0]])
    a_tensor = tma.make_tensor_descriptor(a, [m, k], [k, 1], [BLOCK_M, BLOCK_K], a_layout)
    b_tensor = tma.make_tensor_descriptor(b, [n, k], [k, 1], [BLOCK_N, BLOCK_K], b_layout)
    a_tile = gl.allocate_shared_memory(E4M3, [BLOCK_M, BLOCK_K], a_layout)
    b_tile = gl.allocate_shared_memory(E4M3, [BLOCK_N, BLOCK_K], b_layout)
    acc_layout: gl.constexpr = TensorMemoryLayout([BLOCK_M // 2, BLOCK_N], 1, cga_layout=[[1, 0]], two_ctas=True)
    acc = allocate_tensor_memory(gl.float32, [BLOCK_M, BLOCK_N], acc_layout)
    tensor_a = allocate_tensor_memory(gl.uint8, [BLOCK_M, BLOCK_K // 32], TensorMemoryScalesLayout([[1, 0]]))
    tensor_b = allocate_tensor_memory(gl.uint8, [BLOCK_N, BLOCK_K // 32], TensorMemoryScalesLayout([[0, 0]]))
    loaded = mbarrier.allocate_mbarrier(two_ctas=True)
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, count=1)
    mbarrier.init(done, count=1)
    row, column = gl.program_id(0) * BLOCK_M, gl.program_id(1) * BLOCK_N
    phase = 0
    for at in range(0, k, BLOCK_K):
        mbarrier.expect(loaded, a_tensor.nbytes_per_cta + b_tensor.nbytes_per_cta)
        tma.async_load(a_tensor, [row, at], loaded, a_tile)
        tma.async_load(b_tensor, [column, at], loaded, b_tile)
        load_scales(scale_a, tensor_a, row, at // 32, k // 32)
        load_scales(scale_b, tensor_b, column, at // 32, k // 32)
        mbarrier.wait(loaded, phase)
        tcgen05_mma_scaled(
            a_tile, b_tile.permute((1, 0)), acc, tensor_a, tensor_b, "e4m3", "e4m3", use_acc=at != 0, mbarriers=[done]
        )
        mbarrier.wait(done, phase)
        phase ^= 1
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(done)
    store(c, acc.load(), row, column, m, n)


PAIR = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"}
PAIR_SCALED = {"a": "*fp8e4nv", "scale_a": "*u8", "b": "*fp8e4nv", "scale_b": "*u8", **{p: PAIR[p] for p in "cmnk"}}


def pair(kernel, signature, block_m, block_k):
    blocks = {"BLOCK_M": block_m, "BLOCK_N": 128, "BLOCK_K": block_k}
    return Variant(kernel, signature, blocks, options={"num_ctas": 2})


def through(warps):
    sizes = {"M": 256, "N": 128, "num_warps": warps}
    return Variant(through_kernel, {"a": "*fp32", "c": "*fp32"}, sizes, num_warps=warps)


def added(m, warps):
    types = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "d": "*fp32"}
    return Variant(added_kernel, types, {"M": m, "N": 128, "K": 128}, num_warps=warps)


VARIANTS = {
    "gluon_through": through(4),
    "gluon_through_w8": through(8),
    "gluon_added": added(128, 4),
    "gluon_added_m64": added(64, 4),
    "gluon_ring": Variant(ring_kernel, PAIR, {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64, "STAGES": 3}),
    "gluon_pair": pair(pair_kernel, PAIR, 256, 64),
    "gluon_pair_m128": pair(pair_kernel, PAIR, 128, 64),
    "gluon_pair_scaled": pair(pair_scaled_kernel, PAIR_SCALED, 256, 128),
}
