// One pass over the blocks in their order. What an operand needs computed is added before its instruction,
// under no guard: nothing of it has an effect. What kind of operand stands where, and of which type, the form
// says; that is found out once a spelling.
#include "lowered/lower.h"

#include "isa/effects.h"
#include "isa/form.h"
#include "ptx/flow.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <unordered_map>

namespace lemma::lowered {
namespace {

using isa::StateSpace;
using isa::Type;

// Offsets wrap as addresses do.
int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

float as_float(const ptx::Operand& operand) {
  return operand.imm_kind == ptx::ImmKind::f32 ? std::bit_cast<float>(static_cast<uint32_t>(operand.bits))
                                               : static_cast<float>(std::bit_cast<double>(operand.bits));
}

// The bits of an immediate as an operand of the given type.
uint64_t immediate_bits(const ptx::Operand& operand, Type type) {
  const bool integral =
      operand.imm_kind == ptx::ImmKind::integer || operand.imm_kind == ptx::ImmKind::unsigned_integer;
  if (integral || (operand.imm_kind == ptx::ImmKind::f32 && isa::bits_of(type) == 32))
    return operand.bits;
  if (isa::bits_of(type) == 64)
    return operand.imm_kind == ptx::ImmKind::f64
               ? operand.bits
               : std::bit_cast<uint64_t>(static_cast<double>(as_float(operand)));
  return std::bit_cast<uint32_t>(as_float(operand));
}

// What an operand of the text holds: its type, and of an address those of the further parts.
struct Expected {
  bool is_written = false;
  Type type = Type::b64;
  std::vector<Type> parts;
};

std::vector<Expected> expected_by(const isa::Binding& binding, size_t count) {
  std::vector<Expected> result;
  for (const isa::OperandSpec* spec : isa::specs_of(binding, count)) {
    Expected& expected = result.emplace_back();
    expected.is_written = spec->written;
    if (const Type type = isa::value_type(*spec, binding); type != Type::none)
      expected.type = type;
    for (const isa::OperandSpec& part : spec->parts)
      expected.parts.push_back(isa::value_type(part, binding));
  }
  result.resize(count);
  return result;
}

class Lowering {
public:
  Lowering(const ptx::Module& module, const ptx::Function& text) : module_(module), text_(text) {
    out_.module = &module;
    out_.text = &text;
    number_registers();
  }

  Function run() && {
    ptx::Flow flow = ptx::flow_of(text_);
    const std::vector<uint32_t> order = ptx::layout_order(flow);
    place_blocks(flow, order);
    out_.first_inst.assign(text_.instructions.size() + 1, 0);
    for (size_t i = 0; i < order.size(); ++i) {
      const ptx::BasicBlock& block = flow.blocks[order[i]];
      out_.blocks[i].begin = here();
      lower_block(block);
      if (block.falls_through && (i + 1 == order.size() || order[i + 1] != order[i] + 1))
        make(Op::jump, {}, {{.kind = OperandKind::block, .index = place_[order[i] + 1]}});
      out_.blocks[i].end = here();
      for (const uint32_t successor : block.successors)
        out_.blocks[i].successors.push_back(place_[successor]);
    }
    return std::move(out_);
  }

private:
  uint32_t here() const { return static_cast<uint32_t>(out_.insts.size()); }

  void number_registers() {
    const bool has_vectors = std::any_of(text_.registers.begin(), text_.registers.end(),
                                         [](const ptx::Register& reg) { return reg.vector_elems > 1; });
    for (uint32_t i = 0; i < text_.registers.size(); ++i) {
      if (has_vectors)
        out_.first_component.push_back(static_cast<uint32_t>(out_.registers.size()));
      const ptx::Register& reg = text_.registers[i];
      for (uint8_t component = 0; component < reg.vector_elems; ++component)
        out_.registers.push_back({.text = i, .component = component, .bytes = register_bytes(reg.type)});
    }
  }

  void place_blocks(const ptx::Flow& flow, const std::vector<uint32_t>& order) {
    out_.blocks.resize(order.size());
    out_.has_successors = flow.has_successors;
    place_.resize(order.size());
    for (uint32_t i = 0; i < order.size(); ++i)
      place_[order[i]] = i;
    for (const ptx::BasicBlock& block : flow.blocks)
      begins_.push_back(block.begin);
  }

  // Where a label leads, which is where a block begins.
  uint32_t block_of(const ptx::Operand& label) const {
    const uint32_t target = text_.labels[label.symbol].target;
    return place_[static_cast<size_t>(std::ranges::lower_bound(begins_, target) - begins_.begin())];
  }

