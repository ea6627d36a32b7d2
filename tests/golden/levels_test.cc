// The recorded bits at every level of the host's vector instructions. golden.GROUP replays them at the
// highest; here the groups whose bits come from loops that are compiled once a level are replayed at the
// levels below: lane kernels whole, matrix products with every eighth case of a group, others at each level.
#include "golden/groups.h"
#include "golden/record_file.h"
#include "golden/replay.h"
#include "numeric/dot_levels.h"
#include "vgpu/handlers/arithmetic/levels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace lemma::golden {
namespace {

using numeric::internal::dot_level;
using numeric::internal::dot_levels;
using numeric::internal::DotLevel;
using numeric::internal::set_dot_level;
using vgpu::host_level;
using vgpu::host_levels;
using vgpu::HostLevel;
using vgpu::set_host_level;

// Both levels are as before when a test ends.
class Levels : public testing::Test {
protected:
  void TearDown() override {
    set_host_level(host_);
    set_dot_level(dot_);
  }

  // Replays every `step`-th case of a group from `first` on. How many cases there were.
  static size_t replay(const std::string& name, const std::string& level, size_t step = 1, size_t first = 0) {
    const Group group = make_group(name);
    const auto record = read_record(LEMMA_RECORDED, name);
    EXPECT_TRUE(record) << name;
    if (!record)
      return 0;
    size_t ran = 0;
    const auto wanted = [&](const Case& c) {
      const auto index = static_cast<size_t>(&c - group.cases.data());
      return index % step == first % step;
    };
    const auto done = [&](const Case& c, std::span<const std::byte> inputs,
                          std::span<const std::byte> outputs, const std::string& error) {
      ++ran;
      EXPECT_EQ(error, "") << name << "/" << c.name << " at " << level;
      EXPECT_TRUE(error.empty() && compare(c, *record, inputs, outputs).equal())
          << name << "/" << c.name << " is not the hardware's at " << level;
    };
    EXPECT_TRUE(run_group(group, {}, wanted, done));
    return ran;
  }

private:
  const HostLevel host_ = host_level();
  const DotLevel dot_ = dot_level();
};

// The approximate functions are among f32, f64 and half: their level is the matrix products'.
DotLevel same_for_products(HostLevel level) {
  return level == HostLevel::baseline ? DotLevel::baseline
         : level == HostLevel::avx2   ? DotLevel::avx2
                                      : DotLevel::avx512;
}

TEST_F(Levels, OfLaneKernels) {
  if (host_levels().size() < 2)
    GTEST_SKIP() << "SKIPPED: the host has one level of lane kernels, which golden.GROUP replays";
  for (const HostLevel level : host_levels()) {
    if (level == host_levels().back())
      continue;
    set_host_level(level);
    set_dot_level(same_for_products(level));
    size_t ran = 0;
    for (const char* group : {"integer", "logic", "f32", "f64", "half", "compare", "convert", "carry",
                              "video", "warp", "memory", "atomic", "operands", "divergence"})
      ran += replay(group, std::string(to_string(level)));
    EXPECT_GE(ran, 7000u);
  }
}

TEST_F(Levels, OfMatrixProducts) {
  if (dot_levels().size() < 2)
    GTEST_SKIP() << "SKIPPED: the host has one level of matrix products, which golden.GROUP replays";
  for (const DotLevel level : dot_levels()) {
    if (level == dot_levels().back() ||
        level == DotLevel::scalar) // what the other levels do not take is scalar
      continue;
    set_dot_level(level);
    size_t ran = 0;
    for (const char* group : {"mma", "mma_narrow", "mma_sp", "wmma", "wgmma", "wgmma_sp"})
      ran += replay(group, std::string(to_string(level)), 8, static_cast<size_t>(level));
    EXPECT_GE(ran, 150u);
  }
}

} // namespace
} // namespace lemma::golden
