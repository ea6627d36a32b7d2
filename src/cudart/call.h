// What every function does around its body: is there a driver, is a context current, no exception leaves, and
// what went wrong is the thread's last error. Most functions are a driver's function with other names of
// types: pass().
#pragma once

#include "cudart/runtime.h"

#include <bit>
#include <new>
#include <type_traits>
#include <utility>

namespace lemma::cudart {

// The numbers are the same: an error of the driver is one of the runtime.
constexpr cudaError_t error_of(CUresult status) {
  return static_cast<cudaError_t>(status);
}
constexpr cudaError_t error_of(cudaError_t error) {
  return error;
}

// Body: cudaError_t() or CUresult().
template <class Body>
cudaError_t recorded(Body&& body) noexcept {
  try {
    return record(error_of(body()));
  } catch (const std::bad_alloc&) {
    return record(cudaErrorMemoryAllocation);
  } catch (...) {
    return record(cudaErrorUnknown);
  }
}

// Body: cudaError_t(const Driver&) or CUresult(const Driver&). Needs no context.
template <class Body>
cudaError_t started(Body&& body) noexcept {
  return recorded([&]() -> cudaError_t {
    cudaError_t error = cudaSuccess;
    const Driver* driver = start(error);
    return driver ? error_of(body(*driver)) : error;
  });
}

// The same with a current context.
template <class Body>
cudaError_t in_context(Body&& body) noexcept {
  return started([&](const Driver& driver) -> cudaError_t {
    const cudaError_t error = ensure_context(driver);
    return error == cudaSuccess ? error_of(body(driver)) : error;
  });
}

// A value of the runtime's type as the driver's: handles are the same, enumerations have the same numbers,
// structs the same layout (tests/unit/cudart/abi_test.cc), and an address is a pointer here and a number
// there.
template <class To, class From>
To as_driver(From value) {
  if constexpr (std::is_convertible_v<From, To>)
    return value;
  else if constexpr (std::is_enum_v<From> && std::is_enum_v<To>)
    return static_cast<To>(value);
  else if constexpr (std::is_pointer_v<From>)
    return reinterpret_cast<To>(const_cast<std::remove_const_t<std::remove_pointer_t<From>>*>(value));
  else
    return std::bit_cast<To>(value);
}

template <class... Parameters, class... Arguments>
CUresult call(const Driver& driver, CUresult (*Driver::*function)(Parameters...), Arguments... arguments) {
  return (driver.*function)(as_driver<Parameters>(arguments)...);
}

// The driver's function in a context, and its answer.
template <class... Parameters, class... Arguments>
cudaError_t pass(CUresult (*Driver::*function)(Parameters...), Arguments... arguments) noexcept {
  return in_context([&](const Driver& driver) { return call(driver, function, arguments...); });
}

} // namespace lemma::cudart
