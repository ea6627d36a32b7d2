// Of the C API (lemma/c.h): devices and their memory, PTX modules, kernels, module variables, tensor maps. As
// lemma/device.h and lemma/tensor_map.h.
//
// Tests: tests/unit/capi/device_test.cc, tests/package/consumer/.
#ifndef LEMMA_C_DEVICE_H
#define LEMMA_C_DEVICE_H

#include "lemma/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lemma_device lemma_device;
typedef struct lemma_module lemma_module;

// --- devices

typedef struct lemma_device_options {
  size_t size;
  const char* arch; // cpu: what the virtual GPU is, "sm_80"; null: sm_90, or what a module's target says
  uint64_t max_memory_bytes; // cpu: of the host's memory, what the device may take; 0: the default
  int32_t ordinal;           // cuda: which GPU
  uint32_t reserved;         // 0
  // cpu: a kernel that can only go on if another kernel or the host acts is a deadlock when nothing has
  // happened for so long. 0: 10; negative: none (0).
  double patience_seconds;
  bool check_streams; // cpu: lemma_findings_add_streams(); takes some times as long
  uint8_t reserved_too[7];
} lemma_device_options;

typedef struct lemma_device_info {
  const char* kind;   // "cpu" or "cuda"
  const char* name;   // "virtual GPU", "NVIDIA H200"
  const char* driver; // cuda: the driver's CUDA version and its own, "13.0 (580.159.04)"; cpu: empty
  const char* target; // what the machine is: "sm_90"
} lemma_device_info;

// Half of the memory that this process may use.
LEMMA_API uint64_t lemma_default_max_memory_bytes(void);

// kind: "cpu", the virtual GPU, or "cuda". Errors: invalid_argument (another kind, no such arch), unavailable
// (no driver, no such GPU).
LEMMA_API const lemma_error* lemma_device_open(const char* kind, const lemma_device_options* options,
                                               lemma_device** device);
// Waits for all that streams were given, as lemma_device_synchronize(), whose errors are lost; then frees
// what was allocated with it, too. A kernel that waits for what nobody does ends as a deadlock, so that this
// comes back. In a callback of a launch or a function of a stream it cannot wait: what runs on finds no
// memory then, which is a fault. Modules and streams that are still there keep the device, without that
// memory.
LEMMA_API void lemma_device_close(lemma_device* device);
LEMMA_API const lemma_device_info* lemma_device_describe(const lemma_device* device);

// --- memory

typedef struct lemma_allocate_options {
  size_t size;
  const char* name; // for messages: "x"
  bool poisoned;    // not zeros; on "cpu" a read before the first write is reported
  bool
      host_shared; // the address is a pointer for the host too, as far as its accesses do not race a kernel's
  uint8_t reserved[6];
} lemma_allocate_options;

// Device memory. The address is the kernel's, aligned to 256 bytes. Errors: out_of_memory, unavailable;
// invalid_argument if both host_shared and poisoned.
LEMMA_API const lemma_error* lemma_allocate(lemma_device* device, uint64_t size_bytes,
                                            const lemma_allocate_options* options, uint64_t* address);
// Error: invalid_argument, if lemma_allocate() did not give that address.
LEMMA_API const lemma_error* lemma_free(lemma_device* device, uint64_t address);

// Of memory that the device has: allocations, module variables (.const ones too), and on "cuda" whatever the
// driver takes. Errors: invalid_argument if the range does not lie inside one of them, or a callback of a
// launch asks; device_lost.
LEMMA_API const lemma_error* lemma_copy_to_device(lemma_device* device, uint64_t address, const void* source,
                                                  uint64_t size_bytes);
LEMMA_API const lemma_error* lemma_copy_from_device(lemma_device* device, void* destination, uint64_t address,
                                                    uint64_t size_bytes);
LEMMA_API const lemma_error* lemma_fill(lemma_device* device, uint64_t address, uint8_t value,
                                        uint64_t size_bytes);

