// A level is there if the CPU has every instruction set that the code of the level is compiled for, so the
// lists here and LEMMA_DOT_TARGET_* (dot_levels.h) belong together. AMX needs the operating system's
// permission besides.
#include "numeric/dot_levels.h"

#include <atomic>

#ifdef LEMMA_DOT_X86
#include <cpuid.h>
#endif
#if defined(LEMMA_DOT_X86) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace lemma::numeric::internal {
namespace {

#ifdef LEMMA_DOT_X86
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt");
}

// g++ 12 has no name for it to ask by.
bool has_avx_vnni() {
  constexpr unsigned kAvxVnni = 1u << 4; // leaf 7.1, EAX
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && eax >= 1 &&
         __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & kAvxVnni) != 0;
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

void add_of_cpu(std::vector<DotLevel>& levels) {
  __builtin_cpu_init();
  if (!has_avx2())
    return;
  levels.push_back(DotLevel::avx2);
  if (has_avx_vnni())
    levels.push_back(DotLevel::avx2_vnni);
  if (!has_avx512())
    return;
  levels.push_back(DotLevel::avx512);
  if (!__builtin_cpu_supports("avx512vnni"))
    return;
  levels.push_back(DotLevel::avx512_vnni);
  if (has_amx())
    levels.push_back(DotLevel::amx);
}
#endif

std::vector<DotLevel> detect() {
  std::vector<DotLevel> levels{DotLevel::scalar};
#ifdef LEMMA_DOT_BASELINE
  levels.push_back(DotLevel::baseline);
#endif
#ifdef LEMMA_DOT_X86
  add_of_cpu(levels);
#endif
  return levels;
}

std::atomic<DotLevel>& current() {
  static std::atomic<DotLevel> level{dot_levels().back()};
  return level;
}

} // namespace

std::string_view to_string(DotLevel level) {
  constexpr std::string_view names[] = {"scalar", "baseline",    "avx2", "avx2-vnni",
                                        "avx512", "avx512-vnni", "amx"};
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