  void lower_block(const ptx::BasicBlock& block) {
    for (uint32_t i = block.begin; i < block.end; ++i) {
      out_.first_inst[i] = here();
      lower_instruction(i);
    }
    if (block.begin == block.end) { // the end of the body
      out_.first_inst[block.begin] = here();
      make(Op::end, {}, {});
    }
  }

  void lower_instruction(uint32_t index) {
    const ptx::Instruction& instruction = text_.instructions[index];
    is_whole_ = true;
    std::vector<Operand> operands;
    Inst inst;
    inst.source = index;
    if (instruction.guard.reg != kNone) {
      inst.guard = out_.register_of(instruction.guard.reg);
      inst.guard_negated = instruction.guard.negated;
    }
    if (!instruction.form()) {
      is_whole_ = false;
    } else if (instruction.opcode == isa::Opcode::call) {
      inst.destinations = lower_call(instruction, operands);
    } else if (reads_special_register(instruction)) {
      inst.op = Op::special;
      inst.destinations = 1;
      add_destinations(instruction.operands[0], operands);
      operands.push_back(special(instruction.operands[1].sreg));
    } else {
      inst.destinations = lower_operands(instruction, operands);
    }
    if (!is_whole_)
      inst.notes.add(Note::partial);
    add(inst, operands);
  }

  // A mov from a special register, all of it: but a clock counts the instructions before it.
  static bool reads_special_register(const ptx::Instruction& instruction) {
    if (instruction.opcode != isa::Opcode::mov || instruction.operands[0].kind == ptx::OperandKind::vector ||
        instruction.operands[1].kind != ptx::OperandKind::sreg)
      return false;
    const isa::SpecialRegister sreg = instruction.operands[1].sreg;
    return isa::extent_of(sreg) != isa::Extent::moment &&
           isa::bits_of(instruction.type()) == isa::bits_of(isa::type_of(sreg));
  }

  // Returns how many are destinations.
  uint8_t lower_operands(const ptx::Instruction& instruction, std::vector<Operand>& out) {
    const auto count = instruction.operands.size();
    auto [known, is_new] = expected_.try_emplace({instruction.binding, count});
    if (is_new)
      known->second = expected_by(*instruction.binding, count);
    size_t destinations = 0;
    for (size_t i = 0; i < count; ++i) {
      const ptx::Operand& operand = instruction.operands[i];
      const Expected& expected = known->second[i];
      if (expected.is_written) {
        add_destinations(operand, out);
        destinations = out.size();
      } else if (operand.kind == ptx::OperandKind::address) {
        out.push_back(address(instruction, operand));
        for (size_t part = 1; part < operand.elems.size(); ++part)
          add_sources(operand.elems[part],
                      part <= expected.parts.size() ? expected.parts[part - 1] : Type::b32, out);
      } else {
        add_sources(operand, expected.type, out);
      }
    }
    return static_cast<uint8_t>(std::min<size_t>(destinations, std::numeric_limits<uint8_t>::max()));
  }

  // Results, the callee, arguments, what an indirect call chooses from.
  uint8_t lower_call(const ptx::Instruction& call, std::vector<Operand>& out) {
    const auto& operands = call.operands;
    if (operands.size() > 1)
      add_destinations(operands[1], out);
    const size_t destinations = out.size();
    add_sources(operands[0], Type::u64, out);
    const std::vector<ptx::Variable>* const parameters = parameters_of(call);
    for (size_t i = 0; operands.size() > 2 && i < operands[2].elems.size(); ++i)
      add_sources(operands[2].elems[i],
                  parameters && i < parameters->size() ? (*parameters)[i].type : Type::b64, out);
    for (size_t i = 3; i < operands.size(); ++i)
      add_sources(operands[i], Type::none, out);
    return static_cast<uint8_t>(destinations);
  }

  // Of the callee; of an indirect call, of its prototype. Null: they are not known.
  const std::vector<ptx::Variable>* parameters_of(const ptx::Instruction& call) const {
    if (call.operands[0].kind == ptx::OperandKind::function)
      return &module_.functions[call.operands[0].symbol].params;
    if (call.operands.size() > 3 && call.operands[3].kind == ptx::OperandKind::proto)
      return &text_.prototypes[call.operands[3].symbol].params;
    return nullptr;
  }

  // --- operands

  void add_destinations(const ptx::Operand& operand, std::vector<Operand>& out) {
    switch (operand.kind) {
    case ptx::OperandKind::vector:
    case ptx::OperandKind::pair:
      for (const ptx::Operand& element : operand.elems)
        add_destinations(element, out);
      return;
    case ptx::OperandKind::reg:
      is_whole_ &= operand.offset == 0;
      return add_register(operand, out);
    case ptx::OperandKind::symbol: // .param memory that a call's results go to
      out.push_back(variable(operand));
      return;
    default:
      is_whole_ &= operand.kind == ptx::OperandKind::sink || operand.kind == ptx::OperandKind::none;
      out.push_back({});
    }
  }

