// shfl, vote, match, redux, activemask, elect and bar.warp.sync against statements that think of segments and
// sets of lanes, not of the ISA's bit formulas; several groups in one execution; lanes that come late or
// never.
#include "kernel.h"
#include "vgpu/handlers/arithmetic/levels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>

namespace lemma::vgpu {
namespace {

// Each lane loads %a, %b, %c, %m (the fifth column is free: %e) from its row of `in` and stores %d and, as 0
// or 1, %p to its row of `out`. Lanes run the body together; `%q` is the low bit of %e.
std::string lanes(const std::string& body, const std::string& head = "") {
  return head + R"(
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .b64 %in, %out, %delta, %wide;
  .reg .b32 %t, %a, %b, %c, %m, %e, %d, %x, %y;
  .reg .pred %p, %q;
  mov.u32 %t, %tid.x;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mul.wide.u32 %delta, %t, 32;
  add.u64 %in, %in, %delta;
  mul.wide.u32 %delta, %t, 8;
  add.u64 %out, %out, %delta;
  ld.global.u32 %a, [%in];
  ld.global.u32 %b, [%in+4];
  ld.global.u32 %c, [%in+8];
  ld.global.u32 %m, [%in+12];
  ld.global.u32 %e, [%in+16];
  ld.global.u64 %wide, [%in+24];
  mov.b32 %d, 0;
  setp.ne.u32 %p, %d, 0;
  and.b32 %x, %e, 1;
  setp.ne.u32 %q, %x, 0;
)" + body +
         R"(
  st.global.u32 [%out], %d;
  selp.b32 %y, 1, 0, %p;
  st.global.u32 [%out+4], %y;
  ret;
})";
}

struct Row {
  uint32_t a = 0, b = 0, c = 0, m = ~0u, e = 0, unused = 0;
  uint64_t wide = 0;
};

struct Result {
  uint32_t d;
  uint32_t p;
};

class Lanes {
public:
  explicit Lanes(const std::string& body, const std::string& head = "") : kernel_(lanes(body, head)) {}
  std::vector<Result> run(const std::vector<Row>& rows) {
    const uint64_t out = kernel_.buffer(std::vector<Result>(32));
    report = kernel_.run({kernel_.buffer(rows), out});
    EXPECT_EQ(fault_text(report), "");
    return kernel_.read<Result>(out, 32);
  }
  Report report;

private:
  Kernel kernel_;
};

// CUDA's __shfl_*_sync for a width of 2, 4, ... 32: the lane to read from within the lane's own segment, or
// -1.
int source_in_segment(const std::string& mode, int lane, int operand, int width) {
  const int segment = lane / width * width;
  if (mode == "idx")
    return segment + operand % width;
  const int source = mode == "up" ? lane - operand : mode == "down" ? lane + operand : lane ^ operand;
  if (mode == "bfly") // reaches into lower segments, not into higher ones
    return source < segment + width ? source : -1;
  return source >= segment && source < segment + width ? source : -1;
}

TEST(Shuffle, EveryModeWidthAndOperand) {
  for (const std::string mode : {"up", "down", "bfly", "idx"}) {
    Lanes kernel(fmt::format("  shfl.sync.{}.b32 %d|%p, %a, %b, %c, %m;", mode));
    for (int width = 1; width <= 32; width *= 2)
      for (int operand = 0; operand < 32; ++operand) {
        std::vector<Row> rows(32);
        for (int lane = 0; lane < 32; ++lane)
          rows[lane] = {
              .a = 1000u + lane,
              .b = static_cast<uint32_t>(operand + 32 * lane), // bits above the lowest five do not count
              .c = static_cast<uint32_t>((32 - width) << 8 | (mode == "up" ? 0 : 31)) | 0xffffe0e0u};
        const std::vector<Result> result = kernel.run(rows);
        for (int lane = 0; lane < 32; ++lane) {
          const int source = source_in_segment(mode, lane, operand, width);
          ASSERT_EQ(result[lane].d, 1000u + (source < 0 ? lane : source)) << mode << width << "," << operand;
          ASSERT_EQ(result[lane].p, source < 0 ? 0u : 1u);
        }
      }
  }
}

