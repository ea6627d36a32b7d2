// Statements of defined programs. See defined.h.
//
// Registers, all of which hold a value from the start: %r0 to %r11 of 32 bits, %h0 to %h5 of 16, %d0 to %d5
// of 64, and the predicates %p0 to %p3. %t, %u, %v, %f, %e, %y and %q are for a statement's own use. %own is
// the thread's 16 bytes of shared memory, %sh the first thread's; %g its scratch in global memory.
#pragma once

#include "generate/defined.h"
#include "golden/spelling.h"

namespace lemma::generate {

inline constexpr int kWordRegisters = 12, kHalfRegisters = 6, kDoubleRegisters = 6, kPredicates = 4;

class DefinedWriter {
public:
  // `in_kernel`: whole warps and CTAs come by, where nothing diverges. `functions`: fNAME_0 and up may be
  // called.
  DefinedWriter(Rng& rng, std::string name, bool in_kernel, int functions)
      : rng_(rng), name_(std::move(name)), in_kernel_(in_kernel), functions_(functions) {}

  std::vector<DefinedNode> block(size_t statements, int depth = 0, bool diverged = false);

private:
  DefinedNode branch(size_t statements, int depth);
  DefinedNode loop(size_t statements, int depth, bool diverged);
  std::string statement(bool diverged);
  std::string scalar();
  // The text of a source, and `lines` before that put into its register what it may hold.
  std::string source(const golden::Spelling& s, const isa::OperandSpec& spec, int index, std::string& lines);
  std::string carry_chain();
  std::string memory();
  std::string call();
  std::string exchange();
  std::string shared_sum();
  std::string warp_wide();
  std::string shuffle();
  std::string matrix();
  std::string matrix_moves();

  std::string operand(int bits);
  std::string word() { return "%r" + std::to_string(rng_.below(kWordRegisters)); }
  std::string half() { return "%h" + std::to_string(rng_.below(kHalfRegisters)); }
  std::string wide() { return "%d" + std::to_string(rng_.below(kDoubleRegisters)); }
  std::string predicate() { return "%p" + std::to_string(rng_.below(kPredicates)); }
  // Different ones.
  std::vector<std::string> distinct(int bits, size_t count);

  Rng& rng_;
  std::string name_;
  bool in_kernel_;
  int functions_;
  int labels_ = 0;
};

} // namespace lemma::generate
