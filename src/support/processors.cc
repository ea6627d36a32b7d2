// See processors.h. The quota is of a period: who has used it up waits for the next.
#include "support/processors.h"

#include "support/control_group.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <thread>

namespace lemma {
namespace {

// 0: it is not known.
unsigned processors_of_affinity() {
  cpu_set_t allowed; // of 1024; the call fails where the host has more
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? static_cast<unsigned>(CPU_COUNT(&allowed)) : 0;
}

} // namespace

unsigned processors_of_quota(std::string_view quota_and_period) {
  const size_t space = quota_and_period.find(' ');
  if (space == quota_and_period.npos)
    return 0;
  const auto number = [](std::string_view text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : 0;
  };
  const uint64_t quota = number(quota_and_period.substr(0, space)),
                 period = number(quota_and_period.substr(space + 1));
  return period == 0
             ? 0
             : static_cast<unsigned>(std::min<uint64_t>(quota / period + (quota % period != 0), 1u << 20));
}

unsigned count_processors() {
  unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  const auto limit = [&](unsigned to) {
    if (to != 0)
      processors = std::min(processors, to);
  };
  limit(processors_of_affinity());
  for (const std::string& line : control_group_lines("cpu.max"))
    limit(processors_of_quota(line));
  limit(processors_of_quota(old_control_group_line("cpu/cpu.cfs_quota_us") + " " +
                            old_control_group_line("cpu/cpu.cfs_period_us")));
  return processors;
}

unsigned usable_processors() {
  static const unsigned processors = count_processors();
  return processors;
}

} // namespace lemma
