// alloca, stacksave, stackrestore: local memory above the function's own variables, gone when it returns.
//
// The lanes of a warp share the height of their stacks: alloca takes as much as the active lane that asks for
// most, and stackrestore gives back what no active lane keeps.
//
// PTX ISA: "Stack Manipulation Instructions". Tests: tests/unit/vgpu/stack_test.cc.
#include "support/align.h"
#include "vgpu/code/decoder.h"
#include "vgpu/engine/warp.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Type;

CallFrame& top(Exec& x) {
  return x.warp->splits[x.split].stack.back();
}

// The same address in all active lanes, in a register of in.width bytes.
void set_address(Exec& x, const DecodedInst& in, uint64_t address) {
  for_lanes(x.active, [&](int lane) {
    if (in.width == 8)
      x.dst<uint64_t>(in)[lane] = address;
    else
      x.dst<uint32_t>(in)[lane] = static_cast<uint32_t>(address);
  });
}

// in.imm: the alignment.
Step run_alloca(Exec& x, const DecodedInst& in) {
  uint64_t bytes = 0;
  for_lanes(x.active, [&](int lane) { bytes = std::max(bytes, x.src_lane(in, 0, lane)); });
  CallFrame& frame = top(x);
  const auto align = static_cast<uint64_t>(in.imm);
  const uint64_t begin = align_up(frame.local_end(), align);
  const uint64_t end = begin + std::min(bytes, kMaxLocalBytes + 1);
  if (!reserve_local(*x.warp, end))
    return x.fault(
        in, FaultKind::call_too_deep,
        fmt::format("alloca of {} bytes: a thread has at most {} KiB of local memory, and {} are in use",
                    bytes, kMaxLocalBytes / 1024, frame.local_end()),
        std::countr_zero(x.active));
  forget_local(*x.warp, frame.local_end(), end, x.active);
  frame.alloca_bytes = static_cast<uint32_t>(end) - frame.local_base - frame.code->local_bytes;
  set_address(x, in, begin);
  return Step::next;
}

Step run_stacksave(Exec& x, const DecodedInst& in) {
  set_address(x, in, top(x).local_end());
  return Step::next;
}

Step run_stackrestore(Exec& x, const DecodedInst& in) {
  CallFrame& frame = top(x);
  const uint64_t bottom = uint64_t{frame.local_base} + frame.code->local_bytes;
  uint64_t end = x.active == x.mask ? bottom : frame.local_end();
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const uint64_t to = x.src_lane(in, 0, lane);
    if (to < bottom || to > frame.local_end())
      return x.fault(
          in, FaultKind::illegal_instruction,
          fmt::format("stackrestore to {:#x}: no stacksave of this call gave that (its stack lies from "
                      "{:#x} to {:#x})",
                      to, bottom, frame.local_end()),
          lane);
    end = std::max(end, to);
  }
  frame.alloca_bytes = static_cast<uint32_t>(end - bottom);
  return Step::next;
}

bool select_alloca(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  constexpr int64_t kDefaultAlign = 8;
  const auto& operands = instruction.operands;
  const Type type = instruction.type();
  in.handler = run_alloca;
  in.width = static_cast<uint8_t>(register_bytes(type));
  in.imm = operands.size() > 2 ? static_cast<int64_t>(operands[2].bits) : kDefaultAlign;
  d.set_operands(in, {d.dst(0, type)}, {d.src(1, type)});
  return true;
}

bool select_stacksave(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const Type type = instruction.type();
  in.handler = run_stacksave;
  in.width = static_cast<uint8_t>(register_bytes(type));
  d.set_operands(in, {d.dst(0, type)}, {});
  return true;
}

bool select_stackrestore(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  in.handler = run_stackrestore;
  d.set_operands(in, {}, {d.src(0, instruction.type())});
  return true;
}

} // namespace

void add_stack_selectors(SelectorTable& table) {
  table.add(Opcode::alloca, select_alloca);
  table.add(Opcode::stacksave, select_stacksave);
  table.add(Opcode::stackrestore, select_stackrestore);
}

} // namespace lemma::vgpu
