// The count is one atomic number; taking is a compare-and-swap that cannot wrap. The default limit is half of
// what the machine or, in a container, its control group has; both versions of control groups are asked, and
// every group above the process's own.
#include "support/memory_budget.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

namespace lemma {
namespace {

// The number that a file of the kernel holds; none if there is no such file, or it says "max".
std::optional<uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  uint64_t number = 0;
  if (!std::getline(file, text) ||
      std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

// What the control group of the process, or one that it lies in, allows; UINT64_MAX if none limits it.
uint64_t control_group_limit() {
  const std::string root = "/sys/fs/cgroup";
  uint64_t limit = number_in(root + "/memory/memory.limit_in_bytes").value_or(UINT64_MAX); // version 1
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) // version 2: "0::/user.slice/session"
      continue;
    for (std::string path = line.substr(3);; path.resize(path.rfind('/'))) {
      limit = std::min(limit, number_in(root + path + "/memory.max").value_or(UINT64_MAX));
      if (path.find('/') == path.npos)
        break;
    }
  }
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
