// Every .ptx file of the tree parses without a word.
#include "equivalent.h"
#include "ptx/parser.h"
#include "ptx/printer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace lemma::ptx {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Corpus, EveryFileParses) {
  size_t files = 0;
  for (const char* folder : {"tests/programs", "examples"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(LEMMA_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".ptx") {
        ++files;
        auto source = std::make_shared<SourceText>(entry.path().filename(), read(entry.path()));
        ParseOutcome outcome = parse(source);
        // Which spellings have a form is not the parser's to say.
        std::erase_if(outcome.diagnostics, [](const Diagnostic& d) { return d.id == "qualifier"; });
        EXPECT_TRUE(outcome.diagnostics.empty()) << render(outcome.diagnostics, *source);
        auto printed = std::make_shared<SourceText>("printed.ptx", print(*outcome.module));
        const ParseOutcome again = parse(printed);
        EXPECT_TRUE(again.diagnostics.empty()) << render(again.diagnostics, *printed);
        EXPECT_EQ(difference(*outcome.module, *again.module), "") << entry.path();
      }
  EXPECT_GE(files, 10u);
}

} // namespace
} // namespace lemma::ptx
