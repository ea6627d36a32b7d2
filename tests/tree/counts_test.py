#!/usr/bin/env python3
"""Counts what the sources are to have less of. counts.txt beside this has the most of each that there may be: a count that
has risen fails, and so does one that has fallen until its line there says so, so that it cannot rise again.

    handler-comparisons  handlers compared, looked up, or read in another way than to be called: what an instruction is
                         should be asked of the instruction, not of who executes it
    payloads             data whose type is lost (void*, std::any, unions), and casts that bring a type back, between the
                         virtual GPU and what looks at it
    opcodes-named        enumerators of isa::Opcode, or their spellings compared, outside src/isa, which has the rows, and
                         src/vgpu/handlers and compiled, which have selectors, handlers and emitters
    inst-pointers        DecodedInst by pointer where it says which instruction: src/check, src/runtime, and the virtual
                         GPU's headers
    dot-tile-fields      data members of numeric::DotTile, inherited ones too
    thread-locals        in src/numeric
    asks-who-watches     places of the virtual GPU that ask whether somebody watches, instead of telling (engine/watch.h)
    upward-includes      of a folder that stands below in docs/architecture.md's table
    undeclared-includes  of a folder that the own one's CMakeLists.txt does not name, behind DEPS or SEES of lemma_library
    inner-includes       what folders that the table puts over include/lemma include of src
    files, thousands     of a folder of the virtual GPU: C++ files, and their lines in thousands, rounded up

The counts read text, not C++: comments and the contents of strings are blanked first. `check_itself` plants each thing
in the sources as they are, in the spellings by which it would be missed, and each must be found.

usage: counts_test.py [--list NAME | --write]   --list: where those of one count are; --write: counts.txt as it is now.
77: this is no checkout.
"""

import argparse
import collections
import functools
import math
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).resolve().parent / "counts.txt"
SOURCES = (".cc", ".h", ".inc", ".def")

# Folders that have void* by an interface of others, or bytes by their nature. Every other one, a new one too, passes typed data.
BYTES = {"capi", "cublas", "cudart", "driver", "image", "isa", "layout", "mgpu", "nvgpu", "numeric", "nvml", "ptx", "runtime",
         "support", "texture", "timing"}
LANE_VALUES = {"LaneMask", "Wide"}  # numbers with a name of their own: memory is read as these

COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)


def blank(text, strings):
    """Comments as spaces, and the contents of strings unless `strings`; offsets and lines stay."""
    def spaces(match):
        found = match.group()
        if found.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", found)
        return found if strings else found[0] + re.sub(r"[^\n]", " ", found[1:-1]) + found[-1]
    return COMMENT_OR_STRING.sub(spaces, text)


class Sources:
    """Files of src/ by their path: as code, and as code with strings."""

    def __init__(self, texts):
        self.texts = texts
        self.code = {path: blank(text, False) for path, text in texts.items() if path.endswith(SOURCES)}
        self.with_strings = {path: blank(text, True) for path, text in texts.items() if path.endswith(SOURCES)}

    def replaced(self, path, text):
        """The same with one file as `text`."""
        other = Sources({})
        other.texts = {**self.texts, path: text}
        other.code = {**self.code, path: blank(text, False)}
        other.with_strings = {**self.with_strings, path: blank(text, True)}
        return other


def room(path):
    """src/vgpu/handlers/matrix/mma.cc: vgpu."""
    return path.split("/")[1]


# --- handlers ---------------------------------------------------------------------------------------------------------

SIGNATURE = r"Step\s*\(\s*\*\s*\w*\s*\)\s*\(\s*(?:vgpu::)?Exec\s*&"
FLIPPED = str.maketrans("()[]", ")(][")
ENDS = r"&&|\|\||[;{}?,]|(?<!:):(?!:)"  # where an operand of == has ended


@functools.cache
def handler_types(code):
    """Names of the type of a handler, `using Handler = Step (*)(Exec&, ...)`, and other names of another type."""
    of_signature = re.findall(r"\busing\s+(\w+)\s*=\s*" + SIGNATURE, code)
    of_member = re.findall(r"\busing\s+(\w+)\s*=\s*decltype\s*\([^;]*\bhandler\b", code)
    return of_signature + of_member, re.findall(r"\busing\s+(\w+)\s*=\s*(?:\w+::)*(\w+)\s*;", code)


