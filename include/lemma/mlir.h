// MLIR programs in the nvgpu dialect: to PTX, and run whole, host side included.
//
//   auto compiled = lemma::compile_mlir(text, {.name = "gemm.mlir"});
//   auto module = device->load_ptx(compiled->text, {.name = "gemm.ptx"});
//
//   auto status = lemma::run_mlir(text, {.name = "gemm.mlir", .device = "cpu"});   // calls func.func @main
//
// Lemma built without MLIR (-DLEMMA_NVGPU=OFF) has these functions too: they return an error of kind
// unavailable. They are in the library lemma::nvgpu, not in lemma::lemma.
//
// Tests: tests/mlir/, tests/unit/nvgpu/.
#pragma once

#include "lemma/device.h"
#include "lemma/message.h"
#include "lemma/report.h"
#include "lemma/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma {

// How far a program is taken.
enum class MlirStage : uint8_t {
  nvgpu, // parsed, verified and printed, in LLVM 22's spelling
  nvvm,  // device and host code in the LLVM and NVVM dialects
  llvm,  // LLVM IR of the device code, optimized
  ptx,
};

struct MlirOptions {
  std::string name = "<mlir>"; // for messages, and for .loc
  std::string arch = {};       // "sm_90a"; empty: what the gpu.module's #nvvm.target says, else sm_90a
  std::string module = {};     // llvm, ptx: which gpu.module; may be left out if there is one
  MlirStage stage = MlirStage::ptx;
  std::string schedule = {}; // of matrix products: a row of docs/matmul.md; empty: as their sizes suggest
  bool allow_tf32 = false;   // products of f32 may be multiplied as tf32
};

// An argument of a gpu.func or of a host function. A memref becomes several parameters: see expand_memref().
struct MlirParameter {
  std::string type; // as MLIR writes it: "memref<64x?xf16>"
  bool is_memref = false;
  uint32_t element_bits = 0;         // of a memref's element
  std::vector<int64_t> shape = {};   // memref: extents, -1 for `?`
  std::vector<int64_t> strides = {}; // memref: elements; -1: `?`
  int64_t offset = 0;                // memref: elements; -1: `?`
  std::string element = {};          // memref: its type, "bf16"
  bool on_device = false; // memref: its memory space is the device's, #gpu.address_space<global> or 1
};

struct MlirKernel {
  std::string name;
  std::vector<MlirParameter> parameters;
};

struct CompiledMlir {
  std::string text;                // of the stage asked for
  std::vector<MlirKernel> kernels; // of the chosen gpu.module (stages llvm and ptx)
  std::vector<Message> messages;   // warnings and notes
};

// Errors: rejected (messages, with the place in the .mlir), invalid_argument (several gpu.modules and none
// named, no such module), unavailable (built without MLIR).
Result<CompiledMlir, Error> compile_mlir(const std::string& text, const MlirOptions& options = {});

// Whether the program has host code: a func.func with a body outside gpu.modules. False for what does not
// parse.
bool has_host_code(const std::string& text);

// The arguments of a host function. Errors: as compile_mlir, and invalid_argument if there is no such
// function.
Result<std::vector<MlirParameter>, Error> host_parameters(const std::string& text, const std::string& entry,
                                                          const std::string& name = "<mlir>");

// How kernels of matrix products may be cut: what MlirOptions::schedule may be.
struct MlirSchedule {
  std::string name;
  std::string why; // one would take it
};
std::vector<MlirSchedule> matmul_schedules();

// What a function takes for a memref, 64 bits each: allocated and aligned pointer (`address`), offset, sizes,
// strides. Extents that the type leaves open are `shape`'s (empty: unknown). Errors: invalid_argument, if the
// memory is too small or its extents do not fit.
Result<std::vector<uint64_t>, Error> expand_memref(const MlirParameter& parameter, uint64_t address,
                                                   uint64_t size_bytes, std::span<const uint64_t> shape);

// Whether a numpy array of that dtype ("<f2", as .npy has it) and shape is what a memref's type says:
// extents, where it has some, and elements, as numpy has them. Elements that it has not got - bf16, floats of
// 8 bits - are integers of as many bits, or opaque ("|V2"). Error: invalid_argument, which names both.
Result<void, Error> check_array(const MlirParameter& parameter, std::string_view dtype,
                                std::span<const uint64_t> shape);

