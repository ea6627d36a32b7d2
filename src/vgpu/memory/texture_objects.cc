// An object is the bytes of a texture::Object in an allocation that is known by its name, which nothing else
// has.
#include "vgpu/memory/texture_objects.h"

#include <cstring>
#include <type_traits>

namespace lemma::vgpu {
namespace {

// No allocation that a program can name has it.
constexpr const char* kName = "texture or surface object";

} // namespace

uint64_t add_texture_object(GlobalMemory& memory, const texture::Object& object) {
  static_assert(std::is_trivially_copyable_v<texture::Object>);
  static_assert(alignof(texture::Object) <= GlobalMemory::kAlignBytes);
  Allocation* allocation = memory.allocate(sizeof object, kName);
  if (!allocation)
    return 0;
  std::memcpy(allocation->host, &object, sizeof object);
  allocation->read_only = true; // nobody has the address yet
  return allocation->base;
}

bool remove_texture_object(GlobalMemory& memory, uint64_t handle) {
  return find_texture_object(memory, handle) && memory.free(handle);
}

const texture::Object* find_texture_object(const GlobalMemory& memory, uint64_t handle) {
  const Allocation* allocation = memory.find(handle);
  if (!allocation || allocation->base != handle || !allocation->read_only || allocation->name != kName)
    return nullptr;
  return reinterpret_cast<const texture::Object*>(allocation->host);
}

} // namespace lemma::vgpu
