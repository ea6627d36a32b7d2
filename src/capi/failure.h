// How functions of the C API fail. Inside, a failure is thrown, so that each function reads as what it does;
// guarded() is the one way out, and makes of whatever was thrown the error that the caller gets.
//
// Tests: tests/unit/capi/base_test.cc.
#pragma once

#include "lemma/c/base.h"
#include "lemma/message.h"
#include "lemma/mma.h"
#include "lemma/result.h"

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace lemma::capi {

struct Failure {
  Error error;
  std::string operand = {}; // lemma_error.operand
};
// An error that a callback of the caller's has returned: it goes on to the caller as it is.
struct ForeignFailure {
  const lemma_error* error;
};

[[noreturn]] void invalid(std::string text);

template <class T>
T unwrap(Result<T, Error>&& result) {
  if (!result)
    throw Failure{std::move(result).error()};
  if constexpr (!std::is_void_v<T>)
    return std::move(*result);
}

// An error as the caller gets it.
const lemma_error* error_of(const Error& error, std::string_view operand = {});

// The error that is the exception being handled.
const lemma_error* caught() noexcept;

template <class F>
const lemma_error* guarded(F&& f) noexcept {
  try {
    f();
    return nullptr;
  } catch (...) {
    return caught();
  }
}

// For functions that return null where there is no memory.
template <class F>
auto or_null(F&& f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (...) {
    return nullptr;
  }
}

// An argument that must not be null. `name`: "lemma_launch: config".
template <class T>
T& given(T* pointer, const char* name) {
  if (!pointer)
    invalid(std::string(name) + " is null");
  return *pointer;
}

// So many bytes of the caller's, which may be null if they are none.
template <class Byte = const std::byte, class T>
std::span<Byte> bytes_of(T* data, uint64_t size_bytes, const char* name) {
  if (!data && size_bytes > 0)
    invalid(std::string(name) + " is null");
  return {static_cast<Byte*>(data), size_bytes};
}

inline std::string text_or(const char* text, const char* otherwise) {
  return text ? text : otherwise;
}

// A text of the caller's with its size.
std::string_view text_of(const char* text, size_t bytes);

// The caller's struct as this library knows it: what its header lacks is zero, and what this one lacks must
// be.
void take(void* known, size_t known_bytes, const void* from, size_t given_bytes, const char* name);
template <class T>
T taken(const T* from, const char* name) {
  T known{};
  if (from)
    take(&known, sizeof known, from, from->size, name);
  return known;
}
// Of an array of the caller's, whose elements all have the size of the first.
template <class T, class F>
void for_each_taken(const T* array, size_t count, const char* name, F&& f) {
  if (count > 0)
    given(array, name);
  const char* at = reinterpret_cast<const char*>(array);
  for (size_t i = 0; i < count; ++i, at += array->size)
    f(taken(reinterpret_cast<const T*>(at), name));
}

} // namespace lemma::capi
