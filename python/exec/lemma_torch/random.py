"""Random numbers of a CUDA generator, the same that a GPU gives: drawn by kernels on the virtual GPU (random.cu).

A generator's state is a seed and an offset. An operator draws for each element by the number of a thread, of which there are as many as
the GPU holds at a time: so numbers depend on how many multiprocessors it has. Where a graph is captured, its kernels find both in memory
that torch writes before each replay.
"""

from __future__ import annotations

import ctypes
import functools
import math
import pathlib
from typing import Callable, NamedTuple, Optional

import torch

from . import mirrors

UNIFORM, NORMAL, LOG_NORMAL, EXPONENTIAL, CAUCHY, GEOMETRIC, BERNOULLI = range(7)  # as in random.cu

_BLOCK = 256
_DIGITS = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}


@functools.lru_cache(maxsize=None)
def _kernel(name: str) -> ctypes.c_void_p:
    driver = _driver()
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    text = pathlib.Path(__file__).with_name("random.ptx").read_bytes()
    for status in (
        driver.cuModuleLoadData(ctypes.byref(module), text),
        driver.cuModuleGetFunction(ctypes.byref(kernel), module, name.encode()),
    ):
        if status != 0:
            raise RuntimeError(f"CUDA error {status}: {name} of random.ptx")
    return kernel


@functools.lru_cache(maxsize=None)
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


class _Place(ctypes.Structure):
    """Where a generator is: PhiloxCudaState in torch's C++, Place in random.cu."""

    _fields_ = [("seed", ctypes.c_uint64), ("offset", ctypes.c_uint64), ("in_graph", ctypes.c_uint64), ("captured", ctypes.c_bool)]


@functools.lru_cache(maxsize=None)
def _take() -> Callable:
    """at::CUDAGeneratorImpl::philox_cuda_state(), which knows of graphs."""
    take = ctypes.CDLL("libtorch_cuda.so")["_ZN2at17CUDAGeneratorImpl17philox_cuda_stateEm"]
    take.restype, take.argtypes = _Place, [ctypes.c_void_p, ctypes.c_uint64]
    return take


def _launch(name: str, out: torch.Tensor, grid: int, block: int, *arguments) -> None:
    values = [ctypes.c_uint64(out.data_ptr()), ctypes.c_int64(out.numel()), *arguments]
    pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
    stream = ctypes.c_void_p(mirrors.stream_of(out.device))
    status = _driver().cuLaunchKernel(_kernel(name), grid, 1, 1, block, 1, 1, 0, stream, pointers, None)
    if status != 0:
        raise RuntimeError(f"CUDA error {status}: launch of {name}")


def _taken(generator: Optional[torch.Generator], device: torch.device, offsets: int) -> _Place:
    """Where the generator is, after which it is so much further."""
    index = torch.cuda.current_device() if device.index is None else device.index
    return _take()((generator or torch.cuda.default_generators[index])._cdata, offsets)


