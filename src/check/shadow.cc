// Pages are made when they are first touched, and never taken away. See shadow.h.
#include "check/shadow.h"

namespace lemma::check {

void Page::refine(uint64_t bits, AccessSets& sets) {
  uint32_t granule = cells_.empty() ? kCoarsest : granule_;
  while ((bits & (granule - 1)) != 0)
    granule /= 2;
  std::vector<Cell> finer(kBytes / granule);
  if (!cells_.empty())
    for (size_t i = 0; i < finer.size(); ++i)
      finer[i] = cells_[i * granule / granule_];
  for (const Cell& cell : cells_)
    if (cell.since & Cell::kSet)
      sets.share(cell.since & ~Cell::kSet, granule_ / granule - 1);
  cells_ = std::move(finer);
  granule_ = granule;
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
