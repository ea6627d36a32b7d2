// Which instruction-set level of the host the lane loops run at. Every arithmetic kernel is compiled once for
// each level (levels.inc) and the best one that the CPU has is taken when a program is decoded.
//
// Tests: tests/unit/vgpu/ (every family runs at every level the host has).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace lemma::vgpu {

enum class HostLevel : uint8_t {
  baseline, // SSE2
  avx2,     // AVX2, FMA, F16C
  avx512,   // AVX-512 F, BW, CD, DQ, VL
};
inline constexpr int kHostLevels = 3;

std::string_view to_string(HostLevel level);

// The levels that this host can run, lowest first. Always holds baseline. None above the one that the
// variable LEMMA_HOST_LEVEL names: so a test sees what other hosts do.
const std::vector<HostLevel>& host_levels();

// The level in force: the highest, unless set. Setting affects what is decoded afterwards; for tests.
HostLevel host_level();
void set_host_level(HostLevel level);

// A table of each host level, made when it is first asked for; where nothing fills it, as it is without.
template <class Table>
class LeveledTables {
public:
  using Fill = void (*)(Table& table);
  LeveledTables(Fill baseline, Fill avx2, Fill avx512) : fills_{baseline, avx2, avx512} {}

  // Of the level in force.
  const Table& now() const {
    const auto level = static_cast<size_t>(host_level());
    Made& made = tables_[level];
    std::call_once(made.filled, [&] {
      if (fills_[level])
        fills_[level](made.table);
    });
    return made.table;
  }

private:
  struct Made {
    std::once_flag filled;
    Table table{};
  };
  std::array<Fill, kHostLevels> fills_;
  mutable std::array<Made, kHostLevels> tables_;
};

} // namespace lemma::vgpu
