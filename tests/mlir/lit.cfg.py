# lit's configuration for the tests in MLIR: `lit-22 -v build/tests/mlir`, or ctest -R mlir.lit.
import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["programs"]
config.test_source_root = os.path.dirname(__file__)

# Tools by whole path, so that no other mlir-opt or FileCheck comes between.
for name, path in (("lemma-opt", config.lemma_opt), ("lemma", config.lemma), ("FileCheck", config.filecheck)):
    config.substitutions.append((r"(?<![-\w/.])" + name + r"(?![-\w/.])", path))
config.substitutions.append(("%not", config.not_tool))
config.substitutions.append(("%python", sys.executable))

# %ptxas: the assembler as oracle, or, without it, a command that takes everything. Tests that need its word REQUIRES it.
ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
if ptxas:
    config.available_features.add("ptxas")
config.substitutions.append(("%ptxas", f"{ptxas} -c -o /dev/null" if ptxas else "true"))

# %mlir-opt: LLVM 22's own, for tests that REQUIRES it: it says what the newer spelling is.
mlir_opt = next(filter(None, map(shutil.which, ("mlir-opt-22", "/usr/lib/llvm-22/bin/mlir-opt", "mlir-opt"))), None)
if mlir_opt and "LLVM version 22." in subprocess.run([mlir_opt, "--version"], capture_output=True, text=True).stdout:
    config.available_features.add("mlir-opt")
    config.substitutions.append(("%mlir-opt", mlir_opt))
config.environment["LEMMA_DEVICE"] = "cpu"
