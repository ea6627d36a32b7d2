#!/usr/bin/env python3
"""The instructions that LLVM's NVPTX back end writes, one a line, with registers of tests/generate/sampler.cc.

usage: spellings_of_llvm.py > llvm.txt        (llc-22 and llvm-tblgen-22 of Debian's llvm-22-tools and llvm-22-dev, 22.1)

A function of LLVM IR for every nvvm intrinsic that IntrinsicsNVVM.td declares, and for the operations of the IR itself
that become one instruction: arithmetic, conversions, loads, stores and atomics of every type, address space, order and
scope. What llc makes of each, for the machine that has most, is the corpus.
"""

import json
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

LLC, TABLEGEN, INCLUDE = "llc-22", "llvm-tblgen-22", "/usr/include/llvm-22"
MACHINES = [("sm_100a", "ptx88"), ("sm_90a", "ptx88"), ("sm_120a", "ptx88"), ("sm_80", "ptx88"), ("sm_75", "ptx88")]
BATCH = 64
MOST_OF_A_KIND = 120  # intrinsics of one instruction: there are a thousand of wmma
SCALARS = {"i1", "i8", "i16", "i32", "i64", "i128", "f16", "bf16", "f32", "f64"}
NAMES = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}


def ir_type(name):
    """LLVM IR's spelling of a value type of TableGen: v2f16 -> <2 x half>."""
    vector = re.fullmatch(r"v(\d+)(\w+)", name)
    if vector:
        return f"<{vector.group(1)} x {ir_type(vector.group(2))}>"
    return NAMES.get(name, name)


class Intrinsics:
    def __init__(self):
        text = subprocess.run([TABLEGEN, "--dump-json", "-I", INCLUDE, INCLUDE + "/llvm/IR/Intrinsics.td"],
                              capture_output=True, check=True, text=True).stdout
        self.records = json.loads(text)
        self.random = random.Random(1)

    def type_of(self, ref, before):
        """The IR type of a parameter; of those that any type fits, one that is common. `before`: types so far."""
        name = ref["def"]
        pointer = re.fullmatch(r"llvm_(?:(\w+)_)?ptr_ty", name)
        spaces = {None: 0, "global": 1, "shared": 3, "const": 4, "local": 5, "tmem": 6, "shared_cluster": 7}
        if pointer and pointer.group(1) in spaces:
            space = spaces[pointer.group(1)]
            return f"ptr addrspace({space})" if space else "ptr"
        record = self.records[name]
        if "LLVMMatchType" in record["!superclasses"]:
            return before[record["Number"]] if record["Number"] < len(before) else None
        if name == "llvm_anyptr_ty":
            return f"ptr addrspace({self.random.choice([0, 1, 3])})"
        if name in ("llvm_anyint_ty", "llvm_any_ty"):
            return self.random.choice(["i16", "i32", "i64"])
        if name == "llvm_anyfloat_ty":
            return self.random.choice(["float", "double"])
        if "LLVMQualPointerType" in record["!superclasses"]:
            space = record["Sig"][1] if isinstance(record.get("Sig"), list) else 0
            return f"ptr addrspace({space})"
        value = record.get("VT", {}).get("def") if isinstance(record.get("VT"), dict) else None
        base = re.sub(r"^v\d+", "", value or "")
        return ir_type(value) if base in SCALARS else None

    def constants_of(self, record):
        """Parameter -> the values that it may have, for those that must be constants. (0 is the result in TableGen.)"""
        constants, ranges = {}, {}
        for property_ in record["IntrProperties"]:
            made = self.records[property_["def"]]
            if "ImmArg" in made["!superclasses"]:
                constants[made["ArgNo"] - 1] = [0, 1, 2, 3]
            if "Range" in made["!superclasses"]:
                ranges[made["ArgNo"] - 1] = list(range(made["Lower"], min(made["Upper"], made["Lower"] + 16)))
        return {n: ranges.get(n, values) for n, values in constants.items()}

    def functions(self):
        kinds = {}
        names = sorted(n for n in self.records if n.startswith("int_nvvm_"))
        self.random.shuffle(names)
        for name in names:
            record = self.records[name]
            kind = re.sub(r"_.*", "", name.removeprefix("int_nvvm_"))
            kinds[kind] = kinds.get(kind, 0) + 1
            if kinds[kind] > MOST_OF_A_KIND:
                continue
            constants = self.constants_of(record)
            for _ in range(3 if constants else 1):
                function = self.function(name, record, constants)
                if function:
                    yield function

    def function(self, name, record, constants):
        types = []
        results = []
        # Overloaded types count in the order of results and parameters.
        any_types = []
        for ref in record["RetTypes"]:
            results.append(self.type_of(ref, any_types))
            if "any" in ref["def"]:
                any_types.append(results[-1])
        for ref in record["ParamTypes"]:
            types.append(self.type_of(ref, any_types))
            if "any" in ref["def"]:
                any_types.append(types[-1])
        if None in types or None in results or any("metadata" in t for t in types):
            return None
        result = "void" if not results else results[0] if len(results) == 1 else "{ " + ", ".join(results) + " }"
        called = record["LLVMName"] or "llvm." + name.removeprefix("int_").replace("_", ".")
        called += "".join("." + self.mangled(t) for t in any_types)
        values = [str(self.random.choice(constants[i])) if i in constants else f"%a{i}" for i in range(len(types))]
        values = [{"0": "false", "1": "true"}.get(v, "true") if t == "i1" and not v.startswith("%") else v
                  for t, v in zip(types, values)]
        parameters = ", ".join(f"{t} %a{i}" for i, t in enumerate(types) if i not in constants)
        call = f"call {result} @{called}(" + ", ".join(f"{t} {v}" for t, v in zip(types, values)) + ")"
        declaration = f"declare {result} @{called}({', '.join(types)})"
        body = f"  {call}\n  ret void\n" if result == "void" else f"  %x = {call}\n  ret {result} %x\n"
        return declaration, f"define {result} @FUNCTION({parameters}) {{\n{body}}}\n"

    @staticmethod
    def mangled(type_):
        pointer = re.fullmatch(r"ptr(?: addrspace\((\d+)\))?", type_)
        if pointer:
            return f"p{pointer.group(1) or 0}"
        return {"float": "f32", "double": "f64", "half": "f16"}.get(type_, type_)


