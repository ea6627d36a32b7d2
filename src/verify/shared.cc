// How much static shared memory an entry takes: its own variables, and what it and the functions that it may
// call name of the module's. ptxas -c leaves that to the linker, which refuses it as ptxas does without -c.
//
// PTX ISA: "Shared State Space"; CUDA C++ Programming Guide, "Compute Capabilities". Tests: tests/verify
// (shared-size), tests/verify/agreement ("shared 48 KiB").
#include "verify/verifier.h"

#include "isa/machine.h"
#include "support/align.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace lemma::verify {
namespace {

using isa::StateSpace;
using ptx::OperandKind;
using ptx::Variable;

// Any target has this, and one of a machine alone (sm_90a) all that a CTA can have there; else what is beyond
// this is for dynamic shared memory. (ptxas 13; the ISA does not say.)
constexpr uint64_t kStaticBytes = 49152;

uint64_t most_bytes(isa::Target target) {
  const isa::Machine* machine = target.suffix == 'a' ? isa::find_machine(target.sm) : nullptr;
  constexpr uint64_t kKib = 1024;
  return std::max(kStaticBytes,
                  machine ? (uint64_t{machine->shared_kib_per_sm} - machine->reserved_kib) * kKib : 0);
}

bool is_static_shared(const Variable& v) {
  return v.space == StateSpace::shared && v.linkage != ptx::Linkage::extern_;
}

// UINT64_MAX: more than there are addresses.
uint64_t sum(uint64_t bytes, const Variable& v) {
  const uint64_t begin = align_up(bytes, v.align);
  return begin < bytes || v.size_bytes > UINT64_MAX - begin ? UINT64_MAX : begin + v.size_bytes;
}

class SharedCheck {
public:
  explicit SharedCheck(Context& context)
      : context_(context), module_(context.module), most_(most_bytes(context.target)) {}

  // All there is fits, in nearly every module, and then it matters to nobody who names what.
  bool all_fits() const {
    uint64_t bytes = 0;
    const auto add = [&](const std::vector<Variable>& variables) {
      for (const Variable& v : variables)
        if (is_static_shared(v))
          bytes = sum(bytes, v);
    };
    add(module_.variables);
    for (const Function& f : module_.functions)
      add(f.variables);
    return bytes <= most_;
  }

  void run() {
    for (const Function& f : module_.functions)
      names_.push_back(names_in(f));
    for (uint32_t f = 0; f < module_.functions.size(); ++f)
      if (module_.functions[f].is_entry)
        check_entry(f);
  }

private:
  // Of the module: variables in shared memory, functions.
  struct Names {
    std::set<uint32_t> variables;
    std::set<uint32_t> functions;
  };

  void look_at(const Operand& operand, Names& names) const {
    if (operand.kind == OperandKind::symbol && operand.symbol_scope == Operand::SymbolScope::module &&
        is_static_shared(module_.variables[operand.symbol]))
      names.variables.insert(operand.symbol);
    else if (operand.kind == OperandKind::function)
      names.functions.insert(module_.body_of(operand.symbol));
    for (const Operand& element : operand.elems)
      look_at(element, names);
  }

  Names names_in(const Function& f) const {
    Names names;
    for (const Instruction& instruction : f.instructions)
      for (const Operand& operand : instruction.operands)
        look_at(operand, names);
    return names;
  }

  void check_entry(uint32_t entry) {
    std::vector<bool> seen(module_.functions.size());
    std::vector<uint32_t> open{entry};
    std::set<uint32_t> variables;
    std::vector<const Variable*> all;
    while (!open.empty()) {
      const uint32_t f = open.back();
      open.pop_back();
      if (f >= seen.size() || seen[f])
        continue;
      seen[f] = true;
      for (const Variable& v : module_.functions[f].variables)
        if (is_static_shared(v))
          all.push_back(&v);
      variables.insert(names_[f].variables.begin(), names_[f].variables.end());
      open.insert(open.end(), names_[f].functions.begin(), names_[f].functions.end());
    }
    for (const uint32_t v : variables)
      all.push_back(&module_.variables[v]);
    uint64_t bytes = 0;
    for (const Variable* v : all)
      bytes = sum(bytes, *v);
    if (bytes <= most_)
      return;
    const Function& f = module_.functions[entry];
    Diagnostic& d = context_.error("shared-size", f.range,
                                   fmt::format("{} takes {} bytes of static shared memory", f.name, bytes));
    d.notes.push_back({"legal", fmt::format("{} bytes for {}; more as dynamic shared memory: .extern .shared "
                                            ".align 16 .b8 name[]",
                                            most_, isa::to_string(context_.target))});
    d.notes.push_back({"see", "PTX ISA, Shared State Space"});
  }

  Context& context_;
  const Module& module_;
  const uint64_t most_;
  std::vector<Names> names_; // of each function
};

} // namespace

void check_shared(Context& context) {
  if (SharedCheck check(context); !check.all_fits())
    check.run();
}

} // namespace lemma::verify
