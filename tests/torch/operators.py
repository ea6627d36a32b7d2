#!/usr/bin/env python3
"""PyTorch's operators under `lemma exec`, drawn from PyTorch's own table of them (OpInfo): each on some of its sample inputs on the GPU and on
the CPU, forward and backward, which has to give the same.

usage: lemma exec python operators.py [--seed N] [--count N] [--samples N] [--filter REGEX] [--list]
"""

import argparse
import collections
import random
import re
import sys
import traceback
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db

DTYPES = (torch.float32, torch.int64, torch.complex64, torch.float16, torch.bool)
# What differs by its nature: other random numbers, memory that nobody has written, an order that torch leaves open, or no operator of both.
NOT_COMPARED = re.compile(
    r"^(empty|new_empty|empty_like|empty_permuted|empty_strided|new_empty_strided|resize_|resize_as_|rand.*|normal.*|bernoulli|multinomial"
    r"|nn\.functional\.(.*dropout.*|rrelu|fractional_max_pool.*|gumbel_softmax)|uniform|cauchy|exponential|geometric|log_normal|to_sparse"
    r"|jiterator_.*|.*_for_cpu|svd.*|linalg\.(svd|eig|eigh|qr|lstsq).*|torch\.ops\.aten\._flash.*|torch\.ops\.aten\._efficient.*|linalg\.tensorinv)$"
)


def drawn(options):
    """(operator, type), by the seed."""
    all_of = [(op, dtype) for op in op_db for dtype in DTYPES if dtype in op.supported_dtypes("cuda") and dtype in op.supported_dtypes("cpu")]
    all_of = [(op, dtype) for op, dtype in all_of if not NOT_COMPARED.match(op.name)]
    chosen = all_of if options.filter else random.Random(options.seed).sample(all_of, min(options.count, len(all_of)))
    return [(op, dtype) for op, dtype in chosen if re.search(options.filter, f"{op.formatted_name} {dtype}")]


def moved(value, device):
    if isinstance(value, torch.Tensor):
        return value.detach().to(device).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        parts = [moved(part, device) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: moved(part, device) for key, part in value.items()}
    if isinstance(value, torch.device) or value in ("cpu", "cuda"):
        return torch.device(device)
    return value


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for part in value for t in tensors_of(part)]
    return []


def outcome(op, sample, device):
    """What it gives, and the gradients; or the kind of error."""
    torch.manual_seed(1)
    input, args, kwargs = (moved(part, device) for part in (sample.input, sample.args, sample.kwargs))
    try:
        output = op(input, *args, **kwargs)
    except Exception as error:
        return type(error), error
    results = [t.detach().cpu() for t in tensors_of(output)]
    inputs = [t for t in tensors_of([input, args, list(kwargs.values())]) if t.requires_grad]
    outputs = [t for t in tensors_of(output) if t.requires_grad and t.grad_fn is not None]
    if inputs and outputs:
        try:
            torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])
        except Exception as error:
            return type(error), error
        results += [t.grad.cpu() for t in inputs if t.grad is not None]
    return None, results


def difference(op, dtype, samples):
    """Why the two are not the same; None if they are, and how many samples it were."""
    requires_grad = dtype in op.supported_backward_dtypes("cpu") and dtype in op.supported_backward_dtypes("cuda")
    for number, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=requires_grad)):
        if number == samples:
            break
        if sample.kwargs.get("dropout_p") or op.name == "nn.functional.multi_head_attention_forward":
            continue  # other random numbers
        ours, got = outcome(op, sample, "cuda")
        theirs, wanted = outcome(op, sample, "cpu")
        if ours is not theirs:
            return f"sample {number}: {got if ours else 'no error'}, on the CPU {wanted if theirs else 'no error'}"
        if ours is None:
            try:
                torch.testing.assert_close(got, wanted, equal_nan=True)
            except AssertionError as error:
                return f"sample {number}: {error}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--filter", default="")
    parser.add_argument("--list", action="store_true", help="only print what is drawn")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    passed, failures = 0, []
    for op, dtype in drawn(options):
        name = f"{op.formatted_name} {str(dtype)[6:]}"
        if options.list:
            print(name)
            continue
        try:
            why = difference(op, dtype, options.samples)
        except Exception:
            why = traceback.format_exc(limit=3)
        if why is None:
            passed += 1
        else:
            failures.append(name)
            print(f"{name}: {' '.join(why.split())[:600]}", flush=True)
    if not options.list:
        print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