// An argument of a host function: a memref's memory, which stays the caller's, or the bytes of an integer, a
// float or an index, little-endian.
struct MlirArgument {
  bool is_memory = false;
  std::span<std::byte> bytes = {};
  std::vector<uint64_t> shape = {}; // of the memory, for a memref whose type leaves extents open
  // Of memory that is a numpy array: its dtype, which the memref's type must agree with, as `shape` must.
  std::string dtype = {};
  // Of a value: whether it was meant as a floating-point number, which the argument must then be, or as an
  // integer. Absent: it is whatever has its size.
  std::optional<bool> is_float = {};
  // Of memory, in the place of `bytes`: memory of MlirRunOptions::opened, for a memref that the program takes
  // for the device's (memory space 1). Not owned.
  Buffer* buffer = nullptr;
};

// What kernels that Lemma has written for a program do: a matrix product (docs/matmul.md), or a copy that one
// needs.
struct MlirProduct {
  // Whose launches they are: kernels are called FUNCTION_kernel, with a number if need be.
  std::string function;
  bool is_copy = false; // of a matrix, or of its transpose, to where the product after it reads it
  std::string schedule = {};
  std::string a = {}, b = {}, c = {}; // elements, as MLIR writes them: "bf16", "f8E4M3FN", "i8"
  bool a_transposed = false;          // A lies as K x M
  bool b_transposed = false;          // B lies as N x K
  bool is_tf32 = false;               // f32 that is multiplied as tf32
  int64_t m = -1, n = -1, k = -1;     // -1: only a run knows
};

// A launch that ended well, and all that it takes to make it again. The memory that its arguments point to is
// the program's: see MlirRunOptions::keeps_memory.
struct MlirLaunch {
  Kernel kernel;
  LaunchConfig config;
  std::vector<Argument> arguments;
  Report report;
};

// Why a program could not go on: a kernel faulted or was stopped, or a call of the runtime was wrong.
struct MlirStop {
  std::string text;                  // for a terminal; ends with a newline
  int exit_status = 1;               // 3: something is not supported; 130: LaunchConfig::stop
  std::string kernel = {};           // of a launch; else empty
  std::optional<Report> report = {}; // of a kernel that ran, and did not end well
  std::optional<Error> error = {};   // otherwise: what was wrong
};

struct MlirRunOptions {
  std::string name = "<mlir>";
  std::string device = "cpu";        // or "cuda"
  std::optional<Device> opened = {}; // one that is open, in the place of `device`
  std::string arch = {};
  std::string entry = "main";               // a func.func that returns nothing, or an i32
  std::string schedule = {};                // as in MlirOptions
  bool allow_tf32 = false;                  // as in MlirOptions
  uint64_t max_memory_bytes = 0;            // DeviceOptions::max_memory_bytes
  std::vector<MlirArgument> arguments = {}; // the entry's, in order
  LaunchConfig launch = {}; // but for the sizes and whether it is cooperative, which the program has
  // What the program prints: by the print functions (printMemref and kin), by printf, puts and putchar of
  // host code, by kernels. One call at a time, from any thread. Empty: to standard output.
  std::function<void(std::string_view text)> print = {};
  // Warnings and notes about the program, about modules and launches: whole lines. Empty: to standard error.
  std::function<void(std::string_view lines)> said = {};
  // Called when the device's code is compiled, before anything runs, with what the products have become; from
  // any thread. False: the program does not run, and nothing has been launched.
  std::function<bool(const std::vector<MlirProduct>&)> compiled = {};
  // Called after every launch that ended well.
  std::function<void(const MlirLaunch&)> launched = {};
  // What the program frees on the device stays until MlirRun::kept goes: its launches can be made again.
  bool keeps_memory = false;
  // Host code got a signal. Called with a message, in place of printing it to standard error, before the
  // process ends with status 1.
  std::function<void(const std::string& text)> crashed = {};
};

struct MlirRun {
  int32_t returned = 0;                 // by the entry; 0 if it returns nothing
  std::optional<MlirStop> stopped = {}; // the program did not come to its end
  std::vector<MlirProduct> products = {};
  std::shared_ptr<const void> kept = {}; // MlirRunOptions::keeps_memory
};

// Compiles, then calls the entry. Programs may run one after the other, and several at the same time, each on
// its own thread.
//
// Host code runs natively, in this process, with its rights: do not run what you would not run as a program.
// A kernel that faults ends the program (`stopped`): what it has allocated on the device is freed, what on
// the host is not. Host code that gets a signal (a wrong address, a trap, abort, a stack that is used up)
// ends the process with status 1: see `crashed`. Host code may start no threads that call the runtime.
// Errors: as compile_mlir.
Result<MlirRun, Error> run_mlir(const std::string& text, const MlirRunOptions& options = {});

} // namespace lemma
