#!/usr/bin/env python3
"""Makes masks.csv, flight.csv and past_end.csv of what ask wrote: masks.out, flight.out and past_end.out, and flight_warnings.txt."""

import collections
import re

STAMP = "# NVIDIA H200, driver 580.159.04, ptxas 13.0, November 2026; README.md beside it says how this was made.\n"
OUTCOMES = {
    "ok": "ok",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "illegal instruction",
    "CUDA_ERROR_ILLEGAL_ADDRESS": "illegal address",
}


def cases(name):
    """Yields (name, outcome, words in hexadecimal) of each case."""
    for line in open(name):
        case, outcome, *words = line.split()
        yield case, OUTCOMES[outcome], words


def fnv1a(words):
    value = 0xCBF29CE484222325
    for word in words:
        for byte in int(word, 16).to_bytes(4, "little"):
            value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def masks():
    yield "# form,masks,outcome,FNV-1a of the 64 words of out\n"
    for case, outcome, words in cases("masks.out"):
        form, mask = case.split("__")
        yield f"{form},{mask},{outcome},{fnv1a(words) if words else ''}\n"


def flight():
    said = {line.split()[0]: sorted(set(re.findall(r"\((C\d+)\)", line))) for line in open("flight_warnings.txt")}
    yield "# name,what ptxas says,threads: words of each (of out; eeeeeeee: not written); ...\n"
    for case, _, words in cases("flight.out"):
        name = case.removeprefix("flight_")
        rows = collections.Counter(tuple(words[i : i + 8]) for i in range(0, len(words), 8))
        yield f"{name},{' '.join(said[name])},{'; '.join(f'{n}: ' + ' '.join(row) for row, n in rows.most_common())}\n"


def past_end():
    yield "# memory,bytes of it,access,offset of the access,outcome\n"
    seen = {}
    for case, outcome, _ in cases("past_end.out"):
        if found := re.match(r"bounds_(\d+)_(before)?(\d+)_(\w+)", case):
            size, distance = int(found[1]), int(found[3])
            offset = -distance if found[2] else (size + distance + 3) // 4 * 4
            seen[f"global,{size},{found[4]},{offset},{outcome}\n"] = None
        elif found := re.match(r"shared_(dyn|static)(\d+)_(\w+?)_(-?\d+)$", case):
            memory = "dynamic shared" if found[1] == "dyn" else "static shared"
            seen[f"{memory},{found[2]},{found[3]},{found[4]},{outcome}\n"] = None
    yield from seen


for name, lines in (("masks.csv", masks()), ("flight.csv", flight()), ("past_end.csv", past_end())):
    with open(name, "w") as table:
        table.write(STAMP)
        table.writelines(lines)
