"""Tensors that are not dense arrays of numbers: sparse, nested, quantized."""

import pytest
import torch
import torch.nn.functional as F
from common import close

LAYOUTS = {
    "coo": lambda t: t.to_sparse(),
    "csr": lambda t: t.to_sparse_csr(),
    "csc": lambda t: t.to_sparse_csc(),
    "bsr": lambda t: t.to_sparse_bsr((2, 2)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sparse_products(layout):
    torch.manual_seed(1)
    dense = torch.randn(6, 8) * (torch.rand(6, 8) > 0.6)
    right = torch.randn(8, 4)
    device = LAYOUTS[layout](dense.cuda())
    close(device.to_dense(), dense)
    close(device @ right.cuda(), dense @ right)
    close((device * 2).to_dense(), dense * 2)
    close(LAYOUTS[layout](dense).cuda().to_dense(), dense)
    close(device.cpu().to_dense(), dense)


def test_sparse_coordinates():
    torch.manual_seed(2)
    dense = torch.randn(5, 6) * (torch.rand(5, 6) > 0.5)
    device = dense.cuda().to_sparse()
    close(torch.sparse.sum(device, 1).to_dense(), dense.sum(1))
    close(torch.sparse.softmax(device, 1).to_dense(), torch.sparse.softmax(dense.to_sparse(), 1).to_dense())
    close(torch.sparse.mm(device, device.t()).to_dense(), dense @ dense.t())
    close(device.index_select(0, torch.tensor([1, 3], device="cuda")).to_dense(), dense[[1, 3]])
    close((device + device.abs()).to_dense(), dense + dense.abs())
    close(torch.ones(5, 6, device="cuda").sparse_mask(device.coalesce()).to_dense(), (dense != 0).float())
    close(torch.cat([device, device]).to_dense(), torch.cat([dense, dense]))
    leaves = dense.clone().requires_grad_(), dense.cuda().requires_grad_()
    for leaf in leaves:
        torch.sparse.mm(leaf.to_sparse(), torch.ones(6, 2, device=leaf.device)).pow(2).sum().backward()
    close(leaves[1].grad, leaves[0].grad)


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


@pytest.mark.parametrize("layout", (torch.strided, torch.jagged))
def test_nested(layout):
    torch.manual_seed(3)
    parts = [torch.randn(length, 8) for length in (2, 5, 3)]
    linear = torch.nn.Linear(8, 4)
    nested = torch.nested.nested_tensor([part.cuda() for part in parts], layout=layout)
    out = F.gelu(F.linear(nested, linear.weight.cuda(), linear.bias.cuda())) * 2
    for got, part in zip(out.unbind(), parts):
        close(got, F.gelu(linear(part)) * 2)
    padded = torch.nested.to_padded_tensor(nested, -1.0)
    close(padded, torch.nn.utils.rnn.pad_sequence(parts, batch_first=True, padding_value=-1.0))
    close(torch.nested.nested_tensor(parts, layout=layout).cuda().unbind()[1], parts[1])


@pytest.mark.parametrize("layout", (torch.strided, torch.jagged))
def test_nested_gradients(layout):
    torch.manual_seed(3)
    hosts = [torch.randn(length, 8, requires_grad=True) for length in (2, 5)]
    leaves = [part.detach().cuda().requires_grad_() for part in hosts]
    nested = torch.nested.as_nested_tensor(leaves, layout=layout)
    weight, bias = torch.linspace(1, 2, 8), torch.linspace(0, 1, 8)
    out = F.gelu(F.layer_norm(nested, (8,), weight.cuda(), bias.cuda()))
    sum(part.pow(2).sum() for part in out.unbind()).backward()
    sum(F.gelu(F.layer_norm(part, (8,), weight, bias)).pow(2).sum() for part in hosts).backward()
    for got, wanted in zip(leaves, hosts):
        close(got.grad, wanted.grad)


def test_nested_attention():
    torch.manual_seed(4)
    parts = [torch.randn(length, 2, 8) for length in (3, 6)]
    nested = torch.nested.nested_tensor([part.cuda() for part in parts], layout=torch.jagged).transpose(1, 2)
    out = F.scaled_dot_product_attention(nested, nested, nested)
    for got, part in zip(out.transpose(1, 2).unbind(), parts):
        part = part.transpose(0, 1)
        close(got, F.scaled_dot_product_attention(part, part, part).transpose(0, 1))


def test_quantized():
    x = torch.linspace(-2, 3, 60).reshape(6, 10)
    scales, zeros = torch.full((6,), 0.04), torch.zeros(6, dtype=torch.int64)
    for quantize in (
        lambda t: torch.quantize_per_tensor(t, 0.05, 3, torch.qint8),
        lambda t: torch.quantize_per_channel(t, scales.to(t.device), zeros.to(t.device), 0, torch.qint8),
    ):
        host, device = quantize(x), quantize(x.cuda())
        close(device.dequantize(), host.dequantize())
        close(device.int_repr(), host.int_repr())
        close(host.cuda().dequantize(), host.dequantize())
        close(device.cpu().dequantize(), host.dequantize())
        close(device.reshape(60 // 10, 10)[1:3].dequantize(), host[1:3].dequantize())
        close(device.clone().dequantize(), host.dequantize())
    close(torch.quantize_per_tensor(x.cuda(), 0.05, 3, torch.quint8).q_scale() * torch.ones(1), torch.tensor([0.05]))


def test_fake_quantization():
    x = torch.linspace(-2, 3, 60).reshape(6, 10)
    leaves = x.clone().requires_grad_(), x.cuda().requires_grad_()
    found = []
    for leaf in leaves:
        found.append(torch.fake_quantize_per_tensor_affine(leaf, 0.02, 0, -128, 127))
        found[-1].sum().backward()
    close(found[1], found[0])
    close(leaves[1].grad, leaves[0].grad)


def test_masked_and_complex():
    x = torch.arange(12.0).reshape(3, 4)
    masked = torch.masked.masked_tensor(x.cuda(), (x % 3 == 0).cuda())
    close(masked.sum().get_data(), torch.tensor(x[x % 3 == 0].sum().item()))
    z = torch.view_as_complex(x.reshape(3, 2, 2))
    close((z.cuda().conj() @ z.cuda().mT).abs(), (z.conj() @ z.mT).abs())
