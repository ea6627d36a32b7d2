// Of the C API (lemma/c.h): MLIR programs in the nvgpu dialect, to PTX, and run whole. As lemma/mlir.h, where
// more is said. A library built without MLIR has these functions too: they return an error of kind
// unavailable.
//
// Tests: tests/unit/capi/mlir_test.cc, tests/package/consumer/.
#ifndef LEMMA_C_MLIR_H
#define LEMMA_C_MLIR_H

#include "lemma/c/base.h"
#include "lemma/c/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

// How far a program is taken.
typedef enum lemma_mlir_stage LEMMA_INT {
  LEMMA_MLIR_PTX = 0,
  LEMMA_MLIR_NVGPU = 1, // parsed, verified and printed, in LLVM 22's spelling
  LEMMA_MLIR_NVVM = 2,  // device and host code in the LLVM and NVVM dialects
  LEMMA_MLIR_LLVM = 3   // LLVM IR of the device code, optimized
} lemma_mlir_stage;

typedef struct lemma_mlir_options {
  size_t size;
  const char* name;   // for messages, and for .loc; null: "<mlir>"
  const char* arch;   // "sm_90a"; null: what the gpu.module's #nvvm.target says, else sm_90a
  const char* module; // llvm, ptx: which gpu.module; null if there is one
  lemma_mlir_stage stage;
  uint32_t reserved; // 0
} lemma_mlir_options;

// An argument of a gpu.func or of a host function. A memref becomes several parameters: see
// lemma_mlir_expand_memref().
typedef struct lemma_mlir_parameter {
  const char* type; // as MLIR writes it: "memref<64x?xf16>"
  bool is_memref;
  uint32_t element_bits;  // of a memref's element
  size_t rank;            // of a memref
  const int64_t* shape;   // extents, -1 for `?`
  const int64_t* strides; // elements; -1: `?`
  int64_t offset;         // elements; -1: `?`
} lemma_mlir_parameter;

typedef struct lemma_mlir_kernel {
  const char* name;
  size_t parameter_count;
  const lemma_mlir_parameter* const* parameters;
} lemma_mlir_kernel;

typedef struct lemma_mlir_compiled {
  const lemma_text* text; // of the stage asked for
  size_t kernel_count;    // of the chosen gpu.module (stages llvm and ptx)
  const lemma_mlir_kernel* const* kernels;
  size_t message_count; // warnings
  const lemma_message* const* messages;
} lemma_mlir_compiled;
LEMMA_API void lemma_mlir_compiled_release(const lemma_mlir_compiled* compiled);

// Errors: rejected (messages, with the place in the .mlir), invalid_argument (several gpu.modules and none
// named, no such module), unavailable (built without MLIR).
LEMMA_API const lemma_error* lemma_mlir_compile(const char* text, size_t text_bytes,
                                                const lemma_mlir_options* options,
                                                const lemma_mlir_compiled** compiled);

// Whether the program has host code. False for what does not parse.
LEMMA_API bool lemma_mlir_has_host_code(const char* text, size_t text_bytes);

// What a kernel takes for a memref, 64 bits each: allocated and aligned pointer (`address`), offset, sizes,
// strides; lemma_mlir_memref_words(parameter) of them, to `words`. `shape`: extents that the type leaves
// open, `rank` of them; 0: unknown. Error: invalid_argument, if the memory is too small or its extents do not
// fit.
LEMMA_API size_t lemma_mlir_memref_words(const lemma_mlir_parameter* parameter);
LEMMA_API const lemma_error* lemma_mlir_expand_memref(const lemma_mlir_parameter* parameter, uint64_t address,
                                                      uint64_t size_bytes, const uint64_t* shape, size_t rank,
                                                      uint64_t* words);

// An argument of a host function: a memref's memory, which the program reads and writes, or the bytes of an
// integer, a float or an index, little-endian.
typedef struct lemma_mlir_argument {
  size_t size;
  void* data;
  size_t data_bytes;
  const uint64_t* shape; // of the memory, for a memref whose type leaves extents open; else null
  size_t rank;
  uint32_t is_memory; // 1: a memref's
  uint32_t reserved;  // 0
} lemma_mlir_argument;

typedef struct lemma_mlir_run_options {
  size_t size;
  const char* name;          // null: "<mlir>"
  const char* device;        // "cpu" or "cuda"; null: "cpu"
  const char* arch;          // null: as the program says
  const char* entry;         // a func.func that returns nothing, or an i32; null: "main"
  uint64_t max_memory_bytes; // as lemma_device_options
  size_t argument_count;
  const lemma_mlir_argument* arguments; // the entry's, in order
  // But for the sizes, whether it is cooperative, and callbacks: the program has the first, this struct the
  // others. May be null.
  const lemma_launch_config* launch;
  // What the program prints, device printf included; null: to stdout. `text` has `bytes` bytes, and no NUL.
  void (*print)(void* user, const char* text, size_t bytes);
  // Warnings about modules and launches: whole lines; null: to stderr.
  void (*said)(void* user, const char* lines);
  // Called after every launch that ended well; the report is the library's.
  void (*launched)(void* user, const char* kernel, const lemma_report* report);
  // Host code got a signal: called with a message, in place of printing it, before the process ends.
  void (*crashed)(void* user, const char* text);
  void* user; // for the callbacks
} lemma_mlir_run_options;

// Why a program could not go on: a kernel faulted or was stopped, or a call of the runtime was wrong.
typedef struct lemma_mlir_stop {
  const char* text;           // for a terminal; ends with a newline
  int32_t exit_status;        // 1; 3: something is not supported; 130: lemma_launch_config.stop
  const char* kernel;         // of a launch; else empty
  const lemma_report* report; // of a kernel that ran, and did not end well; else null
  const lemma_error* error;   // otherwise: what was wrong; else null
} lemma_mlir_stop;

typedef struct lemma_mlir_ran {
  int32_t returned;               // by the entry; 0 if it returns nothing
  const lemma_mlir_stop* stopped; // null: the program came to its end
} lemma_mlir_ran;
LEMMA_API void lemma_mlir_ran_release(const lemma_mlir_ran* ran);

// Compiles, then calls the entry. Host code runs natively, in this process, with its rights. Errors: as
// lemma_mlir_compile().
LEMMA_API const lemma_error* lemma_mlir_run(const char* text, size_t text_bytes,
                                            const lemma_mlir_run_options* options,
                                            const lemma_mlir_ran** ran);

#ifdef __cplusplus
}
#endif

#endif
