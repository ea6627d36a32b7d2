// Which forms of instructions a launch executes, how often, and how well their bits are known: Report::forms.
//
// Tests: tests/unit/runtime/observer_test.cc, tests/cli/watch_cli_test.py.
#pragma once

#include "lemma/report.h"
#include "runtime/instruction_numbers.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/observer.h"

#include <vector>

namespace lemma::runtime {

// Counts for one launch.
class ExecutedForms final : public vgpu::Observer {
public:
  explicit ExecutedForms(const vgpu::Program& program) : program_(program), numbers_(program.module()) {}

  void launch_begins(const vgpu::Launch& launch) override;
  bool watches_instructions() const override { return true; }
  void executes(const vgpu::Exec& x, const vgpu::DecodedInst& in) override;

  // Once the launch has ended: the least known first, of those the most frequent.
  std::vector<ExecutedForm> forms() const;

private:
  struct Count {
    uint64_t warps = 0, lanes = 0;
  };
  const vgpu::Program& program_;
  const InstructionNumbers numbers_;
  std::vector<std::vector<Count>> counts_; // by worker and instruction
};

} // namespace lemma::runtime