def plain_functions():
    integers, floats = ["i16", "i32", "i64"], ["half", "bfloat", "<2 x half>", "<2 x bfloat>", "float", "double"]
    for t in integers:
        for op in "add sub mul sdiv udiv srem urem shl lshr ashr and or xor".split():
            yield None, f"define {t} @FUNCTION({t} %a, {t} %b) {{\n  %x = {op} {t} %a, %b\n  ret {t} %x\n}}\n"
        for op in "eq ne ult ule sgt sge".split():
            yield None, f"define i1 @FUNCTION({t} %a, {t} %b) {{\n  %x = icmp {op} {t} %a, %b\n  ret i1 %x\n}}\n"
        for op in "smin smax umin umax".split():
            called = f"@llvm.{op}.{t}"
            yield (f"declare {t} {called}({t}, {t})",
                   f"define {t} @FUNCTION({t} %a, {t} %b) {{\n  %x = call {t} {called}({t} %a, {t} %b)\n  ret {t} %x\n}}\n")
        for op in "ctpop bitreverse".split():
            called = f"@llvm.{op}.{t}"
            yield (f"declare {t} {called}({t})",
                   f"define {t} @FUNCTION({t} %a) {{\n  %x = call {t} {called}({t} %a)\n  ret {t} %x\n}}\n")
    for t in floats:
        for op in "fadd fsub fmul fdiv".split():
            yield None, f"define {t} @FUNCTION({t} %a, {t} %b) {{\n  %x = {op} {t} %a, %b\n  ret {t} %x\n}}\n"
        suffix = {"half": "f16", "bfloat": "bf16", "<2 x half>": "v2f16", "<2 x bfloat>": "v2bf16", "float": "f32",
                  "double": "f64"}[t]
        for op, n in [("fma", 3), ("minnum", 2), ("maxnum", 2), ("minimum", 2), ("maximum", 2), ("fabs", 1), ("sqrt", 1),
                      ("copysign", 2), ("floor", 1), ("ceil", 1), ("trunc", 1), ("rint", 1)]:
            called = f"@llvm.{op}.{suffix}"
            arguments = ", ".join(f"{t} %a{i}" for i in range(n))
            yield (f"declare {t} {called}({', '.join([t] * n)})",
                   f"define {t} @FUNCTION({arguments}) {{\n  %x = call {t} {called}({arguments})\n  ret {t} %x\n}}\n")
    for t in ["half", "bfloat", "float", "double"]:
        for op in "oeq ogt ult uno one".split():
            yield None, f"define i1 @FUNCTION({t} %a, {t} %b) {{\n  %x = fcmp {op} {t} %a, %b\n  ret i1 %x\n}}\n"
        for i in integers:
            for op in "fptosi fptoui".split():
                yield None, f"define {i} @FUNCTION({t} %a) {{\n  %x = {op} {t} %a to {i}\n  ret {i} %x\n}}\n"
            for op in "sitofp uitofp".split():
                yield None, f"define {t} @FUNCTION({i} %a) {{\n  %x = {op} {i} %a to {t}\n  ret {t} %x\n}}\n"
    order = ["half", "float", "double"]
    for i, small in enumerate(order):
        for large in order[i + 1:]:
            yield None, f"define {large} @FUNCTION({small} %a) {{\n  %x = fpext {small} %a to {large}\n  ret {large} %x\n}}\n"
            yield None, f"define {small} @FUNCTION({large} %a) {{\n  %x = fptrunc {large} %a to {small}\n  ret {small} %x\n}}\n"
    memory = ["i8", "i16", "i32", "i64", "float", "double", "<2 x i32>", "<4 x i32>", "<8 x i32>", "<2 x i64>", "<4 x i64>",
              "<4 x i16>", "<8 x half>", "<16 x i8>"]
    scopes = ["", 'syncscope("block") ', 'syncscope("cluster") ', 'syncscope("device") ']
    for space in [0, 1, 3, 4, 5, 7]:
        pointer = f"ptr addrspace({space})"
        for t in memory:
            for how in ["", "volatile "]:
                yield None, f"define {t} @FUNCTION({pointer} %a) {{\n  %x = load {how}{t}, {pointer} %a, align 32\n  ret {t} %x\n}}\n"
                if space != 4:
                    yield None, f"define void @FUNCTION({pointer} %a, {t} %b) {{\n  store {how}{t} %b, {pointer} %a, align 32\n  ret void\n}}\n"
        if space in (4, 5):
            continue
        for scope in scopes:
            for t in ["i8", "i32", "i64", "float"]:
                for how in ["monotonic", "acquire", "seq_cst"]:
                    yield None, f"define {t} @FUNCTION({pointer} %a) {{\n  %x = load atomic {t}, {pointer} %a {scope}{how}, align 8\n  ret {t} %x\n}}\n"
                for how in ["monotonic", "release", "seq_cst"]:
                    yield None, f"define void @FUNCTION({pointer} %a, {t} %b) {{\n  store atomic {t} %b, {pointer} %a {scope}{how}, align 8\n  ret void\n}}\n"
            for how in ["monotonic", "acquire", "release", "acq_rel", "seq_cst"]:
                for t in ["i32", "i64"]:
                    for op in "xchg add sub and or xor max min umax umin uinc_wrap udec_wrap".split():
                        yield None, f"define {t} @FUNCTION({pointer} %a, {t} %b) {{\n  %x = atomicrmw {op} {pointer} %a, {t} %b {scope}{how}\n  ret {t} %x\n}}\n"
                for t in ["float", "double", "half", "bfloat"]:
                    yield None, f"define {t} @FUNCTION({pointer} %a, {t} %b) {{\n  %x = atomicrmw fadd {pointer} %a, {t} %b {scope}{how}\n  ret {t} %x\n}}\n"
                for t in ["i16", "i32", "i64", "i128"]:
                    yield None, f"define {t} @FUNCTION({pointer} %a, {t} %b, {t} %c) {{\n  %p = cmpxchg {pointer} %a, {t} %b, {t} %c {scope}{how} monotonic\n  %x = extractvalue {{ {t}, i1 }} %p, 0\n  ret {t} %x\n}}\n"
    for scope in scopes:
        for how in ["acquire", "release", "acq_rel", "seq_cst"]:
            yield None, f"define void @FUNCTION() {{\n  fence {scope}{how}\n  ret void\n}}\n"


