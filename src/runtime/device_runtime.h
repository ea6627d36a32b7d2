// NVIDIA's device runtime, libcudadevrt, as far as programs call it by name: functions that a text declares
// .extern and that Lemma has.
//
//   cudaCGGetIntrinsicHandle(scope)        1, the grid: the address of its workspace; 0 for others, and where
//   the
//                                          launch was not cooperative
//   cudaCGSynchronize(handle, flags)       waits for all threads of the grid; cudaErrorInvalidValue (1) of
//   handle 0
//
// numba's cooperative groups call these; CUDA C++'s headers have the barrier inline, which is the same one.
// Not here: vprintf, malloc and others that need the virtual GPU (vgpu/engine/builtins.h); launches from a
// kernel.
//
// cuda_device_runtime_api.h. Tests: tests/unit/runtime/device_runtime_test.cc.
#pragma once

#include "ptx/module.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lemma::runtime {

// Their names.
std::span<const std::string_view> device_runtime_names();

// The module's text with the functions that it declares and nobody defines at its end: all its lines stay
// where they are. None: it needs none.
std::optional<std::string> with_device_runtime(const ptx::Module& module);

} // namespace lemma::runtime
