#!/usr/bin/env python3
"""Random numbers of PyTorch's CUDA generator: draws many, and writes down what they are, or compares with what a GPU gave.

usage: python random_numbers.py --write FILE        on a GPU
       lemma exec python random_numbers.py random_h200.json
"""

import hashlib
import json
import sys

import torch

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
SIZES = (1, 5, 256, 1000, 100003, (1 << 21) + 3)


def cases():
    """Name -> what makes the tensor."""

    def empty(n, dtype):
        return torch.zeros(n, dtype=dtype, device="cuda")

    for dtype in FLOATS:
        for n in SIZES:
            yield f"rand {n} {dtype}", lambda n=n, dtype=dtype: torch.rand(n, dtype=dtype, device="cuda")
            yield f"randn {n} {dtype}", lambda n=n, dtype=dtype: torch.randn(n, dtype=dtype, device="cuda")
        for n in (5, 100003):
            yield f"uniform {n} {dtype}", lambda n=n, dtype=dtype: empty(n, dtype).uniform_(-3, 5)
            yield f"normal {n} {dtype}", lambda n=n, dtype=dtype: empty(n, dtype).normal_(2, 0.5)
            yield f"exponential {n} {dtype}", lambda n=n, dtype=dtype: empty(n, dtype).exponential_(1.5)
            yield f"cauchy {n} {dtype}", lambda n=n, dtype=dtype: empty(n, dtype).cauchy_(1, 2)
            yield f"log_normal {n} {dtype}", lambda n=n, dtype=dtype: empty(n, dtype).log_normal_(0.5, 0.25)
            yield f"geometric {n} {dtype}", lambda n=n, dtype=dtype: empty(n, dtype).geometric_(0.3)
            yield f"bernoulli {n} {dtype}", lambda n=n, dtype=dtype: empty(n, dtype).bernoulli_(0.3)
            yield f"bernoulli by tensor {n} {dtype}", lambda n=n, dtype=dtype: torch.bernoulli(torch.linspace(0, 1, n, device="cuda").to(dtype))
            yield f"random {n} {dtype}", lambda n=n, dtype=dtype: empty(n, dtype).random_()
            yield f"random to 100 {n} {dtype}", lambda n=n, dtype=dtype: empty(n, dtype).random_(100)
            yield f"dropout {n} {dtype}", lambda n=n, dtype=dtype: torch.nn.functional.dropout(empty(n, dtype) + 1, 0.4)
            yield f"native_dropout {n} {dtype}", lambda n=n, dtype=dtype: torch.native_dropout(empty(n, dtype) + 1, 0.4, True)[0]
        for n in (1024, 4096, 1 << 21):
            yield f"dropout {n} {dtype}", lambda n=n, dtype=dtype: torch.nn.functional.dropout(empty(n, dtype) + 1, 0.4)
    for dtype in (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8):
        for n in (5, 100003):
            yield f"random {n} {dtype}", lambda n=n, dtype=dtype: empty(n, dtype).random_()
            yield f"randint 3 to 100 {n} {dtype}", lambda n=n, dtype=dtype: torch.randint(3, 100, (n,), dtype=dtype, device="cuda")
            yield f"bernoulli {n} {dtype}", lambda n=n, dtype=dtype: empty(n, dtype).bernoulli_(0.3)
    yield "random bool", lambda: empty(1000, torch.bool).random_()
    for low, high in ((0, 1 << 27), (0, (1 << 28) + 1), (-7, 1 << 32), (0, (1 << 32) + 5), (-(1 << 60), 1 << 61)):
        yield f"randint {low} to {high}", lambda low=low, high=high: torch.randint(low, high, (10007,), device="cuda")
    for n in (1, 10, 255, 1000, 40000, 100000):
        yield f"randperm {n}", lambda n=n: torch.randperm(n, device="cuda")
    yield "randperm 1000 int32", lambda: torch.randperm(1000, dtype=torch.int32, device="cuda")
    weights = torch.arange(1.0, 101, device="cuda")
    for count, again in ((1, False), (5, False), (5, True), (300, True)):
        yield f"multinomial {count} {again}", lambda count=count, again=again: torch.multinomial(weights, count, again)
    rows = torch.rand(7, 33, generator=torch.Generator().manual_seed(3)).cuda()
    yield "multinomial rows", lambda: torch.multinomial(rows, 4)
    yield "multinomial rows again", lambda: torch.multinomial(rows, 40, True)
    yield "poisson", lambda: torch.poisson(torch.linspace(0, 20, 5003, device="cuda"))
    yield "normal by tensors", lambda: torch.normal(torch.linspace(0, 20, 5003, device="cuda"), torch.linspace(0, 2, 5003, device="cuda"))
    yield "transposed", lambda: torch.zeros(30, 50, device="cuda").t().normal_()
    yield "part", lambda: torch.zeros(30, 50, device="cuda")[:, 3:17].uniform_()
    yield "dropout transposed", lambda: torch.nn.functional.dropout(torch.ones(30, 50, device="cuda").t(), 0.5)
    yield "dropout part", lambda: torch.nn.functional.dropout(torch.ones(30, 50, device="cuda")[:, 3:17], 0.5)
    yield "feature dropout", lambda: torch.nn.functional.dropout2d(torch.ones(3, 5, 4, 4, device="cuda"), 0.5)
    yield "rrelu", lambda: torch.nn.functional.rrelu(-torch.ones(1003, device="cuda"), training=True)
    yield "complex", lambda: torch.randn(1003, dtype=torch.complex64, device="cuda")
    yield "gumbel", lambda: torch.nn.functional.gumbel_softmax(torch.zeros(3, 10, device="cuda"), hard=True)
    yield "attention", lambda: scaled_dot_product()


def scaled_dot_product():
    q = torch.ones(1, 2, 8, 16, device="cuda")
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5)


def drawn():
    found = {}
    for name, make in cases():
        generator = torch.cuda.default_generators[torch.cuda.current_device()]
        generator.manual_seed(hash_of(name.encode())[0])
        make()
        value = make()  # where the generator has gone on
        after = generator.get_state().numpy().tobytes()[8:16]
        data = value.cpu().contiguous().view(torch.uint8) if value.dtype != torch.bool else value.cpu().to(torch.uint8)
        data = data.flatten().numpy().tobytes()
        found[name] = [hash_of(data)[1], int.from_bytes(after, "little"), data[:32].hex()]
    return found


def hash_of(data):
    digest = hashlib.sha256(data).digest()
    return int.from_bytes(digest[:4], "little"), digest[:8].hex()


def main():
    about = f"{torch.__version__}, {torch.cuda.get_device_name()}, {torch.cuda.get_device_properties(0).multi_processor_count} multiprocessors"
    if sys.argv[1] == "--write":
        with open(sys.argv[2], "w") as file:
            json.dump({"about": about, "hash, offset after, first bytes": drawn()}, file, indent=0)
        return 0
    with open(sys.argv[1]) as file:
        recorded = json.load(file)
    print(f"recorded: {recorded['about']}; here: {about}")
    wrong = 0
    for name, (digest, after, first) in drawn().items():
        wanted = recorded["hash, offset after, first bytes"].get(name)
        if wanted != [digest, after, first]:
            wrong += 1
            print(f"{name}: {digest}, then {after}, {first}; the GPU's: {wanted}")
    print(f"{len(recorded['hash, offset after, first bytes']) - wrong} equal, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
