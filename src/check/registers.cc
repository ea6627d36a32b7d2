// The rules of wgmma's registers. See registers.h.
#include "check/registers.h"

#include "isa/vocabulary.h"
#include "vgpu/code/wgmma_registers.h"
#include "vgpu/memory/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lemma::check {

using isa::Opcode;
using vgpu::Code;
using vgpu::DecodedInst;
using vgpu::Exec;
using vgpu::Slot;

namespace {

const DecodedInst& current(const Exec& x) {
  return x.code->insts[x.pc];
}

// Destinations first.
const Slot& operand_of(const Exec& x, const DecodedInst& in, int operand) {
  return x.code->ops_of(in)[static_cast<size_t>(operand)];
}

std::string name_of(const Code& code, const Slot& slot) {
  return code.function->register_name(slot.reg());
}

CheckedAccess by_warp(const Exec& x, vgpu::InstId in, std::string what) {
  return described({x.code, in, x.cta->id, x.warp->index, -1}, std::move(what));
}

constexpr const char* kFence = "wgmma.fence.sync.aligned;";

// Instructions before the one that the warp is at.
Advice before(const Exec& x, std::string words, std::string text) {
  return {std::move(words), {{.kind = Remedy::Kind::before, .text = std::move(text), .at = Spot::at(x)}}};
}

isa::Qual shape_of(const ptx::Instruction& mma) {
  const auto found = std::find_if(mma.quals().begin(), mma.quals().end(), [](isa::Qual qual) {
    return isa::matrix_shape(isa::to_string(qual)).has_value();
  });
  return found == mma.quals().end() ? isa::Qual::none : *found;
}

} // namespace

std::vector<WgmmaRegisters::Register>& WgmmaRegisters::registers_of(const Exec& x) {
  for (Frame& frame : frames_)
    if (frame.frame == x.frame) {
      if (frame.activation != x.frame->activation) {
        frame.activation = x.frame->activation;
        frame.registers.assign(x.code->wgmma_registers, {});
      }
      return frame.registers;
    }
  return frames_
      .emplace_back(Frame{x.frame, x.frame->activation, std::vector<Register>(x.code->wgmma_registers)})
      .registers;
}

bool WgmmaRegisters::same_shape(const Code& code, vgpu::InstId one, vgpu::InstId other) {
  if (one == other)
    return true;
  if (shape_of_ != one || shape_of_other_ != other) {
    shape_of_ = one;
    shape_of_other_ = other;
    const auto& instructions = code.function->instructions;
    shape_is_same_ = shape_of(instructions[one.index]) == shape_of(instructions[other.index]);
  }
  return shape_is_same_;
}

std::pair<Finding, Advice> WgmmaRegisters::early(const Exec& x, const GroupsOfThread& groups,
                                                 const Product& product, bool in_a, const Slot& slot,
                                                 Deed deed) const {
  const DecodedInst& in = current(x);
  const std::string name = name_of(*x.code, slot);
  const bool committed = product.group < groups.open;
  const bool waited = waits_ != product.waits;
  const char* does = deed == Deed::reads    ? "reads"
                     : deed == Deed::writes ? "writes"
                                            : "has as an accumulator";
  Finding finding;
  finding.id = waited ? "wgmma.wait" : "wgmma.inflight";
  finding.memory = fmt::format("register {}", name);
  finding.access = by_warp(x, x.code->id_of(in), fmt::format("{} {}", does, name));
  finding.earlier =
      by_warp(x, product.instruction, fmt::format("has {} {}", name, in_a ? "in A" : "as an accumulator"));
  const char* what = in_a ? "a register of A" : "an accumulator";
  const std::string happens = deed == Deed::reads ? fmt::format("{} is read", what)
                              : deed == Deed::writes
                                  ? fmt::format("{} is written", what)
                                  : fmt::format("{} is another product's accumulator", what);
  if (!waited)
    finding.message =
        fmt::format("{} while the wgmma.mma_async is in flight: no wait_group lies between", happens);
  else if (!committed)
    finding.message = fmt::format(
        "{} after a wait_group that does not cover the wgmma.mma_async: it was not committed", happens);
  else
    finding.message = fmt::format("{} after a wait_group that leaves the wgmma.mma_async in flight", happens);
  const auto younger = std::count_if(groups.committed.begin(), groups.committed.end(),
                                     [&](Epoch group) { return group > product.group; });
  return {std::move(finding),
          before(x,
                 committed ? fmt::format("wgmma.wait_group {} between the two", younger)
                           : "wgmma.commit_group and then wgmma.wait_group 0 between the two",
                 committed ? fmt::format("wgmma.wait_group.sync.aligned {};", younger)
                           : "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;")};
}