def _grid(count: int, device: torch.device, unroll: int) -> tuple[int, int]:
    """Blocks, and how much further an operator with a draw for each `unroll` elements takes a generator."""
    properties = torch.cuda.get_device_properties(device)
    most = properties.multi_processor_count * (properties.max_threads_per_multi_processor // _BLOCK)
    blocks = min(most, -(-count // _BLOCK))
    return blocks, ((count - 1) // (_BLOCK * blocks * unroll) + 1) * 4


def _place(tensor: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The values in the order of the tensor's memory."""
    order = sorted(range(tensor.dim()), key=lambda i: tensor.stride(i), reverse=True)
    permuted = tensor.permute(order)
    permuted.copy_(values.view(permuted.size()))
    return tensor


class _Reals(NamedTuple):
    """A distribution and its parameters, as random.cu has them; `vector`: elements that are drawn side by side."""

    distribution: int
    a: float
    b: float = 0.0
    vector: int = 0

    def draw(self, count: int, dtype: torch.dtype, device: torch.device, generator: Optional[torch.Generator]) -> torch.Tensor:
        """So many, in float32 or float64."""
        out = torch.empty(count, dtype=dtype, device=device)
        double = dtype == torch.float64
        real = ctypes.c_double if double else ctypes.c_float
        blocks, offsets = _grid(count, device, 2 if double else 4)
        parameters = [ctypes.c_int(self.distribution), real(self.a), real(self.b)] + ([] if double else [ctypes.c_int(self.vector)])
        _launch("draw_f64" if double else "draw_f32", out, blocks, _BLOCK, _taken(generator, device, offsets), *parameters)
        return out

    def draw_for(self, tensor: torch.Tensor, generator: Optional[torch.Generator]) -> torch.Tensor:
        """So many as the tensor has elements, in the type that a GPU computes in."""
        return self.draw(tensor.numel(), _computed_in(tensor.dtype), tensor.device, generator)


def _computed_in(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _largest(dtype: torch.dtype) -> int:
    """The last of the whole numbers from 0 on that a type has all of."""
    if dtype in _DIGITS:
        return 2 ** _DIGITS[dtype]
    return 1 if dtype == torch.bool else torch.iinfo(dtype).max


def _integers(tensor: torch.Tensor, bits: int, range: int, base: int, generator: Optional[torch.Generator]) -> torch.Tensor:
    out = torch.empty(tensor.numel(), dtype=torch.int64, device=tensor.device)
    blocks, offsets = _grid(out.numel(), out.device, 4 if bits == 32 else 2)
    taken = _taken(generator, out.device, offsets)
    _launch("draw_i64", out, blocks, _BLOCK, taken, ctypes.c_int(bits), ctypes.c_uint64(range), ctypes.c_int64(base))
    return out


def _filled(distribution: int, a: str, b: Optional[str], defaults: dict[str, float]) -> Callable:
    """An operator that fills a tensor with reals of a distribution of the parameters a and b."""

    def run(self, *args, generator=None, **kwargs):
        if self.is_complex():
            run(torch.view_as_real(self), *args, generator=generator, **kwargs)
            return self
        parameters = {**defaults, **dict(zip(defaults, args)), **kwargs}
        if self.numel() == 0:
            return self
        reals = _Reals(distribution, parameters[a], parameters[b] if b else 0.0)
        return _place(self, reals.draw_for(self, generator))

    return run


_normal = _filled(NORMAL, "std", "mean", {"mean": 0.0, "std": 1.0})


def _complex_normal(self, mean=0.0, std=1.0, *, generator=None):
    if self.is_complex():  # both parts have half the variance
        _normal(torch.view_as_real(self), 0.0, std / math.sqrt(2), generator=generator)
        return self.add_(mean) if mean else self
    return _normal(self, mean, std, generator=generator)


def _uniform(self, low=0.0, high=1.0, *, generator=None, **kwargs):
    low, high = kwargs.get("from", low), kwargs.get("to", high)
    if self.numel() == 0:
        return self
    bounds = torch.tensor([low, high], dtype=self.dtype)
    drawn = _Reals(UNIFORM, float(bounds[1] - bounds[0]), float(bounds[0])).draw_for(self, generator).to(self.dtype)
    return _place(self, torch.where(drawn == bounds[1].item(), bounds[0].item(), drawn))


def _random(self, *, generator=None):
    bits = 64 if self.dtype in (torch.float64, torch.int64) else 32
    return _place(self, _integers(self, bits, _largest(self.dtype) + 1, 0, generator)) if self.numel() else self


def _random_from(self, low, high=None, *, generator=None):
    if self.numel() == 0:
        return self
    if high is None:
        if low == torch.iinfo(torch.int64).min:
            return _place(self, _integers(self, 64, 0, 0, generator))
        high = _largest(self.dtype) + 1
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return _place(self, _integers(self, 64 if high - low >= 1 << 28 else 32, high - low, low, generator))


def _random_to(self, high, *, generator=None):
    return _random_from(self, 0, high, generator=generator)


def _bernoulli_by_tensor(self, p, *, generator=None):
    if self.numel() == 0:
        return self
    p = p.to(self.device, _computed_in(self.dtype)).expand(self.size())
    drawn = torch.empty(self.numel(), dtype=torch.float32, device=self.device)
    taken = _taken(generator, self.device, 10)
    one, zero, by_fours = ctypes.c_float(1), ctypes.c_float(0), ctypes.c_int(4)
    _launch("draw_f32", drawn, -(-self.numel() // (4 * 512)), 512, taken, ctypes.c_int(UNIFORM), one, zero, by_fours)
    return self.copy_(drawn.view(self.size()) <= p)


def _bernoulli_out(self, *, generator=None, out):
    return _bernoulli_by_tensor(torch.ops.aten.resize_(out, self.size()), self, generator=generator)


def _dropped(input: torch.Tensor, keep: float) -> tuple[torch.Tensor, torch.Tensor]:
    """What is kept of the input, and which. Elements that fill 16 bytes side by side are drawn together."""
    result = torch.empty_like(input)
    side_by_side = torch.ops.aten.is_non_overlapping_and_dense(input)
    vector = 16 // input.element_size() if side_by_side else 1
    while vector > 1 and (input.numel() % vector or input.data_ptr() % (vector * input.element_size())):
        vector //= 2
    drawn = _Reals(UNIFORM, 1.0, vector=vector if vector > 1 else 0).draw(input.numel(), torch.float32, input.device, None)
    real = _computed_in(input.dtype)
    keep_in_real = torch.tensor(keep, dtype=real)
    kept = _place(torch.empty_like(result, dtype=torch.bool), drawn.to(real) < keep_in_real.item())
    result.copy_(input.to(real) * kept * (1 / keep_in_real).item())
    return result, kept


def _native_dropout(input, p, train):
    if train is False or input.numel() == 0:
        return input.clone(), torch.ones_like(input, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(input), torch.zeros_like(input, dtype=torch.bool)
    return _dropped(input, 1 - p)


def _checked(self: torch.Tensor, num_samples: int, replacement: bool) -> None:
    """As torch words it."""
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > self.size(-1):
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if torch.cuda.is_current_stream_capturing() or self.numel() == 0:
        return
    weights = self.cpu()
    if not bool((weights.max() < math.inf) & (weights.min() >= 0)):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if bool((weights.sum(-1) == 0).any()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def _drawn_by_rows(rows: int, columns: int, device: torch.device, generator: Optional[torch.Generator]) -> torch.Tensor:
    """The first number of each thread's four: a row of blocks of 128 threads for each row, 65535 rows at a time."""
    blocks, at_a_time = -(-columns // 128), min(rows, 65535)
    place = _taken(generator, device, -(-rows // at_a_time) * 4)
    one, zero, apart = ctypes.c_float(1), ctypes.c_float(0), ctypes.c_int(0)
    drawn = []
    for first in range(0, rows, at_a_time):
        some = torch.empty(min(at_a_time, rows - first), blocks * 128, device=device)
        _launch("draw_f32", some, some.size(0) * blocks, 128, place, ctypes.c_int(UNIFORM), one, zero, apart)
        drawn.append(some[:, :columns])
        if place.captured:
            place.in_graph += 4
        else:
            place.offset += 4
    return torch.cat(drawn)


def _multinomial(self, num_samples, replacement=False, *, generator=None):
    """Without replacement: the largest of each probability by an exponential number. With: where sums of probabilities reach a number."""
    _checked(self, num_samples, replacement)
    if not replacement or num_samples == 1:
        quotients = self / torch.empty_like(self).exponential_(1, generator=generator)
        return quotients.argmax(-1, keepdim=True) if num_samples == 1 else quotients.topk(num_samples)[1]
    weights = self.reshape(-1, self.size(-1))
    weights = weights / weights.sum(1, keepdim=True)
    drawn = _drawn_by_rows(weights.size(0), num_samples, self.device, generator).to(self.dtype)
    reached = torch.searchsorted(weights.cumsum(1), drawn).clamp_(max=weights.size(1) - 1)
    numbers = torch.arange(weights.size(1), device=self.device)
    possible = torch.where(weights != 0, numbers, 0).cummax(1).values
    return possible.gather(1, reached).view(*self.size()[:-1], num_samples)


def _multinomial_out(self, num_samples, replacement=False, *, generator=None, out):
    drawn = _multinomial(self, num_samples, replacement, generator=generator)
    return torch.ops.aten.resize_(out, drawn.size()).copy_(drawn)


def _poisson(self, generator=None):
    """The GPU's where 64 or less are expected, and more than 4000."""
    result = self.to(torch.float64, memory_format=torch.contiguous_format, copy=True)
    if result.numel():
        _launch("draw_poisson", result, -(-result.numel() // 512), 512, _taken(generator, self.device, 20))
    return result.to(self.dtype)


def _rrelu(self, noise, lower=0.125, upper=1 / 3, training=False, generator=None):
    """Negative elements by a random factor, which becomes the noise."""
    if not training:
        return torch.nn.functional.leaky_relu(self, (lower + upper) / 2)
    if self.numel() == 0:
        return torch.empty_like(self)
    factor = _Reals(UNIFORM, 1.0).draw(self.numel(), _computed_in(self.dtype), self.device, generator).to(self.dtype).to(torch.float64)
    blocks = min(-(-factor.numel() // _BLOCK), 1024)
    _launch("scale_and_shift", factor, blocks, _BLOCK, ctypes.c_double(upper - lower), ctypes.c_double(lower))
    noise.copy_(torch.where(self <= 0, factor.to(self.dtype).view(self.size()), 1))
    return torch.where(self <= 0, self * noise, self)


def _rrelu_in_place(self, *args, **kwargs):
    return self.copy_(_rrelu(self, *args, **kwargs))


def _rrelu_out(self, *args, out, **kwargs):
    result = _rrelu(self, *args, **kwargs)
    return torch.ops.aten.resize_(out, result.size()).copy_(result)


def _normal_by_tensors(mean, std, *, generator=None):
    drawn = torch.empty(torch.broadcast_shapes(mean.size(), std.size()), dtype=mean.dtype, device=mean.device)
    return drawn.normal_(generator=generator).mul_(std).add_(mean)


def _normal_by_means(mean, std=1.0, *, generator=None):
    return torch.empty_like(mean).normal_(0, std, generator=generator).add_(mean)


def _randperm(n, *, generator=None, out):
    """Numbers sorted by random keys, of so many bits that equal ones are rare; numbers of equal keys are shuffled among themselves."""
    torch.ops.aten.resize_(out, [n])
    if n == 0:
        return out
    bits = min(64, math.ceil(math.log2(n - (6 * n * n + 1) / (12 * math.log(0.9)))))
    width = torch.int32 if bits <= 32 else torch.int64
    limits = torch.iinfo(width)
    keys = torch.empty(n, dtype=width, device=out.device).random_(limits.min, limits.max, generator=generator).to(torch.int64)
    if bits < limits.bits:
        keys &= (1 << bits) - 1
    keys, order = torch.sort(keys, stable=True)
    place = _taken(generator, out.device, n)
    _launch("shuffle_equal", order, -(-n // 512), 512, place, ctypes.c_uint64(keys.data_ptr()))
    return out.copy_(order)


OPERATORS: dict[str, Callable] = {
    "uniform_": _uniform,
    "normal_": _complex_normal,
    "log_normal_": _filled(LOG_NORMAL, "std", "mean", {"mean": 1.0, "std": 2.0}),
    "exponential_": _filled(EXPONENTIAL, "lambd", None, {"lambd": 1.0}),
    "cauchy_": _filled(CAUCHY, "sigma", "median", {"median": 0.0, "sigma": 1.0}),
    "geometric_": _filled(GEOMETRIC, "p", None, {"p": 0.5}),
    "bernoulli_.float": _filled(BERNOULLI, "p", None, {"p": 0.5}),
    "bernoulli_.Tensor": _bernoulli_by_tensor,
    "bernoulli.out": _bernoulli_out,
    "random_": _random,
    "random_.from": _random_from,
    "random_.to": _random_to,
    "randperm.generator_out": _randperm,
    "native_dropout": _native_dropout,
    "multinomial": _multinomial,
    "multinomial.out": _multinomial_out,
    "poisson": _poisson,
    "rrelu_with_noise": _rrelu,
    "rrelu_with_noise_": _rrelu_in_place,
    "rrelu_with_noise.out": _rrelu_out,
    "normal.Tensor_Tensor": _normal_by_tensors,
    "normal.Tensor_float": _normal_by_means,
}
