"""A user's tests, in PyTorch and Triton. They do not know of Lemma: `lemma exec --check pytest test_torch.py` finds nothing in them."""

import copy

import pytest
import torch
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, at < columns, -float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(y + row * columns + at, powers / tl.sum(powers, 0), at < columns)


def softmax(x):
    y = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


def close(got, wanted, **how):
    torch.testing.assert_close(got.cpu(), wanted, **how)


def test_a_triton_kernel_beside_operators():
    torch.manual_seed(0)
    x = torch.randn(33, 100, device="cuda")
    torch.testing.assert_close(softmax(x), torch.softmax(x, 1))


def test_views_and_memory_order():
    a = torch.arange(60.0, device="cuda").reshape(3, 4, 5)
    a.transpose(0, 2)[1:4, ::2].mul_(-1)
    b = torch.arange(60.0).reshape(3, 4, 5)
    b.transpose(0, 2)[1:4, ::2].mul_(-1)
    close(a, b)
    a[:, 1].copy_(torch.ones(3, 5))
    b[:, 1] = 1
    close(a, b)
    close(a.expand(2, 3, 4, 5).sum(0), b * 2)
    close(torch.add(a, 1, out=a), b + 1)
    close(torch.view_as_complex(a[..., :2].contiguous()).conj() * 2j, torch.view_as_complex((b + 1)[..., :2].contiguous()).conj() * 2j)
    close(torch.cat([a, a], 0, out=torch.empty(0, device="cuda")), torch.cat([b + 1] * 2, 0))


def model():
    torch.manual_seed(1)
    layers = torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.GELU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 10)
    return torch.nn.Sequential(*layers)


@pytest.mark.parametrize("how", ({}, {"foreach": True}, {"fused": True}))
def test_training(how):
    host = model()
    device = copy.deepcopy(host).cuda()
    losses = []
    for module, where in ((host, "cpu"), (device, "cuda")):
        optimizer = torch.optim.AdamW(module.parameters(), lr=0.01, **how)
        torch.manual_seed(2)
        for _ in range(3):
            x, y = torch.randn(4, 3, 8, 8).to(where), torch.randint(10, (4,)).to(where)
            optimizer.zero_grad()
            loss = F.cross_entropy(module(x), y)
            loss.backward()
            optimizer.step()
        losses.append(loss.detach().cpu())
    close(losses[1], losses[0])
    for a, b in zip(device.parameters(), host.parameters()):
        close(a.detach(), b.detach(), rtol=1e-4, atol=1e-5)


def test_attention_and_its_gradient():
    torch.manual_seed(3)
    q, k, v = (torch.randn(2, 4, 16, 8) for _ in range(3))
    inputs = [t.cuda().requires_grad_() for t in (q, k, v)]
    out = F.scaled_dot_product_attention(*inputs, is_causal=True)
    out.sum().backward()
    wanted = [t.clone().requires_grad_() for t in (q, k, v)]
    expected = F.scaled_dot_product_attention(*wanted, is_causal=True)
    expected.sum().backward()
    close(out.detach(), expected.detach())
    for a, b in zip(inputs, wanted):
        close(a.grad, b.grad)


def test_mixed_precision():
    device = model().cuda()
    scaler = torch.amp.GradScaler()
    optimizer = torch.optim.SGD(device.parameters(), lr=0.01)
    with torch.autocast("cuda", dtype=torch.float16):
        loss = device(torch.ones(2, 3, 8, 8, device="cuda")).float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert torch.isfinite(loss) and scaler.get_scale() == 65536