@functools.cache
def handler_names(code, types):
    """Members that are handlers, DecodedInst's whatever they are called; other variables; functions that are handlers; and such
    as return one."""
    typed = r"\b(?:" + "|".join(sorted(types)) + r")\b"
    members, variables, makers = set(), set(), set()
    for match in re.finditer(typed + r"(?:\s*[*&>])?(?:\s*,\s*\w+\s*>+)?\s+(\w+)\s*(\(?)", code):
        (makers if match[2] else variables).add(match[1])
    for body in re.findall(r"\bstruct\s+DecodedInst\s*\{(.*?)\n\};", code, re.DOTALL):
        members.update(re.findall(r"^  " + typed + r"\s+(\w+)\s*(?:=[^;]*)?;", body, re.MULTILINE))
    members.update(name for name in variables if "handler" in name)
    variables.update(re.findall(r"\bauto\s+(\w+)\s*=\s*[\w.>-]*(?:\.|->)handler\s*;", code))
    return members, variables, set(re.findall(r"\bStep\s+(\w+)\s*\(\s*(?:vgpu::)?Exec\s*&", code)), makers


def within(text):
    """`text` up to the bracket that closes what it begins in."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if depth < 0:
            return text[:i]
    return text


@functools.cache
def comparisons_in(code, types, members, all_makers):
    """Where in one file."""
    own_members, variables, functions, makers = handler_names(code, types)
    found, spans = [], []
    for match in re.finditer(r"(?<![<>=!])[=!]=(?!=)", code):
        left = re.split(ENDS + r"|\breturn\b|\bif\b|\bwhile\b|(?<![=!<>])=(?!=)",
                        code[max(0, match.start() - 120):match.start()])[-1]
        left = within(left[::-1].translate(FLIPPED))[::-1].translate(FLIPPED)
        right = within(re.split(ENDS, code[match.end():match.end() + 120])[0])
        if "nullptr" in left or "nullptr" in right or code[code.rfind("\n", 0, match.start()) + 1:].startswith("#"):
            continue
        sides = left + " == " + right
        for name in re.finditer(r"(\.|->|::)?\b(\w+)\b(?!\s*(?:::|\.|->))", sides):
            called = re.match(r"\s*(?:<[\w, ]*>)?\s*\(", sides[name.end():])
            of_object = name[1] in (".", "->")
            if (not called and name[2] in members and of_object) or (not of_object and name[1] != "::" and (
                    (not called and name[2] in (variables | functions)) or (called and name[2] in all_makers | makers))):
                spans.append((match.start() - len(left), match.end() + len(right)))
                found.append(match.start())
                break
    for match in re.finditer(r"(?:\.|->)(\w+)\b(?!\s*(?:\(|=[^=]|;))", code):
        if match[1] not in members or any(begin <= match.start() < end for begin, end in spans):
            continue
        before = code[max(0, match.start() - 60):match.start()]
        if re.search(r"!\s*[\w.>\[\]-]*$", before) or re.match(r"\s*[!=]=\s*nullptr|\s*&&", code[match.end():match.end() + 20]):
            continue
        found.append(match.start())
    return found


def handler_comparisons(sources):
    types, others = set(), []
    for code in sources.code.values():
        direct, aliases = handler_types(code)
        types.update(direct)
        others += aliases
    for _ in range(3):
        types.update(name for name, of in others if of in types)
    types = frozenset(types)
    members, makers = {"handler"}, set()
    for path, code in sources.code.items():
        found = handler_names(code, types)
        members |= found[0]
        if path.endswith(".h"):
            makers |= found[3]
    members, makers = frozenset(members), frozenset(makers)
    for path, code in sources.code.items():
        if path.startswith("src/"):
            yield from ((path, at) for at in comparisons_in(code, types, members, makers))


# --- payloads ---------------------------------------------------------------------------------------------------------

def payloads(sources):
    class_pointer = r"(?:const\s+)?(?:\w+::)*([A-Z]\w+)(?:\s+const)?\s*[*&]"
    kept = re.compile(r"\bvoid\s*(?:const\s*)?\*+\s*(?:const\s+)?\w+\s*(?:=[^,;)]*|\{[^;]*\})?;")
    holder = re.compile(r"\bstd::any\b|\bany_cast\b|\bunion\b|\b(?:shared|unique|weak)_ptr<\s*(?:const\s+)?void\b|"
                        r"\b(?:vector|array|span|deque|map|pair)<[^;{}]*\bvoid\s*(?:const\s*)?\*")
    # dynamic_cast of &x asks what was thrown; host is where the memory of the program that runs lies.
    cast = re.compile(r"\b(?:static|reinterpret|bit|dynamic)_cast<\s*" + class_pointer + r"\s*>\((?!&|[\w>-]+\bhost\))")
    shared_cast = re.compile(r"\b(?:static|reinterpret|dynamic)_pointer_cast<")
    # What follows parameters alone, `(const A&) const = default`, is no value that is cast.
    c_cast = re.compile(r"\(\s*" + class_pointer + r"\s*\)\s*(?!const\b|noexcept\b|override\b)(?:[\w(]|\*\s*\w)")
    for path, code in sources.code.items():
        if not path.startswith("src/") or room(path) in BYTES:
            continue
        for pattern in (kept, holder, shared_cast):
            for match in pattern.finditer(code):
                yield path, match.start()
        for pattern in (cast, c_cast):
            for match in pattern.finditer(code):
                before = code[:match.start()].rstrip()
                if match[1] in LANE_VALUES or (pattern is c_cast and re.search(r"[\w>\])]$", before) and
                                               not re.search(r"\breturn$", before)):
                    continue
                yield path, match.start()
        # A type of its own for void.
        for name in re.findall(r"\busing\s+(\w+)\s*=\s*(?:const\s+)?void\s*\**\s*;", code):
            for match in re.finditer(r"\b" + name + r"\b", code):
                yield path, match.start()


# --- opcodes ----------------------------------------------------------------------------------------------------------

def opcodes_named(sources):
    rows = re.findall(r'OPCODE\((\w+), "([^"]+)"', sources.texts["src/isa/opcodes.def"])
    names = {name for name, _ in rows}
    spellings = {spelling for _, spelling in rows}
    beginnings = spellings | {s[:i + 1] for s in spellings for i, c in enumerate(s) if c == "."}
    compared = re.compile(r'(?:[!=]=\s*|\b(?:starts_with|ends_with|contains|find|compare|opcode_from_string)\(\s*)"([\w.:]+)"')
    for path, code in sources.code.items():
        if not path.startswith("src/") or path.startswith(("src/isa/", "src/vgpu/handlers/", "src/vgpu/compiled/")):
            continue
        types = {"Opcode"} | set(re.findall(r"\busing\s+(\w+)\s*=\s*(?:\w+::)*Opcode\s*;", code))
        types |= set(re.findall(r"\btypedef\s+(?:\w+::)*Opcode\s+(\w+)\s*;", code))
        named = "(?:" + "|".join(sorted(types)) + ")"
        for match in re.finditer(r"\b" + named + r"::(\w+)", code):
            if match[1] in names:
                yield path, match.start()
        for match in re.finditer(r"\b" + named + r"\s*[>]?\s*[({]\s*\d", code):  # by its number
            yield path, match.start()
        if re.search(r"\busing\s+enum\s+(?:\w+::)*" + named + r"\b", code) or re.search(
                r"\busing\s+(?:\w+::)*" + named + r"::\w+", code):
            for match in re.finditer(r"(?<![.:>\w])(\w+)\b(?!\s*[(:]{2})", code):
                if match[1] in names and (code[:match.start()].rstrip()[-2:] in ("==", "!=") or
                                          re.search(r"(?:\bcase|[{,(?:|])\s*$", code[max(0, match.start() - 20):match.start()])):
                    yield path, match.start()
        for match in compared.finditer(sources.with_strings[path]):
            if match[1] in beginnings and re.search(r"opcode|to_string|spelling|\bname\b|\bwords?\b",
                                                    sources.with_strings[path][max(0, match.start() - 60):match.start()]):
                yield path, match.start()


# --- the rest ---------------------------------------------------------------------------------------------------------

def inst_pointers(sources):
    for path, code in sources.code.items():
        if path.startswith(("src/check/", "src/runtime/")) or (path.startswith("src/vgpu/") and path.endswith(".h")):
            names = {"DecodedInst"} | set(re.findall(r"\busing\s+(\w+)\s*=\s*(?:const\s+)?(?:\w+::)*DecodedInst\b", code))
            pointer = r"\b(?:" + "|".join(names) + r")\s*(?:const\s*)?\*|\breference_wrapper<[^>]*DecodedInst"
            for match in re.finditer(pointer, code):
                yield path, match.start()


def dot_tile_fields(sources):
    path = "src/numeric/dot.h"
    code = sources.code[path]

    def fields(name):
        found = re.search(r"\bstruct\s+" + name + r"\s*(?:final\s*)?(:[^{;]*)?\{(.*?)\n\};", code, re.DOTALL)
        if not found:
            return
        for base in re.findall(r"\w+", found[1] or ""):
            if base not in ("public", "private", "protected"):
                yield from fields(base)
        at = found.start(2)
        for statement in re.finditer(r"[^;]+;", found[2]):
            text = statement.group()
            if "(" in re.sub(r"\{[^}]*\}|=[^,;]*", "", text) or re.match(r"\s*(?:using|static|friend)\b", text):
                continue
            for _ in range(1 + re.sub(r"<[^<>]*>|\{[^}]*\}", "", text).count(",")):
                yield path, at + statement.start()
    yield from fields("DotTile")


def thread_locals(sources):
    macros = set()
    for path, code in sources.code.items():
        macros.update(re.findall(r"#define\s+(\w+)[^\n]*\b(?:thread_local|__thread)\b", code))
    words = "|".join(["thread_local", "__thread", "_Thread_local", "pthread_getspecific", *sorted(macros)])
    for path, code in sources.code.items():
        if path.startswith("src/numeric/"):
            for match in re.finditer(r"^(?!\s*#define).*?\b(?:" + words + r")\b", code, re.MULTILINE):
                yield path, match.end()


def asks_who_watches(sources):
    for path, code in sources.code.items():
        if path.startswith("src/vgpu/"):
            for match in re.finditer(r"\b(?:if|while) \(!?(?:\w+(?:\.|->))*observer_?\b|\bwatch\w*(?:\(\))?(?:\.|->)is_on\(\)", code):
                yield path, match.start()


def layers(table):
    """Folders in the order of docs/architecture.md, and those that it puts over include/lemma alone."""
    order, outer = [], set()
    for folder, knows in re.findall(r"^\| `((?:src|include|tools)/[\w-]+)` \| ([^|]*)\|", table, re.MULTILINE):
        order.append(folder)
        if re.search(r"over `include/lemma`|sees `include/lemma` alone", knows):
            outer.add(folder)
    return order, outer


def includes(sources):
    """(file, where, the folder's place, its name, that of what is included or -1, its name)."""
    order, _ = layers(sources.texts["docs/architecture.md"])
    place = {folder: i for i, folder in enumerate(order)}
    for path, code in sources.with_strings.items():
        folder = "/".join(path.split("/")[:2])
        for match in re.finditer(r'^\s*#\s*include\s*"([^"]+)"', code, re.MULTILINE):
            first = match[1].split("/")[0]
            target = "include/lemma" if first == "lemma" else "src/" + first
            if target in place and folder in place:
                yield path, match.start(1), folder, target, place


def upward_includes(sources):
    for path, at, folder, target, place in includes(sources):
        if place[target] > place[folder]:
            yield path, at


def undeclared_includes(sources):
    declared = {}
    for path, text in sources.texts.items():
        if path.endswith("/CMakeLists.txt"):
            text = re.sub(r"#[^\n]*", "", text)
            for names in re.findall(r"\blemma_library\((?:[^()]|\([^()]*\))*?\b(?:DEPS|SEES)\b([^()]*)", text):
                declared.setdefault(path.rpartition("/")[0], set()).update("src/" + name for name in names.split())
    for path, at, folder, target, _ in includes(sources):
        if folder.startswith("src/") and target not in declared.get(folder, ()) and target not in (folder, "include/lemma"):
            yield path, at


def inner_includes(sources):
    _, outer = layers(sources.texts["docs/architecture.md"])
    for path, at, folder, target, _ in includes(sources):
        if folder in outer and target not in (folder, "include/lemma"):
            yield path, at


COUNTS = {
    "handler-comparisons": handler_comparisons,
    "payloads": payloads,
    "opcodes-named": opcodes_named,
    "inst-pointers": inst_pointers,
    "dot-tile-fields": dot_tile_fields,
    "thread-locals": thread_locals,
    "asks-who-watches": asks_who_watches,
    "upward-includes": upward_includes,
    "undeclared-includes": undeclared_includes,
    "inner-includes": inner_includes,
}


def sizes(sources):
    """files:FOLDER and thousands:FOLDER of the virtual GPU's folders."""
    files, lines = collections.Counter(), collections.Counter()
    for path, text in sources.texts.items():
        if path.startswith("src/vgpu/") and path.endswith(SOURCES):
            folder = path.rpartition("/")[0]
            files[folder] += 1
            lines[folder] += text.count("\n")
    for folder in sorted(files):
        yield f"files:{folder}", files[folder]
        yield f"thousands:{folder}", math.ceil(lines[folder] / 1000)


def counts(sources):
    return {**{name: len(list(count(sources))) for name, count in COUNTS.items()}, **dict(sizes(sources))}


def faults(table, found):
    """One line for each count that is not what the table says."""
    for name, now in found.items():
        most = table.get(name)
        if most is None:
            yield f"{name}: {now}, and tests/tree/counts.txt has no line for it"
        elif now > most:
            yield f"{name}: {now}, at most {most} (counts_test.py --list {name.partition(':')[0]} names them)"
        elif now < most:
            yield f"{name}: {now}, less than the {most} of tests/tree/counts.txt: write {now} there"
    for name in table:
        if name not in found:
            yield f"{name}: stands in tests/tree/counts.txt, and nothing is counted so"


def read_table(text):
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {name: int(most) for name, most in rows}


# --- that it counts ---------------------------------------------------------------------------------------------------

# What, where, what is written to the end of the file, and by how many the count rises.
MUTANTS = [
    ("handler-comparisons", "src/vgpu/code/loops.cc", "bool f(const DecodedInst& in) { return in.handler == run_mma; }", 1),
    ("handler-comparisons", "src/vgpu/code/loops.cc", "bool f(const DecodedInst& in) { return run_mma != in.handler; }", 1),
    ("handler-comparisons", "src/check/held.cc", "bool f() { const auto h = in.handler;\n return h == g; }", 1),
    ("handler-comparisons", "src/vgpu/code/loops.cc", "bool f(vgpu::Handler way) { return way == other; }", 1),
    ("handler-comparisons", "src/vgpu/code/loops.cc", "using Runs = Handler;\nRuns chosen = g;\nbool b = chosen == g2;", 1),
    ("handler-comparisons", "src/vgpu/code/loops.cc", "bool f() { return known.contains(in.handler); }", 1),
    ("handler-comparisons", "src/vgpu/code/loops.cc", "bool f() { return std::equal_to<>{}(in->handler, g); }", 1),
    ("handler-comparisons", "src/vgpu/code/loops.cc", "auto f() { return reinterpret_cast<uintptr_t>(in.handler) ; }", 1),
    ("handler-comparisons", "src/vgpu/code/loops.cc", "auto f() { switch (number_of(in.handler)) {} }", 1),
    ("handler-comparisons", "src/vgpu/code/loops.cc", "Step f() { return in.handler(x, in); }", 0),
    ("handler-comparisons", "src/vgpu/code/loops.cc", "void f() { in.handler = run_mma; }", 0),
    ("handler-comparisons", "src/vgpu/code/loops.cc", "bool f() { return in.handler != nullptr && !in.handler; }", 0),
    ("handler-comparisons", "src/vgpu/code/loops.cc", "// in.handler == run_mma", 0),
    ("payloads", "src/vgpu/engine/exec.h", "struct A { const void* extra; };", 1),
    ("payloads", "src/vgpu/engine/exec.h", "struct A { void* renamed = nullptr; };", 1),
    ("payloads", "src/vgpu/engine/exec.h", "struct A { std::any data; };", 1),
    ("payloads", "src/vgpu/engine/exec.h", "auto f() { return std::any_cast<MmaPlan>(in.data); }", 1),
    ("payloads", "src/vgpu/engine/exec.h", "struct A { std::shared_ptr<const void> data; };", 1),
    ("payloads", "src/vgpu/engine/exec.h", "struct A { union { int a; float b; }; };", 1),
    ("payloads", "src/vgpu/engine/exec.h", "struct A { std::vector<const void*> data; };", 1),
    ("payloads", "src/newly/made.h", "struct A { const void* extra = nullptr; };", 1),
    ("payloads", "src/vgpu/engine/exec.h", "auto& f() { return *static_cast<const MmaPlan*>(in.renamed); }", 1),
    ("payloads", "src/vgpu/engine/exec.h", "auto& f() { return *reinterpret_cast<const MmaPlan*>(in.bytes); }", 1),
    ("payloads", "src/vgpu/engine/exec.h", "auto& f() { return static_cast<const SettledRun&>(plan); }", 1),
    ("payloads", "src/vgpu/engine/exec.h", "auto& f() { return *(const MmaPlan*)in.renamed; }", 1),
    ("payloads", "src/vgpu/engine/exec.h", "auto f() { return std::static_pointer_cast<MmaPlan>(data); }", 1),
    ("payloads", "src/vgpu/engine/exec.h", "using Nothing = void;\nstruct A { Nothing* extra; };", 2),
    ("payloads", "src/vgpu/engine/exec.h", "void copy(void* to, const void* from);", 0),
    ("payloads", "src/vgpu/engine/exec.h", "auto f() { return *reinterpret_cast<const LaneMask*>(p); }", 0),
    ("payloads", "src/vgpu/engine/exec.h", "bool same(const MmaPlan* a, const MmaPlan& b);", 0),
    ("payloads", "src/vgpu/engine/exec.h", "struct A { bool operator==(const A&) const = default; };", 0),
    ("payloads", "src/vgpu/engine/exec.h", "struct A { bool operator==(const A&) noexcept; };", 0),
    ("payloads", "src/vgpu/engine/exec.h", "auto& f() { return *(MmaPlan*)const_cast<char*>(in.renamed); }", 1),
    ("payloads", "src/driver/state.h", "struct A { void* handle; };", 0),
    ("opcodes-named", "src/check/held.cc", "bool f() { return i.opcode == isa::Opcode::bra; }", 1),
    ("opcodes-named", "src/check/held.cc", "void f() { switch (o) {\n case Opcode::bra:\n case Opcode::ret: break; } }", 2),
    ("opcodes-named", "src/check/held.cc", "void f() { if (o == Opcode::bra) {} else if (o == Opcode::ret) {} }", 2),
    ("opcodes-named", "src/check/held.cc", "constexpr std::array kSome = {Opcode::bra, Opcode::ret};", 2),
    ("opcodes-named", "src/check/held.cc", "using O = isa::Opcode;\nbool f() { return i.opcode == O::bra; }", 1),
    ("opcodes-named", "src/check/held.cc", "void f() { using enum isa::Opcode;\n switch (o) { case bra: case ret: ; } }", 2),
    ("opcodes-named", "src/check/held.cc", "void f() { using enum isa::Opcode;\n return o == bra || o == ret; }", 2),
    ("opcodes-named", "src/check/held.cc", 'bool f() { return to_string(i.opcode) == "bra"; }', 1),
    ("opcodes-named", "src/check/held.cc", 'bool f() { return to_string(i.opcode).starts_with("wgmma."); }', 1),
    ("opcodes-named", "src/check/held.cc", "bool f() { return i.opcode == static_cast<isa::Opcode>(17); }", 1),
    ("opcodes-named", "src/check/held.cc", "bool f() { return i.opcode == Opcode::none; }", 0),
    ("opcodes-named", "src/vgpu/handlers/matrix/mma.cc", "bool f() { return i.opcode == Opcode::bra; }", 0),
    ("inst-pointers", "src/check/record.h", "struct A { const vgpu::DecodedInst* in; };", 1),
    ("inst-pointers", "src/vgpu/memory/access.h", "struct A { DecodedInst const * in; };", 1),
    ("inst-pointers", "src/check/record.h", "using Inst = const vgpu::DecodedInst;\nstruct A { Inst* in; };", 1),
    ("inst-pointers", "src/check/record.h", "void f(const vgpu::DecodedInst& in);", 0),
    ("thread-locals", "src/numeric/dot.cc", "static thread_local int a;", 1),
    ("thread-locals", "src/numeric/dot.cc", "static __thread int a;", 1),
    ("thread-locals", "src/numeric/dot.cc", "#define OF_THREAD static thread_local\nOF_THREAD int a;", 1),
    ("asks-who-watches", "src/vgpu/memory/access.cc", "void f(Exec& x) { if (x.watch.is_on()) g(); }", 1),
    ("asks-who-watches", "src/vgpu/memory/access.cc", "void f(Cluster& c) { return c.async.watch().is_on(); }", 1),
    ("asks-who-watches", "src/vgpu/memory/access.cc", "void f(Exec& x) { if (x.observer) g(); }", 1),
    ("asks-who-watches", "src/vgpu/memory/access.cc", "void f(Exec& x) { x.watch.tell(&Observer::has_read, x); }", 0),
    ("upward-includes", "src/isa/form.cc", '#include "vgpu/engine/exec.h"', 1),
    ("upward-includes", "src/isa/form.cc", '#  include "check/checker.h"', 1),
    ("upward-includes", "src/isa/form.cc", '#include "lemma/report.h"', 0),
    ("upward-includes", "src/vgpu/engine/exec.h", '#include "isa/form.h"', 0),
    ("undeclared-includes", "src/numeric/dot.cc", '#include "support/json.h"', 1),
    ("undeclared-includes", "src/isa/form.cc", '#include "support/json.h"', 0),
    ("undeclared-includes", "src/driver/state.h", '#include "lemma/device.h"', 0),
    ("inner-includes", "src/cublas/state.h", '#include "vgpu/engine/exec.h"', 0),
    ("inner-includes", "tools/lemma/run.cc", '#include "vgpu/engine/exec.h"', 1),
    ("inner-includes", "tools/lemma/main.cc", '#include "isa/form.h"', 1),
    ("inner-includes", "src/driver/state.h", '#include "lemma/device.h"', 0),
]


def check_itself(sources):
    """Each thing is found however it is spelled, and nothing that is none; the table holds both ways."""
    for name, path, text, more in MUTANTS:
        count = COUNTS[name]
        asked = (path, "src/isa/opcodes.def", "docs/architecture.md")
        before = sources if count is handler_comparisons else Sources(
            {p: t for p, t in sources.texts.items() if p in asked or p.endswith("/CMakeLists.txt")})
        after = before.replaced(path, before.texts.get(path, "") + "\n" + text + "\n")
        rise = len(list(count(after))) - len(list(count(before)))
        assert rise == more, f"{name}: {text!r} counts {rise}, not {more}"

    path = "src/numeric/dot.h"
    dot = sources.texts[path]
    now = len(list(dot_tile_fields(sources)))
    for old, new, more in [("struct DotTile {", "struct DotTile {\n  int one = 0, another = 0;", 2),
                           ("struct DotTile {", "struct Way {\n  int one = 0;\n};\nstruct DotTile : Way {", 1),
                           ("struct DotTile {", "struct DotTile {\n  bool is_sparse() const { return a_index; }", 0)]:
        rise = len(list(dot_tile_fields(sources.replaced(path, dot.replace(old, new))))) - now
        assert rise == more, f"dot-tile-fields: {new!r} counts {rise}, not {more}"

    files = dict(sizes(sources))
    more = dict(sizes(sources.replaced("src/vgpu/code/another.inc", "\n" * 1001)))
    assert more["files:src/vgpu/code"] == files["files:src/vgpu/code"] + 1
    assert more["thousands:src/vgpu/code"] > files["thousands:src/vgpu/code"]
    assert "files:src/vgpu/newly" in dict(sizes(sources.replaced("src/vgpu/newly/made.cc", "\n")))

    assert not list(faults({"a": 1}, {"a": 1}))
    for table, found in [({"a": 1}, {"a": 2}), ({"a": 2}, {"a": 1}), ({}, {"a": 1}), ({"a": 1}, {})]:
        assert len(list(faults(table, found))) == 1, (table, found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", choices=sorted(COUNTS))
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "src", "tools/lemma", "docs/architecture.md"], capture_output=True,
                            text=True)
    if listed.returncode != 0:
        print("skipped: no git checkout")
        return 77
    files = [file for file in listed.stdout.splitlines() if (ROOT / file).is_file()]
    sources = Sources({file: (ROOT / file).read_text(errors="replace") for file in files})
    if args.list:
        for path, at in COUNTS[args.list](sources):
            line = sources.texts[path].count("\n", 0, at) + 1
            print(f"{path}:{line}: {sources.texts[path].splitlines()[line - 1].strip()}")
        return 0
    found = counts(sources)
    if args.write:
        head = [line for line in TABLE.read_text().splitlines() if line.startswith("#")] if TABLE.exists() else []
        width = max(map(len, found)) + 1
        TABLE.write_text("\n".join(head + [f"{name:{width}}{most}" for name, most in found.items()]) + "\n")
        return 0
    check_itself(sources)
    wrong = list(faults(read_table(TABLE.read_text()), found))
    for line in wrong:
        print(line)
    print(f"{len(files)} files, {len(found)} counts, {len(MUTANTS)} planted, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
