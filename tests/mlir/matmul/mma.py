"""Products by mma.sync and fused multiply-adds, on the virtual GPU: mma.py LEMMA CASE; --list prints the cases.

As matmul.py, whose programs these are, for targets without wgmma. Fused multiply-adds of f32 and f64 are compared with
numbers of any kind: the kernel owes one rounding for each product, k ascending.
"""
import fractions
import functools
import pathlib
import subprocess
import sys
import tempfile

import matmul
import numpy as np
from matmul import run

SM_80 = ("--arch", "sm_80")


def fused_f32(a, b):
    """A x B in f32 by one fused multiply-add a product, k ascending."""
    total = np.zeros((a.shape[0], b.shape[1]), "f4")
    for k in range(a.shape[1]):
        # A product of two f32 is exact in f64; of the sum, the bits that f64 has not got go into its last one.
        product = a[:, k : k + 1].astype("f8") * b[k].astype("f8")
        wide = total.astype("f8")
        near = product + wide
        back = near - product
        rest = (product - (near - back)) + (wide - back)
        bits = near.view("i8")
        is_even = (bits & 1) == 0
        step = np.where((rest > 0) == (near > 0), 1, -1)
        total = np.where((rest != 0) & is_even, bits + step, bits).view("f8").astype("f4")
    return total


def fused_f64(a, b):
    """The same in f64, in fractions."""
    exact = [[fractions.Fraction(x) for x in row] for row in a], [[fractions.Fraction(x) for x in row] for row in b.T]
    fuse = lambda total, pair: float(fractions.Fraction(total) + pair[0] * pair[1])
    return np.array([[functools.reduce(fuse, zip(row, column), 0.0) for column in exact[1]] for row in exact[0]])


def run_fused(lemma, shape, element, order, flags=SM_80):
    """A product of random numbers; True if each bit is as it should be."""
    m, n, k = shape
    entries = np.random.default_rng(m * 7919 + n * 31 + k)
    a, b = (entries.standard_normal(size) * 2.0 ** entries.integers(-12, 13, size) for size in ((m, k), (k, n)))
    a, b = a.astype(matmul.ELEMENT[element]), b.astype(matmul.ELEMENT[element])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "product.mlir").write_text(matmul.program(shape, element, element, order, False))
        np.save(folder / "a", np.ascontiguousarray(a.T) if order[0] == "T" else a)
        np.save(folder / "b", np.ascontiguousarray(b.T) if order[1] == "T" else b)
        np.save(folder / "want", (fused_f32 if element == "f32" else fused_f64)(a, b))
        arguments = [f"in={folder}/a.npy", f"in={folder}/b.npy", f"out={folder}/c.npy:{element}[{m},{n}]", f"expect={folder}/want.npy"]
        command = [lemma, "run", folder / "product.mlir", *flags] + [word for argument in arguments for word in ("--arg", argument)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0 and "1 launch" in done.stdout + done.stderr:
        return True
    print(f"random {m}x{n}x{k} {element} {order} {' '.join(flags)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return False


def every(runs):
    return all(list(runs))


def each_schedule(lemma, flags=()):
    """By each schedule of mma.sync; wgmma's leave sm_80 to them."""
    names = [name for name in matmul.schedules(lemma) if name.startswith("mma")]
    assert len(names) >= 4, names
    return every(run(lemma, (300, 296, 200), flags=(*SM_80, "--matmul-schedule", name, *flags)) for name in names)


ORDERS = ("NN", "NT", "TN", "TT")
CASES = {
    "types": lambda lemma: every(
        [
            run(lemma, (200, 136, 72), "f16", "f16", flags=SM_80),
            run(lemma, (136, 264, 200), "bf16", "f32", flags=SM_80),
            run(lemma, (72, 300, 176), "i8", "i32", flags=SM_80),
            run(lemma, (72, 300, 176), "i8", "i32", flags=SM_80, unsigned=True),
            run(lemma, (136, 104, 56), "f32", "f32", flags=(*SM_80, "--allow-tf32")),
            run(lemma, (72, 296, 144), "f8E4M3FN", "f32", "NT", flags=("--arch", "sm_89")),
            run(lemma, (72, 296, 144), "f8E5M2", "bf16", flags=("--arch", "sm_89")),
        ]
    ),
    "orders": lambda lemma: every(
        run(lemma, (152, 168, 104), ab, c, order, flags=(*SM_80, *flags))
        for ab, c, flags in (("bf16", "bf16", ()), ("f32", "f32", ("--allow-tf32",)))
        for order in ORDERS
    ),
    "exact_f32": lambda lemma: every(run_fused(lemma, (140, 72, 103), "f32", order) for order in ORDERS),
    # On sm_80 by m8n8k4, on sm_90 by m16n8k8.
    "exact_f64": lambda lemma: every(
        [run_fused(lemma, (24, 20, 40), "f64", order) for order in ORDERS]
        + [run_fused(lemma, (20, 24, 37), "f64", order, ("--arch", "sm_90a")) for order in ("NT", "TN")]
    ),
    # Sizes that only the run knows, rows that have to be moved apart, several matrices.
    "dynamic": lambda lemma: every(
        run(lemma, (134, 75, 70), ab, c, order, batch=batch, dynamic=True, flags=(*SM_80, *flags))
        for ab, c, order, batch, flags in (
            ("f16", "f32", "NN", None, ()),
            ("bf16", "bf16", "TT", 2, ("--check", "--async=late")),
            ("i8", "i32", "NT", None, ()),
            ("f64", "f64", "NN", None, ()),
            ("f32", "f32", "TN", None, ()),
        )
    ),
    "edges": lambda lemma: every(
        run(lemma, shape, ab, c, flags=SM_80)
        for shape in ((1, 1, 1), (7, 5, 3), (129, 130, 65))
        for ab, c in (("f16", "f16"), ("i8", "i32"), ("f32", "f32"), ("f64", "f64"))
    ),
    "added": lambda lemma: every(
        [
            run(lemma, (130, 51, 33), "f16", "f16", adds=True, flags=SM_80),
            run(lemma, (64, 64, 64), "i8", "i32", adds=True, flags=SM_80),
            run(lemma, (33, 70, 40), "f32", "f32", adds=True, flags=SM_80),
        ]
    ),
    # Whole tiles and ragged ones, which are stored otherwise.
    "fused": lambda lemma: every(
        [
            matmul.fused(lemma, None, 128, 128, 24, SM_80),
            matmul.fused(lemma, None, 39, 23, 17, (*SM_80, "--check", "--async=late")),
            matmul.fused(lemma, 2, 18, 24, 9, SM_80),
        ]
    ),
    # By integer operations, and by cvt.rn.tf32.f32.
    "rounds_to_tf32": lambda lemma: every(matmul.rounds_to_tf32(lemma, ("--arch", arch)) for arch in ("sm_80", "sm_120")),
    "schedules": each_schedule,
    "checked": lambda lemma: each_schedule(lemma, ("--check", "--async=late"))
    and every(
        [
            run(lemma, (140, 72, 100), "f32", "f32", flags=(*SM_80, "--check", "--async=late")),
            run(lemma, (72, 140, 100), "f64", "f64", flags=(*SM_80, "--check", "--async=late")),
            run(lemma, (130, 72, 200), "bf16", "bf16", "TN", flags=(*SM_80, "--check", "--explore", "3")),
        ]
    ),
}


if __name__ == "__main__":
    sys.exit(matmul.main(CASES))
