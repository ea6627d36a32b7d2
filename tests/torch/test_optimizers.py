"""Optimizers, one tensor at a time, `foreach` and `fused`, and mixed precision."""

import copy

import pytest
import torch
import torch.nn.functional as F
from common import both, close, same_gradients

OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    "Adam": {"lr": 0.01, "amsgrad": True},
    "AdamW": {"lr": 0.01, "weight_decay": 0.1},
    "Adagrad": {"lr": 0.1},
    "RMSprop": {"lr": 0.01, "momentum": 0.5, "centered": True},
    "Adadelta": {"lr": 1.0},
    "Adamax": {"lr": 0.01},
    "NAdam": {"lr": 0.01},
    "RAdam": {"lr": 0.01},
    "Rprop": {"lr": 0.01},
    "ASGD": {"lr": 0.1},
}
HAS_FUSED_ADAGRAD = torch._C._dispatch_has_kernel_for_dispatch_key("aten::_fused_adagrad_", "CUDA")  # torch 2.11 has none
HAVE_FUSED = ("SGD", "Adam", "AdamW") + ("Adagrad",) * HAS_FUSED_ADAGRAD
CASES = [(name, how) for name in OPTIMIZERS for how in ("", "foreach", "fused") if how != "fused" or name in HAVE_FUSED]


def layers():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 3))


@pytest.mark.parametrize("name, how", CASES)
def test_steps(name, how):
    host, device = both(layers())
    x = torch.randn(8, 6)
    optimizer_of = getattr(torch.optim, name)
    for module, batch, options in ((host, x, {"foreach": False}), (device, x.cuda(), {how: True} if how else {"foreach": False})):
        optimizer = optimizer_of(module.parameters(), **OPTIMIZERS[name], **options)
        for _ in range(4):
            optimizer.zero_grad()
            module(batch).pow(2).mean().backward()
            optimizer.step()
    for got, wanted in zip(device.parameters(), host.parameters()):
        close(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ("Adam", "RMSprop"))
def test_a_step_in_a_graph(name):
    """`capturable`, with a learning rate that is a tensor."""
    host, device = both(layers())
    x = torch.randn(8, 6)
    rate = torch.tensor(0.01, device="cuda")
    optimizer = getattr(torch.optim, name)(device.parameters(), lr=rate, foreach=True, capturable=True)
    static = x.cuda()

    def step():
        optimizer.zero_grad(set_to_none=False)
        device(static).pow(2).mean().backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    graph.replay()
    rate.fill_(0.02)
    graph.replay()
    reference = getattr(torch.optim, name)(host.parameters(), lr=0.01)
    for count in range(4):
        reference.param_groups[0]["lr"] = 0.02 if count == 3 else 0.01
        reference.zero_grad()
        host(x).pow(2).mean().backward()
        reference.step()
    for got, wanted in zip(device.parameters(), host.parameters()):
        close(got, wanted, rtol=1e-4, atol=1e-5)


def test_averages_and_clipping():
    host, device = both(layers())
    for module, where in ((host, "cpu"), (device, "cuda")):
        module(torch.ones(2, 6, device=where) * 9).pow(3).sum().backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0, foreach=where == "cuda")
    same_gradients(device, host)
    moving = torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
    averaged = [torch.optim.swa_utils.AveragedModel(m, multi_avg_fn=moving) for m in (host, device)]
    for module, average in zip((host, device), averaged):
        average.update_parameters(module)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter += 1
        average.update_parameters(module)
    for got, wanted in zip(averaged[1].parameters(), averaged[0].parameters()):
        close(got, wanted)


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16))
def test_autocast(dtype):
    host, device = both(layers())
    x = torch.randn(8, 6)
    with torch.autocast("cuda", dtype=dtype):
        out = device(x.cuda())
        product = device[0](x.cuda())
        assert product.dtype == dtype and device[1](product).dtype == torch.float32
        loss = F.cross_entropy(out, torch.arange(8, device="cuda") % 3)
        assert loss.dtype == torch.float32
    loss.backward()
    wanted = F.cross_entropy(host(x), torch.arange(8) % 3)
    wanted.backward()
    close(loss, wanted, rtol=0.02, atol=0.02)
    same_gradients(device, host, rtol=0.1, atol=0.02)


@pytest.mark.parametrize("fused", (False, True))
def test_a_scaler_passes_over_infinity(fused):
    _, device = both(layers())
    optimizer = torch.optim.AdamW(device.parameters(), lr=0.1, fused=fused)
    scaler = torch.amp.GradScaler(init_scale=1024.0, growth_interval=2)
    before = [parameter.detach().clone() for parameter in device.parameters()]
    for factor, scale in ((1.0, 1024.0), (float("inf"), 512.0), (1.0, 512.0), (1.0, 1024.0)):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = device(torch.ones(2, 6, device="cuda")).float().mean() * factor
        scaler.scale(loss).backward()
        if not fused:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(device.parameters(), 1.0)
        kept = [parameter.detach().clone() for parameter in device.parameters()]
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == scale
        stayed = all(torch.equal(a, b) for a, b in zip(kept, device.parameters()))
        assert stayed == (factor != 1.0)
    assert not torch.equal(before[0], device[0].weight)


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
