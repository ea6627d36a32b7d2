#include "numeric/dot_levels.h"

#include <atomic>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace lemma::numeric::internal {
namespace {

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
         __builtin_cpu_supports("bmi2");
}

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

// AMX-TILE and AMX-INT8, and the system's leave: a process may use the tiles' registers, 8 KiB of state, only
// after it has asked for them (Linux, Documentation/arch/x86/xstate.rst).
bool has_amx() {
#ifdef __linux__
  constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25; // leaf 7, EDX
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (edx & kTile) == 0 || (edx & kInt8) == 0)
    return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18; // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

std::vector<DotLevel> detect() {
  __builtin_cpu_init();
  std::vector<DotLevel> levels{DotLevel::scalar};
  if (!has_avx2())
    return levels;
  levels.push_back(DotLevel::avx2);
  if (!has_avx512())
    return levels;
  levels.push_back(DotLevel::avx512);
  if (!__builtin_cpu_supports("avx512vnni"))
    return levels;
  levels.push_back(DotLevel::avx512_vnni);
  if (has_amx())
    levels.push_back(DotLevel::amx);
  return levels;
}
#else
std::vector<DotLevel> detect() {
  return {DotLevel::scalar};
}
#endif

std::atomic<DotLevel>& current() {
  static std::atomic<DotLevel> level{dot_levels().back()};
  return level;
}

} // namespace

std::string_view to_string(DotLevel level) {
  constexpr std::string_view names[] = {"scalar", "avx2", "avx512", "avx512-vnni", "amx"};
  return names[static_cast<size_t>(level)];
}

const std::vector<DotLevel>& dot_levels() {
  static const std::vector<DotLevel> levels = detect();
  return levels;
}

DotLevel dot_level() {
  return current().load(std::memory_order_relaxed);
}

void set_dot_level(DotLevel level) {
  current() = level;
}

} // namespace lemma::numeric::internal
