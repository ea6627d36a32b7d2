"""Products by tcgen05.mma, on the virtual GPU: tcgen05.py LEMMA CASE; --list prints the cases.

As matmul.py, whose programs these are, for targets with tensor memory. Random numbers too, of which D has to have the bits
that the instruction's model in numpy gives, 32 bytes of K after the other (tests/programs/exact.py).
"""
import pathlib
import subprocess
import sys
import tempfile

import matmul
import numpy as np
from matmul import run

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "programs"))
import exact
import programs

SM_100A = ("--arch", "sm_100a")
LATE = (*SM_100A, "--check", "--async=late")
# Smallest exponents of normal numbers, and elements of K in 32 bytes.
LEAST = {"f16": -14, "bf16": -126, "f32": -126, "f8E4M3FN": -6, "f8E5M2": -14}
STEP = {"f16": 16, "bf16": 16, "f32": 8, "f8E4M3FN": 32, "f8E5M2": 32}


def random_elements(entries, shape, element):
    """Elements as they lie in memory, and their values as f32; of f32 those of the tf32 that a tensor copy rounds to."""
    if element.startswith("f8"):
        bits = entries.integers(0, 256, shape).astype("u1")
        largest = 0x7E if element == "f8E4M3FN" else 0x7B
        bits = np.where(bits & 0x7F > largest, bits & 0x80, bits).astype("u1")
        return bits, exact.from_bits(bits, *((4, 3) if element == "f8E4M3FN" else (5, 2)))
    numbers = (entries.standard_normal(shape) * 2.0 ** entries.integers(-6, 7, shape)).astype("f4")
    if element == "f16":
        return numbers.astype("f2"), numbers.astype("f2").astype("f4")
    if element == "bf16":
        bits = programs.to_bf16(numbers)
        return bits, programs.from_bf16(bits)
    bits = numbers.view("u4").astype("u8")
    bits = (bits + 0xFFF + (bits >> 13 & 1)) & ~np.uint64(0x1FFF)
    return numbers, bits.astype("u4").view("f4")


def as_stored(sums, element):
    """f32 rounded to an element of C, as it lies in memory."""
    return programs.to_bf16(sums) if element == "bf16" else sums.astype(matmul.ELEMENT[element])


def run_random(lemma, shape, element, c, order="NT", flags=LATE):
    """A product of random numbers; True if each bit is as it should be, and the checker has nothing to say."""
    m, n, k = shape
    entries = np.random.default_rng(m * 7919 + n * 31 + k)
    a, a_values = random_elements(entries, (m, k), element)
    b, b_values = random_elements(entries, (k, n), element)
    step, least = STEP[element], LEAST[element]
    a_values, b_values = programs.padded(a_values, step, 1), programs.padded(b_values, step, 0)
    sums = exact.tensor_product(a_values, b_values, step, (least, least))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "product.mlir").write_text(matmul.program(shape, element, c, order))
        np.save(folder / "a", np.ascontiguousarray(a.T) if order[0] == "T" else a)
        np.save(folder / "b", np.ascontiguousarray(b.T) if order[1] == "T" else b)
        np.save(folder / "want", as_stored(sums, c))
        arguments = [f"in={folder}/a.npy", f"in={folder}/b.npy", f"out={folder}/c.npy:{matmul.FILE_TYPE[c]}[{m},{n}]", f"expect={folder}/want.npy"]
        flags = (*flags, "--notes") if "--check" in flags else flags
        command = [lemma, "run", folder / "product.mlir", *flags] + [word for argument in arguments for word in ("--arg", argument)]
        done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode == 0 and "launch" in said and "note" not in said:
        return True
    print(f"random {m}x{n}x{k} {element} -> {c} {order} {' '.join(flags)}: status {done.returncode}\n{said}")
    return False


def every(runs):
    return all(list(runs))


def each_schedule(lemma):
    """More tiles than one, K in more steps than a ring has stages."""
    names = [name for name in matmul.schedules(lemma) if name.startswith("tcgen05")]
    assert len(names) >= 4, names
    return every(
        run(lemma, (140, 264, 460), "f16", c, flags=(*flags, "--matmul-schedule", name))
        for name in names
        for c, flags in (("f16", LATE), ("f32", (*SM_100A, "--explore", "3")))
    )


