// What nvcc's host code registers before main, or when a library is loaded: images, and which host addresses
// stand for their kernels and variables. An image is loaded when something of it is first used.
//
// Tests: tests/cudart/registration.cc, variables.cc, managed.cc.
#pragma once

#include "cudart/call.h"
#include "cudart/runtime.h"

#include <string>

namespace lemma::cudart {

// What a host address stands for as a kernel: of a registered function its kernel, loaded now if it was not
// yet; any other pointer is taken for a cudaKernel_t or cudaFunction_t, which the driver checks.
// cudaErrorInvalidDeviceFunction: it is null; else what loading the image says.
cudaError_t find_kernel(const Driver& driver, const void* address, CUfunction& function);
// The host address that stands for the kernel; the handle itself if there is none.
void* host_function_of(void* kernel);
// The name of a registered function, or null.
const char* name_of_function(const void* address);
// What __cudaGetKernel gave for a function whose image does not load: why not. cudaSuccess: it is none of
// these.
cudaError_t why_not_loaded(const void* handle);

// Of a variable in the current context. cudaErrorInvalidSymbol.
cudaError_t find_variable(const Driver& driver, const void* symbol, CUdeviceptr& address, size_t& bytes);
// `bytes` of it from `offset`, in the context. Body: cudaError_t(const Driver&, void*), with their address.
// cudaErrorInvalidValue: the variable has fewer.
template <class Body>
cudaError_t in_variable(const void* symbol, size_t bytes, size_t offset, Body&& body) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUdeviceptr address = 0;
    size_t size = 0;
    if (const cudaError_t error = find_variable(driver, symbol, address, size); error != cudaSuccess)
      return error;
    if (offset > size || bytes > size - offset)
      return cudaErrorInvalidValue;
    return body(driver, reinterpret_cast<void*>(address + offset));
  });
}

// Managed variables that the program has used outlive a reset of the device, with what is in them (measured
// on an H200; their addresses, which are others here, too): kept before it, and given back, with the
// program's pointers to them, after it.
void keep_managed_variables();
void restore_managed_variables(const Driver& driver);

} // namespace lemma::cudart
