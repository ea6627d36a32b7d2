"""Triton kernels beside operators: autotuning, and operators that a program replaces."""

import pytest
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"B": 128}, num_stages=8), triton.Config({"B": 32}), triton.Config({"B": 64})], key=["n"])
@triton.jit
def product(a, b, c, n, B: tl.constexpr):
    i, j = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    sums = tl.zeros((B, B), tl.float32)
    for k in range(0, n, B):
        sums += tl.dot(tl.load(a + (row + i) * n + k + j), tl.load(b + (k + i) * n + column + j))
    tl.store(c + (row + i) * n + column + j, sums)


def test_autotuning_passes_over_what_does_not_fit():
    """Eight stages of 128 x 128 do not fit into shared memory."""
    a, b = (torch.randint(-4, 5, (256, 256), device="cuda").half() for _ in range(2))
    c = torch.empty(256, 256, device="cuda")
    product[lambda meta: (256 // meta["B"], 256 // meta["B"])](a, b, c, 256)
    assert product.best_config.kwargs["B"] < 128
    assert torch.equal(c.cpu(), a.cpu().float() @ b.cpu().float())


@triton.jit
def negate(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, -tl.load(x + i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("name", ["neg", "bitwise_not"])
def test_a_program_replaces_an_operator(name):
    """As libraries of kernels do, FlagGems for one; and gives it back."""

    def replacement(x):
        y = torch.empty_like(x)
        negate[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y

    x = torch.arange(100, dtype=torch.int32, device="cuda")
    before = getattr(torch, name)(x)
    library = torch.library.Library("aten", "IMPL")
    library.impl(name, replacement, "CUDA")
    assert getattr(torch, name)(x).tolist() == [-i for i in range(100)]
    library._destroy()
    assert torch.equal(getattr(torch, name)(x), before)
