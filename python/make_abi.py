#!/usr/bin/env python3
"""Writes lemma/_abi.py from include/lemma/c.h and the headers that it includes: the C API as ctypes, its structs as dataclasses.

    make_abi.py include/lemma/c.h _abi.py abi_check.cc

The headers are the one place for names, types and what they mean; what this does not understand in them is an error. It
knows four statements: an enum with numbers, a struct, a handle (a struct without fields), a function with LEMMA_API.
Comments above a statement or a field, and behind a field, become docstrings.

What becomes of a field of a struct that the library fills in:

    const char* a                           str
    lemma_strings a                         a tuple of str
    size_t a_count; const T* const* as      a tuple of records
    size_t a_count; const T* as             a numpy array, structured if T is a struct; of numbers a tuple
    const T* a                              a record, or a number; None is possible if the comment says null
    an enum                                 its name, a str: what lemma_fault_kind_name() says; without such a function
                                            LEMMA_FAULT_OUT_OF_BOUNDS is "out of bounds"
    T a[3]                                  a tuple

Structs that begin with `size` are the caller's; they and those of BY_HAND have no records. abi_check.cc, which the build
compiles, asserts that ctypes lays each struct out as the compiler does.
"""

import ctypes
import pathlib
import re
import sys
import textwrap
import types

