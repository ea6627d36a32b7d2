// Module variables by the host's symbols: where they are, and copies from and to them.
#include "cudart/api.h"
#include "cudart/call.h"
#include "cudart/copy.h"
#include "cudart/registration.h"

namespace lemma::cudart {
namespace {

bool may_go_to_device(cudaMemcpyKind kind) {
  return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}
bool may_come_from_device(cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

} // namespace
} // namespace lemma::cudart

using namespace lemma::cudart;

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return in_variable(symbol, 0, 0, [&](const Driver&, void* at) -> cudaError_t {
    if (!address)
      return cudaErrorInvalidValue;
    *address = at;
    return cudaSuccess;
  });
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUdeviceptr address = 0;
    return bytes ? find_variable(driver, symbol, address, *bytes) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  return in_variable(symbol, bytes, offset, [&](const Driver& driver, void* at) {
    return may_go_to_device(kind) ? copy(driver, at, source, bytes, kind) : cudaErrorInvalidMemcpyDirection;
  });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return in_variable(symbol, bytes, offset, [&](const Driver& driver, void* at) {
    return may_go_to_device(kind) ? copy_async(driver, at, source, bytes, kind, stream)
                                  : cudaErrorInvalidMemcpyDirection;
  });
}

cudaError_t cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  return in_variable(symbol, bytes, offset, [&](const Driver& driver, void* at) {
    return may_come_from_device(kind) ? copy(driver, destination, at, bytes, kind)
                                      : cudaErrorInvalidMemcpyDirection;
  });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* destination, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  return in_variable(symbol, bytes, offset, [&](const Driver& driver, void* at) {
    return may_come_from_device(kind) ? copy_async(driver, destination, at, bytes, kind, stream)
                                      : cudaErrorInvalidMemcpyDirection;
  });
}