// The same with constants, at every level of the host; all lanes, and those that have not exited.
TEST(Shuffle, ConstantOperands) {
  const HostLevel before = host_level();
  for (const HostLevel level : host_levels())
    for (const std::string mode : {"up", "down", "bfly", "idx"})
      for (const int width : {4, 32})
        for (const int operand : {0, 1, 2, 16, 31}) {
          set_host_level(level);
          const int c = (32 - width) << 8 | (mode == "up" ? 0 : 31);
          Lanes kernel(
              fmt::format("  @%q exit;\n  shfl.sync.{}.b32 %d|%p, %a, {}, {:#x}, -1;", mode, operand, c));
          for (const int lanes : {32, 16}) {
            std::vector<Row> rows(32);
            for (int lane = 0; lane < 32; ++lane)
              rows[lane] = {.a = 1000u + lane, .e = lane >= lanes};
            const std::vector<Result> result = kernel.run(rows);
            for (int lane = 0; lane < lanes; ++lane) {
              const int source = source_in_segment(mode, lane, operand, width);
              ASSERT_EQ(result[lane].d, 1000u + (source < 0 ? lane : source))
                  << mode << width << "," << operand;
              ASSERT_EQ(result[lane].p, source < 0 ? 0u : 1u);
            }
          }
        }
  set_host_level(before);
}

TEST(Shuffle, OperandsDifferByLane) {
  Lanes kernel("  shfl.sync.idx.b32 %d|_, %a, %b, 31, -1;");
  std::mt19937 random(3);
  std::vector<Row> rows(32);
  for (Row& row : rows)
    row = {.a = static_cast<uint32_t>(random()), .b = static_cast<uint32_t>(random())};
  const std::vector<Result> result = kernel.run(rows);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(result[lane].d, rows[rows[lane].b % 32].a);
}

TEST(Shuffle, AClampBelowTheSegmentsEnd) {
  Lanes kernel("  shfl.sync.down.b32 %d|%p, %a, 1, 0x0b, %m;");
  std::vector<Row> rows(32);
  for (uint32_t lane = 0; lane < 32; ++lane)
    rows[lane].a = lane;
  const std::vector<Result> result = kernel.run(rows);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(result[lane].d, lane < 11 ? lane + 1 : lane);
    EXPECT_EQ(result[lane].p, lane < 11 ? 1u : 0u);
  }
}

