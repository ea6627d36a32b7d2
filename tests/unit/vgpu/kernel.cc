// Parse and load without the verifier: tests may run what it would refuse. A text without .version gets a
// header for sm_90a. Results come as text (fault_text, uninitialized_text), so that a test compares whole
// messages.
#include "kernel.h"

#include "isa/target.h"
#include "lemma/engine.h"
#include "ptx/parser.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/launch_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::vgpu {

namespace {

ptx::ParseOutcome parse(const std::string& text) {
  const std::string head =
      text.starts_with(".version") ? "" : ".version 8.6\n.target sm_90a\n.address_size 64\n";
  auto source = std::make_shared<SourceText>("test.ptx", head + text);
  ptx::ParseOutcome parsed = ptx::parse(source);
  EXPECT_FALSE(has_errors(parsed.diagnostics)) << render(parsed.diagnostics, *source);
  return parsed;
}

} // namespace

std::string load_error(const std::string& text, int sm) {
  GlobalMemory memory;
  auto program = Program::load(parse(text).module, memory, Arch{.sm = sm});
  if (program.ok())
    return "";
  std::string error = program.error().message;
  for (const auto& note : program.error().notes)
    error += fmt::format(" [{}: {}]", note.label, note.text);
  return error;
}

Kernel::Kernel(const std::string& text, uint64_t limit_bytes) : memory_(limit_bytes) {
  config_.block = {32, 1, 1};
  config_.workers = 2;
  config_.engine = *engine_of_environment(); // all tests can be had compiled
  ptx::ParseOutcome parsed = parse(text);
  if (has_errors(parsed.diagnostics))
    return;
  const Arch arch{.sm = isa::parse_target(parsed.module->targets.front())->sm};
  auto program = Program::load(std::move(parsed.module), memory_, arch);
  EXPECT_TRUE(program.ok());
  if (!program.ok())
    return;
  program_ = std::move(*program);
  for (const ptx::Function& function : program_->module().functions)
    if (function.is_entry && !entry_)
      entry_ = program_->find(function.name);
}

Kernel::~Kernel() = default;

uint64_t Kernel::uninitialized_buffer(uint64_t bytes, std::string name) {
  return memory_.allocate(bytes, std::move(name), true)->base;
}

std::string Kernel::check() {
  return entry_ ? check_launch(*program_, *entry_, config_, params_.size(), limits()) : "there is no kernel";
}

Report Kernel::run(std::initializer_list<uint64_t> arguments) {
  if (!entry_) {
    ADD_FAILURE() << "there is no kernel";
    return {};
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(arguments.begin());
  params_.assign(bytes, bytes + arguments.size() * sizeof(uint64_t));
  const std::string refused = check();
  EXPECT_EQ(refused, "");
  return refused.empty() ? run_launch(*program_, *entry_, memory_, config_, params_, surroundings_)
                         : Report{};
}

Report Kernel::run_beside(std::initializer_list<uint64_t> arguments) {
  const auto* bytes = reinterpret_cast<const std::byte*>(arguments.begin());
  return run_launch(*program_, *entry_, memory_, config_,
                    {bytes, bytes + arguments.size() * sizeof(uint64_t)}, {.limits = limits()});
}

Fault fault_in(const Report& report) {
  return report.fault.value_or(Fault{.kind = FaultKind::internal, .message = "no fault", .place = {}});
}

std::string fault_text(const Report& report) {
  return report.fault ? fmt::format("{}: {}", to_string(report.fault->kind), report.fault->message) : "";
}

std::string uninitialized_text(const Report& report) {
  std::string text;
  for (const UninitializedRead& read : report.uninitialized)
    text += read.place.instruction + ": " + read.what + " x" + std::to_string(read.count) + "\n";
  return text;
}

} // namespace lemma::vgpu
