// Lanes that execute an instruction their membermask does not name: every .sync form does what an H200 did,
// which tests/golden/asked/masks.csv has, with a warning, and is an error where the launch is checked.
//
// Not compared: what shfl takes from lanes that are elsewhere.
#include "kernel.h"
#include "run_ptx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <map>
#include <sstream>

namespace lemma::vgpu {
namespace {

// As masks.py has them, by the name of a form. {m}: the membermask.
const std::map<std::string, std::string> kForms = {
    {"shfl_idx", "shfl.sync.idx.b32 %r|%p, %v, %x1, 31, {m};"},
    {"shfl_up", "shfl.sync.up.b32 %r|%p, %v, 16, 0, {m};"},
    {"shfl_up1", "shfl.sync.up.b32 %r|%p, %v, 1, 0, {m};"},
    {"shfl_down", "shfl.sync.down.b32 %r|%p, %v, 3, 31, {m};"},
    {"shfl_bfly", "shfl.sync.bfly.b32 %r|%p, %v, 16, 31, {m};"},
    {"vote_all", "vote.sync.all.pred %p, %b, {m};"},
    {"vote_allt", "vote.sync.all.pred %p, %true16, {m};"},
    {"vote_any", "vote.sync.any.pred %p, %b, {m};"},
    {"vote_anyh", "vote.sync.any.pred %p, %high, {m};"},
    {"vote_uni", "vote.sync.uni.pred %p, %b, {m};"},
    {"vote_unit", "vote.sync.uni.pred %p, %true16, {m};"},
    {"ballot", "vote.sync.ballot.b32 %r, %b, {m};"},
    {"match_any", "match.any.sync.b32 %r, %k, {m};"},
    {"match_any64", "match.any.sync.b64 %r, %k64, {m};"},
    {"match_all", "match.all.sync.b32 %r|%p, %k, {m};"},
    {"match_allc", "match.all.sync.b32 %r|%p, %h, {m};"},
    {"match_all64", "match.all.sync.b64 %r|%p, %h64, {m};"},
    {"redux_add", "redux.sync.add.u32 %r, %t, {m};"},
    {"redux_min", "redux.sync.min.s32 %r, %w, {m};"},
    {"redux_max", "redux.sync.max.u32 %r, %t, {m};"},
    {"redux_and", "redux.sync.and.b32 %r, %w, {m};"},
    {"redux_or", "redux.sync.or.b32 %r, %bit, {m};"},
    {"redux_xor", "redux.sync.xor.b32 %r, %bit, {m};"},
    {"bar_warp", "bar.warp.sync {m};"},
    {"elect", "elect.sync %r|%p, {m};"},
};

enum class Who { all, half, half_guarded };

// Each lane's membermask comes from `masks`; half of the lanes execute the form if so, by a branch or a
// guard.
std::string kernel_text(const std::string& form, Who who) {
  return fmt::format(R"(
.visible .entry k(.param .u64 p_masks, .param .u64 p_out) {{
  .reg .b64 %masks, %out, %k64, %h64;
  .reg .b32 %t, %v, %r, %m, %k, %h, %w, %bit, %x1, %z;
  .reg .pred %p, %b, %true16, %high, %low;
  ld.param.u64 %masks, [p_masks]; ld.param.u64 %out, [p_out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %out, %t, 4, %out; mad.wide.u32 %masks, %t, 4, %masks;
  ld.global.u32 %m, [%masks];
  mad.lo.u32 %v, %t, 3, 100; xor.b32 %x1, %t, 1; rem.u32 %z, %t, 3; setp.ne.u32 %b, %z, 0;
  setp.lt.u32 %true16, %t, 16; setp.ge.u32 %high, %t, 16;
  shr.u32 %k, %t, 3; and.b32 %k, %k, 1; shr.u32 %h, %t, 4;
  cvt.u64.u32 %k64, %k; shl.b64 %k64, %k64, 33; cvt.u64.u32 %h64, %h; shl.b64 %h64, %h64, 33;
  sub.u32 %w, 17, %t; shl.b32 %bit, 1, %t; mov.u32 %r, 0xdead; setp.lt.u32 %low, %t, 16;
  setp.ne.u32 %p, %t, %t;
  {}
  {}
  st.global.u32 [%out], %r;
  selp.u32 %r, 1, 0, %p; st.global.u32 [%out+128], %r;
END:
  ret;
}})",
                     who == Who::half ? "@!%low bra END;" : "",
                     (who == Who::half_guarded ? "@%low " : "") +
                         fmt::format(fmt::runtime(form), fmt::arg("m", "%m")));
}

// "c0000ffff", "branch_r0000ff00", "below", "c0000ffff_20": who executes, in a block of how many, with which
// masks.
struct Situation {
  Who who = Who::all;
  uint32_t threads = 32;
  std::vector<uint32_t> masks;
};
Situation situation(std::string name) {
  Situation s;
  const auto cut = [&](std::string_view prefix) {
    const bool has = name.starts_with(prefix);
    name.erase(0, has ? prefix.size() : 0);
    return has;
  };
  s.who = cut("branch_") ? Who::half : cut("guard_") ? Who::half_guarded : Who::all;
  if (name.ends_with("_20")) {
    s.threads = 20;
    name.resize(name.size() - 3);
  }
  for (uint32_t t = 0; t < 32; ++t) {
    const bool low = t < 16;
    s.masks.push_back(name == "below"        ? (1u << t) - 1
                      : name == "others"     ? ~(1u << t)
                      : name == "swapped"    ? (low ? 0xffff0000u : 0xffffu)
                      : name == "one_out"    ? (t == 0 ? 0xfffffffeu : ~0u)
                      : name == "zero5"      ? (t == 5 ? 0 : 0xffffffdfu)
                      : name == "other5"     ? (t == 5 ? 0x40 : 0xffffffdfu)
                      : name == "join5"      ? 0xffffffdfu
                      : name == "halves"     ? (low ? 0xffffu : 0xffff0000u)
                      : name == "half_lacks" ? (low ? 0xfffeu : 0xffff0000u)
                      : name == "half_zero" ? (low ? 0xffffu : 0)
                                            : static_cast<uint32_t>(std::stoul(name.substr(1), nullptr, 16)));
  }
  return s;
}

std::string hash(const std::vector<uint32_t>& words) {
  uint64_t h = 0xcbf29ce484222325;
  for (const uint32_t word : words)
    for (int byte = 0; byte < 4; ++byte)
      h = (h ^ (word >> 8 * byte & 0xff)) * 0x100000001b3;
  return fmt::format("{:016x}", h);
}

TEST(Membermask, WhatLacksALaneIsAsOnAnH200) {
  std::ifstream file(LEMMA_GOLDEN "/asked/masks.csv");
  std::map<std::pair<std::string, Who>, std::unique_ptr<Kernel>> kernels;
  int compared = 0, refused = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#'))
      continue;
    std::istringstream fields(line);
    std::string form, name, outcome, want;
    std::getline(fields, form, ',');
    std::getline(fields, name, ',');
    std::getline(fields, outcome, ',');
    std::getline(fields, want);
    const Situation s = situation(name);
    auto& kernel = kernels[{form, s.who}];
    if (!kernel)
      kernel = std::make_unique<Kernel>(kernel_text(kForms.at(form), s.who));
    kernel->config().block = {s.threads, 1, 1};
    const uint64_t out = kernel->buffer(std::vector<uint32_t>(64, 0xeeeeeeee));
    const Report report = kernel->run({kernel->buffer(s.masks), out});
    if (outcome == "illegal instruction") {
      ASSERT_NE(fault_text(report).find("its membermask does not name that lane"), std::string::npos) << line;
      ++refused;
      continue;
    }
    ASSERT_EQ(fault_text(report), "") << line;
    bool lacks = false;
    for (uint32_t t = 0; t < (s.who == Who::all ? s.threads : 16); ++t)
      lacks |= (s.masks[t] >> t & 1) == 0;
    ASSERT_EQ(report.warnings.size(), lacks ? 1u : 0u) << line;
    const bool asks_elsewhere = (s.who != Who::all || s.threads != 32 || name == "halves") &&
                                (form == "shfl_down" || form == "shfl_bfly" || form == "shfl_up1");
    if (!asks_elsewhere) {
      ASSERT_EQ(hash(kernel->read<uint32_t>(out, 64)), want) << line;
    }
    ++compared;
  }
  EXPECT_EQ(compared, 775);
  EXPECT_EQ(refused, 400);
}

TEST(Membermask, WhatLacksALaneIsToldOnce) {
  Kernel kernel(kernel_text(kForms.at("ballot"), Who::all));
  const std::vector<uint32_t> masks(32, 0xffff);
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(64));
  const Report report = kernel.run({kernel.buffer(masks), out});
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(
      report.warnings[0].find("lane 16 executes vote.sync, and its membermask 0x0000ffff does not name that "
                              "lane: the PTX ISA leaves undefined what happens (warp.mask"),
      std::string::npos)
      << report.warnings[0];
  kernel.config().check = true;
  EXPECT_EQ(kernel.run({kernel.buffer(masks), out}).fault->id, "warp.mask");
}

} // namespace
} // namespace lemma::vgpu