  void add_sources(const ptx::Operand& operand, Type type, std::vector<Operand>& out) {
    if (operand.kind == ptx::OperandKind::vector || operand.kind == ptx::OperandKind::pair)
      for (const ptx::Operand& element : operand.elems)
        add_sources(element, type, out);
    else if (operand.kind == ptx::OperandKind::reg && operand.offset == 0 && !operand.negated)
      add_register(operand, out);
    else
      out.push_back(source(operand, type));
  }

  // Of a whole vector register, each component; of a part of a scalar (%r1.h0), the scalar.
  void add_register(const ptx::Operand& operand, std::vector<Operand>& out) {
    const uint8_t components = text_.registers[operand.reg].vector_elems;
    if (operand.component >= 0 || components == 1)
      out.push_back(component_of(operand));
    else
      for (uint32_t i = 0; i < components; ++i)
        out.push_back(value_of(out_.register_of(operand.reg, i)));
  }

  Operand component_of(const ptx::Operand& operand) const {
    const bool is_component = operand.component >= 0 && operand.component < isa::kFirstByte;
    return value_of(
        out_.register_of(operand.reg, is_component ? static_cast<uint32_t>(operand.component) : 0));
  }

  Operand source(const ptx::Operand& operand, Type type) {
    switch (operand.kind) {
    case ptx::OperandKind::reg: {
      const Operand value = component_of(operand);
      if (operand.offset != 0)
        return sum(value, operand.offset);
      return operand.negated && value.bytes == 0 ? negated(value) : value; // a number: whoever executes it
    }
    case ptx::OperandKind::imm:
      return constant(operand.negated ? ~operand.bits & 1 : immediate_bits(operand, type), type);
    case ptx::OperandKind::sreg:
      return low_bits(special_value(operand.sreg, type), type);
    case ptx::OperandKind::symbol:
      return low_bits(address_of_variable(operand, type), type);
    case ptx::OperandKind::function:
      return {.kind = OperandKind::function, .bytes = 8, .index = operand.symbol};
    case ptx::OperandKind::label:
      return {.kind = OperandKind::block, .index = block_of(operand)};
    case ptx::OperandKind::targets:
      return {.kind = OperandKind::table, .index = operand.symbol};
    case ptx::OperandKind::proto:
      return {.kind = OperandKind::proto, .index = operand.symbol};
    case ptx::OperandKind::none:
    case ptx::OperandKind::sink:
      return {};
    default:
      is_whole_ = false;
      return {};
    }
  }

  Operand value_of(uint32_t reg) const {
    return {.kind = OperandKind::reg, .bytes = out_.registers[reg].bytes, .index = reg};
  }

  Operand constant(uint64_t bits, Type type) {
    const auto [known, is_new] = constants_.try_emplace(bits, static_cast<uint32_t>(out_.constants.size()));
    if (is_new)
      out_.constants.push_back(bits);
    return {.kind = OperandKind::constant, .bytes = register_bytes(type), .index = known->second};
  }

  static Operand special(isa::SpecialRegister sreg) {
    return {.kind = OperandKind::special,
            .bytes = register_bytes(isa::type_of(sreg)),
            .index = static_cast<uint32_t>(sreg)};
  }

  Operand variable(const ptx::Operand& symbol, int64_t more = 0) {
    out_.variables.push_back(
        {.scope = symbol.symbol_scope, .symbol = symbol.symbol, .offset = plus(symbol.offset, more)});
    return {
        .kind = OperandKind::variable, .bytes = 8, .index = static_cast<uint32_t>(out_.variables.size() - 1)};
  }

  StateSpace space_of_variable(const ptx::Operand& symbol) const {
    return out_.variable_of({.scope = symbol.symbol_scope, .symbol = symbol.symbol, .offset = 0}).space;
  }

  // --- what is computed before an instruction

  Operand temporary(uint8_t bytes) {
    out_.registers.push_back({.text = kNone, .component = 0, .bytes = bytes});
    return value_of(static_cast<uint32_t>(out_.registers.size() - 1));
  }

  Operand made(Op op, uint8_t bytes, std::initializer_list<Operand> sources) {
    const Operand value = temporary(bytes);
    make(op, {value}, sources);
    return value;
  }

  Operand special_value(isa::SpecialRegister sreg, Type type) {
    const Type own = isa::type_of(sreg);
    return made(Op::special, register_bytes(isa::bits_of(type) > isa::bits_of(own) ? type : own),
                {special(sreg)});
  }

  Operand low_bits(const Operand& value, Type type) {
    const uint8_t bytes = register_bytes(type);
    if (!value.is_register() || value.bytes <= bytes || bytes == 0)
      return value;
    return made(Op::low, bytes, {value});
  }

