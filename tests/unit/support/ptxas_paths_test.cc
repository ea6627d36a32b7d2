// Where ptxas is looked for, and in which order.
#include "support/ptxas_paths.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace lemma {
namespace {

namespace fs = std::filesystem;

// A variable of the environment, as it was again in the end.
class Variable {
public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* had = std::getenv(name))
      had_ = had;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Variable() { had_ ? setenv(name_, had_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

private:
  const char* name_;
  std::optional<std::string> had_;
};

std::vector<std::string> without_toolkit(std::vector<std::string> paths) {
  std::erase(paths, "/usr/local/cuda/bin/ptxas");
  return paths;
}

class PtxasPaths : public testing::Test {
protected:
  void SetUp() override {
    for (const char* folder : {"first", "second", "link", "empty"})
      fs::create_directories(root_ / folder);
    for (const char* folder : {"first", "second"})
      std::ofstream(root_ / folder / "ptxas");
    fs::create_symlink(root_ / "first" / "ptxas", root_ / "link" / "ptxas");
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string in(const char* folder) const { return root_ / folder; }

  const fs::path root_ = [] {
    std::string name = fs::temp_directory_path() / "lemma-ptxas-paths-XXXXXX";
    return fs::path(mkdtemp(name.data()));
  }();
};

TEST_F(PtxasPaths, ThoseOfPathInItsOrderEachOnce) {
  const Variable none("PTXAS", nullptr);
  const Variable path(
      "PATH", (in("empty") + ":" + in("second") + "::" + in("first") + ":" + in("link") + ":/none").c_str());
  EXPECT_EQ(without_toolkit(ptxas_paths()),
            (std::vector<std::string>{in("second") + "/ptxas", in("first") + "/ptxas"}));
}

TEST_F(PtxasPaths, TheVariableAlone) {
  const Variable path("PATH", in("first").c_str());
  {
    const Variable given("PTXAS", "/no/such/ptxas");
    EXPECT_EQ(ptxas_paths(), std::vector<std::string>{"/no/such/ptxas"});
  }
  const Variable given("PTXAS", "");
  EXPECT_EQ(ptxas_paths(), std::vector<std::string>());
}

} // namespace
} // namespace lemma
