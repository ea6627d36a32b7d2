// Errors and handles of the C API in tests.
#pragma once

#include "lemma/c.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lemma {

// What a call said: "" for success. The error is released.
inline std::string said(const lemma_error* error) {
  const std::string text = error ? error->text : "";
  lemma_error_release(error);
  return text;
}
inline std::optional<lemma_error_kind> kind_of(const lemma_error* error) {
  const auto kind = error ? std::optional(error->kind) : std::nullopt;
  lemma_error_release(error);
  return kind;
}
#define EXPECT_OK(call) EXPECT_EQ(said(call), "")
#define ASSERT_OK(call) ASSERT_EQ(said(call), "")

// Each CTA stores its number at one address, so that what is left is who ran last.
inline constexpr const char* kLastWins = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry last(.param .u64 data)
{
  .reg .b32 %r; .reg .b64 %rd;
  ld.param.u64 %rd, [data];
  mov.u32 %r, %ctaid.x;
  st.global.u32 [%rd], %r;
  ret;
}
)";

// A device with a module.
struct Loaded {
  explicit Loaded(const char* text) {
    EXPECT_OK(lemma_device_open("cpu", nullptr, &device));
    lemma_load_options options = LEMMA_SIZED(lemma_load_options);
    options.name = "test.ptx";
    EXPECT_OK(lemma_module_load(device, text, std::strlen(text), &options, &module));
  }
  Loaded(const Loaded&) = delete;
  ~Loaded() {
    lemma_module_unload(module);
    lemma_device_close(device);
  }
  uint64_t allocate(uint64_t bytes) const {
    uint64_t address = 0;
    EXPECT_OK(lemma_allocate(device, bytes, nullptr, &address));
    return address;
  }

  lemma_device* device = nullptr;
  lemma_module* module = nullptr;
};

template <class T>
lemma_bytes bytes_of(const T& value) {
  return {&value, sizeof value};
}

using Report_ = std::unique_ptr<const lemma_report, void (*)(const lemma_report*)>;

} // namespace lemma
