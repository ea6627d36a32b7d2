// Warp-wide instructions. PTX ISA: "shfl.sync", "vote.sync", "match.sync", "redux.sync", "elect.sync",
// "activemask".
//
// Each instruction is run by whole warps, and by groups of lanes that run it one group after the other, each
// with its own member mask. Reading a lane that does not take part is undefined, so groups shuffle among
// themselves.
#include "golden/fill.h"
#include "golden/templates.h"
#include "golden/thread_kernel.h"

#include <fmt/format.h>

namespace lemma::golden {
namespace {

using isa::Type;

constexpr uint64_t kUnits = 4096; // 128 warps
constexpr const char* kFull = "0xffffffff";

Case finish(const ThreadKernel& kernel, std::vector<Element> planes, uint64_t units = kUnits) {
  Case c = kernel.finish(units);
  c.fill = fill_each(std::move(planes));
  return c;
}

// `statement` with {} for the member mask: once for the whole warp, or once a group.
void add_statement(ThreadKernel& kernel, std::string_view statement, bool groups) {
  if (!groups) {
    kernel.body(fmt::format(fmt::runtime(statement), kFull));
    return;
  }
  kernel.in("group", Type::u32, 32);
  kernel.in("mask", Type::b32, 32);
  kernel.declare(".reg .b32 %_g;\n  .reg .pred %_mine, %_more;");
  kernel.body("mov.u32 %_g, 0;");
  kernel.body("GROUPS:");
  kernel.body("setp.ne.u32 %_mine, %_g, %group;");
  kernel.body("@%_mine bra NEXT;");
  kernel.body(fmt::format(fmt::runtime(statement), "%mask"));
  kernel.body("NEXT:");
  kernel.body("add.u32 %_g, %_g, 1;");
  kernel.body("setp.lt.u32 %_more, %_g, 4;");
  kernel.body("@%_more bra GROUPS;");
}

void with_groups(std::vector<Element>& planes, bool groups) {
  if (groups) {
    planes.push_back(group_of_lane());
    planes.push_back(group_mask());
  }
}

std::string named(std::string_view spelling, bool groups) {
  return fmt::format("{} {}", spelling, groups ? "groups" : "warp");
}

// --- shfl.sync -----------------------------------------------------------------------------------

Element lane_offset() { // mostly in the warp
  return [](numeric::Random& random, const WarpDraw&, uint64_t) {
    return random.below(8) == 0 ? random.next() : random.below(32);
  };
}

// Of widths 1, 2, 4 ... 32, as compilers write them; any bits, for a warp or each lane.
Element clamp_and_segment(bool up) {
  return [up](numeric::Random& random, const WarpDraw& warp, uint64_t) {
    if (warp.word % 4 == 0)
      return warp.word >> 8;
    if (warp.word % 4 == 1)
      return random.next();
    const uint64_t width = uint64_t{1} << (warp.word >> 8) % 6;
    return (32 - width) << 8 | (up ? 0 : 31);
  };
}

Case make_shfl(std::string_view mode) {
  ThreadKernel kernel(fmt::format("shfl.sync.{}.b32 warp", mode), "shfl.sync");
  kernel.in("a", Type::b32, 32);
  kernel.in("b", Type::u32, 32);
  kernel.in("c", Type::u32, 32);
  kernel.out("d", Type::b32, 32);
  kernel.out("p", Type::pred, 1);
  kernel.body(fmt::format("shfl.sync.{}.b32 %d|%p, %a, %b, %c, {};", mode, kFull));
  return finish(kernel, {any_bits(), lane_offset(), clamp_and_segment(mode == "up")});
}

// A member of the lane's own group.
Element member() {
  return [](numeric::Random& random, const WarpDraw& warp, uint64_t thread) {
    uint64_t lane = random.below(32);
    while (warp.group[lane] != warp.group[thread % 32])
      lane = random.below(32);
    return lane;
  };
}

Case make_shfl_groups() {
  ThreadKernel kernel("shfl.sync.idx.b32 groups", "shfl.sync");
  kernel.in("a", Type::b32, 32);
  kernel.in("b", Type::u32, 32);
  kernel.out("d", Type::b32, 32);
  kernel.out("p", Type::pred, 1);
  add_statement(kernel, "shfl.sync.idx.b32 %d|%p, %a, %b, 31, {};", true);
  std::vector<Element> planes = {any_bits(), member()};
  with_groups(planes, true);
  return finish(kernel, planes);
}

// --- vote, match, redux, elect -------------------------------------------------------------------

Element vote_predicate() { // all, none or some
  return [](numeric::Random& random, const WarpDraw& warp, uint64_t) {
    return warp.word % 3 == 0 ? 0 : warp.word % 3 == 1 ? 1 : random.bits(1);
  };
}

void add_votes(std::vector<Case>& cases, bool groups) {
  for (const char* mode : {"all.pred", "any.pred", "uni.pred", "ballot.b32"})
    for (const char* sign : {"", "!"}) {
      const std::string spelling = fmt::format("vote.sync.{}{}", mode, *sign ? " !a" : "");
      ThreadKernel kernel(named(spelling, groups), "vote.sync");
      kernel.in("a", Type::pred, 1);
      const bool ballot = mode[0] == 'b';
      kernel.out("d", ballot ? Type::b32 : Type::pred, ballot ? 32 : 1);
      add_statement(kernel, fmt::format("vote.sync.{} %d, {}%a, {{}};", mode, sign), groups);
      std::vector<Element> planes = {vote_predicate()};
      with_groups(planes, groups);
      cases.push_back(finish(kernel, planes));
    }
}

Element few_values() { // equal in all lanes, or one of four
  return [](numeric::Random& random, const WarpDraw& warp, uint64_t) {
    const uint64_t values[] = {warp.word, warp.word ^ 1, warp.word ^ uint64_t{1} << 40, 0};
    return warp.word % 4 == 0 ? warp.word : values[random.below(4)];
  };
}

void add_matches(std::vector<Case>& cases, bool groups) {
  for (const int bits : {32, 64})
    for (const bool all : {false, true}) {
      ThreadKernel kernel(named(fmt::format("match.{}.sync.b{}", all ? "all" : "any", bits), groups),
                          "match");
      kernel.in("a", bits == 32 ? Type::b32 : Type::b64, bits);
      kernel.out("d", Type::b32, 32);
      if (all)
        kernel.out("p", Type::pred, 1);
      add_statement(
          kernel,
          fmt::format("match.{}.sync.b{} %d{}, %a, {{}};", all ? "all" : "any", bits, all ? "|%p" : ""),
          groups);
      std::vector<Element> planes = {few_values()};
      with_groups(planes, groups);
      cases.push_back(finish(kernel, planes));
    }
}

void add_redux(std::vector<Case>& cases, bool groups) {
  for (const char* op :
       {"add.u32", "min.u32", "max.u32", "add.s32", "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32"}) {
    ThreadKernel kernel(named(fmt::format("redux.sync.{}", op), groups), "redux.sync");
    const Type type = std::string_view(op).ends_with("s32") ? Type::s32 : Type::u32;
    kernel.in("a", type, 32);
    kernel.out("d", type, 32);
    add_statement(kernel, fmt::format("redux.sync.{} %d, %a, {{}};", op), groups);
    std::vector<Element> planes = {values(values_of(type))};
    with_groups(planes, groups);
    cases.push_back(finish(kernel, planes));
  }
}

void add_elect(std::vector<Case>& cases, bool groups) {
  ThreadKernel kernel(named("elect.sync", groups), "elect.sync");
  kernel.out("d", Type::u32, 32);
  kernel.out("p", Type::pred, 1);
  add_statement(kernel, "elect.sync %d|%p, {};", groups);
  std::vector<Element> planes;
  with_groups(planes, groups);
  cases.push_back(finish(kernel, planes));
}

// --- Warps that are not whole --------------------------------------------------------------------

// Lanes from `live` on return before; the others go on without them.
Case make_exited() {
  ThreadKernel kernel("after some lanes returned", "exited");
  kernel.in("live", Type::u32, 32);
  kernel.in("a", Type::u32, 32);
  kernel.memory("m", Type::b32, 4, 4);
  kernel.declare(".reg .pred %_gone, %_odd;\n  .reg .b32 %_mask, %_r;");
  for (const char* line :
       {"setp.ge.u32 %_gone, %_n, %live;", "@%_gone ret;", "shl.b32 %_mask, 2, %live;",
        "shr.u32 %_mask, %_mask, 1;", "sub.u32 %_mask, %_mask, 1;", "bar.warp.sync %_mask;",
        "activemask.b32 %_r;", "st.global.b32 [%m], %_r;", "and.b32 %_r, %a, 1;",
        "setp.ne.u32 %_odd, %_r, 0;", "vote.sync.ballot.b32 %_r, %_odd, %_mask;",
        "st.global.b32 [%m+4], %_r;", "redux.sync.add.u32 %_r, %a, %_mask;", "st.global.b32 [%m+8], %_r;",
        "match.any.sync.b32 %_r, %a, %_mask;", "st.global.b32 [%m+12], %_r;"})
    kernel.body(line);
  Case c = kernel.finish(kUnits);
  c.fill = fill_each({[](numeric::Random&, const WarpDraw& warp, uint64_t) { return 1 + warp.word % 31; },
                      below(5), [](numeric::Random&, const WarpDraw&, uint64_t) { return uint64_t{0}; }},
                     {1, 1, 4});
  return c;
}

// Blocks of 48 threads: every second warp has 16.
Case make_partial() {
  ThreadKernel kernel("blocks of 48 threads", "partial");
  kernel.in("a", Type::pred, 1);
  kernel.out("active", Type::b32, 32);
  kernel.out("ballot", Type::b32, 32);
  kernel.out("sum", Type::u32, 32);
  kernel.block(48);
  for (const char* line : {"activemask.b32 %active;", "vote.sync.ballot.b32 %ballot, %a, %active;",
                           "redux.sync.add.u32 %sum, %_i, %active;"})
    kernel.body(line);
  return finish(kernel, {below(2)}, 48 * 32);
}

// Values go round the warp by every mode in turn, as reductions and scans do.
Case make_scan() {
  ThreadKernel kernel("scan and reduction by shuffles", "scan");
  kernel.in("a", Type::u32, 32);
  kernel.out("scan", Type::u32, 32);
  kernel.out("sum", Type::u32, 32);
  kernel.declare(".reg .b32 %_r;\n  .reg .pred %_valid;");
  kernel.body("mov.b32 %scan, %a;");
  kernel.body("mov.b32 %sum, %a;");
  for (int step = 1; step < 32; step *= 2) {
    kernel.body(fmt::format("shfl.sync.up.b32 %_r|%_valid, %scan, {}, 0, {};", step, kFull));
    kernel.body("@%_valid add.u32 %scan, %scan, %_r;");
    kernel.body(fmt::format("shfl.sync.bfly.b32 %_r, %sum, {}, 31, {};", step, kFull));
    kernel.body("add.u32 %sum, %sum, %_r;");
  }
  return finish(kernel, {any_bits()});
}

} // namespace

std::vector<Case> warp_cases(std::string_view) {
  std::vector<Case> cases;
  for (const char* mode : {"up", "down", "bfly", "idx"})
    cases.push_back(make_shfl(mode));
  cases.push_back(make_shfl_groups());
  for (const bool groups : {false, true}) {
    add_votes(cases, groups);
    add_matches(cases, groups);
    add_redux(cases, groups);
    add_elect(cases, groups);
  }
  cases.push_back(make_exited());
  cases.push_back(make_partial());
  cases.push_back(make_scan());
  return cases;
}

} // namespace lemma::golden
