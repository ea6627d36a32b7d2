// Operands: from what the text names to where 32 lane values lie.
#include "vgpu/decoder.h"

#include "vgpu/handlers/texture_operands.h"

#include "isa/form.h"
#include "support/align.h"
#include "vgpu/special_registers.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace lemma::vgpu {
namespace {

using isa::StateSpace;
using isa::Type;
using ptx::Operand;
using ptx::OperandKind;

// Offsets wrap as addresses do.
int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

float as_float(const Operand& operand) {
  return operand.imm_kind == ptx::ImmKind::f32 ? std::bit_cast<float>(static_cast<uint32_t>(operand.bits))
                                               : static_cast<float>(std::bit_cast<double>(operand.bits));
}

// The bits of an immediate as an operand of the given type.
uint64_t immediate_bits(const Operand& operand, Type type) {
  const bool integral =
      operand.imm_kind == ptx::ImmKind::integer || operand.imm_kind == ptx::ImmKind::unsigned_integer;
  if (integral || (operand.imm_kind == ptx::ImmKind::f32 && isa::bits_of(type) == 32))
    return operand.bits;
  if (type == Type::f64 || isa::bits_of(type) == 64)
    return operand.imm_kind == ptx::ImmKind::f64
               ? operand.bits
               : std::bit_cast<uint64_t>(static_cast<double>(as_float(operand)));
  return std::bit_cast<uint32_t>(as_float(operand));
}

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

} // namespace

int register_bytes(Type type) {
  return type == Type::pred ? 0 : std::max(2, isa::bytes_of(type));
}

Decoder::Decoder(Program& program, Code& code)
    : program_(program), code_(code),
      has_vectors_(std::any_of(code.function->registers.begin(), code.function->registers.end(),
                               [](const ptx::Register& reg) { return reg.vector_elems > 1; })) {}

bool Decoder::select(const ptx::Instruction& instruction, DecodedInst& in) {
  const Selector selector = selectors().find(instruction.opcode);
  all_placed_ = true;
  const isa::Match* match = instruction.binding->match;
  return selector && (!match || match->gone == isa::Qual::none) && // what it did then, no machine here does
         !has_words_not_modelled(instruction) &&
         (has_vectors_ ? selector(*this, with_elements(instruction, function()), in)
                       : selector(*this, instruction, in)) &&
         all_placed_;
}

// A frame may grow beyond what a slot can say; decode_function() then refuses the function.
uint32_t Decoder::allocate_frame(uint32_t bytes, uint32_t align) {
  const uint64_t offset = align_up(code_.frame_bytes, align);
  code_.frame_bytes = offset + bytes;
  return static_cast<uint32_t>(offset);
}

Slot Decoder::place(Type type) {
  const int bytes = register_bytes(type);
  Slot slot;
  slot.bytes = static_cast<uint8_t>(bytes);
  slot.offset =
      bytes == 0 ? allocate_frame(4, 4) : allocate_frame(static_cast<uint32_t>(bytes) * kWarpSize, 64);
  return slot;
}

Slot Decoder::temporary(Type type) {
  return place(type);
}

Slot Decoder::constant(uint64_t bits, Type type) {
  const int bytes = register_bytes(type);
  if (bytes == 0)
    bits = bits & 1 ? kAllLanes : 0;
  else if (bytes < 8)
    bits &= (uint64_t{1} << (bytes * 8)) - 1;
  return program_.intern_constant(bits, 0, bytes);
}

Slot Decoder::constant128(uint64_t low, uint64_t high) {
  return program_.intern_constant(low, high, 16);
}

// A component of a vector register; of a part of a scalar (%r1.h0) or of a scalar, the register.
Slot Decoder::register_slot(const Operand& operand) const {
  return code_.register_slot(
      operand.reg, operand.component >= 0 && operand.component < isa::kFirstByte ? operand.component : 0);
}

Slot Decoder::not_placed(Type type) {
  all_placed_ = false;
  return constant(0, type);
}

Slot Decoder::dst(const Operand& operand, Type type) {
  if (operand.kind == OperandKind::reg && operand.offset == 0)
    return register_slot(operand);
  if (operand.kind != OperandKind::sink && operand.kind != OperandKind::none)
    all_placed_ = false;
  return temporary(type);
}

Slot Decoder::src(const Operand& operand, Type type) {
  switch (operand.kind) {
  case OperandKind::reg: {
    const Slot slot = register_slot(operand);
    if (operand.offset != 0)
      return sum(slot, operand.offset);
    return operand.negated && slot.bytes == 0 ? negated_predicate(slot) : slot; // a number: the handler does
  }
  case OperandKind::imm:
    return operand.negated ? constant(~operand.bits & 1, type)
                           : constant(immediate_bits(operand, type), type);
  case OperandKind::sreg:
    return narrowed(read_special_register(operand.sreg, type), type);
  case OperandKind::symbol:
    return narrowed(symbol_address(operand, type), type);
  case OperandKind::function:
    return constant(program_.function_address(module().body_of(operand.symbol)), type);
  case OperandKind::none:
  case OperandKind::sink:
    return constant(0, type); // where the ISA allows it as a source
  default:
    return not_placed(type);
  }
}

