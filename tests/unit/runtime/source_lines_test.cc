// Which files are read for the lines of sources. src/runtime/source_lines.h.
#include "runtime/source_lines.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace lemma::runtime {
namespace {

namespace fs = std::filesystem;

class Sources : public testing::Test {
protected:
  Sources() {
    folder_ = fs::temp_directory_path() / ("lemma-sources-" + std::to_string(getpid()));
    fs::create_directories(folder_ / "src");
    save("src/a.cu", "first\n\t  second  \r\n\nlast");
    save("b.py", "of Python\n");
    save("secret.txt", "no source\n");
  }
  ~Sources() override { fs::remove_all(folder_); }
  void save(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  std::string line(const std::string& file, uint32_t line) {
    return SourceLines((folder_ / "k.ptx").string()).line(file, line);
  }
  fs::path folder_;
};

TEST_F(Sources, AreFoundBesideThePtx) {
  EXPECT_EQ(line("src/a.cu", 1), "first");
  EXPECT_EQ(line("src/a.cu", 2), "second");
  EXPECT_EQ(line("src/a.cu", 3), "");
  EXPECT_EQ(line("src/a.cu", 4), "last");
  EXPECT_EQ(line("src/a.cu", 5), "");
  EXPECT_EQ(line("src/a.cu", 0), "");
  EXPECT_EQ(line("/elsewhere/b.py", 1), "of Python");
  EXPECT_EQ(line((folder_ / "src/a.cu").string(), 1), "first");
  EXPECT_EQ(line("", 1), "");
  EXPECT_EQ(line("no.cu", 1), "");
}

// A .file directive may name anything.
TEST_F(Sources, AreOnlyWhatSourcesAreCalled) {
  EXPECT_EQ(line("secret.txt", 1), "");
  EXPECT_EQ(line("/etc/passwd", 1), "");
  EXPECT_EQ(line("/dev/zero", 1), "");
  EXPECT_EQ(line("src", 1), "");
  ASSERT_EQ(mkfifo((folder_ / "pipe.cu").c_str(), 0600), 0);
  EXPECT_EQ(line("pipe.cu", 1), "");
}

} // namespace
} // namespace lemma::runtime
