// Rules that a form cannot state because they need the operands' names or the module: address size,
// parameters that may not be written, symbols of the right space, alignments.
#include "verify/verifier.h"

#include "isa/catalogue.h"
#include "isa/effects.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::verify {
namespace {

namespace effect = isa::effect;
using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using ptx::OperandKind;

constexpr std::string_view kAddressing = "PTX ISA, Addresses as Operands";

// Whose generic and global addresses the assembler wants as wide as the module's.
constexpr isa::Effects kWithFullAddress =
    effect::accesses | effect::hints | effect::on_mbarrier | effect::makes_mbarrier | effect::ends_mbarrier;

// For whom a texture, sampler or surface is nothing to access.
constexpr isa::Effects kOfNoTexture = effect::accesses | effect::ordered;

class Rules {
public:
  Rules(Context& context, const Function& function, const Instruction& instruction)
      : context_(context), function_(function), instruction_(instruction),
        does_(isa::effects_of(instruction.opcode)) {}

  void run() {
    const auto& specs = instruction_.form()->operands;
    if (!does_.has(effect::calls))
      for (size_t i = 0; i < instruction_.operands.size(); ++i)
        if (instruction_.operands[i].kind == OperandKind::address)
          for (const isa::OperandSpec& spec : specs)
            if (spec.kind == isa::OperandSpec::Kind::address) {
              check_address(spec, instruction_.operands[i]);
              break;
            }
    if (does_.has(effect::tensor_memory))
      check_cta_group();
    if (does_.has(effect::calls))
      check_call(context_, function_, instruction_);
    else if (does_.has(effect::jumps) && instruction_.operands.size() > 1)
      check_branch_targets();
    else if (is_store(does_))
      check_param_store();
    else if (does_.has(effect::moves))
      check_moved_symbol();
    else if (does_.has(effect::converts) && isa::space_of(*instruction_.binding) != StateSpace::generic)
      check_cvta();
    else if (does_.has(effect::on_mbarrier) && does_.semantics() == isa::Semantics::release)
      check_arrival();
    else if (does_.has(effect::samples))
      check_offset_and_comparison();
    else if (instruction_.opcode == Opcode::mapa || instruction_.opcode == Opcode::getctarank)
      check_symbol_space(StateSpace::shared);
    else if (const isa::MatrixRow* row = instruction_.form()->matrix)
      check_constants(*row);
  }

private:
  // Names of prototypes and of both kinds of list are alike to a form.
  void check_branch_targets() {
    const Operand& list = instruction_.operands[1];
    if (list.kind == OperandKind::targets && !function_.target_lists[list.symbol].is_call)
      return;
    Diagnostic& d = context_.error(
        "operand-kind", list.range,
        fmt::format("{} is no list of branch targets", ptx::name_of(list, function_, context_.module)));
    d.notes.push_back({"legal", "the label of a .branchtargets directive"});
    d.notes.push_back({"see", isa::citation(*instruction_.form())});
  }

  // What came later than the form: `what` of the instruction, "with a count".
  void check_need(const isa::Need& need, std::string_view what) {
    if (context_.has(need))
      return;
    if (Diagnostic* d = context_.refuse(need, fmt::format("{} {}", isa::to_string(instruction_.opcode), what),
                                        instruction_.range))
      d->notes.push_back({"see", isa::citation(*instruction_.form())});
  }
  static isa::Need from(int sm, isa::IsaVersion since) { return {since, {{{.sm = sm}}}}; }

  // A count of arrivals came with sm_90, but for .noComplete, which always had one; a result that nobody
  // wants with PTX 7.1.
  void check_arrival() {
    constexpr size_t kWithCount = 3;
    if (instruction_.operands.size() == kWithCount && !instruction_.has(Qual::noComplete))
      check_need(from(90, {7, 8}), "with a count and without .noComplete");
    if (instruction_.opcode == Opcode::mbarrier_arrive && instruction_.operands[0].kind == OperandKind::sink)
      check_need({{7, 1}, {}}, "with _ for its result");
  }

