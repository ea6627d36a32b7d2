// What the tests of the host runtime share: a context for each test, kernels, and a host program's calls.
#pragma once

#include "mgpu/context.h"
#include "mgpu/entry_points.h"

#include <gtest/gtest.h>

#include <regex.h>

#include <optional>
#include <string>
#include <vector>

namespace lemma::mgpu {

// scale: y[i] = a * x[i], u32. Others by their names.
inline constexpr const char* kKernels = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .u32 a)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<5>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r1, %r1, %r2, %r3;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.u32 %r4, [a];
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd1, %rd1, %rd3;
  add.s64 %rd2, %rd2, %rd3;
  ld.global.u32 %r5, [%rd1];
  mul.lo.u32 %r5, %r5, %r4;
  st.global.u32 [%rd2], %r5;
  ret;
}
// y[cta] = the CTA's rank in its cluster + 100 * the size of the cluster
.visible .entry ranks(.param .u64 y)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [y];
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  mov.u32 %r2, %cluster_nctarank;
  mov.u32 %r3, %cluster_ctarank;
  mad.lo.u32 %r3, %r2, 100, %r3;
  st.global.u32 [%rd1], %r3;
  ret;
}
// y[0] = the size of the dynamic shared memory
.visible .entry dynamic(.param .u64 y)
{
  .reg .b32 %r1;
  .reg .b64 %rd1;
  ld.param.u64 %rd1, [y];
  mov.u32 %r1, %dynamic_smem_size;
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry nothing() { ret; }
)";

// A test of one program: a context for it, whose warnings are kept in `said`.
class Program : public testing::Test {
protected:
  Program() { configure(); }

  // Starts anew.
  void configure(Options options = {}, Hooks hooks = {}) {
    finish();
    if (!hooks.said)
      hooks.said = [this](std::string_view text) { said += text; };
    context_.emplace(std::move(options), std::move(hooks));
    bound_.emplace(*context_);
    module_ = nullptr;
  }
  void finish() {
    bound_.reset();
    context_.reset();
  }
  Context& context() { return *context_; }

  // The statement ends in the middle: the status, and a text that the pattern (POSIX, extended) matches.
  template <class F>
  void expect_stop(const F& statement, int status, const std::string& pattern) {
    struct Both {
      const F& statement;
      bool returned = false;
    } both{statement};
    const std::optional<Stop> stop = context_->run(
        [](void* argument) {
          auto* both = static_cast<Both*>(argument);
          both->statement();
          both->returned = true;
        },
        &both);
    EXPECT_FALSE(both.returned);
    ASSERT_TRUE(stop) << pattern;
    EXPECT_EQ(stop->exit_status, status);
    regex_t compiled;
    ASSERT_EQ(regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB), 0) << pattern;
    EXPECT_EQ(regexec(&compiled, stop->text.c_str(), 0, nullptr, 0), 0) << pattern << "\n" << stop->text;
    regfree(&compiled);
  }

  void* kernel(const char* name) {
    if (!module_)
      module_ = mgpuModuleLoadJIT(kKernels, 2);
    return mgpuModuleGetFunction(module_, name);
  }
  // One value a parameter.
  template <class... Values>
  void launch(const char* name, intptr_t grid, intptr_t block, Values... values) {
    void* params[] = {&values..., nullptr};
    mgpuLaunchKernel(kernel(name), grid, 1, 1, block, 1, 1, 0, nullptr, params, nullptr, sizeof...(values));
  }

  void* device_memory(const std::vector<uint32_t>& words) {
    void* memory = mgpuMemAlloc(words.size() * 4, nullptr, false);
    mgpuMemcpy(memory, words.data(), words.size() * 4, nullptr);
    return memory;
  }
  static std::vector<uint32_t> read(const void* memory, size_t words) {
    std::vector<uint32_t> out(words);
    mgpuMemcpy(out.data(), memory, words * 4, nullptr);
    return out;
  }

  std::string said;

private:
  std::optional<Context> context_;
  std::optional<Context::Bound> bound_;
  void* module_ = nullptr;
};

using Words = std::vector<uint32_t>;

#define EXPECT_STOP(statement, pattern) expect_stop([&] { statement; }, 1, pattern)
#define EXPECT_UNSUPPORTED(statement, pattern) expect_stop([&] { statement; }, 3, pattern)

} // namespace lemma::mgpu
