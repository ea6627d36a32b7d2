// How many registers the warpgroups of a CTA may have together: tests/golden/asked/setmaxnreg.csv has for
// each launch how far setmaxnreg.inc went on an H200.
#include "kernel.h"
#include "vgpu/engine/occupancy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace lemma::vgpu {
namespace {

constexpr uint32_t kGroup = 128;

// The lines of a file of tests/golden/asked: numbers.
std::vector<std::istringstream> lines_of(const std::string& name) {
  std::ifstream file(std::string(LEMMA_GOLDEN) + "/asked/" + name);
  std::vector<std::istringstream> found;
  for (std::string line; std::getline(file, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    if (!line.starts_with('#'))
      found.emplace_back(line);
  }
  return found;
}

// A line of the file: numbers of 0 are not given.
struct Row {
  uint32_t groups = 0, maxnreg = 0, minnctapersm = 0, registers = 0, dec = 0, leaves = 0, largest = 0;
};

std::vector<Row> rows() {
  std::vector<Row> found;
  for (std::istringstream& words : lines_of("setmaxnreg.csv")) {
    Row row;
    words >> row.groups >> row.maxnreg >> row.minnctapersm >> row.registers >> row.dec >> row.leaves >>
        row.largest;
    found.push_back(row);
  }
  return found;
}

// The first warpgroup gives back, or asks for more alone; the others ask after it, and all meet.
Report run(const Row& row, uint32_t inc) {
  std::string bounds = fmt::format(".maxntid {}, 1, 1", row.groups * kGroup);
  if (row.maxnreg != 0)
    bounds += fmt::format(" .maxnreg {}", row.maxnreg);
  if (row.minnctapersm != 0)
    bounds += fmt::format(" .minnctapersm {}", row.minnctapersm);
  const std::string ask = fmt::format("setmaxnreg.inc.sync.aligned.u32 {};", inc);
  Kernel kernel(fmt::format(R"(
.visible .entry k() {} {{
  .reg .pred %first; .reg .b32 %t;
  mov.u32 %t, %tid.x;
  setp.lt.u32 %first, %t, {};
  @%first bra FIRST;
  {}
  bra.uni MEET;
FIRST:
  {}
  {}
MEET:
  bar.sync 0;
  ret;
}})",
                            bounds, kGroup, row.dec != 0 ? ask : "",
                            row.dec != 0 ? fmt::format("setmaxnreg.dec.sync.aligned.u32 {};", row.dec) : ask,
                            row.leaves != 0 ? "exit;" : ""));
  kernel.config().block = {row.groups * kGroup, 1, 1};
  return kernel.run({});
}

TEST(Setmaxnreg, ALaunchHasTheRegistersThatPtxasGives) {
  size_t compared = 0;
  for (std::istringstream& words : lines_of("launch_registers.csv")) {
    ptx::LaunchBounds bounds;
    uint32_t wanted = 0, registers = 0;
    words >> bounds.reqntid[0] >> bounds.maxnreg >> bounds.minnctapersm >> wanted >> registers;
    const uint32_t its_own = (registers + 7) / 8 * 8; // 255 are 256
    EXPECT_EQ(launch_registers(limits_of(Arch{90}), bounds, wanted), its_own) << words.str();
    ++compared;
  }
  EXPECT_GT(compared, 200u);
}

TEST(Setmaxnreg, WaitsForRegistersAsAnH200Does) {
  size_t compared = 0;
  for (const Row& row : rows()) {
    const std::string launch =
        fmt::format("{} warpgroups, .maxnreg {}, .minnctapersm {}, dec {}, leaves {}: {}", row.groups,
                    row.maxnreg, row.minnctapersm, row.dec, row.leaves, row.largest);
    EXPECT_EQ(fault_text(run(row, row.largest)), "") << launch;
    if (row.largest < 240) {
      const Report more = run(row, row.largest + 8);
      ASSERT_TRUE(more.fault) << launch;
      EXPECT_EQ(more.fault->id, "warp.setmaxnreg") << launch;
    }
    ++compared;
  }
  EXPECT_EQ(compared, 114u);
}

TEST(Setmaxnreg, SaysWhatThereIs) {
  const Report report = run({.groups = 3, .minnctapersm = 2, .dec = 24}, 240);
  ASSERT_TRUE(report.fault);
  const auto waits = std::find_if(report.waiting.begin(), report.waiting.end(), [](const Waiting& waiting) {
    return waiting.reason.starts_with("setmaxnreg");
  });
  ASSERT_NE(waits, report.waiting.end());
  EXPECT_EQ(waits->reason,
            "setmaxnreg.inc: its warpgroup has 80 registers a thread and wants 240, 160 more; those "
            "of the CTA have given back 56");
  ASSERT_FALSE(waits->notes.empty());
  EXPECT_EQ(waits->notes[0], "legal: the 3 warpgroups of a CTA have 240 registers a thread together, 80 each "
                             "at the launch (.maxnreg, "
                             ".minnctapersm), those included that have exited");
}

// The second asks before the first has given back.
TEST(Setmaxnreg, GoesOnWhenOthersGiveBack) {
  Kernel kernel(R"(
.visible .entry k() .maxntid 256, 1, 1 .maxnreg 128 {
  .reg .pred %first; .reg .b32 %t;
  mov.u32 %t, %tid.x;
  setp.lt.u32 %first, %t, 128;
  @%first bra FIRST;
  setmaxnreg.inc.sync.aligned.u32 200;
  bar.sync 1, 128;
  setmaxnreg.dec.sync.aligned.u32 40;
  bar.sync 0;
  ret;
FIRST:
  nanosleep.u32 1000;
  setmaxnreg.dec.sync.aligned.u32 56;
  bar.sync 2, 128;
  setmaxnreg.inc.sync.aligned.u32 216;
  bar.sync 0;
  ret;
})");
  kernel.config().block = {256, 1, 1};
  for (const int schedule : {0, 1, 2, 3}) {
    kernel.config().schedule = schedule;
    EXPECT_EQ(fault_text(kernel.run({})), "") << schedule;
  }
}

} // namespace
} // namespace lemma::vgpu
