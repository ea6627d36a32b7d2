// A decoded module: code of every function, the constant pool, where module variables lie. Made once a module and
// shared by its launches.
#pragma once

#include "ptx/module.h"
#include "support/diagnostic.h"
#include "vgpu/code.h"
#include "vgpu/memory.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lemma::vgpu {

// What of the arithmetic depends on the machine. 90: sm_90.
struct Arch {
  int sm = 90;
};

class Program {
public:
  // Decodes every function and allocates and initializes module variables in `memory`. The module must have passed
  // verify(). A diagnostic means that a variable cannot be laid out (an initializer names what is not there).
  static Result<std::unique_ptr<Program>, Diagnostic> load(std::shared_ptr<const ptx::Module> module,
                                                           GlobalMemory& memory, Arch arch);
  ~Program();

  const ptx::Module& module() const { return *module_; }
  Arch arch() const { return arch_; }
  const Code* find(std::string_view function) const;
  // Function addresses, as `mov.u64 %rd, f` and initializers give them: kFunctionBase + 16 * index.
  const Code* code_at(uint64_t address) const;
  uint64_t function_address(std::string_view function) const; // 0: none
  Allocation* variable(uint32_t module_variable_index) const;
  std::byte* constants() const { return constants_; }

  // Shared offset of a module-scope .shared variable; extern ones lie at the start of dynamic shared memory, which is
  // after `static_shared_bytes`.
  uint32_t shared_offset(uint32_t module_variable_index) const;
  uint32_t static_shared_bytes() const { return static_shared_bytes_; } // reserved bytes included

private:
  friend class Decoder;
  friend class ProgramLoader;
  Program() = default;

  std::shared_ptr<const ptx::Module> module_;
  GlobalMemory* memory_ = nullptr;
  Arch arch_;
  std::vector<std::unique_ptr<Code>> codes_; // by ptx::Module::functions
  std::vector<Allocation*> variables_;       // by ptx::Module::variables; null: not in global memory
  std::vector<uint32_t> shared_offsets_;
  uint32_t static_shared_bytes_ = kSharedReservedBytes;
  uint32_t shared_align_ = 16;
  std::vector<std::byte> pool_; // while decoding; the base moves, offsets stay
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> pool_index_[5]; // bits -> offset, by log2(bytes per lane), 0: predicates
  std::unique_ptr<std::byte[]> constants_storage_;
  std::byte* constants_ = nullptr; // 64-byte aligned copy of the finished pool
};

inline constexpr uint64_t kFunctionBase = 0x0000'0400'0000'0000;

} // namespace lemma::vgpu