TEST(Shuffle, TheDestinationMayBeAnyOperand) {
  for (const char* reg : {"%a", "%b", "%m"}) {
    Lanes kernel(fmt::format("  shfl.sync.idx.b32 {0}, %a, %b, 31, %m;\n  mov.b32 %d, {0};", reg));
    std::vector<Row> rows(32);
    for (uint32_t lane = 0; lane < 32; ++lane)
      rows[lane] = {.a = 100 + lane, .b = 31 - lane, .m = lane < 16 ? 0xffff : 0xffff0000};
    for (uint32_t lane = 0; lane < 32; ++lane) // stay within the group
      rows[lane].b = lane < 16 ? 15 - lane : 47 - lane;
    const std::vector<Result> result = kernel.run(rows);
    for (uint32_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(result[lane].d, 100 + rows[lane].b) << reg;
  }
}

TEST(Shuffle, ReadingALaneThatTakesNoPartIsReported) {
  Lanes kernel("  @%q shfl.sync.idx.b32 %d|%p, %a, %b, 31, %m;");
  std::vector<Row> rows(32);
  for (uint32_t lane = 0; lane < 32; ++lane)
    rows[lane] = {.a = lane, .b = lane == 4 ? 9u : lane, .m = 0xff, .e = lane < 8};
  (void)kernel.run(rows);
  ASSERT_EQ(kernel.report.uninitialized.size(), 1u);
  EXPECT_EQ(kernel.report.uninitialized[0].lane, 4);
  EXPECT_EQ(kernel.report.uninitialized[0].what, "lane 9 (which takes no part)");
}

// Random partitions of the warp; each group names itself.
std::vector<uint32_t> random_groups(std::mt19937& random, int groups) {
  std::vector<int> group_of(32);
  for (int& group : group_of)
    group = static_cast<int>(random() % static_cast<uint32_t>(groups));
  std::vector<uint32_t> masks(32);
  for (int lane = 0; lane < 32; ++lane)
    for (int other = 0; other < 32; ++other)
      masks[lane] |= static_cast<uint32_t>(group_of[lane] == group_of[other]) << other;
  return masks;
}

std::vector<int> lanes_of(uint32_t mask) {
  std::vector<int> lanes;
  for (int lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1)
      lanes.push_back(lane);
  return lanes;
}

void expect_votes_of_groups() {
  std::mt19937 random(11);
  Lanes all("  vote.sync.all.pred %p, %q, %m;"), any("  vote.sync.any.pred %p, %q, %m;"),
      uni("  vote.sync.uni.pred %p, %q, %m;"), not_all("  vote.sync.all.pred %p, !%q, %m;"),
      ballot("  vote.sync.ballot.b32 %d, %q, %m;"), not_ballot("  vote.sync.ballot.b32 %d, !%q, %m;");
  for (int repeat = 0; repeat < 40; ++repeat) {
    const std::vector<uint32_t> masks = random_groups(random, 1 + repeat % 5);
    std::vector<Row> rows(32);
    for (int lane = 0; lane < 32; ++lane)
      rows[lane] = {.m = masks[lane],
                    .e = static_cast<uint32_t>(repeat % 4 == 0   ? 1
                                               : repeat % 4 == 1 ? 0
                                                                 : random())};
    const auto r_all = all.run(rows), r_any = any.run(rows), r_uni = uni.run(rows),
               r_not_all = not_all.run(rows), r_ballot = ballot.run(rows),
               r_not_ballot = not_ballot.run(rows);
    for (int lane = 0; lane < 32; ++lane) {
      uint32_t yes = 0, no = 0;
      for (const int other : lanes_of(masks[lane]))
        (rows[other].e & 1 ? yes : no) |= 1u << other;
      EXPECT_EQ(r_all[lane].p, no == 0);
      EXPECT_EQ(r_any[lane].p, yes != 0);
      EXPECT_EQ(r_uni[lane].p, yes == 0 || no == 0);
      EXPECT_EQ(r_not_all[lane].p, yes == 0);
      EXPECT_EQ(r_ballot[lane].d, yes);
      EXPECT_EQ(r_not_ballot[lane].d, no);
    }
  }
}

TEST(Vote, OfGroups) {
  const HostLevel before = host_level();
  for (const HostLevel level : host_levels()) {
    set_host_level(level);
    expect_votes_of_groups();
  }
  set_host_level(before);
}

TEST(Match, OfGroups) {
  std::mt19937 random(13);
  Lanes any32("  match.any.sync.b32 %d, %a, %m;"), any64("  match.any.sync.b64 %d, %wide, %m;"),
      all32("  match.all.sync.b32 %d|%p, %a, %m;"), all64("  match.all.sync.b64 %d|%p, %wide, %m;");
  for (int repeat = 0; repeat < 40; ++repeat) {
    const std::vector<uint32_t> masks = random_groups(random, 1 + repeat % 6);
    std::vector<Row> rows(32);
    for (int lane = 0; lane < 32; ++lane) {
      const uint32_t value = repeat % 2 ? random() % 3 : static_cast<uint32_t>(masks[lane]);
      rows[lane] = {.a = value, .m = masks[lane], .wide = uint64_t{value} << 32};
    }
    const auto r_any32 = any32.run(rows), r_any64 = any64.run(rows), r_all32 = all32.run(rows),
               r_all64 = all64.run(rows);
    for (int lane = 0; lane < 32; ++lane) {
      uint32_t same = 0;
      for (const int other : lanes_of(masks[lane]))
        same |= static_cast<uint32_t>(rows[other].a == rows[lane].a) << other;
      EXPECT_EQ(r_any32[lane].d, same);
      EXPECT_EQ(r_any64[lane].d, same);
      const bool all = same == masks[lane];
      EXPECT_EQ(r_all32[lane].d, all ? same : 0);
      EXPECT_EQ(r_all32[lane].p, all);
      EXPECT_EQ(r_all64[lane].d, all ? same : 0);
      EXPECT_EQ(r_all64[lane].p, all);
    }
  }
}

TEST(Redux, OfGroups) {
  std::mt19937 random(17);
  for (const std::string op :
       {"add.u32", "add.s32", "min.u32", "max.u32", "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32"}) {
    Lanes kernel(fmt::format("  redux.sync.{} %d, %a, %m;", op));
    for (int repeat = 0; repeat < 10; ++repeat) {
      const std::vector<uint32_t> masks = random_groups(random, 1 + repeat % 4);
      std::vector<Row> rows(32);
      for (int lane = 0; lane < 32; ++lane)
        rows[lane] = {.a = static_cast<uint32_t>(random()), .m = masks[lane]};
      const auto result = kernel.run(rows);
      for (int lane = 0; lane < 32; ++lane) {
        std::vector<uint32_t> values;
        for (const int other : lanes_of(masks[lane]))
          values.push_back(rows[other].a);
        uint32_t expected = op.starts_with("and") ? ~0u : 0;
        for (const uint32_t value : values)
          expected = op.starts_with("add")   ? expected + value
                     : op.starts_with("and") ? expected & value
                     : op.starts_with("or")  ? expected | value
                                             : expected ^ value;
        const auto signed_less = [](uint32_t x, uint32_t y) { return int32_t(x) < int32_t(y); };
        if (op == "min.u32")
          expected = *std::min_element(values.begin(), values.end());
        else if (op == "max.u32")
          expected = *std::max_element(values.begin(), values.end());
        else if (op == "min.s32")
          expected = *std::min_element(values.begin(), values.end(), signed_less);
        else if (op == "max.s32")
          expected = *std::max_element(values.begin(), values.end(), signed_less);
        ASSERT_EQ(result[lane].d, expected) << op;
      }
    }
  }
}

// Minimum and maximum of f32 by groups: NaN counts with .NaN alone, and a result that is NaN is canonical.
TEST(Redux, F32) {
  std::mt19937 random(23);
  const std::string head = ".version 8.6\n.target sm_100a\n.address_size 64\n";
  const auto less = [](uint32_t x, uint32_t y) { // -0 below +0
    const auto order = [](uint32_t v) { return v >> 31 ? ~v : v | 0x80000000u; };
    return order(x) < order(y);
  };
  for (const char* op : {"min", "max"})
    for (const char* abs : {"", ".abs"})
      for (const char* nan : {"", ".NaN"}) {
        Lanes kernel(fmt::format("  .reg .f32 %v, %w;\n  mov.b32 %v, %a;\n"
                                 "  redux.sync.{}{}{}.f32 %w, %v, %m;\n  mov.b32 %d, %w;",
                                 op, abs, nan),
                     head);
        for (int repeat = 0; repeat < 8; ++repeat) {
          const std::vector<uint32_t> masks = random_groups(random, 1 + repeat);
          std::vector<Row> rows(32);
          for (int lane = 0; lane < 32; ++lane) {
            const uint32_t bits = static_cast<uint32_t>(random());
            rows[lane] = {.a = repeat % 2 && lane % 5 == 0 ? bits | 0x7f800001
                               : repeat % 3                ? bits
                                                           : bits & 0x80000003,
                          .m = masks[lane]};
          }
          const auto result = kernel.run(rows);
          for (int lane = 0; lane < 32; ++lane) {
            std::vector<uint32_t> numbers;
            bool any_nan = false;
            for (const int other : lanes_of(masks[lane])) {
              const uint32_t value = *abs ? rows[other].a & 0x7fffffff : rows[other].a;
              if ((value & 0x7fffffff) > 0x7f800000)
                any_nan = true;
              else
                numbers.push_back(value);
            }
            const bool is_nan = numbers.empty() || (*nan && any_nan);
            const uint32_t expected = is_nan ? 0x7fffffff
                                      : op[1] == 'i'
                                          ? *std::min_element(numbers.begin(), numbers.end(), less)
                                          : *std::max_element(numbers.begin(), numbers.end(), less);
            ASSERT_EQ(result[lane].d, expected) << op << abs << nan << " lane " << lane;
          }
        }
      }
}

TEST(Elect, OneLeaderAGroup) {
  std::mt19937 random(19);
  Lanes kernel("  elect.sync %d|%p, %m;"), only_predicate("  elect.sync _|%p, %m;");
  for (int repeat = 0; repeat < 10; ++repeat) {
    const std::vector<uint32_t> masks = random_groups(random, 1 + repeat % 4);
    std::vector<Row> rows(32);
    for (int lane = 0; lane < 32; ++lane)
      rows[lane].m = masks[lane];
    const auto result = kernel.run(rows), predicates = only_predicate.run(rows);
    for (int lane = 0; lane < 32; ++lane) {
      const std::vector<int> group = lanes_of(masks[lane]);
      EXPECT_EQ(result[lane].d, static_cast<uint32_t>(group.front()));
      EXPECT_EQ(result[lane].p, lane == group.front());
      EXPECT_EQ(predicates[lane].p, lane == group.front());
    }
  }
}

TEST(ActiveMask, IsWhoExecutes) {
  Lanes kernel("  @%q activemask.b32 %d;");
  std::vector<Row> rows(32);
  for (uint32_t lane = 0; lane < 32; ++lane)
    rows[lane].e = lane % 3 == 0;
  const auto result = kernel.run(rows);
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(result[lane].d, lane % 3 == 0 ? 0x49249249u : 0u);
}

TEST(OldForms, TakeTheLanesThatAreTogether) {
  const std::string head = ".version 6.0\n.target sm_60\n.address_size 64\n";
  Lanes shuffle("  shfl.down.b32 %d|%p, %a, 1, 31;", head), vote("  @%q vote.ballot.b32 %d, %q;", head);
  std::vector<Row> rows(32);
  for (uint32_t lane = 0; lane < 32; ++lane)
    rows[lane] = {.a = lane, .e = lane % 2};
  const auto shuffled = shuffle.run(rows), voted = vote.run(rows);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(shuffled[lane].d, std::min(lane + 1, 31u));
    EXPECT_EQ(voted[lane].d, lane % 2 ? 0xaaaaaaaau : 0u);
  }
}

