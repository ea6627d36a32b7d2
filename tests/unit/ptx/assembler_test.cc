// Printed text means to the assembler what the original means: ptxas makes the same machine code of both.
// Every .ptx file of the tree, and every seed of the fuzzers.
#include "corpus.h"
#include "ptx/parser.h"
#include "ptx/printer.h"
#include "ptxas/ptxas.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace lemma::ptx {
namespace {

TEST(Assembler, MakesTheSameCodeOfThePrintedText) {
  size_t compared = 0;
  for (const std::filesystem::path& path : corpus_files()) {
    const std::string text = read_file(path);
    const ParseOutcome outcome = parse(std::make_shared<SourceText>(path.filename(), text));
    ASSERT_FALSE(has_errors(outcome.diagnostics)) << path;
    const std::string options = "-c -arch=" + outcome.module->targets.at(0), printed = print(*outcome.module);
    const auto original_code = ptxas::code_of(text, options);
    const auto printed_code = original_code == 0 ? 0 : ptxas::code_of(printed, options);
    LEMMA_SKIP_WITHOUT_PTXAS(original_code && printed_code);
    if (*original_code == 0) // what ptxas refuses for its own reasons; seeds need not be complete programs
      continue;
    EXPECT_NE(*printed_code, 0u) << path << ": refused\n" << printed;
    EXPECT_EQ(*printed_code, *original_code) << path << ": other machine code\n" << printed;
    ++compared;
  }
  EXPECT_GE(compared, 30u);
}

} // namespace
} // namespace lemma::ptx
