// Stands in for the toolkit's cuda_runtime.h where there is none: the runtime API as Lemma declares it, what
// the toolkit's header adds to it in C++, and what nvcc's host code does - registering a program's image, and
// launches. As far as the programs need it that hosts.py takes.
#pragma once

#include "cudart/api.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#define CUDART_CB

// The header's default arguments.
extern "C" cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
extern "C" cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);

// Its templates.
template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, size_t bytes) {
  return cudaMallocHost(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0) {
  return cudaMemcpyToSymbol(static_cast<const void*>(&symbol), from, bytes, offset, cudaMemcpyHostToDevice);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0) {
  return cudaMemcpyFromSymbol(to, static_cast<const void*>(&symbol), bytes, offset, cudaMemcpyDeviceToHost);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** address, const T& symbol) {
  return cudaGetSymbolAddress(address, static_cast<const void*>(&symbol));
}
template <class T>
cudaError_t cudaGetSymbolSize(size_t* bytes, const T& symbol) {
  return cudaGetSymbolSize(bytes, static_cast<const void*>(&symbol));
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph) {
  return cudaGraphInstantiate(executable, graph, 0);
}

// What stands between <<< and >>>.
struct LaunchShape {
  dim3 grid, block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

template <class... Parameters, class... Arguments>
void launch(const LaunchShape& shape, void (*kernel)(Parameters...), Arguments&&... arguments) {
  std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  std::apply(
      [&](auto&... each) {
        void* pointers[] = {static_cast<void*>(&each)..., nullptr};
        cudaLaunchKernel(reinterpret_cast<const void*>(kernel), shape.grid, shape.block, pointers,
                         shape.shared_bytes, shape.stream);
      },
      values);
}

struct RegisteredKernel {
  const void* function;
  const char* name; // in the PTX
};
struct RegisteredVariable {
  void* shadow;
  const char* name;
  size_t bytes;
  bool is_constant;
};

// As nvcc's constructor does it, with a fatbin of one PTX text: 16 bytes of header, 64 of the entry's, the
// text.
inline bool register_program(const char* ptx_file, std::initializer_list<RegisteredKernel> kernels,
                             std::initializer_list<RegisteredVariable> variables) {
  std::ifstream file(ptx_file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (text.empty()) {
    std::fprintf(stderr, "%s cannot be read\n", ptx_file);
    std::exit(1);
  }
  text.resize((text.size() / 8 + 1) * 8); // ends in zeros
  const auto put = [](std::string& into, size_t at, auto value) {
    std::memcpy(into.data() + at, &value, sizeof value);
  };
  static std::string fatbin(16 + 64, '\0'); // as long as the process
  put(fatbin, 0, uint32_t{0xBA55ED50});
  put(fatbin, 4, uint16_t{1});
  put(fatbin, 6, uint16_t{16});
  put(fatbin, 8, uint64_t{64 + text.size()});
  put(fatbin, 16, uint16_t{1}); // PTX
  put(fatbin, 18, uint16_t{0x101});
  put(fatbin, 20, uint32_t{64});
  put(fatbin, 24, uint64_t{text.size()});
  put(fatbin, 42, uint16_t{9}); // PTX 9.0
  put(fatbin, 44, uint32_t{90});
  put(fatbin, 56, uint64_t{0x11}); // 64-bit, Linux
  fatbin += text;
  struct Wrapper {
    uint32_t magic = 0x466243B1, version = 1;
    const void* image;
    void* unused = nullptr;
  };
  static Wrapper wrapper{.image = fatbin.data()};
  void** const handle = __cudaRegisterFatBinary(&wrapper);
  for (const RegisteredKernel& kernel : kernels)
    __cudaRegisterFunction(handle, static_cast<const char*>(kernel.function), const_cast<char*>(kernel.name),
                           kernel.name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  for (const RegisteredVariable& variable : variables)
    __cudaRegisterVar(handle, static_cast<char*>(variable.shadow), const_cast<char*>(variable.name),
                      variable.name, 0, variable.bytes, variable.is_constant, 0);
  __cudaRegisterFatBinaryEnd(handle);
  return true;
}
