// PTX text that is newer than the driver takes, on the cuda device: a driver (fake_cuda.cc) and assemblers
// made for the test. That a real driver refuses and loads likewise is shown by runs on a GPU, not here.
#include "fake_cuda.h"

#include "lemma/lemma.h"
#include "runtime/assemble.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>

namespace lemma {
namespace {

namespace fs = std::filesystem;

std::string text_for(const std::string& version, const std::string& target) {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n.visible .entry k() { ret; }\n";
}

TEST(NewestPtx, IsInTheRefusal) {
  EXPECT_EQ(runtime::newest_ptx_in(
                "ptxas a.ptx, line 1; fatal   : Unsupported .version 9.5; current version is '9.0'\n"),
            "9.0");
  EXPECT_EQ(runtime::newest_ptx_in("ptxas fatal   : Ptx assembly aborted due to errors"), "");
  EXPECT_EQ(runtime::newest_ptx_in("Unsupported .version 9.5; current version is 'none'"), "");
  EXPECT_EQ(runtime::newest_ptx_in("Unsupported .version 9.5"), "");
  EXPECT_EQ(runtime::newest_ptx_in(""), "");
}

class NewerPtx : public testing::Test {
protected:
  static void SetUpTestSuite() {
    void* library = dlopen(FAKE_CUDA, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    state_ = reinterpret_cast<decltype(&fake_cuda_state)>(dlsym(library, "fake_cuda_state"))();
  }
  void SetUp() override {
    *state_ = {};
    fs::create_directories(root_);
    setenv("PTXAS", "", 1);
  }
  void TearDown() override {
    unsetenv("PTXAS");
    fs::remove_all(root_);
  }

  // A script that is called as ptxas is: $5 is the output, of the name before it the text.
  std::string assembler(const std::string& name, const std::string& body) const {
    const fs::path path = root_ / name;
    std::ofstream(path)
        << "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'Cuda compilation tools, release 13.5, V13.5.37'; "
           "exit; }\n" +
               body + "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  // It makes a cubin that says how it was called.
  std::string one_that_takes_it() const {
    return assembler("newer", "printf 'cubin %s %s ' \"$1\" \"$2\" >\"$5\"; head -n 1 \"$3\" >>\"$5\"");
  }
  std::string one_that_is_old() const {
    return assembler("older", "echo \"ptxas $3, line 1; fatal   : Unsupported .version 9.5; current version "
                              "is '9.1'\" >&2; exit 1");
  }

  static Result<Module, Error> load(const std::string& text, unsigned optimization = 4) {
    return Device::open("cuda")->load_ptx(text, {.name = "k.ptx", .optimization = optimization});
  }
  static void expect_said(const Result<Module, Error>& module, const std::vector<std::string>& words) {
    ASSERT_FALSE(module);
    EXPECT_EQ(module.error().kind, ErrorKind::unsupported);
    for (const std::string& word : words)
      EXPECT_NE(module.error().text.find(word), std::string::npos) << word << "\nin\n" << module.error().text;
  }

  static fake_cuda::State* state_;
  const fs::path root_ = [] {
    std::string name = fs::temp_directory_path() / "lemma-newer-ptx-XXXXXX";
    return fs::path(mkdtemp(name.data()));
  }();
};
fake_cuda::State* NewerPtx::state_ = nullptr;

TEST_F(NewerPtx, IsTheDriversIfItTakesIt) {
  setenv("PTXAS", one_that_takes_it().c_str(), 1);
  const auto module = load(text_for("9.0", "sm_90a"));
  ASSERT_TRUE(module) << module.error().text;
  EXPECT_EQ(module->assembled_by(), "");
  EXPECT_TRUE(state_->cubins.empty());
}

TEST_F(NewerPtx, IsAssembledForTheGpu) {
  const std::string path = one_that_takes_it();
  setenv("PTXAS", path.c_str(), 1);
  const auto module = load(text_for("9.5", "sm_90a"));
  ASSERT_TRUE(module) << module.error().text;
  EXPECT_EQ(module->assembled_by(), path + " 13.5.37 for sm_90a");
  ASSERT_TRUE(load(text_for("9.5", "sm_80"), 0));
  EXPECT_EQ(state_->cubins, (std::vector<std::string>{"cubin -O4 -arch=sm_90a .version 9.5\n",
                                                      "cubin -O0 -arch=sm_90 .version 9.5\n"}));
  EXPECT_TRUE(module->kernel("k")->launch({}, {}));
}

TEST_F(NewerPtx, IsAssembledByTheFirstThatTakesIt) {
  unsetenv("PTXAS");
  const std::string path = std::getenv("PATH");
  fs::create_directories(root_ / "a");
  fs::create_directories(root_ / "b");
  fs::rename(one_that_is_old(), root_ / "a" / "ptxas");
  fs::rename(one_that_takes_it(), root_ / "b" / "ptxas");
  setenv("PATH", ((root_ / "a").string() + ":" + (root_ / "b").string() + ":" + path).c_str(), 1);
  const auto module = load(text_for("9.5", "sm_90a"));
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(module) << module.error().text;
  EXPECT_EQ(module->assembled_by(), (root_ / "b" / "ptxas").string() + " 13.5.37 for sm_90a");
}

TEST_F(NewerPtx, SaysWhoTakesWhatAndWhatToDo) {
  expect_said(load(text_for("9.5", "sm_90a")),
              {"k.ptx is PTX 9.5", "the driver, of CUDA 13.0, takes PTX up to 9.0", "no ptxas was found",
               "for sm_90a", "`.version 9.0`"});
  const std::string old = one_that_is_old();
  setenv("PTXAS", old.c_str(), 1);
  expect_said(load(text_for("9.5", "sm_90a")), {old + ": takes PTX up to 9.1", "to do: "});
  setenv("PTXAS", "/no/such/ptxas", 1);
  expect_said(load(text_for("9.5", "sm_90a")), {"/no/such/ptxas: No such file or directory"});
  EXPECT_TRUE(state_->cubins.empty());
}

TEST_F(NewerPtx, SaysWhatTheAssemblerSaid) {
  setenv("PTXAS",
         assembler("wrong", "echo \"ptxas $3, line 4; error   : no such thing\"; echo more; exit 1").c_str(),
         1);
  const auto module = load(text_for("9.5", "sm_90a"));
  expect_said(module, {"ptxas the text, line 4; error   : no such thing"});
  EXPECT_EQ(module.error().text.find("more"), std::string::npos);
}

TEST_F(NewerPtx, SaysWhereTheDriverRefusesTheCubin) {
  const std::string path = assembler("strange", "echo not_for_this_driver >\"$5\"");
  setenv("PTXAS", path.c_str(), 1);
  const auto module = load(text_for("9.5", "sm_90a"));
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().text.find("does not load what ptxas made"), std::string::npos)
      << module.error().text;
  EXPECT_NE(module.error().text.find("it is of " + path + " 13.5.37 for sm_90a"), std::string::npos);
}

TEST_F(NewerPtx, ForAnotherGpuIsTheDriversAnswer) {
  setenv("PTXAS", one_that_takes_it().c_str(), 1);
  expect_said(load(text_for("8.6", "sm_100a")),
              {"k.ptx is for sm_100a, which runs on sm_100 alone; the GPU is sm_90"});
  expect_said(load(text_for("9.5", "sm_120f")),
              {"k.ptx is for sm_120f, which runs on sm_120 and up in its family"});
  EXPECT_TRUE(state_->cubins.empty());
}

TEST_F(NewerPtx, LeavesNothingBehind) {
  const fs::path temporary = root_ / "tmp";
  fs::create_directories(temporary);
  setenv("TMPDIR", temporary.c_str(), 1);
  setenv("PTXAS", one_that_takes_it().c_str(), 1);
  const auto module = load(text_for("9.5", "sm_90a"));
  EXPECT_TRUE(module) << module.error().text;
  EXPECT_TRUE(fs::is_empty(temporary));
  setenv("TMPDIR", "/no/such/folder", 1);
  expect_said(load(text_for("9.5", "sm_90a")), {"cannot make a folder for temporary files (TMPDIR)"});
  unsetenv("TMPDIR");
}

} // namespace
} // namespace lemma
