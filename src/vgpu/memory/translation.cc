// The slow half of translation.h.
#include "vgpu/memory/translation.h"

#include "vgpu/memory/memory.h"

#include <algorithm>

namespace lemma::vgpu {

const Translation* Translations::renew(const GlobalMemory& memory, uint32_t pc, uint64_t address,
                                       uint64_t bytes) {
  uint8_t& hint = hints_[pc % kHints];
  const uint64_t generation = memory.generation();
  const auto known = std::ranges::find_if(entries_, [&](const Translation& entry) {
    return entry.generation == generation && entry.holds(address, bytes);
  });
  if (known != entries_.end()) {
    hint = static_cast<uint8_t>(known - entries_.begin());
    return &*known;
  }
  const Translation found = memory.translate(address, bytes);
  if (found.bytes == 0)
    return nullptr;
  hint = static_cast<uint8_t>(oldest_);
  oldest_ = (oldest_ + 1) % kEntries;
  entries_[hint] = found;
  return &entries_[hint];
}

} // namespace lemma::vgpu
