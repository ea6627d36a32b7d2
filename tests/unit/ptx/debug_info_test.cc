// Names of parameters in what nvcc -G writes, and sections that are not what they should be.
// src/ptx/debug_info.h.
#include "ptx/debug_info.h"

#include "corpus.h"
#include "parse_text.h"

#include <gtest/gtest.h>

#include <random>

namespace lemma::ptx {
namespace {

using Names = std::map<size_t, std::vector<std::string>>;

std::unique_ptr<Module> compiled() {
  return parse_well(read_file(LEMMA_SOURCE_DIR "/tests/cli/debug.ptx"));
}

DebugSection& section(Module& module, std::string_view name) {
  for (DebugSection& each : module.sections)
    if (each.name == name)
      return each;
  ADD_FAILURE() << name;
  return module.sections.front();
}

TEST(DebugInfo, HasTheNamesOfParameters) {
  EXPECT_EQ(source_parameters(*compiled()), (Names{{0, {"data", "factor", "count"}}}));
}

TEST(DebugInfo, IsAbsentWithoutG) {
  EXPECT_EQ(source_parameters(
                *parse_well(".version 8.0 .target sm_80 .visible .entry k(.param .u32 k_param_0) { ret; }")),
            Names{});
}

// Cut short anywhere, or with bytes changed: names may be lost, and nothing else happens.
TEST(DebugInfo, MayBeBroken) {
  const auto module = compiled();
  std::mt19937_64 random(1);
  size_t found = 0, runs = 0;
  for (const char* name : {".debug_info", ".debug_abbrev"}) {
    DebugSection& broken = section(*module, name);
    const std::string whole = broken.text;
    for (size_t size = 0; size < whole.size(); size += 7) {
      broken.text = whole.substr(0, size);
      found += source_parameters(*module).size();
      ++runs;
    }
    for (int i = 0; i < 300; ++i) {
      broken.text = whole;
      for (size_t at = random() % 64; at < whole.size(); at += 1 + random() % 256)
        if (whole[at] >= '0' && whole[at] <= '9')
          broken.text[at] = static_cast<char>('0' + random() % 10);
      found += source_parameters(*module).size();
      ++runs;
    }
    broken.text = whole;
  }
  EXPECT_LT(found, runs);
  EXPECT_EQ(source_parameters(*module).size(), 1u);
}

} // namespace
} // namespace lemma::ptx