  Operand negated(const Operand& predicate) { return made(Op::not_, 0, {predicate}); }

  Operand sum(const Operand& value, int64_t addend) {
    if (value.bytes != 2 && value.bytes != 4 && value.bytes != 8) {
      is_whole_ = false;
      return {};
    }
    const Type type = value.bytes == 2 ? Type::b16 : value.bytes == 4 ? Type::b32 : Type::b64;
    return made(Op::add, value.bytes, {value, constant(static_cast<uint64_t>(addend), type)});
  }

  // Where a variable lies is known when the module is loaded, but for the CTA's rank in its cluster, which a
  // shared address has above its offset, and local variables of functions that may be active more than once.
  Operand address_of_variable(const ptx::Operand& symbol, Type type) {
    const Operand address = variable(symbol);
    switch (space_of_variable(symbol)) {
    case StateSpace::shared:
    case StateSpace::shared_cluster:
    case StateSpace::local:
      return made(Op::place, isa::bits_of(type) == 64 ? 8 : 4, {address});
    default:
      return address;
    }
  }

  // --- addresses

  Operand address(const ptx::Instruction& instruction, const ptx::Operand& operand) {
    const ptx::Operand& base = operand.elems[0];
    Address out;
    out.space = isa::space_of(*instruction.binding);
    out.offset = operand.offset;
    // A kernel reads its parameters from the launch; everything else in .param is of this activation.
    if (out.space == StateSpace::param &&
        !(text_.is_entry &&
          (base.kind != ptx::OperandKind::symbol || base.symbol_scope == ptx::Operand::SymbolScope::param)))
      out.space = StateSpace::reg;
    if (base.kind == ptx::OperandKind::imm)
      out.offset = plus(out.offset, static_cast<int64_t>(base.bits));
    else if (base.kind != ptx::OperandKind::symbol || !is_known(base, out))
      out.base = source(base, module_.address_size_bits == 64 ? Type::u64 : Type::u32);
    out_.addresses.push_back(out);
    return {.kind = OperandKind::address,
            .bytes = out.base.bytes,
            .index = static_cast<uint32_t>(out_.addresses.size() - 1)};
  }

  // Sets the variable at an address if it is all that the address has of a base, and the space that its name
  // means: a shared variable is the CTA's own.
  bool is_known(const ptx::Operand& symbol, Address& out) {
    const StateSpace space = space_of_variable(symbol);
    if (out.space == StateSpace::generic && space != StateSpace::param)
      out.space = space;
    const bool is_shared = space == StateSpace::shared || space == StateSpace::shared_cluster;
    if (is_shared)
      out.space = StateSpace::shared;
    const bool is_known = space == StateSpace::param || space == StateSpace::global ||
                          space == StateSpace::const_ || (is_shared && !is_sized_by_launch(symbol));
    if (is_known)
      out.variable = variable(symbol).index;
    return is_known;
  }

  // .extern .shared: its place is behind all others.
  bool is_sized_by_launch(const ptx::Operand& symbol) const {
    return out_.variable_of({.scope = symbol.symbol_scope, .symbol = symbol.symbol, .offset = 0}).linkage ==
           ptx::Linkage::extern_;
  }

  // --- instructions

  void make(Op op, std::initializer_list<Operand> destinations, std::initializer_list<Operand> sources) {
    std::vector<Operand> operands(destinations);
    operands.insert(operands.end(), sources);
    Inst inst;
    inst.op = op;
    inst.destinations = static_cast<uint8_t>(destinations.size());
    add(inst, operands);
  }

  void add(Inst inst, std::span<const Operand> operands) {
    if (operands.size() > std::numeric_limits<uint8_t>::max()) { // nothing that executes has so many
      operands = {};
      inst.destinations = 0;
      inst.notes.add(Note::partial);
    }
    inst.operands = static_cast<uint32_t>(out_.operands.size());
    inst.count = static_cast<uint8_t>(operands.size());
    out_.operands.insert(out_.operands.end(), operands.begin(), operands.end());
    out_.insts.push_back(inst);
  }

  const ptx::Module& module_;
  const ptx::Function& text_;
  Function out_;
  std::vector<uint32_t> place_;  // by block of the text: in `blocks`
  std::vector<uint32_t> begins_; // of blocks of the text: instructions
  std::map<std::pair<const isa::Binding*, size_t>, std::vector<Expected>> expected_; // by spelling and number
  std::unordered_map<uint64_t, uint32_t> constants_;
  bool is_whole_ = true; // of the instruction that is being lowered
};

} // namespace

Function lower(const ptx::Module& module, const ptx::Function& text, int sm) {
  Function function = Lowering(module, text).run();
  function.sm = sm;
  return function;
}

} // namespace lemma::lowered
