// Every .ptx file of the tree parses without an error, and its printed text says the same.
#include "corpus.h"

#include "equivalent.h"
#include "ptx/parser.h"
#include "ptx/printer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace lemma::ptx {

std::vector<std::filesystem::path> corpus_files() {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"tests/programs", "tests/fuzz/corpus", "examples"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(LEMMA_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".ptx")
        files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

namespace {

TEST(Corpus, EveryFileComesBackFromItsPrintedText) {
  const auto files = corpus_files();
  EXPECT_GE(files.size(), 40u);
  for (const auto& path : files) {
    const auto source = std::make_shared<SourceText>(path.filename(), read_file(path));
    const ParseOutcome outcome = parse(source);
    EXPECT_FALSE(has_errors(outcome.diagnostics)) << render(outcome.diagnostics, *source);
    const auto printed = std::make_shared<SourceText>("printed.ptx", print(*outcome.module));
    const ParseOutcome again = parse(printed);
    EXPECT_TRUE(again.diagnostics.empty()) << path << "\n" << render(again.diagnostics, *printed);
    EXPECT_EQ(difference(*outcome.module, *again.module), "") << path;
    EXPECT_EQ(print(*again.module), printed->text()) << path;
  }
}

} // namespace
} // namespace lemma::ptx
