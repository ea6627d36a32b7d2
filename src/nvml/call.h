// What every function does around its body: is NVML initialized, is the handle the device's, and no exception
// leaves.
#pragma once

#include "nvml/driver.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace lemma::nvml {

// The one device: a handle is its address, which nobody looks at.
nvmlDevice_t the_device();

constexpr nvmlReturn_t error_of(nvmlReturn_t error) {
  return error;
}
constexpr nvmlReturn_t error_of(CUresult status) {
  switch (status) {
  case CUDA_SUCCESS:
    return NVML_SUCCESS;
  case CUDA_ERROR_INVALID_VALUE:
    return NVML_ERROR_INVALID_ARGUMENT;
  case CUDA_ERROR_INVALID_DEVICE:
    return NVML_ERROR_NOT_FOUND;
  case CUDA_ERROR_NO_DEVICE:
    return NVML_ERROR_DRIVER_NOT_LOADED;
  default:
    return NVML_ERROR_UNKNOWN;
  }
}

// Body: nvmlReturn_t(const Driver&) or CUresult(const Driver&). What it asks of device 0 is answered.
template <class Body>
nvmlReturn_t asking(const Driver& driver, Body&& body) noexcept {
  struct Question {
    const Driver& driver;
    Body& body;
    nvmlReturn_t answer;
  } question{driver, body, NVML_ERROR_UNKNOWN};
  const CUresult status = driver.cuLemmaAsk(
      [](void* asked) {
        auto& of = *static_cast<Question*>(asked);
        try {
          of.answer = error_of(of.body(of.driver));
        } catch (...) {
          of.answer = NVML_ERROR_MEMORY; // a text's
        }
      },
      &question);
  return status == CUDA_SUCCESS ? question.answer : error_of(status);
}

// The same, after nvmlInit.
template <class Body>
nvmlReturn_t initialized(Body&& body) noexcept {
  return is_initialized() ? asking(*driver(), body) : NVML_ERROR_UNINITIALIZED;
}

// The same, about the device. `results`: where answers go, none of them null.
template <class Body, class... Results>
nvmlReturn_t of_device(nvmlDevice_t device, Body&& body, const Results*... results) noexcept {
  return initialized([&](const Driver& driver) -> nvmlReturn_t {
    if (device != the_device() || ((results == nullptr) || ...))
      return NVML_ERROR_INVALID_ARGUMENT;
    return error_of(body(driver));
  });
}

// A value that is always the same.
template <class Value>
nvmlReturn_t answer(nvmlDevice_t device, Value* to, Value value) noexcept {
  return of_device(
      device,
      [&](const Driver&) {
        *to = value;
        return NVML_SUCCESS;
      },
      to);
}

// An attribute of the driver's device.
template <class Value>
nvmlReturn_t answer_attribute(nvmlDevice_t device, Value* to, CUdevice_attribute attribute,
                              int unit = 1) noexcept {
  return of_device(
      device,
      [&](const Driver& driver) {
        int value = 0;
        const CUresult status = driver.cuDeviceGetAttribute(&value, attribute, 0);
        *to = static_cast<Value>(value / unit);
        return status;
      },
      to);
}

// A text with its zero, into `length` bytes.
inline nvmlReturn_t give(char* to, unsigned length, std::string_view text) {
  if (!to)
    return NVML_ERROR_INVALID_ARGUMENT;
  if (length <= text.size())
    return NVML_ERROR_INSUFFICIENT_SIZE;
  std::ranges::copy(text, to);
  to[text.size()] = '\0';
  return NVML_SUCCESS;
}

} // namespace lemma::nvml
