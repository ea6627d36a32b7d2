// Whether instructions need what a tcgen05.ld gives before something else happens: the hardware has a warp
// wait for registers that are on their way, so that the load has read its cells by then, whether a
// tcgen05.wait::ld follows or not.
//
// Registers are followed through copies, which compilers leave out, and through nothing else. An instruction
// with a guard may need nothing.
//
// Tests: tests/unit/check/tensor_order_test.cc.
#pragma once

#include "check/meeting.h"
#include "check/statement.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace lemma::check {

// For any threads at a time.
class NeededLoads {
public:
  // On every path from the load to an instruction of the same function.
  bool before(const Spot& load, const Spot& later);
  // ... to what hands on to the warp of `later` what the load's warp has done: where the two are of one
  // function, the last such instruction before it.
  bool before_others_hear(const Spot& load, const Spot& later);

private:
  const Paths& paths_of(const ptx::Function& function);
  bool is_needed_before(const Spot& load, const Paths::Stops& is_later);

  std::mutex mutex_; // guards all that follows
  std::map<const ptx::Function*, std::unique_ptr<Paths>> paths_;
  using Pair = std::pair<const ptx::Instruction*, const ptx::Instruction*>;
  std::map<Pair, bool> known_, known_to_others_;
};

} // namespace lemma::check
