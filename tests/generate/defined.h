// Whole programs whose every result the PTX ISA defines to the bit: no races, no reads of what was never
// written, no contraction (.rn and kin are explicit), no approximations, nothing that is left open. A GPU and
// the virtual GPU must agree on all that such a program stores. With branches, loops, calls, local, shared
// and global memory, barriers, atomic operations, warp-wide and matrix instructions.
//
// Programs that may do anything: hostile.h. Tests: tests/fuzz/.
#pragma once

#include "generate/sampler.h"

#include <functional>
#include <memory>

namespace lemma::generate {

// A statement, or statements within others; one that is taken out leaves a program that is as defined as
// before.
struct DefinedNode {
  std::string before;             // lines; those of a statement, or what stands before `inner`
  std::vector<DefinedNode> inner; // the branch, the loop
  std::string between;
  std::vector<DefinedNode> other; // the other branch
  std::string after;
  bool live = true;
};

// A kernel (in, out): thread i of a CTA of kThreads loads its words from in + i * kInputBytes, does what it
// does, and stores its registers at out + i * kOutputBytes.
class DefinedProgram {
public:
  static constexpr uint32_t kThreads = 64;
  static constexpr uint32_t kInputBytes = 128;
  static constexpr uint32_t kRegisterBytes =
      128; // of the outputs, then kScratchBytes that are stored to and loaded from
  static constexpr uint32_t kScratchBytes = 64;
  static constexpr uint32_t kOutputBytes = kRegisterBytes + kScratchBytes;

  explicit DefinedProgram(uint64_t seed);

  const std::string& name() const { return name_; } // of the kernel
  // What the input buffer holds.
  std::vector<std::byte> inputs() const;
  // The kernel and its functions; module_of() makes a module of several.
  std::string str() const;
  // Every statement, those within others after them, of the kernel and its functions.
  std::vector<DefinedNode*> nodes();
  size_t live_statements() const;

  static std::string module_of(std::span<const DefinedProgram> programs);
  // What an output word is: "%r3", "scratch byte 4".
  static std::string output_name(uint32_t offset_bytes);

private:
  struct Body {
    std::string name;
    std::vector<DefinedNode> nodes;
  };
  uint64_t seed_;
  std::string name_;
  std::vector<Body> functions_;
  std::vector<DefinedNode> nodes_;
};

} // namespace lemma::generate
