// One file a rule: cases/bad-NAME.ptx has exactly one error, the one that its first line expects
// (`// expect: id: fragment of the message`), and its twin cases/NAME-ok.ptx none. ptxas agrees.
#include "oracle.h"
#include "ptx/parser.h"
#include "ptxas/ptxas.h"
#include "verify/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace lemma::verify_test {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> bad_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(LEMMA_TEST_DATA "/cases"))
    if (entry.path().filename().string().starts_with("bad-"))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

fs::path twin_of(const fs::path& bad) {
  const std::string name = bad.stem().string().substr(4);
  return bad.parent_path() / (name + "-ok.ptx");
}

Diagnostics errors_of(const fs::path& path, std::string& rendered) {
  const auto source = std::make_shared<SourceText>(path.filename().string(), read(path));
  auto outcome = ptx::parse(source);
  Diagnostics all = outcome.diagnostics;
  if (!has_errors(all))
    for (Diagnostic& d : verify::verify(*outcome.module))
      all.push_back(std::move(d));
  std::erase_if(all, [](const Diagnostic& d) { return d.severity == Severity::warning; });
  rendered = render(all, *source);
  return all;
}

TEST(Cases, HaveTheOneErrorThatTheyExpect) {
  const auto files = bad_files();
  ASSERT_GE(files.size(), 80u);
  for (const fs::path& bad : files) {
    const std::string text = read(bad);
    const std::string first = text.substr(0, text.find('\n'));
    const std::string expect = "// expect: ";
    ASSERT_TRUE(first.starts_with(expect)) << bad;
    const std::string wanted = first.substr(expect.size());
    const std::string id = wanted.substr(0, wanted.find(": "));
    const std::string fragment = wanted.substr(id.size() + 2);
    std::string rendered;
    const Diagnostics errors = errors_of(bad, rendered);
    ASSERT_EQ(errors.size(), 1u) << bad << "\n" << rendered;
    EXPECT_EQ(errors[0].id, id) << rendered;
    EXPECT_NE(errors[0].message.find(fragment), std::string::npos) << "wanted: " << fragment << "\n"
                                                                   << rendered;
  }
}

TEST(Cases, HaveATwinThatIsAccepted) {
  for (const fs::path& bad : bad_files()) {
    ASSERT_TRUE(fs::exists(twin_of(bad))) << bad;
    std::string rendered;
    EXPECT_TRUE(errors_of(twin_of(bad), rendered).empty()) << rendered;
  }
}

TEST(Cases, AreJudgedTheSameByPtxas) {
  for (const fs::path& bad : bad_files())
    for (const fs::path& file : {bad, twin_of(bad)}) {
      const std::string text = read(file);
      const size_t at = text.find(".target ") + 8;
      const std::string target = text.substr(at, text.find_first_of(",\n", at) - at);
      const auto accepts = ptxas_accepts(text, target);
      LEMMA_SKIP_WITHOUT_PTXAS(accepts);
      EXPECT_EQ(*accepts, file != bad) << file;
    }
}

} // namespace
} // namespace lemma::verify_test