// --- lanes that come late, or never
// ---------------------------------------------------------------------------------

TEST(Converge, LanesThatArriveByDifferentPaths) {
  Lanes kernel(R"(
  @%q bra other;
  add.u32 %a, %a, 1000;
  bra meet;
other:
  add.u32 %a, %a, 2000;
meet:
  shfl.sync.bfly.b32 %d, %a, 1, 31, -1;)");
  std::vector<Row> rows(32);
  for (uint32_t lane = 0; lane < 32; ++lane)
    rows[lane] = {.a = lane, .e = lane % 2};
  const auto result = kernel.run(rows);
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(result[lane].d, (lane ^ 1) + (lane % 2 ? 1000 : 2000));
}

TEST(Converge, ExitedLanesAreNotWaitedFor) {
  Lanes kernel(R"(
  st.global.u32 [%out], %a;
  @%q exit;
  vote.sync.ballot.b32 %d, 1, -1;)");
  std::vector<Row> rows(32);
  for (uint32_t lane = 0; lane < 32; ++lane)
    rows[lane] = {.a = 7, .e = lane >= 20};
  const auto result = kernel.run(rows);
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(result[lane].d, lane >= 20 ? 7u : 0xfffffu);
}

TEST(Converge, BarWarpSyncWaitsForItsLanesAlone) {
  // Lanes below 16 meet each other while the rest is still looping, and hand values over shared memory.
  Kernel kernel(R"(
.shared .align 4 .b32 slots[32];
.visible .entry k(.param .u64 out) {
  .reg .b64 %out, %d, %s, %n;
  .reg .b32 %t, %r, %i, %m;
  .reg .pred %p;
  mov.u32 %t, %tid.x;
  ld.param.u64 %out, [out];
  mul.wide.u32 %d, %t, 4;
  add.u64 %out, %out, %d;
  mov.u64 %s, slots;
  add.u64 %s, %s, %d;
  mov.b32 %m, 0x0000ffff;
  setp.lt.u32 %p, %t, 16;
  @%p bra meet;
  mov.b32 %m, 0xffff0000;
  mov.b32 %i, 0;
again:
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %t;
  @%p bra again;
meet:
  st.shared.u32 [%s], %t;
  bar.warp.sync %m;
  and.b32 %r, %t, 1;
  setp.ne.u32 %p, %r, 0;
  @%p ld.shared.u32 %r, [%s+-4];
  @%p bra store;
  ld.shared.u32 %r, [%s+4];
store:
  st.global.u32 [%out], %r;
  ret;
})");
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(32));
  const Report report = kernel.run({out});
  EXPECT_EQ(fault_text(report), "");
  EXPECT_EQ(uninitialized_text(report), "");
  const auto result = kernel.read<uint32_t>(out, 32);
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(result[lane], lane ^ 1);
}

