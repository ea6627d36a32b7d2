#!/usr/bin/env python3
"""The instructions that libcu++'s cuda::ptx writes, one a line, with registers of tests/generate/sampler.cc.

usage: spellings_of_libcudacxx.py [CUDA] > libcudacxx.txt        (CUDA 13.5, default /usr/local/cuda)

The headers hold every function's inline assembly for every machine; nvcc pastes it as it stands, with a register for each
operand. So does this: %N becomes a register of its constraint, an "n" the number 1.
"""

import pathlib
import re
import sys

REGISTERS = {"r": "%r", "l": "%rd", "h": "%rs", "f": "%f", "d": "%fd", "q": "%rq", "c": "%rs"}
DECLARED = {"pred": "%p1", "b8": "%c1", "b16": "%rs1", "b32": "%r1", "b64": "%rd1", "b128": "%rq1", "u32": "%u1"}
STATEMENT = re.compile(r"\basm\s*(?:volatile)?\s*\(((?:[^()\"]|\"(?:[^\"\\]|\\.)*\"|\((?:[^()]|\([^()]*\))*\))*)\)\s*;")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def statements(source):
    """(text, constraints) of every asm statement."""
    for match in STATEMENT.finditer(source):
        body = match.group(1)
        # The template: strings up to the first colon outside of a string.
        text, at = "", 0
        while True:
            string = STRING.match(body, at)
            if string:
                text += string.group(1)
                at = string.end()
            elif at < len(body) and body[at] == ":":
                break
            elif at < len(body):
                at += 1
            else:
                break
        constraints = re.findall(r'"([=+]?[a-z])"\s*\(', body[at:])
        yield text.encode().decode("unicode_escape"), constraints


def lines(text, constraints):
    def operand(match):
        constraint = constraints[int(match.group(1))].lstrip("=+")
        return "1" if constraint == "n" else REGISTERS[constraint] + str(int(match.group(1)) % 4)

    text = re.sub(r"//.*", "", text)
    text = re.sub(r"%%", "\0", text)
    text = re.sub(r"%(\d+)", operand, text).replace("\0", "%")
    for kind, name in set(re.findall(r"\.reg \.(\w+) (\w+)", text)):
        text = re.sub(rf"\b{name}\b", DECLARED[kind], text)
    for line in re.split(r"[\n;]", text):
        line = " ".join(line.split())
        if line and line[0] not in "{}." and not line.startswith("selp"):
            yield line + ";"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/local/cuda")
    found = set()
    for header in sorted(root.glob("include/cccl/cuda/__ptx/instructions/**/*.h")):
        for text, constraints in statements(header.read_text()):
            found.update(lines(text, constraints))
    print("# Made by spellings_of_libcudacxx.py from CUDA 13.5's cuda::ptx.")
    print("\n".join(sorted(found)))


main()