def compile_(functions, machine):
    """What llc makes of the functions, None where it refuses one."""
    declarations = sorted({d for d, _ in functions if d})
    bodies = [body.replace("@FUNCTION", f"@f{i}") for i, (_, body) in enumerate(functions)]
    text = 'target triple = "nvptx64-nvidia-cuda"\n' + "\n".join(declarations + bodies)
    run = subprocess.run([LLC, f"-mcpu={machine[0]}", f"-mattr=+{machine[1]}", "-O1", "-o", "-"], input=text,
                         capture_output=True, text=True)
    return run.stdout if run.returncode == 0 else None


def compile_all(functions):
    """The texts for as many of the functions as some machine takes."""
    def attempt(group, machines):
        if not machines or not group:
            return []
        text = compile_(group, machines[0])
        if text is not None:
            return [text]
        if len(group) == 1:
            return attempt(group, machines[1:])
        half = len(group) // 2
        return attempt(group[:half], machines) + attempt(group[half:], machines)

    groups = [functions[i:i + BATCH] for i in range(0, len(functions), BATCH)]
    with ThreadPoolExecutor() as pool:
        for texts in pool.map(lambda group: attempt(group, MACHINES), groups):
            yield from texts


STATEMENT = re.compile(r"^(?:\$\w+: )?(?:@!?%p\d+ )?([a-z][\w.:]*(?: .*)?)$")


def spellings(text):
    text = re.sub(r"//.*", "", text).replace("{\n", ";").replace("\n}", ";")
    for statement in text.split(";"):
        match = STATEMENT.match(" ".join(statement.split()))
        if not match:
            continue
        words = match.group(1)
        if re.match(r"(ld\.param|st\.param|call|bra|brx|ret)\b", words) or re.search(r"\bf\d+_param|__local_depot|%SP|\$L", words):
            continue
        yield re.sub(r"%(rs|rd|rq|r|p|f|fd)(\d+)\b", lambda m: f"%{m.group(1)}{int(m.group(2)) % 4}", words) + ";"


def main():
    functions = list(Intrinsics().functions()) + list(plain_functions())
    found = set()
    for text in compile_all(functions):
        found.update(spellings(text))
    print(f"{len(functions)} functions, {len(found)} spellings", file=sys.stderr)
    print("# Made by spellings_of_llvm.py with LLVM 22.1.")
    print("\n".join(sorted(found)))


main()
