// Operands of tensor memory, and the words in which a wrong one is reported.
#include "vgpu/handlers/tensor/tensor_operands.h"

#include "vgpu/handlers/memory/async_operands.h"
#include "vgpu/memory/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace lemma::vgpu {

Step issue(Exec& x, const DecodedInst& in,
           bool (*read)(Exec& x, const DecodedInst& in, int lane, AsyncOperation& operation)) {
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    AsyncOperation operation;
    if (!read(x, in, lane, operation))
      return Step::stopped;
    operation.issuer = x.issuer(in, lane);
    if (!start(x, std::move(operation)))
      return Step::stopped;
  }
  return Step::next;
}

std::optional<uint64_t> value_of_all(Exec& x, const DecodedInst& in, int index, std::string_view what) {
  const int first = std::countr_zero(x.active);
  const uint64_t value = x.src_lane(in, index, first);
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (x.src_lane(in, index, lane) == value)
      continue;
    x.misuse(in, "tcgen05.address",
             fmt::format("lanes {} and {} give {} different {}: {:#x} and {:#x} (undefined behaviour)", first,
                         lane, isa::to_string(x.ptx_instruction(in).opcode), what, value,
                         x.src_lane(in, index, lane)),
             lane);
    return std::nullopt;
  }
  return value;
}

Cta* find_peer(Exec& x, const DecodedInst& in, int lane) {
  const auto& ctas = x.cta->cluster->ctas;
  const uint32_t rank = x.cta->rank ^ 1;
  if (rank >= ctas.size()) {
    x.misuse(
        in, "tcgen05.pair",
        fmt::format(".cta_group::2 needs a pair of CTAs, and CTA rank {} has no peer: its cluster has {} "
                    "CTA{} (undefined behaviour)",
                    x.cta->rank, ctas.size(), ctas.size() == 1 ? "" : "s"),
        lane, {"fix: launch clusters of an even number of CTAs"});
    return nullptr;
  }
  Cta* peer = ctas[rank].get();
  if (peer->is_finished()) {
    x.misuse(in, "tcgen05.pair",
             fmt::format("the peer of the pair, CTA rank {}, has exited (undefined behaviour)", rank), lane,
             {"fix: both CTAs of a pair stay until all instructions of .cta_group::2 are complete, by a "
              "barrier.cluster before they exit"});
    return nullptr;
  }
  return peer;
}

TensorCtas find_ctas(Exec& x, const DecodedInst& in, uint8_t group, int lane) {
  if (!use_cta_group(x, in, group, lane))
    return {};
  if (group == 1)
    return TensorCtas(x.cta);
  Cta* peer = find_peer(x, in, lane);
  if (!peer)
    return {};
  if (x.cta->rank % 2 == 0)
    return TensorCtas(x.cta, peer);
  x.misuse(in, "tcgen05.pair",
           fmt::format("CTA rank {}, the odd one of its pair, issues {} with .cta_group::2: kernels have the "
                       "even one issue it, and what happens otherwise the PTX ISA does not say",
                       x.cta->rank, isa::to_string(x.ptx_instruction(in).opcode)),
           lane, {fmt::format("fix: let a thread of CTA rank {} issue it, for both", peer->rank)});
  return {};
}

bool use_cta_group(Exec& x, const DecodedInst& in, uint8_t group, int lane) {
  TensorUse& use = x.cta->tensor;
  if (use.cta_group == 0)
    use.cta_group = group;
  if (use.cta_group == group)
    return true;
  x.misuse(
      in, "tcgen05.pair",
      fmt::format("the CTA executes an instruction of tcgen05 with .cta_group::{}, and has executed one with "
                  ".cta_group::{} (undefined behaviour)",
                  group, use.cta_group),
      lane, {"legal: all of a kernel's instructions of tcgen05 have one .cta_group"});
  return false;
}

bool check_columns(Exec& x, const DecodedInst& in, const Cta& cta, uint32_t column, uint32_t columns,
                   int lane) {
  const TensorUse& use = cta.tensor;
  if (use.find(column, columns))
    return true;
  std::vector<std::string> notes;
  for (const TensorUse::Block& block : use.blocks)
    notes.push_back(fmt::format("allocated: columns {} to {}, at line {}", block.column,
                                block.column + block.columns - 1,
                                place_of(*block.code, block.instruction).ptx_line));
  if (use.blocks.empty())
    notes.emplace_back("allocated: nothing, or no longer");
  const std::string owner = &cta == x.cta ? "this CTA" : fmt::format("the peer, CTA rank {}", cta.rank);
  x.misuse(in, "tcgen05.address",
           columns == 1
               ? fmt::format("column {} of tensor memory is not allocated by {} (undefined behaviour)",
                             column, owner)
               : fmt::format("columns {} to {} of tensor memory are not in one allocation of {} (undefined "
                             "behaviour)",
                             column, column + columns - 1, owner),
           lane, std::move(notes), column);
  return false;
}

bool check_lane(Exec& x, const DecodedInst& in, layout::TensorAddress at, bool has_halves,
                std::string_view name, int lane) {
  if (at.lane == 0 || (has_halves && at.lane == kWarpSize / 2))
    return true;
  x.misuse(in, "tcgen05.address",
           fmt::format("{} begins at lane {} of tensor memory (undefined behaviour)", name, at.lane), lane,
           {has_halves ? "legal: lane 0 or 16" : "legal: lane 0"}, at.encode());
  return false;
}

std::optional<bool> check_chunks(Exec& x, const DecodedInst& in, const Cta& cta, const TensorChunks& chunks,
                                 int lane) {
  const layout::TensorSmemDescriptor& d = chunks.descriptor;
  const uint64_t size = cta.shared.size();
  const bool is_own = &cta == x.cta;
  const Access shared = x.find(in, isa::StateSpace::shared_cluster,
                               uint64_t{cta.rank} << kSharedRankShift | kSharedReservedBytes,
                               size - kSharedReservedBytes, AccessKind::read);
  uint32_t hole = 0;
  for (uint32_t i = 0; i < chunks.count; ++i) {
    const uint32_t at = chunks.chunk_at(i);
    if (at < kSharedReservedBytes || at + layout::kChunkBytes > size) {
      x.fault_at(
          in, FaultKind::out_of_bounds,
          fmt::format("the descriptor of {} ({:#018x}) leads to shared address {:#x}, outside the {} "
                      "shared memory ({:#x} to {:#x})",
                      chunks.name, d.bits, at, is_own ? "CTA's" : "peer's", kSharedReservedBytes, size),
          lane, at,
          {fmt::format("start address {:#x}, leading dimension byte offset {}, stride dimension byte offset "
                       "{}, swizzle {}",
                       d.start, d.leading, d.stride, layout::to_string(d.swizzle))});
      return std::nullopt;
    }
    if (hole == 0 && !shared.was_written(at - kSharedReservedBytes, layout::kChunkBytes))
      hole = at;
  }
  if (hole != 0)
    x.uninitialized(in, lane,
                    fmt::format("shared memory of {} at {:#x}{}", chunks.name, hole,
                                is_own ? "" : fmt::format(" of the peer, CTA rank {}", cta.rank)));
  return hole == 0;
}

} // namespace lemma::vgpu
