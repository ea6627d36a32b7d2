"""Operators beside a Triton kernel: views, attention, recurrences, random numbers."""

import copy

import pytest
import torch
import torch.nn.functional as F
from common import both, close, softmax


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


def test_random_numbers_are_those_of_a_gpu():
    torch.cuda.manual_seed(1234)
    assert torch.randn(4, device="cuda").cpu().view(torch.int32).tolist() == [-1076958935, 1058113095, -1090347496, -1083617910]
    state = torch.cuda.get_rng_state()
    first = torch.rand(5, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(5, device="cuda"), first)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_moves_its_running_statistics_in_training_alone(training):
    torch.manual_seed(5)
    host, device = both(torch.nn.BatchNorm2d(3).train(training))
    x = torch.randn(4, 3, 5, 5) + 2
    close(device(x.cuda()), host(x))
    close(device.running_mean, host.running_mean)
    close(device.running_var, host.running_var)
    assert training == bool((device.running_mean != 0).any())


def test_products_in_another_type():
    torch.manual_seed(8)
    a, b, c = torch.randn(5, 6).half(), torch.randn(6, 7).half(), torch.randn(5, 7)
    wanted, device = a.float() @ b.float(), [t.cuda() for t in (a, b, c)]
    close(torch.mm(*device[:2], out_dtype=torch.float32), wanted)
    close(torch.mm(*device[:2], out_dtype=torch.float32, out=torch.empty(0, device="cuda")), wanted)
    close(torch.addmm(device[2], *device[:2], out_dtype=torch.float32, alpha=2, out=device[2]), c + 2 * wanted)


@pytest.mark.parametrize("function", (F.softmax, F.log_softmax))
def test_softmax_of_16_bits_is_rounded_once(function):
    torch.manual_seed(9)
    x = torch.randn(7, 3000).bfloat16()
    wanted = function(x.float(), 1)
    leaf = x.cuda().requires_grad_()
    close(function(leaf, 1), wanted.bfloat16(), rtol=0, atol=0)
    got = function(leaf, 1, dtype=torch.float32)
    close(got, wanted, rtol=0, atol=0)
    weights = torch.randn(7, 3000)
    got.backward(weights.cuda())
    host = x.float().requires_grad_()
    function(host, 1).backward(weights)
    close(leaf.grad, host.grad.bfloat16(), rtol=0, atol=0)
