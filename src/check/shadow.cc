// Pages are made when they are first touched, and never taken away. See shadow.h.
#include "check/shadow.h"

namespace lemma::check {

void Page::refine(uint64_t bits, AccessSets& sets) {
  uint32_t shift = cells_.empty() ? kCoarsestShift : shift_;
  while ((bits & ((1u << shift) - 1)) != 0)
    --shift;
  const uint32_t parts = 1u << (shift_ - shift);
  std::vector<Cell> finer(kBytes >> shift);
  for (uint32_t i = 0; !cells_.empty() && i < finer.size(); ++i) {
    const Cell& whole = cells_[i / parts];
    const uint32_t earlier = i / parts - i; // positions, modulo 32
    finer[i] = whole;
    if (whole.since & Cell::kSet)
      finer[i].since = Cell::kSet | sets.turned(whole.since & ~Cell::kSet, earlier % kWarpSize);
    else if (whole.since)
      finer[i].since = Records::id(
          Records::record_of(whole.since),
          static_cast<int>((static_cast<uint32_t>(Records::lane_of(whole.since)) + earlier) % kWarpSize));
  }
  for (const Cell& whole : cells_)
    if (whole.since & Cell::kSet)
      sets.release(whole.since & ~Cell::kSet);
  cells_ = std::move(finer);
  shift_ = shift;
}

Shadow::~Shadow() {
  for (std::atomic<Page*>& page : pages_)
    delete page.load();
}

Page& Shadow::add_page(uint64_t index) {
  auto page = std::make_unique<Page>();
  Page* expected = nullptr;
  if (pages_[index].compare_exchange_strong(expected, page.get()))
    return *page.release();
  return *expected; // another thread was faster
}

ShadowSize Shadow::size() const {
  ShadowSize size;
  for (const std::atomic<Page*>& slot : pages_)
    if (const Page* page = slot.load(); page && page->shadow_bytes() != 0)
      size += {Page::kBytes, sizeof(Page) + page->shadow_bytes()};
  size.remembered_bytes += pages_.size() * sizeof(Page*);
  return size;
}

} // namespace lemma::check
