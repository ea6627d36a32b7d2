#!/usr/bin/env python3
"""The instructions that a CUDA toolkit's headers have as inline assembly, a line each, with registers of
tests/generate/sampler.cc: cuda::ptx and the rest of libcu++, the narrow and half formats, wmma, cooperative groups, CUB.

usage: spellings_of_headers.py [NVCC [INCLUDE]] | record_agreement --all - > headers.txt    (default: nvcc of the PATH)

nvcc's preprocessor chooses and expands what is for a target; an asm statement becomes its lines, with a register for each
operand: of its constraint, an "n" a number. Which targets have what is not in the headers: the assembler says so.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

TARGETS = ("sm_75", "sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_107a", "sm_110a", "sm_120a", "sm_121a")
HEADERS = ("cuda/ptx cuda/barrier cuda/pipeline cuda/atomic cuda/latch cuda/semaphore cuda/annotated_ptr cuda/discard_memory cuda/bit "
           "cuda/numeric cuda/memory cuda/warp cuda/functional cuda/std/bit cuda/std/complex cuda/std/numeric "
           "cuda_fp16.h cuda_bf16.h cuda_fp8.h cuda_fp6.h cuda_fp4.h cuda_tf32.h mma.h cuda_awbarrier.h cuda_pipeline.h "
           "cooperative_groups.h cooperative_groups/memcpy_async.h cooperative_groups/reduce.h cooperative_groups/scan.h "
           "cub/cub.cuh").split()
REGISTERS = {"r": "%r", "l": "%rd", "h": "%rs", "f": "%f", "d": "%fd", "q": "%rq", "c": "%rs"}
DECLARED = {"pred": "%p", "b8": "%c", "u8": "%uc", "s8": "%sc", "b16": "%rs", "u16": "%us", "s16": "%ss", "f16": "%h", "b32": "%r",
            "u32": "%u", "s32": "%s", "f32": "%f", "f16x2": "%hh", "b64": "%rd", "u64": "%ul", "s64": "%sl", "f64": "%fd", "b128": "%rq"}
NUMBERS = {"cp.async.c": "16", "st.bulk": "0", "proxy": "128", "setmaxnreg": "128"}  # what "n" is, else 1
STATEMENT = re.compile(r"\b(?:asm|__asm__)\s*(?:volatile|__volatile__)?\s*\(((?:[^()\"]|\"(?:[^\"\\]|\\.)*\"|\((?:[^()\"]|\"(?:[^\"\\]|\\.)*\"|\("
                       r"(?:[^()]|\([^()]*\))*\))*\))*)\)\s*[;)]")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def statements(source):
    """(text, constraints) of every asm statement."""
    for match in STATEMENT.finditer(source):
        body = match.group(1)
        # The template: strings up to the first colon outside of a string.
        text, at = "", 0
        while at < len(body) and body[at] != ":":
            string = STRING.match(body, at)
            text += string.group(1) if string else ""
            at = string.end() if string else at + 1
        constraints = re.findall(r'"([=+]?&?[a-z])"\s*\(', body[at:])
        yield text.encode().decode("unicode_escape"), constraints


def lines(text, constraints):
    number = next((number for opcode, number in NUMBERS.items() if opcode in text), "1")

    def operand(match):
        constraint = constraints[int(match.group(1))].lstrip("=+&")
        return number if constraint == "n" else REGISTERS[constraint] + str(int(match.group(1)) % 4)

    text = re.sub(r"//.*", "", text)
    text = re.sub(r"%%", "\0", text)
    text = re.sub(r"%(\d+)", operand, text).replace("\0", "%")
    for kind, names in re.findall(r"\.reg\s*\.(\w+)\s+([^;]+);", text):
        for number, declared in enumerate(re.split(r"\s*,\s*", names.strip())):
            name, count = re.match(r"([%$\w]+)(?:<(\d+)>)?", declared).groups()
            for i in range(int(count or 1)):
                spelled = re.escape(name) + (str(i) if count else "")
                text = re.sub(rf"(?<![%$\w.]){spelled}(?![\w$:])", f"{DECLARED[kind]}{(number + i) % 8}", text)
    for statement in text.split(";"):
        statement = re.sub(r"^[{}\s]+", "", statement)  # of scopes; those of vectors stand behind an opcode
        statement = re.sub(r"^\w+:\s*", "", statement)
        if re.match(r"[@a-z]", statement):
            yield " ".join(statement.split()) + ";"


def preprocessed(nvcc, include, target, folder):
    source = folder / "all.cu"
    source.write_text("".join(f"#if __has_include(<{header}>)\n#include <{header}>\n#endif\n" for header in HEADERS))
    return subprocess.run([nvcc, "-E", "-std=c++20", f"-arch={target}", f"-I{include}", f"-I{include}/cccl", str(source)],
                          capture_output=True, text=True, check=True).stdout


def main():
    nvcc = sys.argv[1] if len(sys.argv) > 1 else "nvcc"
    include = sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(nvcc).resolve().parent.parent / "include"
    found = set()
    with tempfile.TemporaryDirectory() as folder:
        for target in TARGETS:
            for text, constraints in statements(preprocessed(nvcc, include, target, pathlib.Path(folder))):
                if ";" in text:  # else it names a symbol
                    found.update(lines(text, constraints))
    print("\n".join(sorted(found)))


main()
