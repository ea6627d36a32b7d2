// Writes the PTX of kernels in which every thread loads its operands, does something, and stores the results.
//
//   ThreadKernel k("add.rn.f32");
//   k.in("a", Type::f32, 32); k.in("b", Type::f32, 32); k.out("d", Type::f32, 32);
//   k.body("add.rn.f32 %d, %a, %b;");
//   Case c = k.finish(4096);
//
// Registers are untyped (.b16, .b32, .b64) or predicates and are called %name. The thread's index is %_i
// (u32), the lane's %_n.
//
// Tests: tests/unit/golden/.
#pragma once

#include "golden/case.h"

namespace lemma::golden {

class ThreadKernel {
public:
  explicit ThreadKernel(std::string name, std::string family = {});

  // One element a thread. `bits` of the register: 16, 32, 64, or 1 for a predicate (a byte in the buffer).
  // `type` is what messages take it for.
  void in(std::string_view name, isa::Type type, int bits);
  void out(std::string_view name, isa::Type type, int bits);
  // Memory of each thread's own, `per_unit` elements: %name holds its address, what it starts with is in the
  // input plane "name0", and what it holds in the end is an output.
  void memory(std::string_view name, isa::Type type, uint32_t element_bytes, uint32_t per_unit = 1);
  // Declarations inside the kernel, statements, and text before the kernel (functions, variables).
  void declare(std::string_view text) { declarations_ += std::string("  ") + std::string(text) + "\n"; }
  void body(std::string_view text) { body_ += std::string("  ") + std::string(text) + "\n"; }
  void prefix(std::string_view text) { prefix_ += text; }
  void block(uint32_t threads) { block_ = threads; }
  // Clusters of so many CTAs; all threads of one meet before the statements of the body, and after them, so
  // that each CTA's shared memory is there for the others. The grid's CTAs must be a multiple.
  void cluster(uint32_t ctas) { cluster_ = ctas; }

  // Input planes so far: the index of the next one.
  size_t inputs() const { return in_.size(); }

  // The case, with one part "all" and no fill; `units` threads, a multiple of the block.
  Case finish(uint64_t units) const;

private:
  struct Register {
    Plane plane;
    int bits = 0; // 0: memory, no register to load or store
  };
  static std::string load_text(const Register& r, const Plane& plane);
  static std::string store_text(const Register& r, const Plane& plane);
  static Register make_register(std::string_view name, isa::Type type, int bits);
  void declare_register(const Register& r);

  std::string name_, family_, declarations_, body_, prefix_;
  std::vector<Register> in_, out_;
  uint32_t block_ = 128;
  uint32_t cluster_ = 0;
};

// The name of a kernel: letters, digits and underscores of the case's name.
std::string entry_name(std::string_view case_name);
// "  .reg .b64 %_in, ...": declares and loads the buffers' addresses (%_in, %_out) and the thread's index in
// the grid
// (%_i), for kernels of one-dimensional grids and blocks. `maps`: tensor maps, whose generic addresses are
// %_map0, ...
std::string kernel_head(std::string_view entry, size_t maps = 0);

} // namespace lemma::golden
