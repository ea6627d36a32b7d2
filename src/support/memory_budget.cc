// The count is one atomic number; taking is a compare-and-swap that cannot wrap. The default limit is half of
// what the machine or, in a container, its control group has; both versions of control groups are asked, and
// every group above the process's own.
#include "support/memory_budget.h"

#include "support/control_group.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace lemma {
namespace {

// What the control group of the process, or one that it lies in, allows; UINT64_MAX if none limits it.
uint64_t control_group_limit() {
  uint64_t limit = UINT64_MAX;
  const auto limit_to = [&](const std::string& line) { // "max": there is none
    uint64_t bytes = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), bytes).ec == std::errc())
      limit = std::min(limit, bytes);
  };
  limit_to(old_control_group_line("memory/memory.limit_in_bytes"));
  for (const std::string& line : control_group_lines("memory.max"))
    limit_to(line);
  return limit;
}

} // namespace

uint64_t default_memory_limit() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  const uint64_t machine = pages > 0 && page_bytes > 0
                               ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes)
                               : UINT64_MAX;
  return std::min(machine, control_group_limit()) / 2;
}

bool MemoryBudget::try_take(uint64_t bytes) {
  uint64_t used = in_use_.load(std::memory_order_relaxed);
  do
    if (used > limit_bytes_ || bytes > limit_bytes_ - used)
      return false;
  while (!in_use_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

void MemoryBudget::take(uint64_t bytes, std::string_view what) {
  if (!try_take(bytes))
    throw OverBudget(refusal(bytes, what));
}

std::string MemoryBudget::refusal(uint64_t bytes, std::string_view what) const {
  return fmt::format("no memory for {}: {} bytes more than the {} in use; the limit is {} (--max-memory)",
                     what, bytes, in_use(), limit_bytes_);
}

} // namespace lemma
