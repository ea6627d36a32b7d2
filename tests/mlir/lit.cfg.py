# lit's configuration for the tests in MLIR: `lit-22 -v build/tests/mlir`, or ctest -R mlir.
import os
import shutil
import subprocess

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
# %python has numpy: tests that use it REQUIRES that.
if config.python:
    config.available_features.add("numpy")
    config.substitutions.append(("%python", config.python))

# %ptxas: the assembler as oracle, or, without it, a command that takes everything (mlir.skipped_without_ptxas says so).
config.substitutions.append(("%ptxas", f"{config.ptxas} -c -o /dev/null" if config.ptxas else "true"))

# %mlir-opt and %mlir-runner: LLVM 22's own, for tests that REQUIRES them: what is right is what they do.
def upstream(name):
    found = next(filter(None, map(shutil.which, (name + "-22", "/usr/lib/llvm-22/bin/" + name, name))), None)
    if found and "LLVM version 22." in subprocess.run([found, "--version"], capture_output=True, text=True).stdout:
        return found
    return None


mlir_opt = upstream("mlir-opt")
if mlir_opt:
    config.available_features.add("mlir-opt")
    config.substitutions.append(("%mlir-opt", mlir_opt))
mlir_runner = upstream("mlir-runner")
if mlir_runner:
    libraries = os.path.join(os.path.dirname(os.path.realpath(mlir_runner)), "..", "lib")
    libraries = [os.path.join(libraries, f"libmlir_{name}.so") for name in ("runner_utils", "c_runner_utils")]
    if all(map(os.path.exists, libraries)):
        config.available_features.add("mlir-runner")
        config.substitutions.append(("%mlir-runner", f"{mlir_runner} --shared-libs={','.join(libraries)}"))
config.environment["LEMMA_DEVICE"] = "cpu"