// Lets kernels use host memory by its own address, until it was unregistered as often as registered. `name`
// is for messages and may be null. Errors: as Device::register_host().
LEMMA_API const lemma_error* lemma_register_host(lemma_device* device, void* memory, uint64_t size_bytes,
                                                 const char* name);
LEMMA_API const lemma_error* lemma_unregister_host(lemma_device* device, void* memory);

// --- modules

typedef struct lemma_load_options {
  size_t size;
  const char* name; // for messages; null: "<ptx>"
  const char* arch; // what the virtual GPU is for this module, "sm_90a"; null: the device's, else the text's
  int32_t optimization; // of the assembler in a GPU's driver: 0 all (4), else that level; -1: none (0)
  uint32_t reserved;    // 0
} lemma_load_options;

// A kernel parameter, as its .param declaration lays it out.
typedef struct lemma_parameter {
  const char* name;
  const char* type; // as declared: ".u64", ".b8[24]"
  uint64_t size_bytes;
  uint64_t align_bytes;
  uint64_t offset_bytes; // in the kernel's parameter space
  bool is_pointer;       // declared .ptr
  const char* label;     // what messages call it: its name, or where a compiler only numbered it, "float*"
} lemma_parameter;

typedef struct lemma_kernel {
  const char* name;
  size_t parameter_count;
  const lemma_parameter* const* parameters;
} lemma_kernel;

// A variable of module scope, .global or .const: device memory, which keeps its value from launch to launch.
typedef struct lemma_variable {
  const char* name;
  const char* space; // "global", "const"
  const char* type;  // as declared: ".u32", ".b8[24]"
  uint64_t address;
  uint64_t size_bytes;
  uint64_t align_bytes;
} lemma_variable;

typedef struct lemma_module_info {
  const char* target;     // of the text: "sm_90a"
  const char* arithmetic; // the machine whose arithmetic its launches have: "sm_90"
  size_t kernel_count;    // in the order of the text
  const lemma_kernel* const* kernels;
  size_t variable_count; // likewise; cuda: those that the assembler has kept
  const lemma_variable* const* variables;
  size_t message_count; // warnings
  const lemma_message* const* messages;
  const char* assembled_by; // cuda: the ptxas that has made the GPU's code; empty: the driver has
} lemma_module_info;

// Parses, verifies and loads PTX text; module variables get their initial values. Errors: rejected (with
// messages), unsupported, unavailable (the driver refused it), out_of_memory.
LEMMA_API const lemma_error* lemma_module_load(lemma_device* device, const char* text, size_t text_bytes,
                                               const lemma_load_options* options, lemma_module** module);
LEMMA_API void lemma_module_unload(lemma_module* module);
LEMMA_API const lemma_module_info* lemma_module_describe(const lemma_module* module);
// The kernel of that name, mangled, demangled or a part of one (Module::kernel()); null: the only one. Error:
// invalid_argument, which lists them.
LEMMA_API const lemma_error* lemma_module_kernel(const lemma_module* module, const char* name,
                                                 const lemma_kernel** kernel);
// Error: invalid_argument, which lists them.
LEMMA_API const lemma_error* lemma_module_variable(const lemma_module* module, const char* name,
                                                   const lemma_variable** variable);
// The first `size_bytes` bytes of a variable. Errors: as lemma_module_variable(); invalid_argument if it has
// less; as lemma_copy_to_device().
LEMMA_API const lemma_error* lemma_variable_set(lemma_module* module, const char* name, const void* source,
                                                uint64_t size_bytes);
LEMMA_API const lemma_error* lemma_variable_get(const lemma_module* module, const char* name,
                                                void* destination, uint64_t size_bytes);

// --- tensor maps

