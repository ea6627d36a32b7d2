// The texture and surface objects of a device's memory. Each lies in an allocation of its own that kernels
// cannot write, and its handle is that address: no two objects ever have the same, and one that is gone is
// known as such.
//
// Tests: tests/unit/vgpu/texture_test.cc.
#pragma once

#include "texture/object.h"
#include "vgpu/memory/memory.h"

#include <cstdint>

namespace lemma::vgpu {

// The handle; 0 if the host has no memory left. Throws OverBudget.
uint64_t add_texture_object(GlobalMemory& memory, const texture::Object& object);
// False if it is the handle of none.
bool remove_texture_object(GlobalMemory& memory, uint64_t handle);
// Null if it is the handle of none. For one of the memory's users, as long as it is one.
const texture::Object* find_texture_object(const GlobalMemory& memory, uint64_t handle);

} // namespace lemma::vgpu
