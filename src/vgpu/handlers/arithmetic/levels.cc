// Detection, once, and the level in force. The instruction sets asked for are those of the target pragmas in
// levels.inc.
#include "vgpu/handlers/arithmetic/levels.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace lemma::vgpu {
namespace {

std::vector<HostLevel> detect() {
  std::vector<HostLevel> levels{HostLevel::baseline};
#if defined(__GNUC__) && !defined(__clang__) // clang compiles the baseline alone: levels.inc
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("f16c") &&
                    __builtin_cpu_supports("lzcnt");
  if (avx2)
    levels.push_back(HostLevel::avx2);
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    levels.push_back(HostLevel::avx512);
#endif
  return levels;
}

// Without those above LEMMA_HOST_LEVEL: as on a host that has no more.
std::vector<HostLevel> allowed(std::vector<HostLevel> levels) {
  const char* const most = std::getenv("LEMMA_HOST_LEVEL");
  const auto named =
      std::ranges::find_if(levels, [&](HostLevel level) { return most && to_string(level) == most; });
  if (named != levels.end())
    levels.erase(named + 1, levels.end());
  return levels;
}

std::atomic<HostLevel>& current() {
  static std::atomic<HostLevel> level{host_levels().back()};
  return level;
}

} // namespace

std::string_view to_string(HostLevel level) {
  switch (level) {
  case HostLevel::baseline:
    return "baseline";
  case HostLevel::avx2:
    return "avx2";
  case HostLevel::avx512:
    return "avx512";
  }
  return "";
}

const std::vector<HostLevel>& host_levels() {
  static const std::vector<HostLevel> levels = allowed(detect());
  return levels;
}

HostLevel host_level() {
  return current();
}

void set_host_level(HostLevel level) {
  current() = level;
}

} // namespace lemma::vgpu