ORDERS = ("NN", "NT", "TN", "TT")
CASES = {
    "types": lambda lemma: every(
        [
            run_random(lemma, (200, 136, 96), "f16", "f16"),
            run_random(lemma, (200, 136, 96), "f16", "f32"),
            run_random(lemma, (136, 264, 72), "bf16", "f32"),
            run_random(lemma, (72, 300, 100), "f32", "f32", flags=(*LATE, "--allow-tf32")),
            run_random(lemma, (72, 296, 144), "f8E4M3FN", "f32"),
            run_random(lemma, (72, 136, 144), "f8E4M3FN", "f16"),
            run_random(lemma, (136, 72, 272), "f8E5M2", "bf16"),
            run(lemma, (72, 300, 176), "i8", "i32", "NT", flags=LATE),
            run(lemma, (72, 300, 176), "i8", "i32", "NT", flags=LATE, unsigned=True),
        ]
    ),
    # Of 16 bits the instruction takes every order, others are transposed first.
    "orders": lambda lemma: every(
        [run_random(lemma, (152, 168, 104), "bf16", "bf16", order) for order in ORDERS]
        + [run(lemma, (152, 168, 104), "i8", "i32", order, flags=SM_100A) for order in ORDERS if order != "NT"]
        + [run_random(lemma, (152, 168, 104), "f32", "f32", "TN", flags=(*SM_100A, "--allow-tf32"))]
    ),
    # Rows that no tensor map takes, and fewer than a tile has.
    "edges": lambda lemma: every(
        run(lemma, shape, ab, c, flags=LATE)
        for shape in ((1, 1, 1), (72, 96, 64), (129, 130, 65))
        for ab, c in (("f16", "f16"), ("i8", "i32"))
    ),
    "added": lambda lemma: every(
        [run(lemma, (130, 51, 33), "f16", "f16", adds=True, flags=LATE), run(lemma, (64, 64, 64), "i8", "i32", adds=True, flags=SM_100A)]
    ),
    "batch": lambda lemma: every(
        [
            run(lemma, (72, 40, 24), "bf16", "bf16", batch=2, flags=LATE),
            run(lemma, (30, 21, 17), "f16", "f32", "TT", batch=2, flags=SM_100A),
            run(lemma, (9, 13, 10), "f16", "f32", batch=2, shared=True, flags=SM_100A),
        ]
    ),
    # Sizes that the run brings; of a sum of nothing come zeros.
    "dynamic": lambda lemma: every(
        [
            run(lemma, (134, 136, 70), "bf16", "bf16", "TN", dynamic=True, flags=LATE),
            run(lemma, (31, 17, 67), "i8", "i32", "NN", dynamic=True, flags=SM_100A),
            run(lemma, (31, 17, 0), "f16", "f32", "TT", dynamic=True, flags=SM_100A),
            run(lemma, (16, 8, 24), "f16", "f32", dynamic=True, batch=2, adds=True, flags=SM_100A),
        ]
    ),
    "fused": lambda lemma: every(
        [
            matmul.fused(lemma, None, 139, 40, 72, LATE),
            matmul.fused(lemma, 2, 18, 24, 9, SM_100A),
            matmul.fused(lemma, None, 39, 24, 300, (*LATE, "--matmul-schedule", "tcgen05_128x128_s6_k2"), kernels=2),
            matmul.tensors(lemma, 21, 24, 17, True, SM_100A),
        ]
    ),
    # K in parts: with C's old elements, with rows that no tensor copy stores, by itself where K is deep.
    "parts": lambda lemma: every(
        [
            run(lemma, (70, 51, 333), "i8", "i32", adds=True, flags=(*LATE, "--matmul-schedule", "tcgen05_128x128_s6_k4")),
            run(lemma, (70, 51, 333), "bf16", "f32", "TT", flags=(*SM_100A, "--matmul-schedule", "tcgen05_128x128_s6_k8")),
            run(lemma, (33, 70, 4100), "i8", "i32", "NT", flags=SM_100A),
        ]
    ),
    # More tiles than the 20 multiprocessors: a CTA makes several, by turns of both accumulators.
    "several_tiles": lambda lemma: every(
        run(lemma, (1030, 1000, 200), "f16", c, flags=("--arch", "sm_110a", "--matmul-schedule", name, *flags))
        for name, c, flags in (
            ("tcgen05_128x128_s6", "f16", ("--check", "--async=late")),
            ("tcgen05_128x256_s4", "f32", ("--explore", "2", "--elect=any")),
        )
    ),
    "schedules": each_schedule,
    # Families, and the targets without integers in tensor memory.
    "targets": lambda lemma: every(
        run(lemma, (72, 40, 80), ab, c, "NT", flags=("--arch", arch))
        for arch in ("sm_100f", "sm_103a", "sm_110a", "sm_120a")
        for ab, c in (("f16", "f32"), ("i8", "i32"))
    ),
}


if __name__ == "__main__":
    sys.exit(matmul.main(CASES))
