"""Linear algebra, transforms and special functions."""

import pytest
import torch
from common import close


@pytest.fixture
def matrices():
    torch.manual_seed(4)
    a = torch.randn(3, 6, 6, dtype=torch.float64)
    return a, a @ a.mT + torch.eye(6, dtype=torch.float64)


def test_decompositions(matrices):
    general, positive = matrices
    close(torch.linalg.cholesky(positive.cuda()), torch.linalg.cholesky(positive))
    q, r = torch.linalg.qr(general.cuda())
    close(q @ r, general)
    u, s, vh = torch.linalg.svd(general.cuda())
    close(u @ torch.diag_embed(s) @ vh, general)
    close(s, torch.linalg.svdvals(general))
    values, vectors = torch.linalg.eigh(positive.cuda())
    close(vectors @ torch.diag_embed(values) @ vectors.mT, positive)
    p, l, u = torch.linalg.lu(general.cuda())
    close(p @ l @ u, general)
    values, vectors = torch.linalg.eig(general.cuda())
    close((vectors @ torch.diag_embed(values) @ torch.linalg.inv(vectors)).real, general)


def test_solutions(matrices):
    general, positive = matrices
    right = torch.randn(3, 6, 2, dtype=torch.float64)
    close(torch.linalg.solve(general.cuda(), right.cuda()), torch.linalg.solve(general, right))
    close(torch.linalg.lstsq(general.cuda()[:, :, :3], right.cuda()).solution, torch.linalg.lstsq(general[:, :, :3], right).solution)
    close(torch.cholesky_solve(right.cuda(), torch.linalg.cholesky(positive.cuda())), torch.linalg.solve(positive, right))
    upper = positive.triu()
    close(torch.linalg.solve_triangular(upper.cuda(), right.cuda(), upper=True), torch.linalg.solve_triangular(upper, right, upper=True))
    close(torch.linalg.inv(general.cuda()), torch.linalg.inv(general))
    close(torch.linalg.pinv(general.cuda()), torch.linalg.pinv(general))
    close(torch.linalg.det(general.cuda()), torch.linalg.det(general))
    close(torch.linalg.slogdet(positive.cuda())[1], torch.linalg.slogdet(positive)[1])
    close(torch.linalg.matrix_exp(general.cuda()), torch.linalg.matrix_exp(general))
    close(torch.linalg.matrix_rank(positive.cuda()), torch.linalg.matrix_rank(positive))


def test_gradients(matrices):
    _, positive = matrices
    leaves = positive.clone().requires_grad_(), positive.cuda().requires_grad_()
    for leaf in leaves:
        (torch.linalg.cholesky(leaf).sum() + torch.linalg.eigvalsh(leaf).prod(-1).sum() + torch.linalg.inv(leaf).sum()).backward()
    close(leaves[1].grad, leaves[0].grad)


def test_transforms():
    x = torch.randn(4, 30, generator=torch.Generator().manual_seed(5))
    close(torch.fft.rfft(x.cuda()), torch.fft.rfft(x))
    close(torch.fft.irfft(torch.fft.rfft(x.cuda()), 30), x)
    close(torch.fft.fft2(x.cuda()), torch.fft.fft2(x))
    window = torch.hann_window(16)
    wanted = torch.stft(x, 16, window=window, return_complex=True)
    close(torch.stft(x.cuda(), 16, window=window.cuda(), return_complex=True), wanted)
    close(torch.istft(wanted.cuda(), 16, window=window.cuda()), torch.istft(wanted, 16, window=window))


def test_sums_of_products():
    a, b, c = (torch.randn(shape, generator=torch.Generator().manual_seed(6)) for shape in ((2, 3, 4), (2, 4, 5), (5, 6)))
    close(torch.einsum("bij,bjk,kl->bil", a.cuda(), b.cuda(), c.cuda()), torch.einsum("bij,bjk,kl->bil", a, b, c), rtol=1e-4, atol=1e-5)
    close(torch.baddbmm(torch.ones(2, 3, 5).cuda(), a.cuda(), b.cuda(), beta=0.5), torch.baddbmm(torch.ones(2, 3, 5), a, b, beta=0.5))
    close(torch.kron(a[0].cuda(), c.cuda()), torch.kron(a[0], c))
    close(torch.cdist(a.cuda(), a.cuda()), torch.cdist(a, a))