TEST(Converge, AMaskThatDoesNotNameItsLaneIsIllegal) {
  Kernel kernel(lanes("  vote.sync.ballot.b32 %d, 1, %m;"));
  std::vector<Row> rows(32);
  rows[5].m = ~0u & ~(1u << 5);
  const Report report = kernel.run({kernel.buffer(rows), kernel.buffer(std::vector<Result>(32))});
  EXPECT_EQ(fault_in(report).kind, FaultKind::illegal_instruction);
  EXPECT_EQ(fault_in(report).lane, 5);
}

// Lanes below 16 first take part in a group of their own, at the instruction where the others wait for all.
TEST(Converge, WhoComesWithAnotherMembermaskDoesNotCount) {
  struct Operation {
    const char* text;
    uint32_t all, low; // what every lane gets at last, and what lanes below 16 get before
  };
  const Operation operations[] = {
      {"redux.sync.add.u32 %d, %a, %m;", 32 * 31 / 2, 16 * 15 / 2},
      {"vote.sync.ballot.b32 %d, 1, %m;", 0xffffffff, 0xffff},
      {"match.any.sync.b32 %d, %b, %m;", 0xffffffff, 0xffff},
      {"shfl.sync.idx.b32 %d, %c, 3, 31, %m;", 35, 3},
      {"elect.sync %d|%p, %m;", 0, 0},
      {"bar.warp.sync %m; mov.b32 %d, 0;", 0, 0},
  };
  for (const Operation& operation : operations) {
    Lanes kernel(fmt::format(R"(
  mov.b32 %e, 0;
again:
  {}
  add.u32 %c, %c, 32;
  setp.ne.u32 %p, %m, -1;
  @!%p bra done;
  mov.b32 %e, %d;
  mov.b32 %m, -1;
  bra again;
done:
  mad.lo.u32 %d, %e, 65536, %d;)",
                             operation.text));
    std::vector<Row> rows(32);
    for (uint32_t lane = 0; lane < 32; ++lane)
      rows[lane] = {.a = lane, .c = lane, .m = lane < 16 ? 0xffffu : ~0u};
    const auto result = kernel.run(rows);
    for (uint32_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(result[lane].d, (lane < 16 ? operation.low * 65536 : 0) + operation.all)
          << operation.text << " lane " << lane;
  }
}