BY_HAND = {"lemma_bytes", "lemma_strings", "lemma_text", "lemma_matrix", "lemma_npy", "lemma_mlir_parameter"}
NUMBERS = {
    "bool": "c_bool", "char": "c_char", "double": "c_double", "size_t": "c_size_t", "int": "c_int",
    **{f"{u}int{n}_t": f"c_{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)},
}  # fmt: skip
PYTHON_NUMBERS = {"bool": "bool", "double": "float"}


class NotUnderstood(Exception):
    pass


# ---- reading


def preprocessed(path, include_folder, seen):
    """The lines of a header as a C compiler that is no C++ compiler sees them, #includes of ours followed."""
    if path in seen:
        return []
    seen.add(path)
    lines, taken = [], [True]
    text = re.sub(r"\\\n", " ", path.read_text())
    for line in text.split("\n"):
        words = line.split()
        if not line.startswith("#"):
            if all(taken):
                lines.append(line)
        elif words[0] in ("#ifdef", "#ifndef"):
            taken.append((words[0] == "#ifndef") != (words[1] == "__never__") and words[1] != "__cplusplus")
        elif words[0] == "#else":
            taken[-1] = not taken[-1]
        elif words[0] == "#endif":
            taken.pop()
        elif words[0] == "#include":
            if words[1].startswith('"') and all(taken):
                lines += preprocessed(include_folder / words[1].strip('"'), include_folder, seen)
                lines.append("")
        elif words[0] != "#define":
            raise NotUnderstood(line)
    return lines


def statements(lines):
    """[(comment above, lines of the statement)]"""
    comment, body, depth = [], [], 0
    for line in lines:
        if not body and not line.strip():
            comment = []
        elif not body and line.startswith("//"):
            comment.append(line[2:].strip())
        else:
            body.append(line)
            code = line.split("//")[0]
            depth += code.count("{") - code.count("}")
            if depth == 0 and code.rstrip().endswith(";"):
                yield " ".join(comment), body
                body = []  # the comment holds for what follows it at once, too
            elif depth < 0:
                raise NotUnderstood(line)
    if body:
        raise NotUnderstood(" ".join(body))


class Declared:
    """A field or a parameter: its type's name, how many * there are, an array's length, a function's parameters."""

    def __init__(self, name, base, stars, length=None, function=None, doc="", contiguous=True):
        self.name, self.base, self.stars, self.length, self.function, self.doc = (
            name, base, stars, length, function, doc,
        )  # fmt: skip
        self.pointers = not contiguous  # to pointers: T* const*


def declarations(code, doc=""):
    """What `const T *a, b[3]` or `T (*f)(...)` declares, without a semicolon."""
    code = " ".join(code.split())
    if function := re.fullmatch(r"((?:const )?\w+[ *]+)\(\*(\w+)\)\((.*)\)", code):
        returned, name, parameters = function.groups()
        return [Declared(name, None, 0, function=(returned_type(returned), parameters_of(parameters)), doc=doc)]
    match = re.fullmatch(r"(?:const )?(?:enum |struct )?(\w+)((?: |\*|\bconst\b)*)(.*)", code)
    if not match:
        raise NotUnderstood(code)
    base, first_stars, rest = match.groups()
    found = []
    for i, declarator in enumerate(rest.split(",")):
        one = re.fullmatch(r"\s*(\**)\s*(\w+)(?:\[(\d+)\])?\s*", declarator)
        if not one:
            raise NotUnderstood(code)
        stars = one[1].count("*") + first_stars.count("*") * (i == 0)
        found.append(
            Declared(
                one[2],
                base,
                stars,
                int(one[3]) if one[3] else None,
                doc=doc,
                contiguous="*const*" not in first_stars.replace(" ", ""),
            )
        )
    return found


def parameters_of(code):
    code = " ".join(code.split())
    return [] if code in ("void", "") else [d for part in code.split(",") for d in declarations(part)]


def returned_type(code):
    match = re.fullmatch(r"(?:const )?(\w+)\s*((?:\*|\s)*)", code.strip())
    if not match:
        raise NotUnderstood(code)
    return Declared("", match[1], match[2].count("*"))


class Api:
    def __init__(self):
        self.enums, self.structs, self.handles, self.functions = {}, {}, {}, {}

    def read(self, comment, lines):
        code = "\n".join(line.split("//")[0] for line in lines)
        flat = " ".join(code.split())
        if match := re.fullmatch(r"typedef struct (\w+) (\w+);", flat):
            self.handles[match[2]] = comment
        elif match := re.fullmatch(r"typedef enum \w+ (?:LEMMA_INT )?\{(.*)\} (\w+);", flat):
            self.enums[match[2]] = (comment, self.enumerators(lines))
        elif match := re.fullmatch(r"typedef struct \w+ \{.*\} (\w+);", flat):
            self.structs[match[1]] = (comment, self.fields(lines))
        elif match := re.fullmatch(r"LEMMA_API ((?:const )?\w+[ *]+)(\w+)\((.*)\);", flat):
            self.functions[match[2]] = (comment, returned_type(match[1]), parameters_of(match[3]))
        else:
            raise NotUnderstood(flat)

    @staticmethod
    def enumerators(lines):
        code = " ".join(line.split("//")[0] for line in lines)
        found = []
        for part in code[code.index("{") + 1 : code.rindex("}")].split(","):
            match = re.fullmatch(r"\s*(\w+) = (\d+)\s*", part)
            if not match:
                raise NotUnderstood(part)
            found.append((match[1], int(match[2])))
        return found

    @staticmethod
    def fields(lines):
        found, above, pending, beside = [], [], "", []
        inside = "\n".join(lines)
        inside = inside[inside.index("{") + 1 : inside.rindex("}")]
        for line in inside.split("\n"):
            code, _, doc = line.partition("//")
            if not code.strip():
                if doc and not pending and found and not above and beside and line.startswith(" " * 8):
                    found[-1].doc += " " + doc.strip()  # a comment behind a field, continued
                elif doc:
                    above.append(doc.strip())
                elif not line.strip():
                    above = []
                continue
            pending += " " + code.strip()
            beside = [doc.strip()] if doc.strip() else []
            if pending.endswith(";"):
                said = " ".join(above + beside)
                for one in pending.strip().rstrip(";").split(";"):
                    found += declarations(one, said)
                pending, above = "", []
        if pending:
            raise NotUnderstood(pending)
        return found


# ---- ctypes


def ctype(api, d):
    """The ctypes expression of a Declared, but for its array length."""
    if d.function:
        returned, parameters = d.function
        inner = ", ".join([ctype(api, returned)] + [ctype(api, p) for p in parameters])
        return f"CFUNCTYPE({inner})"
    base, stars = d.base, d.stars
    if base == "void":
        if stars == 0:
            return "None"
        made, stars = "c_void_p", stars - 1
    elif base == "char" and stars > 0:
        made, stars = "c_char_p", stars - 1
    elif base in NUMBERS:
        made = NUMBERS[base]
    elif base in api.enums:
        made = "c_uint32"
    elif base in api.structs or base in api.handles:
        made = base
    else:
        raise NotUnderstood(f"the type {base}")
    for _ in range(stars):
        made = f"POINTER({made})"
    return made


# ---- records


def camel(name):
    return "".join(word.capitalize() for word in name.removeprefix("lemma_").split("_"))


def enum_strings(name, values):
    """{number: "out of bounds"}: what the enumerators have not in common."""
    words = [v.split("_") for v, _ in values]
    common = 0
    while len(words) > 1 and all(len(w) > common + 1 and w[common] == words[0][common] for w in words):
        common += 1
    return {number: " ".join(v.split("_")[common:]).lower() for v, number in values}


def record_fields(api, name):
    """[(name, annotation, converting expression of `s`, doc)] of a struct that the library fills in."""
    comment, fields = api.structs[name]
    result, i = [], 0
    while i < len(fields):
        d = fields[i]
        following = fields[i + 1] if i + 1 < len(fields) else None
        counts = d.base == "size_t" and d.stars == 0 and (d.name == "count" or d.name.endswith("_count"))
        if counts and following and following.stars and following.base != "char":
            f, count = following, f"s.{d.name}"
            if f.base in api.structs and not f.pointers:
                result.append((f.name, "numpy.ndarray", f"_array(s.{f.name}, {count})", f.doc or d.doc))
            elif f.base in api.structs:
                element = f"_{f.base}(s.{f.name}[i][0])"
                result.append(
                    (f.name, f"tuple[{camel(f.base)}, ...]", f"tuple([{element} for i in range({count})])", f.doc or d.doc)
                )
            elif f.base in NUMBERS and f.stars == 1:
                result.append((f.name, "tuple[int, ...]", f"tuple(s.{f.name}[:{count}])", f.doc or d.doc))
            else:
                raise NotUnderstood(f"{name}.{f.name}")
            i += 2
            continue
        i += 1
        value = f"s.{d.name}"
        pointee = api.structs[d.base][0] if d.base in api.structs else ""
        null = "null" in (comment + d.doc + pointee).lower()
        optional = (lambda a: f"Optional[{a}]") if null else (lambda a: a)
        if d.length:
            result.append((d.name, "tuple[int, ...]", f"tuple({value})", d.doc))
        elif d.base == "char" and d.stars == 1:
            result.append((d.name, "str", f"_str({value})", d.doc))
        elif d.base == "lemma_strings" and d.stars == 0:
            result.append((d.name, "tuple[str, ...]", f"_strings({value})", d.doc))
        elif d.base == "lemma_text" and d.stars == 1:
            result.append((d.name, optional("str"), f"_text({value})", d.doc))
        elif d.base in api.enums and d.stars == 0:
            result.append((d.name, camel(d.base), f"_{d.base}.get({value}, '')", d.doc))
        elif d.base in api.structs and d.stars == 1:
            made = f"_{d.base}({value}[0]) if {value} else None"
            result.append((d.name, optional(camel(d.base)), made if null else f"_never_null({made})", d.doc))
        elif d.base in NUMBERS and d.stars == 1:
            made = f"{value}[0] if {value} else None"
            number = PYTHON_NUMBERS.get(d.base, "int")
            result.append((d.name, optional(number), made if null else f"_never_null({made})", d.doc))
        elif d.base in NUMBERS and d.stars == 0:
            result.append((d.name, PYTHON_NUMBERS.get(d.base, "int"), value, d.doc))
        else:
            raise NotUnderstood(f"{name}.{d.name}")
    return result


def is_record(api, name):
    fields = api.structs[name][1]
    if name in BY_HAND or fields[0].name == "size":
        return False
    return all(f.base in ("lemma_strings", "lemma_text") or f.base not in api.structs or is_record(api, f.base) for f in fields)


def docstring(text, indent):
    text = re.sub(r"\s+", " ", text).strip().replace("\\", "\\\\").replace('"', "'")
    if not text:
        return []
    made = textwrap.fill(text + '"""', 116, initial_indent=indent + '"""', subsequent_indent=indent, break_on_hyphens=False)
    return [made]


def write(api, source):
    out = [
        f'"""The C API as ctypes, and its structs as dataclasses: made by make_abi.py from {source}."""',
        "",
        "from __future__ import annotations",
        "",
        "from ctypes import (CDLL, CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int, c_int8, c_int16, c_int32,",
        "                    c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p, string_at)",
        "from dataclasses import dataclass",
        "from typing import TYPE_CHECKING, Any, Literal, Optional",
        "",
        "if TYPE_CHECKING:",
        "    import numpy",
        "",
        "# ---- enums",
    ]
    for name, (comment, values) in api.enums.items():
        out += ["", *([f"# {comment}"] if comment else [])]
        out += [f"{v} = {number}" for v, number in values]
        strings = enum_strings(name, values)
        literal = f"Literal[{', '.join(repr(s) for s in strings.values())}]"
        out.append(f"{camel(name)} = {'str' if f'{name}_name' in api.functions else literal}")
        out.append(f"_{name}: dict[int, Any] = {strings!r}")
    out += ["", "", "# ---- handles and structs"]
    for name in [*api.handles, *api.structs]:
        out += ["", "", f"class {name}(Structure):", "    pass"]
    out += ["", ""]
    for name, (_, fields) in api.structs.items():
        out.append(f"{name}._fields_ = [")
        for d in fields:
            out.append(f"    ({d.name!r}, {ctype(api, d)}{f' * {d.length}' if d.length else ''}),")
        out.append("]")
    out += ["", "", "# ---- functions", "", "", "def declare(library: CDLL) -> None:",
            '    """Tells ctypes the types of all functions."""']  # fmt: skip
    for name, (_, returned, parameters) in api.functions.items():
        out.append(f"    library.{name}.restype = {ctype(api, returned)}")
        out.append(f"    library.{name}.argtypes = [{', '.join(ctype(api, p) for p in parameters)}]")
    for name in api.enums:
        if f"{name}_name" in api.functions:
            out.append(f"    for number in _{name}:")
            out.append(f"        _{name}[number] = library.{name}_name(number).decode()")
    out += [
        "", "", "# ---- records", "", "",
        "def _str(value: Optional[bytes]) -> str:",
        '    return value.decode("utf-8", "replace") if value else ""',
        "", "",
        "def _strings(value: Any) -> tuple[str, ...]:",
        "    return tuple([_str(value.items[i]) for i in range(value.count)])",
        "", "",
        "def _array(values: Any, count: int) -> numpy.ndarray:",
        "    import numpy",
        "",
        "    return numpy.ctypeslib.as_array(values, (count,)).copy() if count else numpy.empty(0)",
        "", "",
        "def _never_null(value: Any) -> Any:",
        "    return value",
        "", "",
        "def _text(value: Any) -> Optional[str]:",
        '    return string_at(value[0].text, value[0].size).decode("utf-8", "replace") if value else None',
    ]  # fmt: skip
    for name in api.structs:
        if not is_record(api, name):
            continue
        fields = record_fields(api, name)
        out += [
            "",
            "",
            "@dataclass(frozen=True)",
            f"class {camel(name)}:",
            *docstring(api.structs[name][0] or camel(name), "    "),
            "",
        ]
        for field, annotation, _, doc in fields:
            out += [f"    {field}: {annotation}", *docstring(doc, "    ")]
        out += ["", "", f"def _{name}(s: Any) -> {camel(name)}:", f"    return {camel(name)}("]
        out += [f"        {expression}," for _, _, expression, _ in fields]
        out.append("    )")
    return "\n".join(out) + "\n"


def write_check(api, abi_text, source):
    """static_asserts of what ctypes makes of the structs."""
    module = types.ModuleType("lemma_abi")
    sys.modules[module.__name__] = module  # dataclasses look there
    exec(compile(abi_text, "_abi.py", "exec", dont_inherit=True), module.__dict__)
    out = [
        f"// What ctypes believes of the layout of the structs in {source}, asserted by the compiler. Made by make_abi.py.",
        '#include "lemma/c.h"', "", "#include <cstddef>", "",
    ]  # fmt: skip
    for name, (_, fields) in api.structs.items():
        made = getattr(module, name)
        out.append(f"static_assert(sizeof({name}) == {ctypes.sizeof(made)});")
        out += [f"static_assert(offsetof({name}, {d.name}) == {getattr(made, d.name).offset});" for d in fields]
    return "\n".join(out) + "\n"


def read(header):
    api = Api()
    include_folder = header.parent.parent
    for comment, lines in statements(preprocessed(header, include_folder, set())):
        try:
            api.read(comment, lines)
        except NotUnderstood as error:
            raise NotUnderstood(f"{' '.join(lines)}\n  {error}") from error
    return api


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: make_abi.py HEADER _abi.py abi_check.cc")
    header = pathlib.Path(sys.argv[1])
    try:
        api = read(header)
        abi = write(api, "include/lemma/c.h")
        check = write_check(api, abi, "include/lemma/c.h")
    except NotUnderstood as error:
        sys.exit(f"make_abi.py: {header}: not understood: {error}")
    for path, text in ((sys.argv[2], abi), (sys.argv[3], check)):
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(path).write_text(text)


if __name__ == "__main__":
    main()
