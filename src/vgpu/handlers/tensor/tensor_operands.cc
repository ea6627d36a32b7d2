// Operands of tensor memory, and the words in which a wrong one is reported.
#include "vgpu/handlers/tensor/tensor_operands.h"

#include "vgpu/memory/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lemma::vgpu {

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
  x.misuse(
      in, "tcgen05.address",
      columns == 1
          ? fmt::format("column {} of tensor memory is not allocated by this CTA (undefined behaviour)",
                        column)
          : fmt::format("columns {} to {} of tensor memory are not in one allocation of this CTA (undefined "
                        "behaviour)",
                        column, column + columns - 1),
      lane, std::move(notes), column);
  return false;
}

} // namespace lemma::vgpu
