// One function of a hostile program: statements, and what their operands point to. See hostile.h.
#pragma once

#include "generate/hostile.h"
#include "generate/hostile_tensor.h"

namespace lemma::generate {

// The forms of a target by opcode, with how often each opcode is taken.
class HostileTable {
public:
  // `tensor`: for a program that has allocated tensor memory.
  HostileTable(std::string_view target, bool tensor);
  static const HostileTable& of(std::string_view target, bool tensor);
  const isa::Form& pick(Rng& rng) const;

private:
  struct Entry {
    size_t up_to = 0; // of the sum of the weights
    std::vector<const isa::Form*> forms;
  };
  std::vector<Entry> entries_;
};

struct HostileFunctionKind {
  int malice = 0; // percent of the operands that point where they should not
  bool is_entry = false;
  bool recursive = false;   // calls itself, `depth` times
  bool has_callees = false; // f0 and f1 are there
  HostileTensor tensor = {};
};

class HostileFunction {
public:
  HostileFunction(Rng& rng, const HostileMachine& machine, const HostileTable& table,
                  const HostileFunctionKind& kind)
      : rng_(rng), machine_(machine), table_(table), kind_(kind) {}

  void write(size_t instructions);
  bool calls() const { return calls_; }
  bool has_warpgroup_instructions() const { return warpgroup_; }
  // The body with its declarations, braces included.
  std::string str() const;

private:
  void block(size_t instructions, int depth);
  void statement();
  void branch_over(size_t instructions, int depth);
  void loop(size_t instructions, int depth);
  void call();
  void indexed_branch();

  // Lines that make the operand's registers hold something of use; they may change the operand.
  void prepare(std::string& operand, const isa::OperandSpec& spec, const Text& text);
  void prepare_address(std::string& operand, const isa::OperandSpec& spec, const Text& text);
  void prepare_descriptor(const std::string& reg);
  void prepare_tensor(std::string& operand, const isa::OperandSpec& spec, const Text& text);
  void point(const std::string& reg, isa::StateSpace space);
  void point_wildly(const std::string& reg);
  void point_at_mbarrier(const std::string& reg, isa::StateSpace space);
  void point_at_map(const std::string& reg, isa::StateSpace space);

  bool wild() { return rng_.below(100) < static_cast<size_t>(kind_.malice); }
  void line(std::string text) { lines_.push_back(std::move(text)); }
  std::string initial_values() const;

  Rng& rng_;
  const HostileMachine& machine_;
  const HostileTable& table_;
  const HostileFunctionKind kind_;
  std::vector<std::string> lines_;
  int labels_ = 0;
  bool calls_ = false;
  bool warpgroup_ = false;
  // Of the instruction whose operands are prepared: lanes may have different addresses; it only reads; it
  // uses a tensor map rather than changes it.
  bool per_lane_ = true;
  bool reads_ = false;
  bool reads_map_ = false;
  uint64_t initial_seed_ = 0;
  uint32_t idesc_ = 0; // of the instruction, of tcgen05
};

} // namespace lemma::generate
