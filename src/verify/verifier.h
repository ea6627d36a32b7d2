// What the parts of the verifier share. Not for other folders.
#pragma once

#include "isa/form.h"
#include "ptx/module.h"
#include "ptx/shapes.h"
#include "support/diagnostic.h"

#include <string>
#include <string_view>
#include <unordered_map>

namespace lemma::verify {

using ptx::Function;
using ptx::Instruction;
using ptx::Module;
using ptx::Operand;

constexpr size_t kMostErrors = 100; // as the parser's; what follows is not looked for

struct Context {
  const Module& module;
  isa::Target target; // the module's first target; sm 0 when it has none
  isa::IsaVersion version;
  Diagnostics& diagnostics;
  std::unordered_map<std::string_view, const Function*> functions{}; // by name; filled once
  // Of the function whose instructions are being checked: the first of tcgen05 with a .cta_group.
  const Instruction* grouped = nullptr;

  const Function* find_function(std::string_view name) const {
    const auto it = functions.find(name);
    return it == functions.end() ? nullptr : it->second;
  }

  size_t errors = 0;
  Diagnostic discarded{}; // where messages beyond the limit go

  bool is_full() const { return errors > kMostErrors; }
  Diagnostic& error(std::string_view id, SourceRange range, std::string message) {
    if (is_full())
      return discarded = {};
    if (errors++ == kMostErrors) {
      id = "too-many-errors";
      message = "more than " + std::to_string(kMostErrors) + " errors: stopped";
    }
    diagnostics.push_back(
        {Severity::error, std::string(id), shortened(std::move(message), kLongestMessage), range, {}});
    return is_full() ? discarded = {} : diagnostics.back();
  }
  // The repair of what an earlier version lacks.
  void offer_version(Diagnostic& diagnostic, isa::IsaVersion since) const {
    diagnostic.repairs.push_back(
        {module.version_range, std::to_string(since.major) + "." + std::to_string(since.minor)});
  }
  bool has(const isa::Need& need) const { return need.targets.contains(target) && need.since <= version; }
  // Says that `what` is not in the target, or not in the PTX version, and what has it. Null: both have it.
  Diagnostic* refuse(const isa::Need& need, std::string_view what, SourceRange range);
  // The same of a part of the language that has a row (isa/directive.h).
  void need_part(std::string_view part, SourceRange range);
};

// Rules about the module outside its instructions.
void check_module(Context& context);

// Rules about directives, attributes and pragmas: where, since when, and what they need of each other.
void check_directives(Context& context);

// What static shared memory each entry takes, with the functions that it may call.
void check_shared(Context& context);

// Rules about a call and what it calls.
void check_call(Context& context, const Function& function, const Instruction& instruction);

// Rules about one instruction and its operands. `shapes` is scratch.
void check_instruction(Context& context, const Function& function, const Instruction& instruction,
                       isa::OperandShapes& shapes);

// Rules about an instruction whose operands fit its form.
void check_rules(Context& context, const Function& function, const Instruction& instruction);

} // namespace lemma::verify
