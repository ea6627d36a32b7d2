// An observer that fails a test where an access is told of another instruction than the one at its place in
// the code: observers know instructions by where they stand.
#pragma once

#include "vgpu/engine/exec.h"
#include "vgpu/engine/observer.h"

#include <gtest/gtest.h>

namespace lemma::vgpu {

class AccessesInPlace : public Observer {
public:
  void accesses(const Exec& x, const WarpAccess& access) override {
    EXPECT_EQ(access.access.instruction, &x.code->insts[x.pc]);
  }
};

} // namespace lemma::vgpu