def test_streams_wait_for_events():
    side, done = torch.cuda.Stream(), torch.cuda.Event()
    x = torch.zeros(1000, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            x.add_(1)
        done.record()
    done.wait()
    close(x * 2, torch.full((1000,), 10.0))


def test_a_graph_computes_anew():
    x = torch.zeros(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = softmax((x * 2 + 1).reshape(2, 4)).sum(1) + x[0]
    for value in (3.0, 4.0):
        x.fill_(value)
        graph.replay()
        close(y, torch.full((2,), value + 1))


def test_pinned_memory_of_a_loader():
    data = torch.utils.data.TensorDataset(torch.arange(40.0).reshape(20, 2))
    total = torch.zeros((), device="cuda")
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=6, pin_memory=True):
        assert batch.is_pinned()
        total += batch.to("cuda", non_blocking=True).sum()
    assert total.item() == 780


def test_random_numbers_are_those_of_a_gpu():
    torch.cuda.manual_seed(1234)
    assert torch.randn(4, device="cuda").cpu().view(torch.int32).tolist() == [-1076958935, 1058113095, -1090347496, -1083617910]
    state = torch.cuda.get_rng_state()
    first = torch.rand(5, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(5, device="cuda"), first)


def test_linear_algebra():
    torch.manual_seed(4)
    a = torch.randn(5, 6, 6)
    a = a @ a.mT + torch.eye(6)
    close(torch.linalg.cholesky(a.cuda()), torch.linalg.cholesky(a))
    close(torch.linalg.solve(a.cuda(), a[:, :2].mT.cuda()), torch.linalg.solve(a, a[:, :2].mT), rtol=1e-4, atol=1e-5)
    close(torch.linalg.eigvalsh(a.cuda()), torch.linalg.eigvalsh(a))


@pytest.mark.parametrize("layer", (torch.nn.LSTM, torch.nn.GRU))
def test_recurrence(layer):
    torch.manual_seed(5)
    host = layer(4, 6, batch_first=True)
    device = copy.deepcopy(host).cuda()
    x = torch.randn(2, 7, 4)
    wanted, _ = host(x)
    got, _ = device(x.cuda())
    close(got.detach(), wanted.detach())
    wanted.pow(2).sum().backward()
    got.pow(2).sum().backward()
    for a, b in zip(device.parameters(), host.parameters()):
        close(a.grad, b.grad)


def test_rms_norm_and_its_gradient():
    torch.manual_seed(7)
    weight, x = torch.randn(6, requires_grad=True), torch.randn(3, 4, 6, requires_grad=True)
    inputs = [t.detach().cuda().requires_grad_() for t in (x, weight)]
    F.rms_norm(x, (6,), weight).pow(2).sum().backward()
    F.rms_norm(inputs[0], (6,), inputs[1]).pow(2).sum().backward()
    close(inputs[0].grad, x.grad)
    close(inputs[1].grad, weight.grad)


def test_sparse():
    dense = torch.eye(4) * 3
    dense[0, 2] = 5
    right = torch.arange(8.0).reshape(4, 2)
    for host in (dense.to_sparse(), dense.to_sparse_csr()):
        device = host.cuda()
        close(device.to_dense(), dense)
        close(device @ right.cuda(), dense @ right)
        close((device + device).to_dense(), dense * 2)
    close(dense.cuda().to_sparse().coalesce().values(), torch.tensor([3.0, 5, 3, 3, 3]))
    twice = torch.sparse_coo_tensor([[1, 1, 2]], [2.0, 3, 4], (5,)).cuda()
    close(twice.coalesce().to_dense(), torch.tensor([0.0, 5, 4, 0, 0]))
    close(twice.mul_(2).to_dense(), torch.tensor([0.0, 10, 8, 0, 0]))


def test_sparse_gradients():
    embedding = torch.nn.Embedding(10, 3, sparse=True, device="cuda")
    before = embedding.weight.detach().cpu()
    optimizer = torch.optim.SGD(embedding.parameters(), lr=0.5)
    embedding(torch.tensor([1, 4, 4], device="cuda")).sum().backward()
    optimizer.step()
    before[1] -= 0.5
    before[4] -= 1
    close(embedding.weight.detach(), before)


@pytest.mark.parametrize("name", ("mlp", "norm"))
def test_compiled(name):
    torch.manual_seed(6)
    layers = {"mlp": [torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)], "norm": [torch.nn.LayerNorm(16), torch.nn.GELU()]}
    module = torch.nn.Sequential(*layers[name]).cuda()
    x = torch.randn(8, 16, device="cuda", requires_grad=True)
    wanted = module(x)
    got = torch.compile(module)(x)
    torch.testing.assert_close(got, wanted)
    got.sum().backward()
