// Operands of asynchronous instructions. See async_operands.h.
#include "vgpu/handlers/async_operands.h"

#include <fmt/format.h>

namespace lemma::vgpu {

using isa::StateSpace;
using isa::Type;

PlacedAddress place_address(Decoder& decoder, const ptx::Instruction& instruction,
                            const ptx::Operand& operand) {
  const AddressOperand address = decoder.address(instruction, operand);
  return {.base = address.has_base ? address.base : decoder.constant(0, Type::u64),
          .offset = address.offset,
          .space = address.space};
}

uint64_t lane_address(const Exec& x, const DecodedInst& in, int index, int64_t offset, int lane) {
  const uint64_t address = x.src_lane(in, index, lane) + static_cast<uint64_t>(offset);
  return x.src_slot(in, index).bytes == 4 ? static_cast<uint32_t>(address) : address;
}

MbarrierPlace shared_place(const Exec& x, const std::byte* host) {
  for (const auto& cta : x.cta->cluster->ctas) {
    const auto offset = static_cast<uint64_t>(host - cta->shared.data());
    if (offset < cta->shared.size())
      return {cta.get(), static_cast<uint32_t>(offset)};
  }
  return {};
}

MbarrierPlace find_mbarrier(Exec& x, const DecodedInst& in, StateSpace space, uint64_t address, int lane) {
  const uint64_t effects = x.warp->effects;
  const std::byte* host = x.access(in, space, address, kMbarrierBytes, kMbarrierBytes, Access::write, lane);
  x.warp->effects = effects; // finding it is none
  if (!host)
    return {};
  const MbarrierPlace at = shared_place(x, host);
  if (!at.cta) {
    x.fault_at(in, FaultKind::wrong_space,
               fmt::format("an mbarrier lies in shared memory, but {:#x} does not", address), lane, address);
    return {};
  }
  if (!is_mbarrier(at)) {
    x.fault_at(
        in, FaultKind::illegal_instruction,
        fmt::format(
            "there is no mbarrier object at shared address {:#x} of CTA rank {}: mbarrier.init has not "
            "run there, or mbarrier.inval has (undefined behaviour)",
            at.offset, at.cta->rank),
        lane, address,
        {"other threads see the object after a barrier, those of other CTAs after fence.mbarrier_init and "
         "barrier.cluster"});
    return {};
  }
  return at;
}

} // namespace lemma::vgpu