  // Offsets and depth comparison, the optional operands of texture instructions, came with PTX 4.3, and so
  // did a sampler in a register where textures have one of their own (.texmode_unified).
  void check_offset_and_comparison() {
    const auto& specs = instruction_.form()->operands;
    const auto required =
        std::count_if(specs.begin(), specs.end(), [](const auto& spec) { return spec.group < 0; });
    const auto& targets = context_.module.targets;
    const bool is_unified = std::find(targets.begin(), targets.end(), "texmode_independent") == targets.end();
    const auto address = std::find_if(instruction_.operands.begin(), instruction_.operands.end(),
                                      [](const Operand& o) { return o.kind == OperandKind::address; });
    const bool has_sampler = address->elems.size() > 2 && address->elems[1].kind == OperandKind::reg;
    if (static_cast<ptrdiff_t>(instruction_.operands.size()) > required)
      check_need(from(30, {4, 3}), "with an offset or a comparison");
    if (!has_sampler || !is_unified)
      return;
    check_need(from(30, {4, 3}), "with a sampler in a register");
    const bool is_array = instruction_.has(Qual::a1d) || instruction_.has(Qual::a2d);
    const bool names_level = instruction_.has(Qual::level) || instruction_.has(Qual::base);
    if (instruction_.has(Qual::cube) || instruction_.has(Qual::acube) ||
        (is_array && instruction_.has(Qual::grad)) || (names_level && instruction_.has(Qual::_3d)))
      context_
          .error("texture-mode", address->range,
                 "it takes the sampler of its texture where the modes are unified")
          .notes.push_back({"legal", ".target with texmode_independent, or no sampler"});
  }

  // A function works with single CTAs or with pairs of them.
  void check_cta_group() {
    const bool single = instruction_.has(Qual::cta_group_1);
    if (!single && !instruction_.has(Qual::cta_group_2))
      return;
    if (!context_.grouped)
      context_.grouped = &instruction_;
    if (context_.grouped->has(Qual::cta_group_1) == single)
      return;
    Diagnostic& d =
        context_.error("cta-group", instruction_.range,
                       fmt::format("{} has .cta_group::{} in a function with .cta_group::{}",
                                   isa::to_string(instruction_.opcode), single ? 1 : 2, single ? 2 : 1));
    d.notes.push_back(
        {"legal", fmt::format(".cta_group::{}, as in line {}", single ? 2 : 1,
                              context_.module.source->line_column(context_.grouped->range.begin).line)});
    d.notes.push_back({"see", "PTX ISA, Tensor Memory: CTA pair"});
  }

  // A vector of constants alone has no type, which A, B and what stmatrix stores need.
  void check_constants(const isa::MatrixRow& row) {
    if (row.numeric == isa::Numeric::none && row.fragments != isa::FragmentRule::m8n8)
      return;
    constexpr size_t kLast = 2; // operand
    const auto& operands = instruction_.operands;
    const bool is_mma =
        row.fragments == isa::FragmentRule::mma || row.fragments == isa::FragmentRule::mma_m8n8k4;
    const size_t fewest = is_mma ? 1 : 2;
    for (size_t i = 1; i < operands.size() && i <= kLast; ++i) {
      const auto& elems = operands[i].elems;
      if (operands[i].kind == OperandKind::vector && elems.size() >= fewest &&
          std::all_of(elems.begin(), elems.end(),
                      [](const Operand& e) { return e.kind == OperandKind::imm; }))
        context_
            .error("operand-type", operands[i].range,
                   fmt::format("{} has constants alone as an operand", isa::to_string(instruction_.opcode)))
            .notes.push_back({"legal", "a register for an element at least"});
    }
    if (row.fragments == isa::FragmentRule::wmma)
      check_constant_multiplicand();
  }

  // ptxas has no code for them before sm_90, where it makes other instructions of 4-bit products.
  void check_constant_multiplicand() {
    for (const size_t multiplicand : {1, 2})
      for (const Operand& element : instruction_.operands[multiplicand].elems)
        if (element.kind == OperandKind::imm && instruction_.operands[multiplicand].elems.size() == 1)
          return check_need(from(90, {}), "with a constant as A or B");
  }

  const ptx::Variable* variable(const Operand& operand) const {
    return ptx::variable_of(operand, function_, context_.module);
  }