TEST(Converge, MembermasksThatNeverAgreeAreADeadlock) {
  for (const char* text :
       {"redux.sync.add.u32 %d, %a, %m;", "vote.sync.ballot.b32 %d, 1, %m;", "match.any.sync.b32 %d, %a, %m;",
        "shfl.sync.idx.b32 %d, %a, 3, 31, %m;", "elect.sync %d|%p, %m;", "bar.warp.sync %m;"}) {
    Kernel kernel(lanes(fmt::format("  {}\n", text)));
    std::vector<Row> rows(32);
    for (uint32_t lane = 0; lane < 16; ++lane)
      rows[lane].m = 0x1ffff; // and lane 16 names all
    const Report report = kernel.run({kernel.buffer(rows), kernel.buffer(std::vector<Result>(32))});
    EXPECT_EQ(fault_in(report).kind, FaultKind::deadlock) << text;
    ASSERT_FALSE(report.waiting.empty()) << text;
    EXPECT_NE(report.waiting[0].reason.find("with the same membermask"), std::string::npos)
        << report.waiting[0].reason;
  }
}

TEST(Converge, ALaneThatNeverComesIsADeadlock) {
  Kernel kernel(
      lanes("  @%q bra skip;\n  bar.warp.sync -1;\nskip:\n  @!%q bra done;\nspin:\n"
            "  ld.volatile.global.u32 %x, [%in];\n  setp.eq.u32 %p, %x, 0;\n  @%p bra spin;\ndone:"));
  std::vector<Row> rows(32);
  rows[31].e = 1;
  EXPECT_EQ(fault_in(kernel.run({kernel.buffer(rows), kernel.buffer(std::vector<Result>(32))})).kind,
            FaultKind::deadlock);
}

} // namespace
} // namespace lemma::vgpu
