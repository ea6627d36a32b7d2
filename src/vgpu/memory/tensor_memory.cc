// Who has which columns: a bit for each 32, so that CTAs on other workers need no lock.
#include "vgpu/memory/tensor_memory.h"

#include "vgpu/memory/poison.h"

#include <algorithm>
#include <bit>

namespace lemma::vgpu {
namespace {

constexpr uint32_t kUnits = TensorMemory::kColumns / TensorMemory::kLeastColumns;
constexpr uint32_t kAllUnits = (1u << kUnits) - 1;

uint32_t units(uint32_t column, uint32_t count) {
  const uint32_t of_count = count / TensorMemory::kLeastColumns;
  return ((1u << of_count) - 1) << column / TensorMemory::kLeastColumns;
}

} // namespace

TensorMemory::TensorMemory(MemoryBudget& budget, uint64_t seed) : taken_(budget), seed_(seed) {
  constexpr size_t kCells = size_t{kColumns} * kLanes, kWords = size_t{kColumns} * kQuarters;
  taken_.take(kCells * sizeof(uint32_t) + kWords * sizeof(LaneMask), "tensor memory");
  cells_ = std::make_unique_for_overwrite<uint32_t[]>(kCells);
  written_ = std::make_unique<LaneMask[]>(kWords);
}

std::optional<uint32_t> TensorMemory::allocate(uint32_t count, uint32_t first) {
  const uint32_t begin = first / count % (kColumns / count);
  uint32_t used = used_.load();
  for (uint32_t i = 0; i < kColumns / count;) {
    const uint32_t at = (begin + i) % (kColumns / count) * count;
    if ((used & units(at, count)) != 0) {
      ++i;
      continue;
    }
    if (!used_.compare_exchange_weak(used, used | units(at, count)))
      continue; // somebody else has changed it: look at it again
    renew(at, count);
    return at;
  }
  return std::nullopt;
}

bool TensorMemory::allocate_all(uint32_t count) {
  uint32_t none = 0;
  if (!used_.compare_exchange_strong(none, kAllUnits))
    return false;
  renew(0, count);
  return true;
}

void TensorMemory::renew(uint32_t first, uint32_t count) {
  poison(reinterpret_cast<std::byte*>(column(first)), seed_, uint64_t{first} * kLanes * sizeof(uint32_t),
         uint64_t{count} * kLanes * sizeof(uint32_t));
  std::fill_n(written(first), count * kQuarters, LaneMask{0});
}

void TensorMemory::release(uint32_t column, uint32_t count) {
  used_.fetch_and(~units(column, count));
}

void TensorMemory::release_all() {
  used_.store(0);
}

uint32_t TensorMemory::free_columns() const {
  return static_cast<uint32_t>(std::popcount(~used_.load() & kAllUnits)) * kLeastColumns;
}

TensorMemory& TensorMemories::of_sm(uint32_t sm, MemoryBudget& budget, uint64_t seed) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<TensorMemory>& memory = memories_[sm];
  if (!memory)
    memory = std::make_unique<TensorMemory>(budget, poison_key(seed, Poisoned::tensor, sm));
  return *memory;
}

} // namespace lemma::vgpu
