// What is known of the registers of a function without a run: which hold the same each time for as long as
// the function's activation lasts - made of constants, of the thread's place in the grid and of the kernel's
// parameters alone -, who has one value of them, and how they differ from lane to lane.
//
// A register is known if one instruction alone writes it, under no guard, and makes it of others that are
// known by a function. What is the same in all rounds of one loop, but not in the whole function, is not.
//
// Steps are of lanes where the rows of a block are whole warps. Sums of 32 bits wrap, and a compiler extends
// them to 64: `base + 4 * (i + tid.x)` has the step 4 unless i + tid.x wraps within the warp. A step is
// therefore a promise with a proviso: if the last lane's value is 31 steps from the first one's, each of them
// is a step from its neighbour's. That holds as long as no more than one number that may have wrapped is in a
// sum, since wrapped lanes follow those that are not.
//
// Tests: tests/unit/lowered/values_test.cc.
#pragma once

#include "lowered/program.h"

#include <optional>
#include <vector>

namespace lemma::lowered {

struct Value {
  bool is_constant = false; // it stands in the text: an unguarded mov of it is all that writes the register
  bool is_known = false;    // the same each time; else nothing of what follows
  bool is_tid_x = false;
  bool is_of_cta = false;      // all threads of a CTA have the same
  std::optional<int64_t> step; // from a lane to the next; 0: all have the same; none: not known

  bool is_uniform() const { return is_known && step == 0; }
};

class Values {
public:
  // After find_unwritten_reads(). In time linear in the code.
  explicit Values(const Function& function);

  Value of(const Operand& operand) const;
  // Whether all that the instruction writes is known; what it is.
  bool makes_known(const Inst& inst) const;
  // base + offset
  Value of_address(const Operand& address) const;

private:
  bool is_constant_move(const Inst& inst) const;
  Value result_of(const Inst& inst) const;
  std::optional<int64_t> step_of(const Inst& inst, const std::vector<Value>& sources) const;
  std::vector<Value> sources_of(const Inst& inst) const;

  const Function& function_;
  std::vector<uint32_t> writers_; // of each register, how many
  std::vector<Value> values_;     // by register
};

} // namespace lemma::lowered