  void check_address(const isa::OperandSpec& spec, const Operand& operand) {
    if (operand.elems.empty())
      return;
    const Operand& base = operand.elems[0];
    const StateSpace space = isa::space_of(spec, *instruction_.binding);
    if (base.kind == OperandKind::imm && space != StateSpace::local) {
      auto& d =
          context_.error("address", operand.range, "a constant address is legal in the .local space only");
      d.notes.push_back({"legal", "a register or the name of a variable, plus a constant"});
      d.notes.push_back({"see", std::string(kAddressing)});
      return;
    }
    const std::string_view section = instruction_.form()->section;
    if (section.starts_with("texture-") || section.starts_with("surface-")) {
      if (base.kind == OperandKind::reg)
        context_.need_part("a texture, sampler or surface by its address", operand.range);
    } else if (space == StateSpace::generic && !spec.tensor_memory) {
      context_.need_part("a generic address", operand.range);
    }
    const bool full = (space == StateSpace::generic || space == StateSpace::global) &&
                      does_.has_any(kWithFullAddress) && !instruction_.has(Qual::tensormap);
    if (full && base.kind == OperandKind::reg && context_.module.address_size_bits == 64 &&
        isa::bits_of(function_.registers[base.reg].type) == 32) {
      auto& d = context_.error("address-size", operand.range,
                               fmt::format("a 32-bit register cannot hold a {} address: .address_size is 64",
                                           space == StateSpace::global ? ".global" : "generic"));
      d.notes.push_back({"legal", "a 64-bit register"});
      d.notes.push_back({"see", std::string(kAddressing)});
      return;
    }
    if (const ptx::Variable* v = variable(base);
        v && isa::kind_of(v->type) == isa::TypeKind::opaque && does_.has(kOfNoTexture)) {
      auto& d = context_.error("state-space", base.range,
                               fmt::format("{} is a .{}, which {} does not read", v->name,
                                           isa::to_string(v->type), isa::to_string(instruction_.opcode)));
      d.notes.push_back({"legal", "tex, suld, txq and their kin; mov of its address"});
      d.notes.push_back({"see", "PTX ISA, Texture Sampler and Surface Types"});
      return;
    }
    if (space == StateSpace::generic)
      if (const ptx::Variable* v = variable(base); v && !generic_reaches(*v)) {
        auto& d = context_.error(
            "state-space", base.range,
            fmt::format("{} lives in the .{} space, which a generic {} does not reach by name", v->name,
                        isa::to_string(v->space), isa::to_string(instruction_.opcode)));
        d.notes.push_back({"see", std::string(kAddressing)});
      }
  }

  // Symbols that the assembler takes where no state space is written. An entry's texture is itself one.
  bool generic_reaches(const ptx::Variable& v) const {
    return v.space != StateSpace::const_ &&
           (v.space != StateSpace::param || isa::kind_of(v.type) == isa::TypeKind::opaque);
  }

  // A function's own parameters cannot be written, nor a .param address that is not a name.
  void check_param_store() {
    if (!instruction_.has(Qual::param) && !instruction_.has(Qual::param_func))
      return;
    const Operand& base = instruction_.operands[0].elems[0];
    const bool own = base.kind == OperandKind::symbol && base.symbol_scope == Operand::SymbolScope::param;
    if (!own && base.kind == OperandKind::symbol)
      return;
    auto& d = context_.error("param-store", base.range,
                             own ? fmt::format("{} is an input parameter and cannot be written",
                                               ptx::name_of(base, function_, context_.module))
                                 : std::string("a store to the .param space needs the name of a parameter"));
    d.notes.push_back({"legal", "a .param variable of the function body, or a return parameter"});
    d.notes.push_back({"see", "PTX ISA, Device Function Parameters"});
  }

  void check_moved_symbol() {
    const Operand& source = instruction_.operands.back();
    const ptx::Variable* v = variable(source);
    if (source.kind == OperandKind::function)
      context_.need_part(context_.module.functions[source.symbol].is_entry ? "the address of an .entry"
                                                                           : "the address of a .func",
                         source.range);
    if (v && isa::kind_of(v->type) == isa::TypeKind::opaque)
      context_.need_part("a texture, sampler or surface by its address", source.range);
    if (v && v->space == StateSpace::global && context_.module.address_size_bits == 64 &&
        isa::bits_of(instruction_.type()) == 32)
      context_
          .error("address-size", source.range,
                 fmt::format("the address of {} has 64 bits: .address_size is 64", v->name))
          .notes.push_back({"legal", "mov.u64"});
  }

  void check_cvta() {
    if (isa::bits_of(instruction_.type()) != context_.module.address_size_bits) {
      auto& d =
          context_.error("address-size", instruction_.range,
                         fmt::format("{} works on {}-bit addresses here: .address_size is {}",
                                     isa::to_string(instruction_.opcode), context_.module.address_size_bits,
                                     context_.module.address_size_bits));
      d.notes.push_back({"legal", fmt::format(".u{}", context_.module.address_size_bits)});
      return;
    }
    const StateSpace space = isa::space_of(*instruction_.binding);
    check_symbol_space(space == StateSpace::shared_cluster ? StateSpace::shared : space);
  }

  void check_symbol_space(StateSpace space) {
    const ptx::Variable* v = instruction_.operands.size() > 1 ? variable(instruction_.operands[1]) : nullptr;
    if (v && v->space != space)
      context_
          .error("state-space", instruction_.operands[1].range,
                 fmt::format("{} lives in the .{} space", v->name, isa::to_string(v->space)))
          .notes.push_back({"legal", fmt::format("a variable of the .{} space", isa::to_string(space))});
  }

  Context& context_;
  const Function& function_;
  const Instruction& instruction_;
  const isa::Effects does_;
};

} // namespace

void check_rules(Context& context, const Function& function, const Instruction& instruction) {
  Rules(context, function, instruction).run();
}

} // namespace lemma::verify
