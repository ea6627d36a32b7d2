// Registers are spelled as in the text, those that no name means t0, t1, ... in the order in which they were
// made.
#include "lowered/print.h"

#include "isa/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace lemma::lowered {
namespace {

constexpr int kNotes = static_cast<int>(std::size({
#define NOTE(name, spelling) 0,
#include "lowered/notes.def"
}));

class Printer {
public:
  explicit Printer(const Function& function) : function_(function), text_(*function.text) {}

  std::string print_all() {
    put("{} {}\n", text_.is_entry ? ".entry" : ".func", text_.name);
    list_registers("asked", &Register::is_asked);
    list_registers("carried", &Register::is_carried);
    list_registers("clock", &Register::holds_clock);
    list_registers("known", &Register::is_known);
    for (const Range& loop : function_.loops)
      put("loop b{} to b{}\n", block_at(loop.begin), block_at(loop.end - 1));
    for (uint32_t b = 0; b < function_.blocks.size(); ++b) {
      put("b{}:\n", b);
      for (uint32_t i = function_.blocks[b].begin; i < function_.blocks[b].end; ++i)
        print_line(i);
    }
    for (size_t run = 0; run < function_.matrix_runs.size(); ++run)
      print_run(run, function_.matrix_runs[run]);
    return std::move(out_);
  }

  // Groups in braces: once.launch { ... }.
  void print_line(uint32_t inst) {
    const auto begins = [&](const Range& group) { return group.begin == inst; };
    const auto ends = [&](const Range& group) { return group.end == inst + 1; };
    const auto has = [&](const Range& group) { return group.begin <= inst && inst < group.end; };
    const auto of_launch = std::ranges::find_if(function_.constants_of_launch, has);
    const auto of_cta = std::ranges::find_if(function_.constants_of_cta, has);
    const bool in_launch = of_launch != function_.constants_of_launch.end();
    const bool in_cta = of_cta != function_.constants_of_cta.end();
    if (in_launch && begins(*of_launch))
      put("  once.launch {{\n");
    if (in_cta && begins(*of_cta))
      put("  once.cta {{\n");
    const bool is_other = in_cta && std::ranges::binary_search(of_cta->others, inst);
    put("{}{}", in_launch || in_cta ? "    " : "  ", is_other ? "each " : "");
    print(function_.insts[inst]);
    for (size_t run = 0; run < function_.matrix_runs.size(); ++run) {
      if (std::ranges::binary_search(function_.matrix_runs[run].insts, inst))
        put(" !run{}", run);
      if (function_.matrix_runs[run].settled_from == inst)
        put(" !begins-run{}", run);
    }
    put("\n");
    if ((in_launch && ends(*of_launch)) || (in_cta && ends(*of_cta)))
      put("  }}\n");
  }

  std::string print_one(const Inst& inst) {
    print(inst);
    return std::move(out_);
  }

private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  // "run0: 16x16, 2 steps: %d0, %d1 = %a0 * %b0 + %c0, %c1"
  void print_run(size_t number, const MatrixRun& run) {
    for (const MatrixProduct& product : run.products) {
      put("run{}: {}x{}, {} step{}: ", number, product.m, product.n, product.steps,
          product.steps == 1 ? "" : "s");
      list(product.d);
      put(" = ");
      list(product.a);
      put(" * ");
      list(product.b);
      put(" + ");
      list(product.c);
      put("\n");
    }
  }

  // "asked %r1 %r2", where there are such.
  void list_registers(std::string_view what, bool Register::* is) {
    bool any = false;
    for (uint32_t i = 0; i < function_.registers.size(); ++i)
      if (function_.registers[i].*is) {
        put("{} {}", any ? "" : what, name_of(i));
        any = true;
      }
    if (any)
      put("\n");
  }

  size_t block_at(uint32_t inst) const {
    const auto after = std::ranges::upper_bound(function_.blocks, inst, {}, &Block::begin);
    return static_cast<size_t>(after - function_.blocks.begin()) - 1;
  }

  void print(const Inst& inst) {
    if (inst.guard != kNone)
      put("@{}{} ", inst.guard_negated ? "!" : "", name_of(inst.guard));
    list(function_.destinations_of(inst));
    if (inst.destinations != 0)
      put(" = ");
    if (inst.op != Op::instruction)
      put("{}", to_string(inst.op));
    else if (const ptx::Instruction& instruction = *function_.instruction_of(inst); instruction.form())
      put("{}", isa::spelling_of(*instruction.binding));
    else
      put("?");
    if (inst.count != inst.destinations)
      put(" ");
    list(function_.sources_of(inst));
    for (int note = 0; note < kNotes; ++note)
      if (inst.notes.has(static_cast<Note>(note)))
        put(" !{}", to_string(static_cast<Note>(note)));
  }

  void list(std::span<const Operand> operands) {
    for (const Operand& operand : operands) {
      put("{}", &operand == operands.data() ? "" : ", ");
      print(operand);
    }
  }

  void print(const Operand& operand) {
    switch (operand.kind) {
    case OperandKind::none:
      return put("_");
    case OperandKind::reg:
      return put("{}", name_of(operand.index));
    case OperandKind::constant:
      return print_number(static_cast<int64_t>(function_.constants[operand.index]));
    case OperandKind::special:
      return put("{}", isa::to_string(static_cast<isa::SpecialRegister>(operand.index)));
    case OperandKind::variable:
      return print(function_.variables[operand.index]);
    case OperandKind::function:
      return put("{}", function_.module->functions[operand.index].name);
    case OperandKind::address:
      return print(function_.addresses[operand.index]);
    case OperandKind::block:
      return put("b{}", operand.index);
    case OperandKind::table:
      return put("{}", text_.target_lists[operand.index].name);
    case OperandKind::proto:
      return put("{}", text_.prototypes[operand.index].name);
    }
  }

  // Small numbers as people count, others as bits.
  void print_number(int64_t number) {
    constexpr int64_t kMostCounted = 1 << 20;
    if (number > -kMostCounted && number < kMostCounted)
      put("{}", number);
    else
      put("{:#x}", static_cast<uint64_t>(number));
  }

  void print(const VariableAddress& address) {
    put("{}", function_.variable_of(address).name);
    print_offset(address.offset);
  }

  void print_offset(int64_t offset) {
    if (offset != 0)
      put("{:+}", offset);
  }

  void print(const Address& address) {
    put("[");
    if (address.variable != kNone)
      print(function_.variables[address.variable]);
    else if (address.base.kind != OperandKind::none)
      print(address.base);
    else
      print_number(address.offset);
    if (address.variable != kNone || address.base.kind != OperandKind::none)
      print_offset(address.offset);
    put("]");
  }

  std::string name_of(uint32_t reg) const {
    const Register& which = function_.registers[reg];
    if (which.text == kNone)
      return fmt::format("t{}", reg - first_made());
    const std::string name = text_.register_name(which.text);
    return text_.registers[which.text].vector_elems == 1
               ? name
               : fmt::format("{}.{}", name, "xyzw"[which.component]);
  }

  uint32_t first_made() const {
    if (text_.registers.empty())
      return 0;
    const auto last = static_cast<uint32_t>(text_.registers.size() - 1);
    return function_.register_of(last, text_.registers[last].vector_elems);
  }

  const Function& function_;
  const ptx::Function& text_;
  std::string out_;
};

} // namespace

std::string print(const Function& function) {
  return Printer(function).print_all();
}

std::string print(const Function& function, const Inst& inst) {
  return Printer(function).print_one(inst);
}

} // namespace lemma::lowered
