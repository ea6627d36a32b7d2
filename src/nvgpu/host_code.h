// Host code as it lies in memory once it is compiled, and what its signals mean. It runs natively, with
// nothing between it and the process: what it does wrong arrives as a signal, which would end the process
// without a word.
//
// Tests: tests/mlir/run/host_signals.mlir.
#pragma once

#include "llvm/ExecutionEngine/SectionMemoryManager.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lemma::nvgpu {

struct HostFunction {
  uintptr_t begin = 0;
  std::string name;
};

// Gives the compiler memory, and remembers where code lies.
class CodeMemory : public llvm::SectionMemoryManager::MemoryMapper {
public:
  struct Range {
    uintptr_t begin = 0, end = 0;
  };
  const std::vector<Range>& code() const { return code_; }

  llvm::sys::MemoryBlock allocateMappedMemory(llvm::SectionMemoryManager::AllocationPurpose purpose,
                                              size_t bytes, const llvm::sys::MemoryBlock* near,
                                              unsigned flags, std::error_code& error) override;
  std::error_code protectMappedMemory(const llvm::sys::MemoryBlock& block, unsigned flags) override;
  std::error_code releaseMappedMemory(llvm::sys::MemoryBlock& block) override;

private:
  std::vector<Range> code_;
};

// While it lives, a signal of this thread that its host code has caused - a wrong address, a trap, abort, a
// stack that is used up - ends the process with status 1, after a message that names the function. One in a
// function that host code called counts as its own; any other signal does what it always did. One guard a
// thread; several threads may have theirs at the same time.
class HostGuard {
public:
  // `stopped` prints the message, in place of standard error, and does what else is to be done: what the
  // program wrote is intact or not, and after two seconds the process ends anyway.
  HostGuard(const std::string& program, std::vector<HostFunction> functions,
            std::vector<CodeMemory::Range> code, std::function<void(const std::string&)> stopped);
  ~HostGuard();
  HostGuard(const HostGuard&) = delete;
  HostGuard& operator=(const HostGuard&) = delete;
};

} // namespace lemma::nvgpu
