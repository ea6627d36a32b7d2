"""Gradients: of gradients, by functions of a user's, with hooks and checkpoints."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from common import both, close, same_gradients
from torch.utils.checkpoint import checkpoint


def perceptron():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def test_gradient_penalty():
    """The gradient of a gradient's norm, as in a GAN's critic."""
    host, device = both(perceptron())
    x = torch.randn(5, 6)
    for critic, batch in ((host, x), (device, x.cuda())):
        batch = batch.requires_grad_()
        [slope] = torch.autograd.grad(critic(batch).sum(), batch, create_graph=True)
        (slope.norm(dim=1) - 1).pow(2).mean().backward()
    same_gradients(device, host)


def test_hessian_and_vector_products():
    def f(x):
        return (x.sin() * x.roll(1)).sum()

    x, v = torch.linspace(-1, 2, 7), torch.linspace(1, 0, 7)
    close(torch.autograd.functional.hessian(f, x.cuda()), torch.autograd.functional.hessian(f, x))
    close(torch.autograd.functional.hvp(f, x.cuda(), v.cuda())[1], torch.autograd.functional.hvp(f, x, v)[1])
    close(torch.func.hessian(f)(x.cuda()), torch.func.hessian(f)(x))


def test_gradients_per_sample():
    host, device = both(perceptron())

    def loss(weights, module, x):
        return torch.func.functional_call(module, weights, (x,)).pow(2).sum()

    x = torch.randn(4, 6)
    got, wanted = (
        torch.func.vmap(torch.func.grad(loss), in_dims=(None, None, 0))(dict(module.named_parameters()), module, batch)
        for module, batch in ((device, x.cuda()), (host, x))
    )
    for name in wanted:
        close(got[name], wanted[name])


def test_forward_mode():
    x, v = torch.randn(3, 4, generator=torch.Generator().manual_seed(2)), torch.ones(3, 4)
    got = torch.func.jvp(lambda x: F.softmax(x, 1).log(), (x.cuda(),), (v.cuda() * 2,))
    wanted = torch.func.jvp(lambda x: F.softmax(x, 1).log(), (x,), (v * 2,))
    close(got[0], wanted[0])
    close(got[1], wanted[1])


def test_hooks():
    host, device = both(perceptron())
    seen = []
    device[0].register_full_backward_hook(lambda module, into, out: seen.append(out[0].clone()))
    x = torch.randn(5, 6)
    hidden = device[1](device[0](x.cuda()))
    hidden.retain_grad()
    hidden.register_hook(lambda gradient: gradient * 2)
    device[2](hidden).sum().backward()
    wanted = host[1](host[0](x))
    wanted.retain_grad()
    host[2](wanted).sum().backward()
    close(hidden.grad, wanted.grad * 2)
    close(seen[0], wanted.grad * 2 * (1 - wanted * wanted))
    close(device[0].weight.grad, 2 * torch.autograd.grad(host(x).sum(), host[0].weight)[0])


def test_checkpoints_compute_again():
    host, device = both(perceptron())
    x = torch.randn(5, 6)
    calls = []
    device[0].register_forward_hook(lambda *_: calls.append(1))
    for reentrant in (False, True):
        device.zero_grad()
        host.zero_grad()
        checkpoint(device, x.cuda().requires_grad_(), use_reentrant=reentrant).sum().backward()
        host(x).sum().backward()
        same_gradients(device, host)
    assert len(calls) == 4


def test_a_checkpoint_draws_the_same_numbers_again():
    torch.manual_seed(3)
    x = torch.ones(1000, device="cuda", requires_grad=True)
    out = checkpoint(lambda x: F.dropout(x, 0.5) * x, x, use_reentrant=False)
    out.sum().backward()
    torch.testing.assert_close(x.grad, out * 2)


def test_what_is_saved_lies_on_the_host():
    host, device = both(perceptron())
    x = torch.randn(5, 6)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        loss = device(x.cuda()).sum()
    loss.backward()
    host(x).sum().backward()
    same_gradients(device, host)


@triton.jit
def swish_kernel(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < count)
    tl.store(y + at, value / (1 + tl.exp(-value)), at < count)


@triton.jit
def swish_backward_kernel(x, dy, dx, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < count)
    sigmoid = 1 / (1 + tl.exp(-value))
    slope = sigmoid * (1 + value * (1 - sigmoid))
    tl.store(dx + at, tl.load(dy + at, at < count) * slope, at < count)


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        ctx.save_for_backward(x)
        y = torch.empty_like(x)
        swish_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
        return y

    @staticmethod
    def backward(ctx, dy):
        [x] = ctx.saved_tensors
        dx = torch.empty_like(x)
        swish_backward_kernel[(triton.cdiv(x.numel(), 64),)](x, dy.contiguous(), dx, x.numel(), BLOCK=64)
        return dx


def test_a_function_by_triton_kernels():
    x = torch.linspace(-3, 3, 150, dtype=torch.float64, device="cuda").reshape(10, 15).requires_grad_()
    torch.testing.assert_close(Swish.apply(x), F.silu(x))
    assert torch.autograd.gradcheck(Swish.apply, (x[:2, :5].detach().requires_grad_(),))
    (Swish.apply(x.t()) * x.t()).sum().backward()
    wanted = x.detach().cpu().requires_grad_()
    (F.silu(wanted) * wanted).sum().backward()
    close(x.grad, wanted.grad)


@torch.library.triton_op("lemma_tests::swish", mutates_args=())
def swish(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    torch.library.wrap_triton(swish_kernel)[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y


def _swish_backward(ctx, dy):
    [x] = ctx.saved_tensors
    dx = torch.empty_like(x)
    swish_backward_kernel[(triton.cdiv(x.numel(), 64),)](x, dy.contiguous(), dx, x.numel(), BLOCK=64)
    return dx


swish.register_autograd(_swish_backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))


def test_an_operator_of_a_triton_kernel():
    x = torch.linspace(-3, 3, 100, device="cuda", requires_grad=True)
    y = torch.ops.lemma_tests.swish(x)
    torch.testing.assert_close(y, F.silu(x))
    y.sum().backward()
    [wanted] = torch.autograd.grad(F.silu(x).sum(), x)
    torch.testing.assert_close(x.grad, wanted)


def test_where_a_nan_comes_from():
    x = torch.zeros(3, device="cuda", requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=True):
        try:
            (x.sqrt() * 0).sum().backward()
        except RuntimeError as error:
            assert "SqrtBackward0" in str(error)
        else:
            raise AssertionError("no error")
