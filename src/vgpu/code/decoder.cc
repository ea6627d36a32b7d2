// Operands: from what the lowered program names to where 32 lane values lie.
#include "vgpu/code/decoder.h"

#include "vgpu/handlers/memory/texture_operands.h"

#include "isa/form.h"
#include "lowered/uses.h"
#include "support/align.h"
#include "vgpu/engine/special_registers.h"

#include <algorithm>
#include <cassert>

namespace lemma::vgpu {
namespace {

using isa::StateSpace;
using isa::Type;
using lowered::Operand;
using lowered::OperandKind;

const SelectorTable& selectors() {
  static const SelectorTable table = [] {
    SelectorTable t;
    add_integer_selectors(t);
    add_float_selectors(t);
    add_half_selectors(t);
    add_convert_selectors(t);
    add_compare_selectors(t);
    add_move_selectors(t);
    add_memory_selectors(t);
    add_atomic_selectors(t);
    add_warp_selectors(t);
    add_control_selectors(t);
    add_cluster_selectors(t);
    add_setmaxnreg_selectors(t);
    add_tensor_allocation_selectors(t);
    add_tensor_mma_selectors(t);
    add_tensor_cp_selectors(t);
    add_tensor_shift_selectors(t);
    add_tensor_commit_selectors(t);
    add_tensor_move_selectors(t);
    add_launch_control_selectors(t);
    add_stack_selectors(t);
    add_matrix_selectors(t);
    add_mma_selectors(t);
    add_mbarrier_selectors(t);
    add_wgmma_selectors(t);
    add_tensor_copy_selectors(t);
    add_surface_selectors(t);
    add_texture_selectors(t);
    add_bulk_copy_selectors(t);
    add_cp_async_selectors(t);
    return t;
  }();
  return table;
}

// Words of PTX 9.1 and later that nobody models, in instructions whose other words have a selector: it would
// pass over them.
bool has_words_not_modelled(const ptx::Instruction& instruction) {
  using isa::Qual;
  constexpr Qual kWords[] = {
      Qual::multicast_cluster_32b,
      Qual::override_global_address,
      Qual::report_disabled,
      Qual::report_per_16bytes_8,
      Qual::report_per_16bytes_80,
      Qual::report_per_16bytes_8000,
      Qual::report_per_16bytes_80000000,
      Qual::report_per_element_ff,
      Qual::im2col_no_offs_w,
      Qual::fabric_fabric,
      Qual::fabric_generic,
      Qual::generic_fabric,
      Qual::fabric,
  };
  return std::any_of(std::begin(kWords), std::end(kWords), [&](Qual word) { return instruction.has(word); });
}

// A whole vector register as an operand means its elements: { t.x, t.y, ... }. Selectors see them alone.
void expand_vectors(ptx::Operand& operand, const ptx::Function& function) {
  for (ptx::Operand& elem : operand.elems)
    expand_vectors(elem, function);
  if (operand.kind != ptx::OperandKind::reg || operand.component >= 0 ||
      function.registers[operand.reg].vector_elems == 1)
    return;
  ptx::Operand vector;
  vector.kind = ptx::OperandKind::vector;
  vector.range = operand.range;
  vector.elems = ptx::Operands(static_cast<size_t>(function.registers[operand.reg].vector_elems));
  for (size_t i = 0; i < vector.elems.size(); ++i) {
    vector.elems[i] = operand;
    vector.elems[i].component = static_cast<int8_t>(i);
  }
  operand = std::move(vector);
}

ptx::Instruction with_elements(ptx::Instruction instruction, const ptx::Function& function) {
  for (ptx::Operand& operand : instruction.operands)
    expand_vectors(operand, function);
  return instruction;
}

// Where operand `index` of the text begins among those that it has become: destinations come first, and of a
// call the results stand second in the text.
bool stands_second(const ptx::Instruction& instruction) {
  return instruction.opcode == isa::Opcode::call && instruction.operands.size() > 1;
}

} // namespace

Decoder::Decoder(Program& program, Code& code, const lowered::Function& lowered)
    : program_(program), code_(code), lowered_(lowered) {}

bool Decoder::select(const lowered::Inst& inst, DecodedInst& in) {
  const ptx::Instruction& instruction = *lowered_.instruction_of(inst);
  const Selector selector = selectors().find(instruction.opcode);
  const isa::Match* match = instruction.binding->match;
  if (!selector || inst.notes.has(lowered::Note::partial) ||
      (match && match->gone != isa::Qual::none) || // what it did then, no machine here does
      has_words_not_modelled(instruction))
    return false;
  notes_ = inst.notes;
  operands_ = lowered_.operands_of(inst);
  by_text_.assign(instruction.operands.size(), {});
  auto take = [&, left = operands_](size_t i) mutable {
    const uint32_t width = lowered::width_of(instruction.operands[i], function());
    by_text_[i] = left.first(width);
    left = left.subspan(width);
  };
  if (stands_second(instruction))
    take(1);
  for (size_t i = 0; i < instruction.operands.size(); ++i)
    if (i != 1 || !stands_second(instruction))
      take(i);
  all_placed_ = true;
  return (lowered_.first_component.empty() ? selector(*this, instruction, in)
                                           : selector(*this, with_elements(instruction, function()), in)) &&
         all_placed_;
}

// A frame may grow beyond what a slot can say; decode_function() then refuses the function.
uint32_t Decoder::allocate_frame(uint32_t bytes, uint32_t align) {
  const uint64_t offset = align_up(code_.frame_bytes, align);
  code_.frame_bytes = offset + bytes;
  return static_cast<uint32_t>(offset);
}

Slot Decoder::place(int bytes) {
  Slot slot;
  slot.bytes = static_cast<uint8_t>(bytes);
  slot.offset =
      bytes == 0 ? allocate_frame(4, 4) : allocate_frame(static_cast<uint32_t>(bytes) * kWarpSize, 64);
  return slot;
}

Slot Decoder::temporary(Type type) {
  return place(register_bytes(type));
}

Slot Decoder::constant(uint64_t bits, Type type) {
  return constant_of(bits, register_bytes(type));
}

Slot Decoder::constant_of(uint64_t bits, int bytes) {
  if (bytes == 0)
    bits = bits & 1 ? kAllLanes : 0;
  else if (bytes < 8)
    bits &= (uint64_t{1} << (bytes * 8)) - 1;
  return program_.intern_constant(bits, 0, bytes);
}

Slot Decoder::not_placed(Type type) {
  all_placed_ = false;
  return constant(0, type);
}

std::span<const Operand> Decoder::operands(size_t operand) const {
  return operand < by_text_.size() ? by_text_[operand] : std::span<const Operand>{};
}

Slot Decoder::dst(const Operand& operand, Type type) {
  if (operand.is_register())
    return registers_[operand.index];
  if (operand.kind != OperandKind::none)
    all_placed_ = false;
  return temporary(type);
}

Slot Decoder::source(const Operand& operand, int bytes) {
  switch (operand.kind) {
  case OperandKind::reg:
    return registers_[operand.index];
  case OperandKind::constant:
    return constant_of(lowered_.constants[operand.index], bytes);
  case OperandKind::variable:
    return constant_of(value_of(lowered_.variables[operand.index]), bytes);
  case OperandKind::function:
    return constant_of(program_.function_address(module().body_of(operand.index)), bytes);
  case OperandKind::none: // where the ISA allows it as a source
    break;
  default:
    all_placed_ = false;
  }
  return constant_of(0, bytes);
}

Slot Decoder::src(const Operand& operand, Type type) {
  return source(operand, register_bytes(type));
}

Slot Decoder::src(const Operand& operand) {
  return source(operand, operand.bytes);
}

Slot Decoder::dst(size_t operand, Type type, size_t element) {
  return element < count(operand) ? dst(by_text_[operand][element], type) : not_placed(type);
}

Slot Decoder::src(size_t operand, Type type, size_t element) {
  return element < count(operand) ? src(by_text_[operand][element], type) : not_placed(type);
}

void Decoder::add_dsts(std::vector<Slot>& out, size_t operand, Type type) {
  for (const Operand& element : operands(operand))
    out.push_back(dst(element, type));
}

void Decoder::add_srcs(std::vector<Slot>& out, size_t operand, Type type) {
  for (const Operand& element : operands(operand))
    out.push_back(src(element, type));
}

uint32_t Decoder::param_offset(const lowered::VariableAddress& address) const {
  using Scope = ptx::Operand::SymbolScope;
  switch (address.scope) {
  case Scope::param:
    return code_.param_offsets[address.symbol];
  case Scope::return_param:
    return code_.return_offsets[address.symbol];
  default:
    return code_.variable_offsets[address.symbol];
  }
}

// A kernel that no launch can reach has no place for its variables: 0 will do.
uint64_t Decoder::shared_offset(const ptx::Variable& variable) const {
  const uint32_t offset = program_.shared_offset_of(variable);
  return offset == kDynamicShared ? 0 : offset;
}

// What is known of an address when the module is loaded.
uint64_t Decoder::value_of(const lowered::VariableAddress& address) const {
  const ptx::Variable& variable = lowered_.variable_of(address);
  const auto offset = static_cast<uint64_t>(address.offset);
  switch (variable.space) {
  case StateSpace::param:
    return param_offset(address) + offset;
  case StateSpace::shared:
  case StateSpace::shared_cluster:
    return shared_offset(variable) + offset;
  default: {
    const Allocation* allocation = program_.allocation_of(variable);
    return (allocation ? allocation->base : 0) + offset;
  }
  }
}

PlacedAddress Decoder::address(size_t operand) {
  if (count(operand) == 0 || by_text_[operand][0].kind != OperandKind::address)
    return {.base = not_placed(Type::u64)};
  const lowered::Address& address = lowered_.addresses[by_text_[operand][0].index];
  uint64_t offset = static_cast<uint64_t>(address.offset);
  if (address.variable != ptx::kNone)
    offset += value_of(lowered_.variables[address.variable]);
  const bool has_base = address.base.kind != OperandKind::none;
  const Type type = module().address_size_bits == 64 ? Type::u64 : Type::u32;
  return {.base = has_base ? src(address.base, type) : constant(0, Type::u64),
          .offset = static_cast<int64_t>(offset),
          .space = address.space,
          .has_base = has_base};
}

uint32_t Decoder::target(size_t operand) const {
  return lowered_.blocks[by_text_[operand][0].index].begin;
}

// --- the program's own instructions

// False: no launch gives a CTA memory of its own.
bool Decoder::decode_special(const lowered::Inst& inst, DecodedInst& in) {
  const auto sreg = special_register_of(lowered_, inst);
  const Operand& to = lowered_.destinations_of(inst)[0];
  const Slot value = dst(to, isa::type_of(sreg));
  in.handler = special_register_reader(sreg);
  if (finds_reserved_shared(sreg))
    program_.set_uses_reserved_shared();
  in.width = value.bytes;
  in.imm = static_cast<int64_t>(sreg);
  set_operands(in, {value}, {});
  return sreg != isa::SpecialRegister::perctamemoryoffset && sreg != isa::SpecialRegister::perctamemorysize;
}

void Decoder::decode_place(const lowered::Inst& inst, DecodedInst& in) {
  enum Base : uint8_t { local, shared, dynamic_shared };
  const lowered::VariableAddress& address = lowered_.variables[lowered_.sources_of(inst)[0].index];
  const ptx::Variable& variable = lowered_.variable_of(address);
  in.flags = variable.space == StateSpace::local                     ? local
             : program_.shared_offset_of(variable) == kDynamicShared ? dynamic_shared
                                                                     : shared;
  in.imm = static_cast<int64_t>(static_cast<uint64_t>(address.offset) +
                                (in.flags == local    ? code_.variable_offsets[address.symbol]
                                 : in.flags == shared ? shared_offset(variable)
                                                      : 0));
  in.handler = [](Exec& x, const DecodedInst& in) {
    uint64_t address = in.imm;
    if (in.flags == local)
      address += x.warp->splits[x.split].stack.back().local_base;
    else
      address += uint64_t{x.cta->rank} << kSharedRankShift;
    if (in.flags == dynamic_shared)
      address += x.launch->dynamic_shared_offset;
    const auto fill = [&](auto* lanes, auto value) {
      if (x.active == kAllLanes)
        std::fill_n(lanes, kWarpSize, value);
      else
        for_lanes(x.active, [&](int lane) { lanes[lane] = value; });
    };
    if (in.width == 8)
      fill(x.dst<uint64_t>(in), address);
    else
      fill(x.dst<uint32_t>(in), static_cast<uint32_t>(address));
    return Step::next;
  };
  const Slot value = registers_[lowered_.destinations_of(inst)[0].index];
  in.width = value.bytes;
  set_operands(in, {value}, {});
}

void Decoder::decode_add(const lowered::Inst& inst, DecodedInst& in) {
  in.handler = [](Exec& x, const DecodedInst& in) {
    const auto add = [&](auto unit) {
      using T = decltype(unit);
      map1<T, T>(x, in, [&](T a) { return static_cast<T>(a + static_cast<T>(in.imm)); });
    };
    in.width == 2 ? add(uint16_t{}) : in.width == 4 ? add(uint32_t{}) : add(uint64_t{});
    return Step::next;
  };
  const std::span<const Operand> sources = lowered_.sources_of(inst);
  const Slot total = registers_[lowered_.destinations_of(inst)[0].index];
  in.width = total.bytes;
  in.imm = static_cast<int64_t>(lowered_.constants[sources[1].index]);
  set_operands(in, {total}, {registers_[sources[0].index]});
}

// A handler's loop takes the lanes to be as far apart as its type is wide, so a wider register will not do.
void Decoder::decode_low(const lowered::Inst& inst, DecodedInst& in) {
  in.handler = [](Exec& x, const DecodedInst& in) {
    const Slot &to = x.dst_slot(in), &from = x.src_slot(in, 0);
    for_lanes(x.active, [&](int lane) { // little-endian
      std::memcpy(x.bases[0] + to.offset + lane * to.bytes,
                  x.bases[from.base] + from.offset + lane * from.bytes, to.bytes);
    });
    return Step::next;
  };
  set_operands(in, {registers_[lowered_.destinations_of(inst)[0].index]},
               {registers_[lowered_.sources_of(inst)[0].index]});
}

void Decoder::decode_not(const lowered::Inst& inst, DecodedInst& in) {
  in.handler = [](Exec& x, const DecodedInst& in) {
    x.set_pred(in, 0, ~x.pred(in, 0));
    return Step::next;
  };
  set_operands(in, {registers_[lowered_.destinations_of(inst)[0].index]},
               {registers_[lowered_.sources_of(inst)[0].index]});
}

void Code::set_operands(DecodedInst& in, std::span<const Slot> dsts, std::span<const Slot> srcs) {
  assert(dsts.size() + srcs.size() <= 255);
  in.first_op = static_cast<uint32_t>(slots.size());
  in.dst_count = static_cast<uint8_t>(dsts.size());
  in.op_count = static_cast<uint8_t>(dsts.size() + srcs.size());
  slots.insert(slots.end(), dsts.begin(), dsts.end());
  slots.insert(slots.end(), srcs.begin(), srcs.end());
  if (!dsts.empty())
    in.dst_offset = dsts[0].offset;
  if (!srcs.empty())
    in.src_bytes = srcs[0].bytes;
  for (size_t i = 0; i < std::min(srcs.size(), in.src_offsets.size()); ++i) {
    in.src_offsets[i] = srcs[i].offset;
    in.src_bases[i] = srcs[i].base;
  }
}

void Decoder::set_operands(DecodedInst& in, std::span<const Slot> dsts, std::span<const Slot> srcs) {
  code_.set_operands(in, dsts, srcs);
}

void Decoder::set_simple_operands(DecodedInst& in, Type dst_type, Type src_type) {
  std::vector<Slot> srcs;
  for (size_t i = 1; i < by_text_.size(); ++i)
    add_srcs(srcs, i, src_type);
  set_operands(in, std::vector<Slot>{dst(0, dst_type)}, srcs);
}

} // namespace lemma::vgpu