bool WgmmaRegisters::check_fence(const Exec& x, const Register& reg, const Product& product, bool in_a,
                                 const Report& report) const {
  const bool written = reg.written.instruction && reg.written.fences == fences_;
  const bool read = !in_a && reg.read.instruction && reg.read.fences == fences_;
  if (!written && !read)
    return false;
  const DecodedInst& in = current(x);
  const Touch& touch = written ? reg.written : reg.read;
  const std::string name = name_of(*x.code, operand_of(x, in, product.position));
  // ptxas lets a read that nothing overtakes, and a move that it can put before the fence, pass.
  const bool is_note = !written || (touch.moves && reg.product_fences < fences_);
  report({.id = "wgmma.fence",
          .is_note = is_note,
          .message = fmt::format("{} was {} since the last wgmma.fence",
                                 in_a ? "a register of A" : "an accumulator", written ? "written" : "read"),
          .memory = fmt::format("register {}", name),
          .access = by_warp(x, x.code->id_of(in),
                            fmt::format("has {} {}", name, in_a ? "in A" : "as an accumulator")),
          .earlier = by_warp(x, touch.instruction, written ? "writes it" : "reads it"),
          .fix = {}},
         before(x, "wgmma.fence between the two", kFence), product.first);
  return !is_note;
}

bool WgmmaRegisters::check_accumulator(const Exec& x, const GroupsOfThread& groups, const Register& reg,
                                       int position, const Report& report) {
  const DecodedInst& in = current(x);
  const Slot& slot = operand_of(x, in, position);
  if (in_flight(reg.reader, groups)) {
    auto [finding, advice] = early(x, groups, reg.reader, true, slot, Deed::accumulates);
    report(std::move(finding), std::move(advice), reg.reader.first);
    return true;
  }
  const Product& product = reg.accumulator;
  if (!product.instruction ||
      (product.position == position && same_shape(*x.code, x.code->id_of(in), product.instruction)))
    return false;
  const bool fenced = product.fences < fences_;
  if (in_flight(product, groups)) {
    auto [finding, advice] = early(x, groups, product, false, slot, Deed::accumulates);
    finding.is_note = fenced; // the ISA orders the accesses, and asks for a wait all the same
    finding.message +=
        product.position == position ? ", and it is of another shape" : ", and has it in another place";
    report(std::move(finding), std::move(advice), product.first);
    return !fenced;
  }
  if (fenced)
    return false;
  const std::string name = name_of(*x.code, slot);
  report({.id = "wgmma.fence",
          .message = "an accumulator of a product of another shape, and no wgmma.fence between",
          .memory = fmt::format("register {}", name),
          .access = by_warp(x, x.code->id_of(in), fmt::format("has {} as an accumulator", name)),
          .earlier = by_warp(x, product.instruction, fmt::format("has {} as an accumulator", name)),
          .fix = {}},
         before(x, "wgmma.fence between the two", kFence), x.code->id_of(in));
  return true;
}

