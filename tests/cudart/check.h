// What a program of this folder is made of: it checks itself (tests/driver/expect.h), and calls the runtime
// as nvcc's host code does, from C++ that needs no nvcc: a kernel is the address of a function, registered
// from PTX that lies in a fatbin, and launched by what stands behind <<<>>>.
//
// OK(call) wants cudaSuccess and FAILS(error, call) that error.
#pragma once

#ifdef LEMMA_TEST_WITH_TOOLKIT
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#else
#include "cudart/api.h"
#endif

#include <cstdint>
#include <initializer_list>

inline const char* name_of(cudaError_t error) {
  return cudaGetErrorName(error);
}

#include "../driver/expect.h"

#define OK(...) expect_status(cudaSuccess, (__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define FAILS(error, ...) expect_status(error, (__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

// --- registration, as nvcc's host code does it

// A fatbin with one entry, PTX: src/image/fatbin.h draws it.
inline std::vector<uint64_t> fatbin_of(const std::string& text, uint64_t sm = 90) {
  constexpr size_t kHeaderWords = 10;                 // of the entry: 64 bytes, and options, which are empty
  const uint64_t payload = (text.size() + 8) / 8 * 8; // the NUL counts
  std::vector<uint64_t> words(2 + kHeaderWords + payload / 8, 0);
  words[0] = 0x00100001ba55ed50; // magic, version, size of this header
  words[1] = 8 * kHeaderWords + payload;
  uint64_t* entry = &words[2];
  entry[0] = 8 * kHeaderWords << 32 | 0x01010001; // PTX
  entry[1] = payload;
  entry[2] = 64ull << 32;        // where the options are
  entry[3] = sm << 32 | 9 << 16; // PTX 9.0
  entry[5] = 0x11;               // 64-bit, Linux
  entry[8] = 72;
  std::memcpy(entry + kHeaderWords, text.data(), text.size());
  return words;
}

struct Wrapper {
  uint32_t magic = 0x466243b1, version = 1;
  const void* fatbin = nullptr;
  const void* const* parts = nullptr;
};

// What the address of a kernel's function is to the host code. These are the kernels of
// tests/driver/kernels.ptx, which nvcc made of kernels.cu.
struct Kernel {
  const char* name;
};
inline const Kernel indices{"indices"}, add{"add"}, twice{"twice"}, mixed{"mixed"}, nothing{"nothing"},
    bounded{"bounded"}, reverse{"reverse"}, variables{"variables"}, count{"count"}, grid_sum{"grid_sum"},
    cluster_ranks{"cluster_ranks"}, declared_cluster{"declared_cluster"}, relay{"relay"},
    out_of_bounds{"out_of_bounds"}, trap{"trap"}, asserts{"asserts"}, prints{"prints"},
    no_such_kernel{"no_such_kernel"};

// One translation unit's device code: what its constructor and atexit handler do.
class DeviceCode {
public:
  explicit DeviceCode(const std::string& text, uint64_t sm = 90) : fatbin_(fatbin_of(text, sm)) {
    wrapper_.fatbin = fatbin_.data();
    handle = __cudaRegisterFatBinary(&wrapper_);
  }
  // Relocatable: the linked fatbin has nothing that can be used, its parts have.
  explicit DeviceCode(std::initializer_list<std::string> texts) : fatbin_{0x00100001ba55ed50, 0} {
    for (const std::string& text : texts)
      parts_.push_back(fatbin_of(text));
    for (const auto& part : parts_)
      pointers_.push_back(part.data());
    pointers_.push_back(nullptr);
    wrapper_ = {.version = 2, .fatbin = fatbin_.data(), .parts = pointers_.data()};
    handle = __cudaRegisterFatBinary(&wrapper_);
  }
  DeviceCode(const DeviceCode&) = delete;
  void kernel(const Kernel& kernel) {
    __cudaRegisterFunction(handle, reinterpret_cast<const char*>(&kernel), const_cast<char*>(kernel.name),
                           kernel.name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  }
  void variable(void* host, const char* name, size_t bytes, bool constant = false) {
    __cudaRegisterVar(handle, static_cast<char*>(host), const_cast<char*>(name), name, 0, bytes, constant, 0);
  }
  void managed(void** host, const char* name, size_t bytes) {
    __cudaRegisterManagedVar(handle, host, const_cast<char*>(name), name, 0, bytes, 0, 0);
  }
  void end() { __cudaRegisterFatBinaryEnd(handle); }
  void unregister() { __cudaUnregisterFatBinary(handle); }

  void** handle = nullptr;

private:
  std::vector<uint64_t> fatbin_;
  std::vector<std::vector<uint64_t>> parts_;
  std::vector<const void*> pointers_;
  Wrapper wrapper_;
};

inline int counter, table[4]; // what the program's symbols are on the host
inline int* managed = nullptr;

inline DeviceCode& register_kernels() {
  static auto* code = new DeviceCode(text_of_file(KERNELS));
  for (const Kernel* each :
       {&indices, &add, &twice, &mixed, &nothing, &bounded, &reverse, &variables, &count, &grid_sum,
        &cluster_ranks, &declared_cluster, &relay, &out_of_bounds, &trap, &asserts, &prints, &no_such_kernel})
    code->kernel(*each);
  code->variable(&counter, "counter", 4);
  code->variable(table, "table", 16, true);
  code->managed(reinterpret_cast<void**>(&managed), "managed", 4);
  code->end();
  return *code;
}
// Before main, as with nvcc.
inline DeviceCode& kernels = register_kernels();

// kernel<<<grid, block, shared_bytes, stream>>>(arguments...): the call pushes, and the kernel's stub pops.
// Unlike that of nvcc it tells what became of the launch.
inline cudaError_t launch_pointers(const Kernel& kernel, void** pointers) {
  cudaKernel_t handle = nullptr;
  (void)__cudaGetKernel(&handle, &kernel);
  dim3 grid, block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  if (const cudaError_t error = __cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream);
      error != cudaSuccess)
    return error;
#ifdef LEMMA_TEST_PER_THREAD
  return __cudaLaunchKernel_ptsz(handle, grid, block, pointers, shared_bytes, stream);
#else
  return __cudaLaunchKernel(handle, grid, block, pointers, shared_bytes, stream);
#endif
}
template <class... Arguments>
cudaError_t launch(const Kernel& kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                   Arguments... arguments) {
  if (__cudaPushCallConfiguration(grid, block, shared_bytes, stream) != 0)
    return cudaGetLastError();
  void* pointers[] = {&arguments..., nullptr};
  return launch_pointers(kernel, pointers);
}

// --- memory

template <class T = int>
T* allocate(size_t count) {
  void* memory = nullptr;
  OK(cudaMalloc(&memory, count * sizeof(T)));
  return static_cast<T*>(memory);
}
inline std::vector<int> read_ints(const int* from, size_t count) {
  std::vector<int> values(count, -1);
  OK(cudaMemcpy(values.data(), from, count * sizeof(int), cudaMemcpyDeviceToHost));
  return values;
}
inline void write_ints(int* to, const std::vector<int>& values) {
  OK(cudaMemcpy(to, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice));
}
