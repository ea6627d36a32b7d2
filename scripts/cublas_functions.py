#!/usr/bin/env python3
"""The tables of cuBLAS's functions, src/cublas/functions.def and lt_functions.def, from a CUDA toolkit's public headers and the
symbols of its libraries.

usage: scripts/cublas_functions.py [--check] [TOOLKIT]

TOOLKIT is /usr/local/cuda unless told. Facts taken: which symbols libcublas.so.13 and libcublasLt.so.13 export (nm), and how
cublas_api.h and cublasLt.h declare them. Which of them Lemma implements, and by what, is said by ROUTINES here; all others are
refused. --check writes nothing and fails if a table, or a number in src/cublas, is not as the toolkit has it. 77: there is no
toolkit, or no nm.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "src/cublas"
HEAD = """\
// cuBLAS's functions: one row a symbol of libcublas.so.13, one fact a field. Made by scripts/cublas_functions.py from the
// public header of CUDA 13.0 and its library's symbols; what implements a function is said there.
//
//   ROUTINE(symbol, (parameters), what it returns)    and symbol_64 with int64_t in the place of Int, which is int
//   PLAIN(symbol, (parameters), what it returns)      there is no symbol_64
//   OTHER(result, symbol, (parameters))               no status; defined in handle.cc
//   REFUSED(symbol)                                   returns CUBLAS_STATUS_NOT_SUPPORTED
//
// Whoever includes this defines the macros and Int, and types.h's types; what rows return is routines.h's.
"""
LT_HEAD = """\
// cublasLt's functions: one row a symbol of libcublasLt.so.13. Made by scripts/cublas_functions.py from the public header of CUDA
// 13.0 and its library's symbols; what implements a function is said there. Rows are those of functions.def; what they return is
// lt_routines.h's.
"""
TYPE = {"S": "CUDA_R_32F", "D": "CUDA_R_64F", "C": "CUDA_C_32F", "Z": "CUDA_C_64F", "H": "CUDA_R_16F"}
OTHER = {"cublasGetStatusName": "const char*", "cublasGetStatusString": "const char*", "cublasGetCudartVersion": "size_t",
         "cublasLtGetStatusName": "const char*", "cublasLtGetStatusString": "const char*", "cublasLtGetVersion": "size_t",
         "cublasLtGetCudartVersion": "size_t"}  # fmt: skip
# What libraries of later toolkits want to be there when they are loaded.
LATER = {"lt_functions.def": {"cublasLtGroupedMatrixLayoutCreate", "cublasLtGroupedMatrixLayoutInit_internal"}}
# A pattern of symbols, and the call: {0} is the type of the letter, {args} the arguments.
ROUTINES = [
    ("cublasCreate_v2", "create({args})"),
    ("cublasDestroy_v2", "destroy({args})"),
    ("cublasGetVersion_v2", "get_version({args})"),
    ("cublasGetProperty", "get_property({args})"),
    ("cublas(Get|Set)(Stream|PointerMode)_v2", "{0_}_{1_}({args})"),
    ("cublas(Get|Set)(AtomicsMode|MathMode|SmCountTarget)", "{0_}_{1_}({args})"),
    ("cublasSetWorkspace_v2", "set_workspace({args})"),
    ("cublasLoggerConfigure", "configure_logger({args})"),
    ("cublas(Get|Set)LoggerCallback", "{0_}_logger_callback({args})"),
    ("cublas[GS]et(Vector|Matrix)", "copy_{0_}({args}, nullptr, true)"),
    ("cublas[GS]et(Vector|Matrix)Async", "copy_{0_}({args}, false)"),
    ("cublas(Dot|Dotc|Nrm2|Asum|Axpy|Copy|Swap|Scal|Rot)Ex", "{0_}_ex({args})"),
    ("cublasI([sdcz])(amax|amin)_v2", "i{1}({0}, {args})"),
    ("cublas([SD])(asum|nrm2)_v2", "{1}({0}, {args})"),
    ("cublas(Sc|Dz)(asum|nrm2)_v2", "{1}({0}, {args})"),
    ("cublas([SDCZ])(axpy|copy|swap)_v2", "{1}({0}, {args})"),
    ("cublas([SD])dot_v2|cublas([CZ])dotu_v2", "dot({0}, {args})"),
    ("cublas([CZ])dotc_v2", "dotc({0}, {args})"),
    ("cublas([SDCZ])scal_v2", "scal({0}, {0}, {args})"),
    ("cublasCsscal_v2", "scal(CUDA_C_32F, CUDA_R_32F, {args})"),
    ("cublasZdscal_v2", "scal(CUDA_C_64F, CUDA_R_64F, {args})"),
    ("cublas([SDCZ])rot_v2", "rot({0}, {0}, {args})"),
    ("cublasCsrot_v2", "rot(CUDA_C_32F, CUDA_R_32F, {args})"),
    ("cublasZdrot_v2", "rot(CUDA_C_64F, CUDA_R_64F, {args})"),
    ("cublas([SDCZ])rotg_v2", "rotg({0}, {args})"),
    ("cublas([SD])(rotm|rotmg)_v2", "{1}({0}, {args})"),
    ("cublas([SDCZ])(gemv|gbmv)_v2", "{1}({0}, {args})"),
    ("cublas([SDCZ])gemv(Batched|StridedBatched)", "gemv_{1_}({0}, {0}, {0}, {args})"),
    ("cublasHSHgemv(Batched|StridedBatched)", "gemv_{0_}(CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, {args})"),
    ("cublasHSSgemv(Batched|StridedBatched)", "gemv_{0_}(CUDA_R_16F, CUDA_R_32F, CUDA_R_32F, {args})"),
    ("cublasTSTgemv(Batched|StridedBatched)", "gemv_{0_}(CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, {args})"),
    ("cublasTSSgemv(Batched|StridedBatched)", "gemv_{0_}(CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, {args})"),
    ("cublas([SD])ger_v2|cublas([CZ])geru_v2", "ger({0}, false, {args})"),
    ("cublas([CZ])gerc_v2", "ger({0}, true, {args})"),
    ("cublas([SDCZ])(sy|sb|sp)mv_v2", "{1}mv({0}, false, {args})"),
    ("cublas([CZ])h(e|b|p)mv_v2", "s{1_h}mv({0}, true, {args})"),
    ("cublas([SDCZ])(syr|syr2|spr|spr2)_v2", "{1}({0}, false, {args})"),
    ("cublas([CZ])h(er|er2|pr|pr2)_v2", "s{1_h}({0}, true, {args})"),
    ("cublas([SDCZ])t([rbp])mv_v2", "t{1}mv({0}, false, {args})"),
    ("cublas([SDCZ])t([rbp])sv_v2", "t{1}mv({0}, true, {args})"),
    ("cublas([SDCZ])(trttp|tpttr)", "{1}({0}, {args})"),
    ("cublas([SDCZ])gemm_v2|cublas(H)gemm|cublas([CZ])gemm3m", "gemm({0}, {args})"),
    ("cublas([SDCZH])gemm(Batched|StridedBatched)|cublas(C)gemm3m(Batched|StridedBatched)", "gemm_{1_}({0}, {args})"),
    ("cublasGemmEx", "gemm_ex({args})"),
    ("cublasGemm(Batched|StridedBatched)Ex", "gemm_{0_}_ex({args})"),
    ("cublas([SC])gemmEx|cublas(C)gemm3mEx", "gemm_of_types({0}, {args})"),
    ("cublas([SDCZ])symm_v2", "symm({0}, false, {args})"),
    ("cublas([CZ])hemm_v2", "symm({0}, true, {args})"),
    ("cublas([SDCZ])(syrk|syr2k)_v2|cublas([SDCZ])(syrkx)", "{1}({0}, false, {args})"),
    ("cublas([CZ])h(erk|er2k)_v2|cublas([CZ])h(erkx)", "s{1_h}({0}, true, {args})"),
    ("cublas([SDCZ])(trmm|trsm)_v2|cublas([SDCZ])(geam|dgmm)", "{1}({0}, {args})"),
    ("cublas([SDCZ])(trsm|getrf|getri|getrs|matinv|geqrf|gels)Batched", "{1}_batched({0}, {args})"),
    ("cublasLt(Create|Destroy|GetProperty)", "lt_{0_}({args})"),
    ("cublasLtHeuristicsCacheGetCapacity", "lt_get_cache_capacity({args})"),
    ("cublasLtHeuristicsCacheSetCapacity|cublasLtLogger(SetCallback|SetFile|OpenFile|SetLevel|SetMask|ForceDisable)", "lt_ignore({args})"),
    ("cublasLt(MatrixLayout|MatmulDesc)(Create|Destroy)", "lt_{0_}_{1_}({args})"),
    ("cublasLt(MatrixLayout|MatmulDesc)Init_internal", "lt_{0_}_init({args})"),
    ("cublasLt(MatrixLayout|MatmulDesc)(Set|Get)Attribute", "lt_{0_}_{1_}({args})"),
    ("cublasLtMatmulPreference(Create|Destroy)", "lt_preference_{0_}({args})"),
    ("cublasLtMatmulPreferenceInit_internal", "lt_preference_init({args})"),
    ("cublasLtMatmulPreference(Set|Get)Attribute", "lt_preference_{0_}({args})"),
    ("cublasLtMatrixTransformDesc(Create|Destroy)", "lt_transform_desc_{0_}({args})"),
    ("cublasLtMatrixTransformDescInit_internal", "lt_transform_desc_init({args})"),
    ("cublasLtMatrixTransformDesc(Set|Get)Attribute", "lt_transform_desc_{0_}({args})"),
    ("cublasLtMatmulAlgoConfig(Set|Get)Attribute", "lt_algo_{0_}({args})"),
    ("cublasLtMatmulAlgoGetHeuristic", "lt_heuristic({args})"),
    ("cublasLtMatmulAlgoGetIds", "lt_algo_ids({args})"),
    ("cublasLtMatmulAlgo(Init|Check)", "lt_algo_{0_}({args})"),
    ("cublasLtMatmul", "lt_matmul({args})"),
    ("cublasLtMatrixTransform", "lt_transform({args})"),
]


def words(name):
    """"SmCountTarget" as sm_count_target; what is shorter here."""
    short = {"Batched": "batched", "StridedBatched": "strided"}
    return short.get(name) or re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def call_of(symbol, arguments):
    """What the row returns; None: it is refused."""
    for pattern, call in ROUTINES:
        if found := re.fullmatch(pattern, symbol):
            groups = [group for group in found.groups() if group is not None]
            values = {"args": ", ".join(arguments)}
            for i, group in enumerate(groups):
                values[str(i)] = TYPE.get(group[-1].upper(), group) if len(group) <= 2 and i == 0 else group
                values[f"{i}_"] = words(group)
                values[f"{i}_h"] = group.replace("e", "y", 1) if group.startswith("e") else group
            return re.sub(r"\{(\w+)\}", lambda m: values[m[1]], call)
    return None


def declarations(header):
    """{symbol: [(type, name)]}"""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", header, flags=re.DOTALL)
    found = {}
    for symbol, parameters in re.findall(r"CUBLASWINAPI\s+(cublas\w+)\s*\(([^;{]*?)\)\s*;", text):
        parameters = " ".join(parameters.split())
        found[symbol] = []
        for each in [] if parameters in ("", "void") else parameters.split(","):
            kind, name, array = re.fullmatch(r"(.*?)\s*(\w+)\s*(\[\])?", each.strip()).groups()
            found[symbol].append((re.sub(r"\s*\*\s*", "*", kind) + ("*" if array else ""), name))
    return found


def with_int(narrow, wide):
    """The parameters, int as Int where the wide form has int64_t."""
    both = []
    for (kind, name), (wide_kind, _) in zip(narrow, wide, strict=True):
        shared = re.sub(r"\bint\b", "Int", kind)
        if kind != wide_kind and shared.replace("Int", "int64_t") != wide_kind and kind != "long long int":
            sys.exit(f"{name}: {kind} and {wide_kind}")
        both.append((kind if kind == wide_kind or kind == "long long int" else shared, name))
    return both


def table(head, symbols, declared):
    lines = [head]
    refused = []
    for symbol in sorted(symbols):
        if symbol.endswith("_64") and symbol[:-3] in symbols and call_of(symbol[:-3], []):
            continue
        parameters = declared.get(symbol, [])
        if symbol in OTHER:
            lines.append(f"OTHER({OTHER[symbol]}, {symbol}, ({', '.join(f'{t} {n}' for t, n in parameters)}))\n")
            continue
        call = call_of(symbol, [name for _, name in parameters])
        if call is None:
            refused.append(symbol)
            continue
        kind = "PLAIN"
        if symbol + "_64" in symbols:
            kind, parameters = "ROUTINE", with_int(parameters, declared[symbol + "_64"])
        lines.append(f"{kind}({symbol}, ({', '.join(f'{t} {n}' for t, n in parameters)}), {call})\n")
    return "".join(lines) + "\n" + "".join(f"REFUSED({symbol})\n" for symbol in refused)


def wrong_numbers(headers):
    """Enumerators that have another number in the toolkit."""
    theirs = dict(re.findall(r"\b((?:CUBLAS|CUBLASLT|CUDA)_\w+)\s*=\s*(-?\d+)\s*[,/}\n]", headers))
    ours = [pair for name in ("types.h", "lt_types.h") for pair in re.findall(r"\b(\w+) = (-?\d+)\b(?! \|)", (FOLDER / name).read_text())]
    prefix = {"LAYOUT": "MATRIX_LAYOUT", "MATMUL": "MATMUL_DESC", "PREFERENCE": "MATMUL_PREF", "TRANSFORM": "MATRIX_TRANSFORM_DESC", "CONFIG": "ALGO_CONFIG"}
    ours += [(f"CUBLASLT_{prefix[kind]}_{name}", number)
             for kind, name, number in re.findall(r"^(\w+)\((\w+), (\d+), \w+\)$", (FOLDER / "lt_attributes.def").read_text(), re.MULTILINE)]
    return [f"{name} is {theirs[name]}" for name, number in ours if theirs.get(name, number) != number]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("toolkit", nargs="?", default="/usr/local/cuda", type=pathlib.Path)
    options = parser.parse_args()
    headers = {name: options.toolkit / f"include/{name}" for name in ("cublas_api.h", "cublasLt.h", "library_types.h")}
    libraries = {name: options.toolkit / f"lib64/{name}" for name in ("libcublas.so.13", "libcublasLt.so.13")}
    if not all(path.exists() for path in (*headers.values(), *libraries.values())) or not shutil.which("nm"):
        print(f"SKIPPED: no cuBLAS in {options.toolkit}, or no nm")
        return 77
    texts = {name: path.read_text() for name, path in headers.items()}
    wrong = wrong_numbers("".join(texts.values()))
    for file, head, header, library in (("functions.def", HEAD, "cublas_api.h", "libcublas.so.13"),
                                        ("lt_functions.def", LT_HEAD, "cublasLt.h", "libcublasLt.so.13")):  # fmt: skip
        listed = subprocess.run(["nm", "-D", "--defined-only", libraries[library]], check=True, capture_output=True, text=True).stdout
        symbols = {line.split()[-1].split("@")[0] for line in listed.splitlines()} - {library} | LATER.get(file, set())
        made = table(head, symbols, declarations(texts[header]))
        if not options.check:
            (FOLDER / file).write_text(made)
        elif (FOLDER / file).read_text() != made:
            wrong.append(f"{file} is not what the toolkit gives: run scripts/cublas_functions.py")
    print("\n".join(wrong) if wrong else "as the toolkit has it")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