void WgmmaRegisters::issue(const Exec& x, const GroupsOfThread& groups, const Report& report) {
  const DecodedInst& in = current(x);
  std::vector<Register>& registers = registers_of(x);
  const vgpu::InstId id = x.code->id_of(in);
  Product product{.instruction = id,
                  .first = last_.group == groups.open && last_.first ? last_.first : id,
                  .group = groups.open,
                  .waits = waits_,
                  .fences = fences_};
  bool told = fences_ == 0 && !last_.instruction; // one finding an instruction is enough
  if (told)
    report({.id = "wgmma.fence",
            .message = "the warp's first wgmma.mma_async, and no wgmma.fence before it",
            .memory = "its registers",
            .access = by_warp(x, x.code->id_of(in), "has accumulators"),
            .earlier = std::nullopt,
            .fix = {}},
           before(x, "wgmma.fence before it, after the registers are written", kFence), x.code->id_of(in));
  bool noted = false; // and one note
  const Report once = [&](Finding finding, Advice advice, vgpu::InstId kept_under) {
    if (!finding.is_note || !std::exchange(noted, true))
      report(std::move(finding), std::move(advice), kept_under);
  };
  const int a_end = in.dst_count + wgmma_a_registers(*x.code, in);
  for (int i = 0; i < a_end; ++i) {
    const uint32_t number = x.code->wgmma_number(operand_of(x, in, i));
    if (number == ptx::kNone)
      continue;
    Register& reg = registers[number];
    const bool in_a = i >= in.dst_count;
    if (!told && in_a && in_flight(reg.accumulator, groups)) {
      auto [finding, advice] = early(x, groups, reg.accumulator, false, operand_of(x, in, i), Deed::reads);
      report(std::move(finding), std::move(advice), reg.accumulator.first);
      told = true;
    }
    product.position = i;
    if (!told)
      told =
          (!in_a && check_accumulator(x, groups, reg, i, once)) || check_fence(x, reg, product, in_a, once);
    if (in_a) {
      reg.reader = product;
    } else {
      reg.accumulator = product;
      reg.reader = {};
    }
    reg.written = reg.read = {};
    reg.product_fences = fences_;
  }
  last_ = product;
}

void WgmmaRegisters::touch(const Exec& x, const GroupsOfThread& groups, const Report& report) {
  const DecodedInst& in = current(x);
  std::vector<Register>& registers = registers_of(x);
  const bool is_move = is_plain_move(*x.code, in);
  const bool moves_register = is_move && x.src_slot(in, 0).base == 0;
  bool told = false;
  const auto tell = [&](const Product& product, bool in_a, int operand, Deed deed) {
    if (told)
      return;
    told = true;
    auto [finding, advice] = early(x, groups, product, in_a, operand_of(x, in, operand), deed);
    finding.is_note = moves_register;
    report(std::move(finding), std::move(advice), product.first);
  };
  for (int i = in.dst_count; i < in.op_count; ++i) {
    const uint32_t number = x.code->wgmma_number(operand_of(x, in, i));
    if (number == ptx::kNone)
      continue;
    Register& reg = registers[number];
    if (in_flight(reg.accumulator, groups))
      tell(reg.accumulator, false, i, Deed::reads);
    if (!is_move)
      reg.read = {x.code->id_of(in), fences_, false};
  }
  for (int i = 0; i < in.dst_count; ++i) {
    const uint32_t number = x.code->wgmma_number(operand_of(x, in, i));
    if (number == ptx::kNone)
      continue;
    Register& reg = registers[number];
    if (in_flight(reg.accumulator, groups))
      tell(reg.accumulator, false, i, Deed::writes);
    else if (in_flight(reg.reader, groups))
      tell(reg.reader, true, i, Deed::writes);
    const uint32_t from = moves_register ? x.code->wgmma_number(x.src_slot(in, 0)) : ptx::kNone;
    if (from != ptx::kNone)
      reg = registers[from];
    else
      reg = {.accumulator = {},
             .reader = {},
             .written = {x.code->id_of(in), fences_, is_move},
             .read = {},
             .product_fences = reg.product_fences};
  }
}

} // namespace lemma::check
