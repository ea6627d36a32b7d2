// Which instruction of a module: what events, findings and operations in flight keep of one. It names a place
// in the text, not in the code that is made of it, and so stays the same whatever that code is and wherever
// it lies. Whoever needs the decoded instruction asks Code::at().
//
// Tests: tests/unit/vgpu/inst_id_test.cc.
#pragma once

#include "ptx/module.h"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace lemma::vgpu {

struct InstId {
  uint32_t function = 0;       // its place in ptx::Module::functions
  uint32_t index = ptx::kNone; // in ptx::Function::instructions; kNone: of none
  // What the decoder makes to be executed before an instruction, for its operands, counted backwards from it;
  // 0: the instruction itself.
  uint32_t before = 0;

  explicit operator bool() const { return index != ptx::kNone; }
  bool is_of_text() const { return index != ptx::kNone && before == 0; }
  friend auto operator<=>(const InstId&, const InstId&) = default;
};

struct InstIdHash {
  size_t operator()(const InstId& id) const {
    return std::hash<uint64_t>()(uint64_t{id.function} << 32 | id.index) ^ id.before;
  }
};

} // namespace lemma::vgpu
