// What nvcc made for the examples and the test programs is legal.
#include "ptx/parser.h"
#include "verify/verify.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace lemma::verify_test {
namespace {

TEST(Modules, OfNvccAreAccepted) {
  int count = 0;
  for (const char* folder : {LEMMA_SOURCE "/examples", LEMMA_SOURCE "/tests/programs"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".ptx")
        continue;
      ++count;
      std::ifstream file(entry.path());
      const auto source = std::make_shared<SourceText>(
          entry.path().string(),
          std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
      const auto outcome = ptx::parse(source);
      ASSERT_FALSE(has_errors(outcome.diagnostics)) << render(outcome.diagnostics, *source);
      const Diagnostics diagnostics = verify::verify(*outcome.module);
      EXPECT_TRUE(diagnostics.empty()) << render(diagnostics, *source);
    }
  EXPECT_GE(count, 30);
}

} // namespace
} // namespace lemma::verify_test