// %r1+4, computed in the register's own width.
Slot Decoder::sum(Slot slot, int64_t addend) {
  if (slot.bytes != 2 && slot.bytes != 4 && slot.bytes != 8)
    return not_placed(Type::b32);
  DecodedInst in;
  in.handler = [](Exec& x, const DecodedInst& in) {
    const auto add = [&](auto unit) {
      using T = decltype(unit);
      map1<T, T>(x, in, [&](T a) { return static_cast<T>(a + static_cast<T>(in.imm)); });
    };
    in.width == 2 ? add(uint16_t{}) : in.width == 4 ? add(uint32_t{}) : add(uint64_t{});
    return Step::next;
  };
  const Slot total = temporary(slot.bytes == 2 ? Type::b16 : slot.bytes == 4 ? Type::b32 : Type::b64);
  in.width = slot.bytes;
  in.imm = addend;
  set_operands(in, {total}, {slot});
  emit(in);
  return total;
}

// The low bits of a value that is wider than the type: a handler's loop takes the lanes to be as far apart as
// its type is wide.
Slot Decoder::narrowed(Slot slot, Type type) {
  const int bytes = register_bytes(type);
  if (slot.bytes <= bytes || bytes == 0)
    return slot;
  DecodedInst in;
  in.handler = [](Exec& x, const DecodedInst& in) {
    const Slot &to = x.dst_slot(in), &from = x.src_slot(in, 0);
    for_lanes(x.active, [&](int lane) { // little-endian
      std::memcpy(x.bases[0] + to.offset + lane * to.bytes,
                  x.bases[from.base] + from.offset + lane * from.bytes, to.bytes);
    });
    return Step::next;
  };
  const Slot low = temporary(type);
  set_operands(in, {low}, {slot});
  emit(in);
  return low;
}

Slot Decoder::negated_predicate(Slot slot) {
  DecodedInst in;
  in.handler = [](Exec& x, const DecodedInst& in) {
    x.set_pred(in, 0, ~x.pred(in, 0));
    return Step::next;
  };
  const Slot negated = temporary(Type::pred);
  set_operands(in, {negated}, {slot});
  emit(in);
  return negated;
}

Slot Decoder::read_special_register(isa::SpecialRegister sreg, Type type) {
  DecodedInst in;
  const Type own = isa::type_of(sreg);
  const Slot value = temporary(isa::bits_of(type) > isa::bits_of(own) ? type : own);
  place_special_register(in, sreg, value);
  emit(in);
  return value;
}

void Decoder::place_special_register(DecodedInst& in, isa::SpecialRegister sreg, Slot value) {
  if (sreg == isa::SpecialRegister::perctamemoryoffset || sreg == isa::SpecialRegister::perctamemorysize)
    all_placed_ = false; // no launch gives a CTA memory of its own
  in.handler = special_register_reader(sreg);
  if (finds_reserved_shared(sreg))
    program_.set_uses_reserved_shared();
  in.width = value.bytes;
  in.imm = static_cast<int64_t>(sreg);
  set_operands(in, {value}, {});
}

bool Decoder::read_special_register_to(DecodedInst& in, const ptx::Instruction& mov, Type type) {
  const isa::SpecialRegister sreg = mov.operands[1].sreg;
  if (mov.operands[1].kind != OperandKind::sreg || is_clock(sreg) ||
      isa::bits_of(type) != isa::bits_of(isa::type_of(sreg)))
    return false;
  place_special_register(in, sreg, dst(mov.operands[0], type));
  return true;
}

// Where a symbol lies is known now, except for local variables of functions that may be active more than
// once, for dynamic shared memory, and for the CTA's rank in its cluster, which a shared address has above
// its offset.
Slot Decoder::symbol_address(const Operand& operand, Type type) {
  const ptx::Variable& variable = variable_of(operand);
  switch (variable.space) {
  case StateSpace::shared:
  case StateSpace::shared_cluster: {
    const uint32_t offset = program_.shared_offset_of(function(), operand);
    if (offset == kDynamicShared)
      return launch_dependent_address(AddressBase::dynamic_shared, operand.offset, type);
    return launch_dependent_address(AddressBase::shared, plus(offset, operand.offset), type);
  }
  case StateSpace::local:
    return launch_dependent_address(AddressBase::local,
                                    plus(code_.variable_offsets[operand.symbol], operand.offset), type);
  case StateSpace::param:
    return constant(static_cast<uint64_t>(plus(param_offset(operand), operand.offset)), type);
  default: {
    const Allocation* allocation = program_.allocation_of(function(), operand);
    return constant((allocation ? allocation->base : 0) + static_cast<uint64_t>(operand.offset), type);
  }
  }
}

