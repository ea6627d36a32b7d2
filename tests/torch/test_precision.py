"""Where the CPU computes otherwise than a GPU: long sums and products of 16 bits, which a GPU makes in float32; division by zero."""

import pytest
import torch
import torch.nn.functional as F

COUNT = 16000
generator = torch.Generator().manual_seed(1)


def drawn(*size):
    return torch.rand(*size, generator=generator)


LABELS = torch.randint(0, 8, (COUNT,), generator=generator)
LOGITS, WEIGHT, IMAGE, TABLE = drawn(COUNT, 8) * 20, drawn(8), drawn(2, 8, 64, 64), drawn(8, 16)
FORWARD = {
    "cross_entropy": (F.cross_entropy, LOGITS, LABELS),
    "cross_entropy of images": (F.cross_entropy, drawn(1, 8, 125, 128) * 20, LABELS.view(1, 125, 128)),
    "prod": (torch.prod, drawn(COUNT) * 0.0002 + 1),
    "renorm": (lambda x: x.renorm(2, 1, 1.0), LOGITS),
    "segment_reduce": (lambda x: torch.segment_reduce(x, "sum", lengths=torch.full((2,), COUNT // 2, device=x.device)), drawn(COUNT)),
    "fold": (lambda x: F.fold(x, 64, 9), drawn(1, 8 * 81, 56 * 56)),
    "multi_margin_loss": (F.multi_margin_loss, LOGITS[:1000], LABELS[:1000]),
    "interpolate, antialiased": (lambda x: F.interpolate(x, scale_factor=0.3, mode="bilinear", antialias=True), IMAGE),
}
BACKWARD = {
    "embedding": (lambda table, at: F.embedding(at, table), TABLE, LABELS),
    "embedding_bag": (lambda table, at: F.embedding_bag(at.view(8, -1), table), TABLE, LABELS),
    "indexing": (lambda table, at: table[at], TABLE, LABELS),
    "layer_norm": (lambda x, w: F.layer_norm(x, (8,), w), LOGITS, WEIGHT),
    "batch_norm": (lambda x, w: F.batch_norm(x, None, None, w, training=True), IMAGE, WEIGHT),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 9, 1), IMAGE),
}
TYPES = (torch.float16, torch.bfloat16)


def values_in(dtype, place, values):
    """Rounded to the type, then at the place: "cuda", or torch.float64."""
    return [v.to(dtype).to(place) if v.is_floating_point() else v.to(place) if place == "cuda" else v for v in values]


def close(got, wanted, dtype, rounded=2):
    scale = torch.maximum(wanted.abs(), wanted.abs().mean())
    assert ((got.cpu().double() - wanted).abs() / scale).max() <= rounded * torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", FORWARD)
def test_forward(name, dtype):
    function, *values = FORWARD[name]
    close(function(*values_in(dtype, "cuda", values)), function(*values_in(dtype, torch.float64, values)), dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", BACKWARD)
def test_backward(name, dtype):
    """The gradients that are long sums, which only float32 keeps."""
    function, *values = BACKWARD[name]
    gradients = []
    for place in ("cuda", torch.float64):
        inputs = [v.requires_grad_() if v.is_floating_point() else v for v in values_in(dtype, place, values)]
        out = function(*inputs)
        weights = torch.rand(out.shape, generator=torch.Generator().manual_seed(2)).to(dtype).to(out)
        gradients.append(torch.autograd.grad(out, [v for v in inputs if v.requires_grad], weights))
    for got, wanted in zip(*gradients):
        close(got, wanted, dtype, rounded=8)


@pytest.mark.parametrize("dtype", (torch.uint8, torch.int16, torch.int32, torch.int64))
def test_integers_divided_by_zero(dtype):
    """Which the CPU refuses; a GPU's instructions give ones in all bits."""
    x, y = torch.tensor([7, 0, 9, 5], dtype=dtype, device="cuda"), torch.tensor([0, 0, 4, 0], dtype=dtype, device="cuda")
    ones = torch.tensor(-1).to(dtype).item()
    for operator, last in ((torch.remainder, 1), (torch.fmod, 1), (torch.floor_divide, 2)):
        assert operator(x, y).tolist() == [ones, ones, last, ones]
    assert torch.div(x, y, rounding_mode="trunc").tolist() == [ones, ones, 2, ones]
    assert x.remainder_(0).tolist() == [ones] * 4
    if dtype.is_signed:
        assert torch.floor_divide(torch.tensor([-7], dtype=dtype, device="cuda"), 0).tolist() == [-2]
