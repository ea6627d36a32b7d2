// Operands of asynchronous instructions. See async_operands.h.
#include "vgpu/handlers/memory/async_operands.h"

#include "vgpu/memory/find_access.h"

#include <fmt/format.h>

namespace lemma::vgpu {

using isa::StateSpace;
using isa::Type;

uint64_t lane_address(const Exec& x, const DecodedInst& in, int index, int64_t offset, int lane) {
  const uint64_t address = x.src_lane(in, index, lane) + static_cast<uint64_t>(offset);
  return x.src_slot(in, index).bytes == 4 ? static_cast<uint32_t>(address) : address;
}

namespace {

// The place in shared memory of an mbarrier operand; no CTA after a fault.
SharedPlace mbarrier_place(Exec& x, const DecodedInst& in, StateSpace space, uint64_t address, int lane) {
  const MemoryPlace at =
      check_place(x, in, space, address, kMbarrierBytes, kMbarrierBytes, AccessKind::write, lane);
  if (at.host && !at.is_shared())
    x.fault_at(in, FaultKind::wrong_space,
               fmt::format("an mbarrier lies in shared memory, but {:#x} does not", address), lane, address);
  return shared_place(at);
}

bool check_mbarrier(Exec& x, const DecodedInst& in, const SharedPlace& at, int lane) {
  if (is_mbarrier(at))
    return true;
  x.misuse(
      in, "mbarrier.init",
      fmt::format("there is no mbarrier object at shared address {:#x} of CTA rank {}: mbarrier.init has not "
                  "run there, or mbarrier.inval has (undefined behaviour)",
                  at.offset, at.cta->rank),
      lane,
      {"other threads see the object after a barrier, those of other CTAs after fence.mbarrier_init and "
       "barrier.cluster"},
      at.offset);
  return false;
}

// The CTAs that a multicast's mask names; empty after a fault.
std::vector<Cta*> ctas_of_mask(Exec& x, const DecodedInst& in, uint16_t mask, int lane) {
  const auto& ctas = x.cta->cluster->ctas;
  if (mask == 0 || uint32_t{mask} >> ctas.size() != 0) {
    x.fault(in, FaultKind::illegal_instruction,
            mask == 0 ? "the CTA mask is 0: it names no CTA"
                      : fmt::format("the CTA mask {:#06x} names CTAs that the cluster of {} does not have",
                                    mask, ctas.size()),
            lane);
    return {};
  }
  std::vector<Cta*> named;
  for (uint32_t rank = 0; rank < ctas.size(); ++rank) {
    if (!(mask >> rank & 1))
      continue;
    if (ctas[rank]->is_finished()) {
      x.fault(in, FaultKind::out_of_bounds,
              fmt::format("the CTA mask {:#06x} names CTA rank {}, which has exited: its memory may be gone",
                          mask, rank),
              lane,
              {"fix: let every CTA wait at a barrier.cluster after the last access to its shared memory, and "
               "exit then"});
      return {};
    }
    named.push_back(ctas[rank].get());
  }
  return named;
}

// The CTA that data in `cta` signal where the operation names an mbarrier in `named`; null after a fault.
Cta* signalled_cta(Exec& x, const DecodedInst& in, Cta& cta, const Cta& named, uint8_t cta_group, int lane) {
  if (cta_group == 1)
    return &cta;
  const auto& ctas = x.cta->cluster->ctas;
  const uint32_t rank = (cta.rank & ~1u) | (named.rank & 1);
  if (rank < ctas.size() && !ctas[rank]->is_finished())
    return ctas[rank].get();
  x.fault(in, FaultKind::out_of_bounds,
          fmt::format("the data go to CTA rank {} and with .cta_group::2 signal CTA rank {}, which {}",
                      cta.rank, rank, rank < ctas.size() ? "has exited" : "the cluster does not have"),
          lane);
  return nullptr;
}

} // namespace

SharedPlace find_mbarrier(Exec& x, const DecodedInst& in, StateSpace space, uint64_t address, int lane) {
  const SharedPlace at = mbarrier_place(x, in, space, address, lane);
  return at.cta && check_mbarrier(x, in, at, lane) ? at : SharedPlace{};
}

std::vector<AsyncTarget> find_targets(Exec& x, const DecodedInst& in, int lane, const SharedPlace& data,
                                      StateSpace mbarrier_space, uint64_t mbarrier_address,
                                      std::optional<uint16_t> cta_mask, uint8_t cta_group) {
  const SharedPlace mbarrier = mbarrier_place(x, in, mbarrier_space, mbarrier_address, lane);
  if (!mbarrier.cta)
    return {};
  // Ranks that differ in bits which they must have in common.
  const uint32_t apart = (mbarrier.cta->rank ^ data.cta->rank) & (cta_group == 2 ? ~1u : ~0u);
  if (apart != 0) {
    x.fault_at(
        in, FaultKind::illegal_instruction,
        fmt::format("the data go to CTA rank {}, but the mbarrier is in CTA rank {}: they must be in one "
                    "CTA{} (undefined behaviour)",
                    data.cta->rank, mbarrier.cta->rank,
                    cta_group == 2 ? " or, with .cta_group::2, in one pair" : ""),
        lane, mbarrier_address, {"mapa gives the mbarrier's address in the other CTA"});
    return {};
  }
  std::vector<AsyncTarget> targets;
  for (Cta* cta : cta_mask ? ctas_of_mask(x, in, *cta_mask, lane) : std::vector<Cta*>{data.cta}) {
    Cta* signalled = signalled_cta(x, in, *cta, *mbarrier.cta, cta_group, lane);
    if (!signalled)
      return {};
    targets.push_back({{cta, data.offset}, {signalled, mbarrier.offset}});
    if (!check_mbarrier(x, in, targets.back().mbarrier, lane))
      return {};
  }
  return targets;
}

Access check_async(Exec& x, const DecodedInst& in, StateSpace space, uint64_t address, uint32_t bytes,
                   uint32_t align, AccessKind kind, int lane) {
  Access access = x.check(in, space, address, bytes, align, kind, lane);
  access.proxy = Proxy::async;
  if (access && kind != AccessKind::write)
    x.report_unwritten(access, lane);
  return access;
}

bool start(Exec& x, AsyncOperation operation) {
  x.start_async(std::move(operation));
  return !x.launch->stop.load(std::memory_order_relaxed);
}

} // namespace lemma::vgpu