typedef enum lemma_tensor_type LEMMA_INT {
  LEMMA_TENSOR_U8 = 0,
  LEMMA_TENSOR_U16 = 1,
  LEMMA_TENSOR_U32 = 2,
  LEMMA_TENSOR_S32 = 3,
  LEMMA_TENSOR_U64 = 4,
  LEMMA_TENSOR_S64 = 5,
  LEMMA_TENSOR_F16 = 6,
  LEMMA_TENSOR_F32 = 7,
  LEMMA_TENSOR_F64 = 8,
  LEMMA_TENSOR_BF16 = 9,
  LEMMA_TENSOR_F32_FTZ = 10,
  LEMMA_TENSOR_TF32 = 11,
  LEMMA_TENSOR_TF32_FTZ = 12,
  LEMMA_TENSOR_B4X16 = 13,     // elements of 4 bits, packed (CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B)
  LEMMA_TENSOR_B4X16_P64 = 14, // in shared memory 16 of them in 16 bytes (16U4_ALIGN16B); loads only
  LEMMA_TENSOR_B6X16_P32 = 15  // likewise of 6 bits (16U6_ALIGN16B); stores take them from a byte each
} lemma_tensor_type;

typedef enum lemma_tensor_interleave LEMMA_INT {
  LEMMA_INTERLEAVE_NONE = 0,
  LEMMA_INTERLEAVE_B16 = 1,
  LEMMA_INTERLEAVE_B32 = 2
} lemma_tensor_interleave;

typedef enum lemma_tensor_swizzle LEMMA_INT {
  LEMMA_SWIZZLE_NONE = 0,
  LEMMA_SWIZZLE_B32 = 1,
  LEMMA_SWIZZLE_B64 = 2,
  LEMMA_SWIZZLE_B128 = 3,
  LEMMA_SWIZZLE_B128_ATOM_32B = 4, // this and the rest: sm_100 and up
  LEMMA_SWIZZLE_B128_ATOM_32B_FLIP_8B = 5,
  LEMMA_SWIZZLE_B128_ATOM_64B = 6
} lemma_tensor_swizzle;

typedef enum lemma_tensor_fill LEMMA_INT { LEMMA_FILL_ZEROS = 0, LEMMA_FILL_NAN = 1 } lemma_tensor_fill;

typedef enum lemma_tensor_l2 LEMMA_INT {
  LEMMA_L2_NONE = 0,
  LEMMA_L2_B64 = 1,
  LEMMA_L2_B128 = 2,
  LEMMA_L2_B256 = 3
} lemma_tensor_l2;

// What the tensor copies of sm_90 (TMA) are told. The innermost dimension comes first, as in
// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, whose rules hold.
typedef struct lemma_tensor_map {
  size_t size;
  uint64_t address;            // of the tensor, in global memory
  uint64_t dims[5];            // elements; the first `rank`
  uint64_t strides_bytes[4];   // of dimension 1 and up: the first `rank` - 1
  uint32_t rank;               // 1 to 5
  uint32_t box[5];             // elements; not of im2col
  uint32_t element_strides[5]; // all zeros: all 1
  lemma_tensor_type type;
  lemma_tensor_interleave interleave;
  lemma_tensor_swizzle swizzle;
  lemma_tensor_fill oob_fill; // elements outside the tensor
  lemma_tensor_l2 l2_promotion;
  // im2col: in place of a box, pixels of an image in the order of a convolution's traversal.
  uint32_t is_im2col;          // 1 if it is
  int32_t lower[3], upper[3];  // corners of the bounding box, by spatial dimension, W first: `rank` - 2 each
  uint32_t channels_per_pixel; // 1 to 256
  uint32_t pixels_per_column;  // 1 to 1024
} lemma_tensor_map;

// The 128 bytes of the map: for a kernel parameter that takes it by value (__grid_constant__ const
// CUtensorMap), inside a struct, or to be copied to device memory, aligned to 64 bytes. They are good on this
// device only. Errors: invalid_argument names the rule that the map breaks; unavailable if the driver
// refuses.
LEMMA_API const lemma_error* lemma_tensor_map_encode(lemma_device* device, const lemma_tensor_map* map,
                                                     void* bytes);

#ifdef __cplusplus
}
#endif

#endif
