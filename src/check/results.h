// Which instructions give a value that another one of the function takes: an atomic operation whose result
// nobody takes (nvcc leaves it to ptxas to make a red of it) tells its thread nothing.
//
// Tests: tests/unit/check/order_test.cc.
#pragma once

#include "vgpu/code/program.h"

#include <vector>

namespace lemma::check {

class Results {
public:
  explicit Results(const vgpu::Code& code);
  bool taken(vgpu::InstId in) const { return taken_[in.index]; }

private:
  std::vector<bool> taken_; // by instruction
};

} // namespace lemma::check
