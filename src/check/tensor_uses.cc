// A use takes the place of those that it comes after and that conflict with no more than it does: a write of
// all that were there, a read of earlier reads of the same agent, which are complete before it.
#include "check/tensor_uses.h"

#include <algorithm>
#include <utility>

namespace lemma::check {

TensorUses::History TensorUses::after(const History& before, const Use& use, const Place& place,
                                      const Meets& meets) {
  History kept;
  LaneMask implied = 0; // lanes in which a use that it has met has come after what is left
  for (auto each = before.rbegin(); each != before.rend(); ++each) {
    Use earlier = *each;
    const LaneMask both = earlier.lanes & use.lanes;
    const bool is_own = earlier.by == use.by;
    if (both != 0 && !is_own && (earlier.writes || use.writes)) {
      const bool is_implied = earlier.writes && (both & ~implied) == 0;
      Place at = place;
      at.lanes = both;
      if (!is_implied)
        meets(earlier, use, at);
      implied |= both;
    }
    const bool stands_for = use.writes || (!earlier.writes && earlier.by->agent == use.by->agent &&
                                           earlier.by->lane == use.by->lane);
    if (stands_for)
      earlier.lanes &= ~use.lanes;
    if (earlier.lanes != 0)
      kept.push_back(std::move(earlier));
  }
  std::reverse(kept.begin(), kept.end());
  kept.push_back(use);
  return kept;
}

void TensorUses::use(uint32_t cta_rank, uint32_t column, uint32_t quarter, Use use, const Meets& meets) {
  if (use.lanes == 0)
    return;
  std::unique_ptr<Columns>& columns = cells_[cta_rank];
  if (!columns)
    columns = std::make_unique<Columns>();
  Cell& cell = columns->cells[size_t{column} * vgpu::TensorMemory::kQuarters + quarter];
  Made& last = last_[quarter];
  const bool repeats = last.after && cell == last.before && use.by == last.by.by &&
                       use.lanes == last.by.lanes && use.writes == last.by.writes;
  if (!repeats) {
    static const History kNone;
    last.after = std::make_shared<const History>(
        after(cell ? *cell : kNone, use, {cta_rank, column, quarter, 0}, meets));
    last.before = cell;
    last.by = std::move(use);
  }
  cell = last.after;
}

void TensorUses::forget(uint32_t cta_rank, uint32_t column, uint32_t columns) {
  if (!cells_[cta_rank])
    return;
  constexpr uint32_t kQuarters = vgpu::TensorMemory::kQuarters;
  std::fill_n(cells_[cta_rank]->cells.begin() + column * kQuarters, columns * kQuarters, Cell());
}

} // namespace lemma::check
