// setmaxnreg: the warpgroups of a CTA hand registers to each other.
//
// A CTA has the registers that its launch gives it, as many a thread as launch_registers() (occupancy.h)
// says, and never more. `.dec` gives some back to the CTA; `.inc` waits until the CTA has enough of these,
// for ever if nobody gives back. A warpgroup that has exited gives nothing back, and what the SM has free is
// nobody's: measured on an H200 (tests/golden/asked/setmaxnreg.csv). The first warp of a warpgroup that comes
// gives or takes for all four. Registers have no other effect here.
//
// PTX ISA: "setmaxnreg". Tests: tests/unit/vgpu/setmaxnreg_test.cc, wgmma_group_test.cc.
#include "vgpu/code/decoder.h"
#include "vgpu/engine/launch.h"
#include "vgpu/engine/warp.h"
#include "vgpu/memory/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lemma::vgpu {
namespace {

// False: the CTA has too few.
bool change_registers(Cta& cta, Warpgroup& group, uint32_t wanted, bool more) {
  if (more ? wanted <= group.registers : wanted >= group.registers)
    return true;
  if (more && wanted - group.registers > cta.free_registers)
    return false;
  cta.free_registers += group.registers - wanted;
  group.registers = wanted;
  return true;
}

Step wait_for_registers(Exec& x) {
  Split& split = x.warp->splits[x.split];
  split.pc = split.wait_pc = x.pc;
  split.state = SplitState::at_registers;
  return Step::reschedule;
}

void wake_who_wait_for_registers(Cta& cta) {
  for (Warp& warp : cta.warps)
    for (Split& split : warp.splits)
      if (split.state == SplitState::at_registers)
        split.state = SplitState::ready;
}

// .sync.aligned: the whole warp executes it, and every warp of the warpgroup before any executes the next; or
// the same once more (RegisterRequest). That warps give back to different numbers is undefined too, and what
// CUTLASS's attention does on every GPU.
Step run_setmaxnreg(Exec& x, const DecodedInst& in) {
  if (!x.converge_all(in))
    return Step::reschedule;
  const uint32_t number = x.warp->index / kWarpsInGroup, warp = 1u << x.warp->index % kWarpsInGroup;
  if (number >= x.cta->warpgroups.size())
    return Step::next;
  Warpgroup& group = x.cta->warpgroups[number];
  auto& [older, newer] = group.register_requests;
  const bool is_ahead = (older.warps & warp) != 0;
  RegisterRequest& request = is_ahead ? newer : older;
  const auto asked_by = [](const RegisterRequest& of) { return of.code->at(of.instruction).imm; };
  const auto line_of = [](const RegisterRequest& of) { return place_of(*of.code, of.instruction).ptx_line; };
  if (is_ahead) {
    const std::string what =
        fmt::format("warp {} executes another setmaxnreg before all warps of its warpgroup "
                    "have executed the one at line {} (undefined behaviour)",
                    x.warp->index, line_of(older));
    if ((newer.warps & warp) != 0 || asked_by(older) != in.imm)
      return x.misuse(in, "warp.setmaxnreg", what);
    x.remark(in, what);
  }
  if (request.warps == 0) {
    const bool more = in.flags != 0;
    if (x.launch->registers != 0) {
      if (!change_registers(*x.cta, group, static_cast<uint32_t>(in.imm), more))
        return wait_for_registers(x);
      x.effect();
      if (!more)
        wake_who_wait_for_registers(*x.cta);
    }
    request = {.code = x.code, .instruction = x.code->id_of(in), .first_warp = x.warp->index, .warps = 0};
  }
  if (asked_by(request) != in.imm) {
    const std::string what = fmt::format(
        "warps {} and {} of a warpgroup execute different setmaxnreg, for {} and {} registers, the "
        "former at line {} (undefined behaviour)",
        request.first_warp, x.warp->index, asked_by(request), in.imm, line_of(request));
    if (in.flags != 0 || request.code->at(request.instruction).flags != 0)
      return x.misuse(in, "warp.setmaxnreg", what);
    x.remark(in, what + "; kernels of CUTLASS give registers back so, and this run goes on with the former");
  }
  request.warps |= warp;
  constexpr uint32_t kAll = (1u << kWarpsInGroup) - 1;
  while (older.warps == kAll)
    older = std::exchange(newer, {});
  return Step::next;
}

bool select_setmaxnreg(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  in.handler = run_setmaxnreg;
  in.imm = static_cast<int64_t>(instruction.operands[0].bits);
  in.flags = instruction.has(isa::Qual::inc) ? 1 : 0;
  if (in.flags != 0)
    d.code().wanted_registers = std::max(d.code().wanted_registers, static_cast<uint32_t>(in.imm));
  d.set_operands(in, {}, {});
  return true;
}

} // namespace

void add_setmaxnreg_selectors(SelectorTable& table) {
  table.add(isa::Opcode::setmaxnreg, select_setmaxnreg);
}

} // namespace lemma::vgpu
