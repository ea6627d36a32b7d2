// What may have made an address wrong, for the message of a fault: an index that wrapped at 32 bits, or one
// that was never written.
//
// Tests: tests/unit/vgpu/wrong_address_test.cc.
#pragma once

#include "vgpu/engine/exec.h"

#include <cstdint>
#include <optional>
#include <string>

namespace lemma::vgpu {

// Where the allocation is that an address would be near, had an unsigned index, or byte offset, of 32 bits
// not wrapped below zero: how much below zero it is, in bytes and in elements of the access's size.
struct Wrapped {
  const Allocation* allocation = nullptr;
  uint64_t element_bytes = 0; // 1: the offset in bytes wrapped
  uint64_t before_bytes = 0;  // that the address would be before the allocation; 0: inside
  uint64_t inside_bytes = 0;
};
std::optional<Wrapped> find_wrapped(const GlobalMemory& memory, uint64_t address, uint64_t bytes);

// "index: may come from line 12, which reads register %r5, which was never written": the first of the
// instructions before this one that its address is made by and that read what was never written. Empty: none.
std::string unwritten_index(const Exec& x, const DecodedInst& in);

} // namespace lemma::vgpu
