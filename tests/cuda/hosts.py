#!/usr/bin/env python3
"""What nvcc makes of a program, without nvcc: the PTX that is kept in ptx/, and host code for a C++ compiler.

The host code is the program's own text: kernels become empty functions whose addresses stand for them, other device
functions go, `kernel<<<grid, block>>>(arguments)` becomes launch(), and a last line registers all with the PTX
(host/cuda_runtime.h). That is enough for programs without templates of kernels, whose functions end in a brace at the
beginning of a line.

usage: hosts.py SOURCE.cu OUTPUT.cc      the host code
       hosts.py --list                   the programs that have PTX
       hosts.py --compile [NVCC]         writes the PTX of all of them: nvcc 13.0.88
"""

import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PROGRAMS = ["atomics_integer", "bitonic_sort", "breadth_first", "callbacks", "constant_memory", "events", "graph_capture", "histogram",
            "matmul_naive", "reduction_shared", "scan", "sparse_product", "streams", "transpose", "vector_add", "warp_shuffle", "warp_vote"]

FUNCTION = re.compile(r"^(?:__global__|__device__) (?:[\w*&]+ )+(?P<name>\w+)\((?P<parameters>[^;{]*)\) \{\n.*?^\}\n", re.M | re.S)
VARIABLE = re.compile(r"^(?:__device__|__constant__) (?P<type>[\w ]+) (?P<name>\w+)(?P<rest>[^;({]*(?:\{[^;]*\})?);", re.M)
LAUNCH = re.compile(r"\b(?P<name>\w+)<<<(?P<shape>.*?)>>>\((?P<arguments>.*?)\);", re.S)


def ptx_of(name):
    return FOLDER / "ptx" / (name + ".ptx")


def kernel_in(ptx, name):
    """The mangled name of a kernel."""
    found = re.findall(rf"\.entry (_Z{len(name)}{name}\w*)\(", ptx)
    if len(found) != 1:
        sys.exit(f"{name}: {len(found)} kernels of that name in the PTX")
    return found[0]


def host_code(source, ptx_file):
    ptx = ptx_file.read_text()
    kernels, variables = [], []

    def function(match):
        if not match.group(0).startswith("__global__"):
            return ""
        kernels.append(match.group("name"))
        return f"static void {match.group('name')}({match.group('parameters')}) {{}}\n"

    def variable(match):
        variables.append((match.group("name"), str(match.group(0).startswith("__constant__")).lower()))
        return f"static {match.group('type')} {match.group('name')}{match.group('rest')};"

    text = FUNCTION.sub(function, source.read_text())
    text = VARIABLE.sub(variable, text)
    text = LAUNCH.sub(r"launch({\g<shape>}, \g<name>, \g<arguments>);", text)
    registered = ", ".join(f'{{reinterpret_cast<const void*>({k}), "{kernel_in(ptx, k)}"}}' for k in kernels)
    shadows = ", ".join(f'{{&{name}, "{name}", sizeof {name}, {constant}}}' for name, constant in variables)
    # The name is a literal of C++ as it is: build folders have no quotes in them.
    return (f"// Host code of {source.name}, by hosts.py.\n{text}\n"
            f'static const bool registered = register_program("{ptx_file}", {{{registered}}}, {{{shadows}}});\n')


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(PROGRAMS))
    elif len(sys.argv) > 1 and sys.argv[1] == "--compile":
        nvcc = sys.argv[2] if len(sys.argv) > 2 else "nvcc"
        for name in PROGRAMS:
            subprocess.run([nvcc, "-std=c++20", "-ptx", "-arch=compute_90", FOLDER / (name + ".cu"), "-o", ptx_of(name)], check=True)
    elif len(sys.argv) == 3:
        source = pathlib.Path(sys.argv[1])
        pathlib.Path(sys.argv[2]).write_text(host_code(source, ptx_of(source.stem)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
