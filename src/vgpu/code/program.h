// A decoded module: code of every function, the constant pool, where module variables lie. Made once a module
// and shared by its launches.
#pragma once

#include "ptx/module.h"
#include "support/diagnostic.h"
#include "vgpu/code/code.h"
#include "vgpu/memory/access.h"
#include "vgpu/memory/memory.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace lemma::vgpu {

inline constexpr uint32_t kDynamicShared = UINT32_MAX;
inline constexpr uint64_t kFunctionBase = 0x0000'0400'0000'0000;

// Which machine it is (isa/machine.h). 90: sm_90.
struct Arch {
  int sm = 90;
};

class Program {
public:
  // Decodes every function and allocates and initializes module variables in `memory`. The module must have
  // passed verify(). A diagnostic means that a variable cannot be laid out (an initializer names what is not
  // there), or that the module is larger than what is modelled. Throws OverBudget.
  static Result<std::unique_ptr<Program>, Diagnostic> load(std::shared_ptr<const ptx::Module> module,
                                                           GlobalMemory& memory, Arch arch);
  ~Program();

  const ptx::Module& module() const { return *module_; }
  Arch arch() const { return arch_; }
  const Code* find(std::string_view function) const; // null: there is none
  // By its place in ptx::Module::functions.
  const Code& code(uint32_t function) const { return *codes_[function]; }
  // Function addresses, as `mov.u64 %rd, f` and initializers give them: kFunctionBase + 16 * index.
  const Code* code_at(uint64_t address) const;
  uint64_t function_address(uint32_t function) const { return kFunctionBase + 16 * uint64_t{function}; }
  std::byte* constants() const { return constants_; }

  // Where a global or const variable lies; null for other spaces.
  const Allocation* allocation_of(const ptx::Variable& variable) const;
  // Offset of a .shared variable in the CTA's shared memory, or kDynamicShared.
  uint32_t shared_offset_of(const ptx::Variable& variable) const;
  // "tile + 0x40": the variable that holds the place, and how far in it. Where none is known, as name_of().
  std::string describe(const MemoryPlace& place, const Code& entry) const;
  // Static shared memory of a kernel, system's reserved bytes included, and the alignment its dynamic part
  // needs.
  uint32_t static_shared_bytes(const Code& entry) const { return entry.shared_bytes; }
  uint32_t dynamic_shared_align() const { return dynamic_shared_align_; }
  // A function asks for a place in what the system keeps of shared memory: its threads may use that.
  bool uses_reserved_shared() const { return uses_reserved_shared_; }
  void set_uses_reserved_shared() { uses_reserved_shared_ = true; }

  Slot intern_constant(uint64_t low, uint64_t high, int bytes);

private:
  friend class ProgramLoader;
  explicit Program(MemoryBudget& budget) : taken_(budget) {}

  MemoryShare taken_; // for code and constants
  std::shared_ptr<const ptx::Module> module_;
  GlobalMemory* memory_ = nullptr;
  Arch arch_;
  std::vector<std::unique_ptr<Code>> codes_; // by ptx::Module::functions
  std::unordered_map<std::string_view, uint32_t> function_index_;
  // By variable: where it lies, or its shared offset.
  std::unordered_map<const ptx::Variable*, Allocation*> allocations_;
  std::unordered_map<const ptx::Variable*, uint32_t> shared_offsets_;
  // By ptx::Module::functions, of kernels: the static shared variables that they reach. Those of other
  // kernels may have the same offsets.
  std::vector<std::vector<const ptx::Variable*>> shared_variables_;
  uint32_t dynamic_shared_align_ = 16;
  bool uses_reserved_shared_ = false;
  std::vector<std::byte> pool_; // while decoding; the base moves, offsets stay
  std::map<std::tuple<uint64_t, uint64_t, int>, uint32_t>
      pool_index_; // low, high, bytes of a lane value -> offset
  std::unique_ptr<std::byte[]> constants_storage_;
  std::byte* constants_ = nullptr; // 64-byte aligned copy of the finished pool
};

} // namespace lemma::vgpu
