"""torch.compile: forward and backward, of what models are made of; FlexAttention."""

import pytest
import torch
import torch.nn.functional as F
import triton
from common import softmax_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention


@pytest.fixture(autouse=True)
def anew():
    torch.compiler.reset()
    torch.manual_seed(6)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.into, self.out = torch.nn.Linear(32, 96), torch.nn.Linear(32, 32)

    def forward(self, x):
        q, k, v = self.into(x).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Norms(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.rms, self.batch = torch.nn.LayerNorm(32), torch.nn.RMSNorm(32), torch.nn.BatchNorm1d(32)

    def forward(self, x):
        return self.batch(self.rms(F.gelu(self.layer(x))).flatten(0, 1))


def _modules():
    yield "mlp", torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.SiLU(), torch.nn.Linear(64, 8), torch.nn.Softmax(-1)), (3, 10, 32)
    yield "attention", Attention(), (2, 10, 32)
    yield "norms", Norms(), (3, 10, 32)
    layers = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2)
    yield "convolution", torch.nn.Sequential(*layers), (2, 3, 8, 8)
    yield "transformer", torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), (2, 10, 32)


@pytest.mark.parametrize("name, module, shape", _modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_forward_and_backward(name, module, shape):
    module = module.cuda()
    x = torch.randn(shape, device="cuda")
    found = []
    for run in (module, torch.compile(module)):
        module.zero_grad()
        leaf = x.clone().requires_grad_()
        out = run(leaf)
        (out * torch.linspace(0, 1, out.numel(), device="cuda").view_as(out)).sum().backward()
        found.append([out.detach(), leaf.grad, *[parameter.grad.clone() for parameter in module.parameters()]])
    for got, wanted in zip(found[1], found[0]):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


def test_dynamic_shapes():
    def f(x, y):
        return F.layer_norm(x @ y, (y.shape[1],)).sum(0)

    compiled = torch.compile(f, dynamic=True, fullgraph=True)
    y = torch.randn(16, 24, device="cuda")
    for rows in (3, 8, 130):
        x = torch.randn(rows, 16, device="cuda")
        torch.testing.assert_close(compiled(x, y), f(x, y), rtol=1e-4, atol=1e-4)


def test_reductions_indexing_and_types():
    def f(x, index):
        top = x.float().exp().cumsum(1)[:, ::2]
        gathered = x.gather(1, index).to(torch.float16)
        return top.sum(0), gathered.amax(1), torch.where(x > 0, x, 0).var(1), x.sort(1).values.argmax(1)

    x, index = torch.randn(20, 33, device="cuda"), torch.randint(33, (20, 5), device="cuda")
    for got, wanted in zip(torch.compile(f)(x, index), f(x, index)):
        torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-3)


def test_what_is_changed_in_place():
    def f(cache, at, new):
        cache.index_copy_(0, at, new)
        cache[0].mul_(2)
        return cache.sum(1)

    found = []
    for run in (f, torch.compile(f)):
        cache = torch.ones(6, 4, device="cuda")
        found.append((run(cache, torch.tensor([0, 3], device="cuda"), torch.full((2, 4), 5.0, device="cuda")), cache))
    torch.testing.assert_close(found[1], found[0])


def test_a_users_kernel_inside():
    def f(x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y * 2 + 1

    x = torch.randn(5, 40, device="cuda")
    torch.testing.assert_close(torch.compile(f, fullgraph=True)(x), torch.softmax(x, 1) * 2 + 1)


def test_random_numbers():
    dropped = torch.compile(lambda x: F.dropout(x, 0.25))(torch.ones(4000, device="cuda"))
    assert 0.7 < (dropped != 0).float().mean().item() < 0.8
    torch.testing.assert_close(dropped[dropped != 0], torch.full_like(dropped[dropped != 0], 4 / 3))


def test_by_graphs():
    """The mode that puts what it compiles into CUDA graphs."""
    module = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).cuda()
    compiled = torch.compile(module, mode="reduce-overhead")
    for _ in range(4):
        torch.compiler.cudagraph_mark_step_begin()
        x = torch.randn(8, 16, device="cuda")
        torch.testing.assert_close(compiled(x), module(x))


def test_a_step_of_training():
    module = torch.nn.Linear(8, 8).cuda()
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01)
    wanted = torch.nn.Linear(8, 8).cuda()
    wanted.load_state_dict(module.state_dict())
    reference = torch.optim.AdamW(wanted.parameters(), lr=0.01)
    x = torch.randn(4, 8, device="cuda")
    for run, o, m in ((torch.compile(optimizer.step), optimizer, module), (reference.step, reference, wanted)):
        for _ in range(2):
            o.zero_grad()
            m(x).pow(2).sum().backward()
            run()
    torch.testing.assert_close(module.weight, wanted.weight)


# --- FlexAttention.


def causal(b, h, q, k):
    return q >= k


def window(b, h, q, k):
    return (q >= k) & (q - k < 40)


def relative(score, b, h, q, k):
    return score + (k - q) * 0.125 * (h + 1)


def cap(score, b, h, q, k):
    return 5 * torch.tanh(score / 5)


@pytest.mark.parametrize("mask, score_mod", ((None, None), (causal, None), (window, cap), (None, relative), (causal, relative)))
def test_flex_attention(mask, score_mod):
    q, k, v = (torch.randn(1, 2, 128, 32, device="cuda", requires_grad=True) for _ in range(3))
    blocks = create_block_mask(mask, 1, None, 128, 128, device="cuda") if mask else None
    gradient = torch.randn(1, 2, 128, 32, device="cuda")
    found = []
    for run in (flex_attention, torch.compile(flex_attention)):
        out = run(q, k, v, score_mod=score_mod, block_mask=blocks)
        found.append((out.detach(), *torch.autograd.grad(out, (q, k, v), gradient)))
    torch.testing.assert_close(found[1], found[0], rtol=1e-2, atol=1e-2)


def test_flex_attention_by_documents_and_groups():
    document = torch.tensor([0] * 50 + [1] * 70 + [2] * 136, device="cuda")
    mask = create_block_mask(lambda b, h, q, k: (document[q] == document[k]) & (q >= k), None, None, 256, 256, device="cuda")
    q = torch.randn(1, 4, 256, 16, device="cuda", dtype=torch.float16)
    k, v = (torch.randn(1, 2, 256, 16, device="cuda", dtype=torch.float16) for _ in range(2))
    got = torch.compile(flex_attention)(q, k, v, block_mask=mask, enable_gqa=True)
    dense = (document[:, None] == document[None]) & torch.ones(256, 256, dtype=torch.bool, device="cuda").tril()
    wanted = F.scaled_dot_product_attention(q, k, v, dense, enable_gqa=True)
    torch.testing.assert_close(got, wanted, rtol=1e-2, atol=1e-2)
