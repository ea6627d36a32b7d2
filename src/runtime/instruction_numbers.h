// The instructions of a module, numbered in the order of its text, function after function: how observers and
// counters name them.
//
// Tests: tests/unit/runtime/observer_test.cc.
#pragma once

#include "ptx/module.h"
#include "vgpu/code/code.h"

#include <cstdint>
#include <vector>

namespace lemma::runtime {

class InstructionNumbers {
public:
  explicit InstructionNumbers(const ptx::Module& module); // outlives it

  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t count() const { return first_.back(); }
  // Of a function, by its place in ptx::Module::functions.
  uint32_t first_of(size_t function) const { return first_[function]; }
  // Of the instruction of the text; of one that the decoder made, that which it serves, or kNone.
  uint32_t of(vgpu::InstId id) const;
  // The other way round, below count().
  const ptx::Function& function_of(uint32_t number) const;
  const ptx::Instruction& instruction(uint32_t number) const;

private:
  const ptx::Module& module_;
  std::vector<uint32_t> first_; // by function, and the end
};

} // namespace lemma::runtime