Slot Decoder::launch_dependent_address(AddressBase base, int64_t offset, Type type) {
  DecodedInst in;
  in.handler = [](Exec& x, const DecodedInst& in) {
    const auto base = static_cast<AddressBase>(in.flags);
    uint64_t address = in.imm;
    if (base == AddressBase::local)
      address += x.warp->splits[x.split].stack.back().local_base;
    else
      address += uint64_t{x.cta->rank} << kSharedRankShift;
    if (base == AddressBase::dynamic_shared)
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
  const Slot value = temporary(isa::bits_of(type) == 64 ? type : Type::u32);
  in.flags = static_cast<uint8_t>(base);
  in.width = value.bytes;
  in.imm = offset;
  set_operands(in, {value}, {});
  emit(in);
  return value;
}

const ptx::Variable& Decoder::variable_of(const Operand& operand) const {
  using Scope = Operand::SymbolScope;
  switch (operand.symbol_scope) {
  case Scope::function:
    return function().variables[operand.symbol];
  case Scope::param:
    return function().params[operand.symbol];
  case Scope::return_param:
    return function().returns[operand.symbol];
  default:
    return module().variables[operand.symbol];
  }
}

uint32_t Decoder::param_offset(const Operand& operand) const {
  using Scope = Operand::SymbolScope;
  switch (operand.symbol_scope) {
  case Scope::param:
    return code_.param_offsets[operand.symbol];
  case Scope::return_param:
    return code_.return_offsets[operand.symbol];
  default:
    return code_.variable_offsets[operand.symbol];
  }
}

AddressOperand Decoder::address(const ptx::Instruction& instruction, const Operand& operand) {
  AddressOperand out;
  out.space = isa::space_of(*instruction.binding);
  out.offset = operand.offset;
  const Operand& base = operand.kind == OperandKind::address ? operand.elems[0] : operand;
  if (&base != &operand)
    out.offset = plus(out.offset, base.kind == OperandKind::imm ? static_cast<int64_t>(base.bits) : 0);
  if (out.space == StateSpace::param) {
    // A kernel reads its parameters from the launch; everything else in .param is of this activation.
    const bool of_launch = function().is_entry && (base.kind != OperandKind::symbol ||
                                                   base.symbol_scope == Operand::SymbolScope::param);
    if (!of_launch)
      out.space = StateSpace::reg;
  }
  if (base.kind == OperandKind::imm)
    return out;
  if (base.kind == OperandKind::symbol) {
    const ptx::Variable& variable = variable_of(base);
    if (variable.space == StateSpace::param) {
      out.offset = plus(out.offset, plus(param_offset(base), base.offset));
      return out;
    }
    if (out.space == StateSpace::generic) // a direct name with no space: the variable's own
      out.space = variable.space;
    if (variable.space == StateSpace::shared || variable.space == StateSpace::shared_cluster) {
      out.space = StateSpace::shared; // by its name a variable is the CTA's own
      const uint32_t offset = program_.shared_offset_of(function(), base);
      if (offset != kDynamicShared) {
        out.offset = plus(out.offset, plus(offset, base.offset));
        return out;
      }
    }
    if (variable.space == StateSpace::global || variable.space == StateSpace::const_) {
      const Allocation* allocation = program_.allocation_of(function(), base);
      const auto variable_address = static_cast<int64_t>(allocation ? allocation->base : 0);
      out.offset = plus(out.offset, plus(variable_address, base.offset));
      return out;
    }
  }
  out.has_base = true;
  out.base = src(base, module().address_size_bits == 64 ? Type::u64 : Type::u32);
  return out;
}

void Decoder::set_operands(DecodedInst& in, std::span<const Slot> dsts, std::span<const Slot> srcs) {
  assert(dsts.size() + srcs.size() <= 255);
  std::vector<Slot>& ops = code_.slots.emplace_back(dsts.begin(), dsts.end());
  ops.insert(ops.end(), srcs.begin(), srcs.end());
  in.set_operands(ops, dsts.size());
}

void Decoder::set_simple_operands(DecodedInst& in, const ptx::Instruction& instruction, Type dst_type,
                                  Type src_type) {
  std::vector<Slot> srcs;
  for (size_t i = 1; i < instruction.operands.size(); ++i)
    srcs.push_back(src(instruction.operands[i], src_type));
  const Slot d = dst(instruction.operands[0], dst_type);
  set_operands(in, std::span(&d, 1), srcs);
}

} // namespace lemma::vgpu
