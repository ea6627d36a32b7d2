// Doing the copies: run() goes over what is in flight and does what is due. See late_copies.h.
#include "vgpu/async/late_copies.h"

#include "vgpu/async/async_operation.h"
#include "vgpu/engine/launch.h"
#include "vgpu/memory/racing_copy.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lemma::vgpu {
namespace {

// All of a kind, so that the compiler knows the size.
template <uint32_t kBytes>
void copy_lanes(const LateCopy& copy, LaneMask lanes) {
  Cta& cta = *copy.cta;
  const bool marks = !cta.unpublished.empty();
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    std::byte* const to = cta.shared.data() + copy.to[lane];
    if (copy.taken >> lane & 1)
      copy_racing(to, copy.from[lane], kBytes);
    else
      std::memset(to, 0, kBytes);
    std::memset(cta.shared_written.data() + copy.to[lane], 1, kBytes);
    if (marks)
      std::memset(cta.unpublished.data() + copy.to[lane], Cta::kByOwnThread, kBytes);
  }
}

void do_copies(const LateCopy& copy, LaneMask lanes) {
  if (copy.odd)
    return copy_cp_async(copy.odd->to, copy.odd->from, copy.bytes, copy.odd->taken);
  switch (copy.bytes) {
  case 4:
    return copy_lanes<4>(copy, lanes);
  case 8:
    return copy_lanes<8>(copy, lanes);
  default:
    return copy_lanes<16>(copy, lanes);
  }
}

} // namespace

LateCopy& LateCopies::add(LaneMask lanes, MemoryBudget& budget) {
  if (first_ > copies_.size() / 2) { // as many moves as were done before
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<ptrdiff_t>(first_));
    first_ = 0;
  }
  if (copies_.size() == copies_.capacity()) {
    constexpr size_t kFirst = 8;
    const size_t more = std::max(kFirst, copies_.capacity());
    if (taken_.bytes() == 0)
      taken_ = MemoryShare(budget);
    taken_.take(more * sizeof(LateCopy), "asynchronous operations in flight");
    copies_.reserve(copies_.capacity() + more);
  }
  LateCopy& copy = copies_.emplace_back();
  copy.lanes = lanes;
  copy.group = committed_;
  return copy;
}

void LateCopies::commit(LaneMask lanes) {
  for (size_t lane = 0; lane < kWarpSize; ++lane)
    committed_[lane] += lanes >> lane & 1;
}

// is_due(lane, its group) of copies that these lanes have issued.
template <class IsDue>
bool LateCopies::run(LaneMask lanes, IsDue is_due) {
  bool some = false;
  for (size_t i = first_; i < copies_.size(); ++i) {
    LateCopy& copy = copies_[i];
    LaneMask due = 0;
    for (uint32_t lane = 0; lane < kWarpSize; ++lane)
      due |= LaneMask{is_due(lane, copy.group[lane])} << lane;
    due &= lanes & copy.lanes;
    if (due == 0)
      continue;
    do_copies(copy, due);
    copy.lanes &= ~due;
    some = true;
  }
  while (first_ < copies_.size() && copies_[first_].lanes == 0)
    ++first_;
  return some;
}

bool LateCopies::wait(LaneMask lanes, uint64_t pending) {
  if (first_ == copies_.size())
    return false;
  std::array<uint32_t, kWarpSize> end; // groups below it are waited for
  for (size_t lane = 0; lane < kWarpSize; ++lane)
    end[lane] = committed_[lane] > pending ? committed_[lane] - static_cast<uint32_t>(pending) : 0;
  return run(lanes, [&](uint32_t lane, uint32_t group) { return group < end[lane]; });
}

void LateCopies::complete(LaneMask lanes) {
  run(lanes, [](uint32_t, uint32_t) { return true; });
}

void LateCopies::reset() {
  copies_.clear();
  first_ = 0;
  committed_ = {};
}

} // namespace lemma::vgpu
