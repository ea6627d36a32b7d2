// Cases of asynchronous copies without tensors, and of mbarriers. See templates.h.
//
// A unit is a CTA of 32 threads in a cluster of two. It has 512 bytes of global memory to copy from, 512
// bytes in `from` and 512 bytes in `to`, both in shared memory, and 512 bytes of global memory to copy to;
// what `to` and that memory hold in the end is recorded. Copies to the other CTA come with its own mbarrier,
// for which it waits.
#include "golden/fill.h"
#include "golden/templates.h"
#include "golden/thread_kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::golden {
namespace {

using isa::Type;

constexpr uint32_t kUnits = 16, kBytes = 512;

// What a case does between the filling of shared memory and the wait.
struct CopyCase {
  std::string name;
  std::string
      statements; // %_from, %_to: shared addresses; %_peer: of the other CTA's `to`; %_pbar: of its bar;
                  // %_gfrom, %_gto: global addresses; %_t: the thread
  Type type = Type::b32;     // of the elements
  uint32_t expected = 0;     // bytes that the CTA's mbarrier waits for; 0: no wait
  bool by_one_thread = true; // else by all 32
};

Plane plane_of(const char* name, Type type) {
  const auto bytes = static_cast<uint32_t>(isa::bits_of(type)) / 8;
  return {.name = name, .type = type, .element_bytes = bytes, .per_unit = kBytes / bytes};
}

std::string addresses(const Case& c) {
  return fmt::format(R"(  .shared .align 128 .b8 from[{0}];
  .shared .align 128 .b8 to[{0}];
  .shared .align 8 .b64 bar;
  .reg .b32 %_t, %_from, %_to, %_peer, %_pbar, %_r, %_x<4>;
  .reg .b64 %_gfrom, %_gto, %_q, %_y<2>;
  .reg .pred %_one, %_ok, %_skip;
  mov.u32 %_t, %tid.x;
  setp.eq.u32 %_one, %_t, 0;
  mov.u32 %_from, from;
  mov.u32 %_to, to;
  mov.u32 %_r, %cluster_ctarank;
  xor.b32 %_r, %_r, 1;
  mapa.shared::cluster.u32 %_peer, %_to, %_r;
  mov.u32 %_pbar, bar;
  mapa.shared::cluster.u32 %_pbar, %_pbar, %_r;
  mad.wide.u32 %_gfrom, %_c, {0}, %_in;
  mad.wide.u32 %_gto, %_c, {0}, %_out;
  add.u64 %_gfrom, %_gfrom, {1};
  add.u64 %_gto, %_gto, {2};
)",
                     kBytes, c.inputs[0].offset_bytes, c.outputs[1].offset_bytes);
}

Case make_case(const CopyCase& a) {
  Case c;
  c.name = a.name;
  c.family = a.name.substr(0, a.name.find(' '));
  c.entry = entry_name(a.name);
  c.unit_name = "CTA";
  c.units = kUnits;
  c.grid[0] = kUnits;
  c.block[0] = 32;
  c.cluster = {2, 1, 1};
  c.parts = {{"mixed", 0, kUnits}};
  c.inputs = {plane_of("source", a.type), plane_of("shared0", a.type), plane_of("global0", a.type)};
  Plane global = plane_of("global", a.type);
  global.initial = 2;
  c.outputs = {plane_of("shared", a.type), global};
  lay_out(c.inputs, c.units);
  lay_out(c.outputs, c.units);
  c.text = kernel_head(c.entry) + addresses(c);
  // Thread t fills 16 bytes of each array.
  c.text += "  mad.wide.u32 %_q, %_t, 16, %_gfrom;\n  mad.lo.u32 %_n, %_t, 16, %_from;\n"
            "  ld.global.v4.b32 {%_x0, %_x1, %_x2, %_x3}, [%_q];\n  st.shared.v4.b32 [%_n], {%_x0, %_x1, "
            "%_x2, %_x3};\n";
  c.text += fmt::format(
      "  mad.wide.u32 %_q, %_c, {}, %_in;\n  mad.wide.u32 %_q, %_t, 16, %_q;\n"
      "  ld.global.v4.b32 {{%_x0, %_x1, %_x2, %_x3}}, [%_q+{}];\n  mad.lo.u32 %_n, %_t, 16, %_to;\n"
      "  st.shared.v4.b32 [%_n], {{%_x0, %_x1, %_x2, %_x3}};\n",
      kBytes, c.inputs[1].offset_bytes);
  c.text += "  @!%_one bra READY;\n  mbarrier.init.shared.b64 [bar], 1;\n";
  if (a.expected)
    c.text += fmt::format("  mbarrier.arrive.expect_tx.shared.b64 _, [bar], {};\n", a.expected);
  c.text += "  fence.mbarrier_init.release.cluster;\nREADY:\n  fence.proxy.async;\n"
            "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n";
  if (a.by_one_thread)
    c.text += "  @!%_one bra ISSUED;\n";
  c.text += a.statements + "ISSUED:\n  bar.warp.sync -1;\n";
  if (a.expected)
    c.text += "WAIT:\n  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %_ok, [bar], 0;\n  @!%_ok "
              "bra WAIT;\n";
  c.text += "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n";
  c.text +=
      fmt::format("  mad.wide.u32 %_q, %_c, {}, %_out;\n  mad.wide.u32 %_q, %_t, 16, %_q;\n"
                  "  mad.lo.u32 %_n, %_t, 16, %_to;\n  ld.shared.v4.b32 {{%_x0, %_x1, %_x2, %_x3}}, [%_n];\n"
                  "  st.global.v4.b32 [%_q+{}], {{%_x0, %_x1, %_x2, %_x3}};\n  ret;\n}}\n",
                  kBytes, c.outputs[0].offset_bytes);
  c.fill = [planes = c.inputs, values = values_of(a.type)](const Part&, numeric::Random& random,
                                                           Inputs& inputs) {
    for (size_t plane = 0; plane < planes.size(); ++plane)
      for (uint64_t i = 0; i < uint64_t{planes[plane].per_unit} * kUnits; ++i) {
        const numeric::OperandClass classes[] = {numeric::OperandClass::ordinary, numeric::OperandClass::wide,
                                                 numeric::OperandClass::subnormal,
                                                 numeric::OperandClass::special};
        inputs.set(plane, i,
                   values.is_float()
                       ? numeric::operands(values.floating, classes[random.below(4)], random, 1)[0]
                       : random.next());
      }
  };
  return c;
}

void add_bulk(std::vector<CopyCase>& cases) {
  constexpr const char* kBar = "mbarrier::complete_tx::bytes";
  for (const uint32_t size : {16u, 208u, 512u}) {
    cases.push_back(
        {fmt::format("cp.async.bulk.shared::cluster.global {}", size),
         fmt::format("  cp.async.bulk.shared::cluster.global.{} [%_to], [%_gfrom], {}, [bar];\n", kBar, size),
         Type::b32, size});
    cases.push_back(
        {fmt::format("cp.async.bulk.shared::cta.global {}", size),
         fmt::format("  cp.async.bulk.shared::cta.global.{} [%_to], [%_gfrom], {}, [bar];\n", kBar, size),
         Type::b32, size});
    cases.push_back(
        {fmt::format("cp.async.bulk.shared::cluster.shared::cta {}", size),
         fmt::format("  cp.async.bulk.shared::cluster.shared::cta.{} [%_peer], [%_from], {}, [%_pbar];\n",
                     kBar, size),
         Type::b32, size});
    cases.push_back({fmt::format("cp.async.bulk.global.shared::cta {}", size),
                     fmt::format("  cp.async.bulk.global.shared::cta.bulk_group [%_gto], [%_from], {};\n"
                                 "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n",
                                 size)});
  }
  // Each CTA sends its 256 bytes to both.
  cases.push_back(
      {"cp.async.bulk.shared::cluster.global multicast",
       fmt::format(
           "  mov.u32 %_x0, %cluster_ctarank;\n  mad.lo.u32 %_to, %_x0, 256, %_to;\n  mov.b16 %_h, 3;\n"
           "  cp.async.bulk.shared::cluster.global.{}.multicast::cluster [%_to], [%_gfrom], 256, "
           "[bar], %_h;\n  mov.u32 %_to, to;\n",
           kBar),
       Type::b32, 512});
}

void add_reductions(std::vector<CopyCase>& cases) {
  const struct {
    const char* type;
    Type element;
    std::vector<const char*> global, shared;
  } rows[] = {{"u32", Type::u32, {"add", "min", "max", "inc", "dec"}, {"add", "min", "max", "inc", "dec"}},
              {"s32", Type::s32, {"add", "min", "max"}, {"add", "min", "max"}},
              {"b32", Type::b32, {"and", "or", "xor"}, {"and", "or", "xor"}},
              {"b64", Type::b64, {"and", "or", "xor"}, {}},
              {"u64", Type::u64, {"add", "min", "max"}, {"add"}},
              {"s64", Type::s64, {"min", "max"}, {}},
              {"f16", Type::f16, {"add.noftz", "min", "max"}, {}},
              {"bf16", Type::bf16, {"add.noftz", "min", "max"}, {}},
              {"f32", Type::f32, {"add"}, {}},
              {"f64", Type::f64, {"add"}, {}}};
  for (const auto& row : rows) {
    for (const char* op : row.global)
      cases.push_back(
          {fmt::format("cp.reduce.async.bulk.global.shared::cta.{}.{}", op, row.type),
           fmt::format("  cp.reduce.async.bulk.global.shared::cta.bulk_group.{}.{} [%_gto], [%_from], 512;\n"
                       "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n",
                       op, row.type),
           row.element});
    for (const char* op : row.shared)
      cases.push_back(
          {fmt::format("cp.reduce.async.bulk.shared::cluster.shared::cta.{}.{}", op, row.type),
           fmt::format(
               "  cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{}.{} "
               "[%_peer], "
               "[%_from], 512, [%_pbar];\n",
               op, row.type),
           row.element, 512});
  }
}

// Every thread on 16 bytes of its own.
void add_threads(std::vector<CopyCase>& cases) {
  const auto add = [&](std::string name, const std::string& statements, Type type = Type::b32,
                       uint32_t expected = 0) {
    cases.push_back({std::move(name),
                     "  mad.wide.u32 %_q, %_t, 16, %_gfrom;\n  mad.lo.u32 %_x0, %_t, 16, %_to;\n"
                     "  mad.lo.u32 %_x1, %_t, 16, %_peer;\n  mad.lo.u32 %_x2, %_t, 16, %_from;\n" +
                         statements,
                     type, expected, false});
  };
  constexpr const char* kWait = "  cp.async.commit_group;\n  cp.async.wait_group 0;\n";
  for (const auto& [cache, size] :
       {std::pair{"ca", 4}, std::pair{"ca", 8}, std::pair{"ca", 16}, std::pair{"cg", 16}}) {
    const std::string copy = fmt::format("cp.async.{}.shared.global", cache);
    add(fmt::format("{} {}", copy, size), fmt::format("  {} [%_x0], [%_q], {};\n{}", copy, size, kWait));
    add(fmt::format("{} {} src-size", copy, size),
        fmt::format("  rem.u32 %_x3, %_t, {};\n  {} [%_x0], [%_q], {}, %_x3;\n  cp.async.wait_all;\n",
                    size + 1, copy, size));
    add(fmt::format("{} {} ignore-src", copy, size),
        fmt::format(
            "  and.b32 %_x3, %_t, 1;\n  setp.ne.u32 %_skip, %_x3, 0;\n  {} [%_x0], [%_q], {}, %_skip;\n{}",
            copy, size, kWait));
  }
  const struct {
    const char* type;
    int elements, bytes;
  } stores[] = {{"b32", 1, 4}, {"v2.b32", 2, 4}, {"v4.b32", 4, 4},
                {"b64", 1, 8}, {"v2.b64", 2, 8}, {"f32", 1, 4}};
  for (const auto& s : stores) {
    std::string values = s.bytes == 4 ? "  ld.shared.v4.b32 {%_x0, %_n, %_x3, %_r}, [%_x2];\n"
                                      : "  ld.shared.v2.b64 {%_y0, %_y1}, [%_x2];\n";
    const char* const words[] = {"%_x0", "{%_x0, %_n}", "", "{%_x0, %_n, %_x3, %_r}"};
    const std::string data = s.bytes == 4 ? words[s.elements - 1] : s.elements == 1 ? "%_y0" : "{%_y0, %_y1}";
    add(fmt::format("st.async {}", s.type),
        fmt::format(
            "{}  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.{} [%_x1], {}, [%_pbar];\n",
            values, s.type, data),
        Type::b32, static_cast<uint32_t>(32 * s.elements * s.bytes));
  }
  for (const char* op : {"inc.u32", "dec.u32", "min.u32", "max.u32", "add.u32", "min.s32", "max.s32",
                         "add.s32", "and.b32", "or.b32", "xor.b32"})
    add(fmt::format("red.async {}", op),
        fmt::format("  ld.shared.b32 %_x0, [%_x2];\n"
                    "  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{} [%_x1], "
                    "%_x0, [%_pbar];\n",
                    op),
        Type::b32, 32 * 4);
  add("red.async add.u64",
      "  ld.shared.b64 %_y0, [%_x2];\n"
      "  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%_x1], %_y0, "
      "[%_pbar];\n",
      Type::b64, 32 * 8);
  // Arrivals at the other CTA's object, which expects one: that both go on is what is recorded.
  constexpr const char* kMet =
      "MEET:\n  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %_ok, [bar], 0;\n"
      "  @!%_ok bra MEET;\n  st.shared.b32 [%_to], 1;\n";
  for (const char* arrival : {"arrive", "arrive_drop"}) {
    cases.push_back(
        {fmt::format("mbarrier.{}.shared::cluster", arrival),
         fmt::format("  mbarrier.{}.release.cluster.shared::cluster.b64 _, [%_pbar];\n{}", arrival, kMet)});
    cases.push_back(
        {fmt::format("mbarrier.{}.expect_tx.shared::cluster", arrival),
         fmt::format(
             "  mbarrier.{}.expect_tx.release.cluster.shared::cluster.b64 _, [%_pbar], 16;\n"
             "  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%_peer+16], {{%_t, "
             "%_t, %_t, %_t}}, [%_pbar];\n{}",
             arrival, kMet)});
  }
  // All copies of all threads, then their arrivals.
  constexpr const char* kArrived =
      "SPIN:\n  mbarrier.try_wait.parity.shared.b64 %_ok, [bar], 0;\n  @!%_ok bra SPIN;\n";
  add("cp.async.mbarrier.arrive",
      fmt::format(
          "  cp.async.ca.shared.global [%_x0], [%_q], 16;\n  cp.async.mbarrier.arrive.shared.b64 [bar];\n"
          "  bar.warp.sync -1;\n  @%_one mbarrier.arrive.shared.b64 _, [bar];\n{}",
          kArrived));
  add("cp.async.mbarrier.arrive.noinc",
      fmt::format("  @%_one mbarrier.inval.shared.b64 [bar];\n  @%_one mbarrier.init.shared.b64 [bar], 32;\n"
                  "  bar.warp.sync -1;\n  cp.async.ca.shared.global [%_x0], [%_q], 16;\n"
                  "  cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n{}",
                  kArrived));
}

// --- mbarriers ---

// Each thread has an object of its own and stores what it sees: %_k counts the words. Of a state token only
// the upper half is defined.
Case make_sequence(const char* name, std::initializer_list<const char*> statements) {
  ThreadKernel kernel(name, "mbarrier");
  kernel.block(32);
  kernel.in("count", Type::u32, 32);
  kernel.in("bytes", Type::u32, 32);
  size_t words = 0;
  std::string text;
  const auto word = [&](const std::string& value) {
    text += fmt::format("  mov.b32 %w{}, {};\n", words++, value);
  };
  for (const char* statement : statements) {
    text += fmt::format("  {}\n", statement);
    if (std::string_view(statement).find("%_st") != std::string_view::npos) {
      text += "  mov.b64 {%_lo, %_hi}, %_st;\n  mbarrier.pending_count.b64 %_pc, %_st;\n";
      word("%_hi");
      word("%_pc");
    }
    if (std::string_view(statement).find("%_ok,") != std::string_view::npos) {
      text += "  selp.b32 %_pc, 1, 0, %_ok;\n";
      word("%_pc");
    }
    for (const char* parity : {"0", "1"}) {
      text += fmt::format(
          "  mbarrier.test_wait.parity.shared.b64 %_ok, [%_b], {};\n  selp.b32 %_pc, 1, 0, %_ok;\n", parity);
      word("%_pc");
    }
  }
  for (size_t i = 0; i < words; ++i)
    kernel.out(fmt::format("w{}", i), Type::b32, 32);
  kernel.declare(".shared .align 8 .b64 bars[32];");
  kernel.declare(".reg .b32 %_b, %_lo, %_hi, %_pc;\n  .reg .b64 %_st, %_s0;\n  .reg .pred %_ok;");
  kernel.body("mov.u32 %_b, bars;\n  mad.lo.u32 %_b, %_n, 8, %_b;\n" + text);
  Case c = kernel.finish(256);
  c.fill = fill_each({below(1000), below(4096)});
  return c;
}

} // namespace

std::vector<Case> async_copy_cases(std::string_view) {
  std::vector<CopyCase> copies;
  add_bulk(copies);
  add_reductions(copies);
  add_threads(copies);
  std::vector<Case> cases;
  for (const CopyCase& copy : copies)
    cases.push_back(make_case(copy));
  return cases;
}

std::vector<Case> mbarrier_cases(std::string_view) {
  constexpr const char* kInit = "add.u32 %count, %count, 3;\n  mbarrier.init.shared.b64 [%_b], %count;";
  constexpr const char* kAllButOne = "sub.u32 %count, %count, 1;\n  mbarrier.arrive.shared.b64 %_st, [%_b], "
                                     "%count;\n  add.u32 %count, %count, 1;";
  return {
      make_sequence("arrive", {kInit, "mbarrier.arrive.shared.b64 %_st, [%_b];",
                               "mbarrier.arrive.release.cta.shared::cta.b64 %_st, [%_b];",
                               "sub.u32 %_pc, %count, 2;\n  mbarrier.arrive.shared.b64 %_st, [%_b], %_pc;",
                               "mbarrier.arrive.shared.b64 %_st, [%_b];"}),
      make_sequence("arrive.noComplete", {kInit, "mbarrier.arrive.noComplete.shared.b64 %_st, [%_b], 2;",
                                          "mbarrier.arrive.shared.b64 %_st, [%_b];"}),
      make_sequence("arrive.expect_tx",
                    {kInit, kAllButOne, "mbarrier.arrive.expect_tx.shared.b64 %_st, [%_b], %bytes;",
                     "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%_b], %bytes;",
                     "mbarrier.arrive.shared.b64 %_st, [%_b];"}),
      make_sequence("expect_tx", {kInit, "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%_b], %bytes;",
                                  "mbarrier.arrive.shared.b64 %_st, [%_b], %count;",
                                  "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%_b], %bytes;",
                                  "mbarrier.arrive.shared.b64 %_st, [%_b];"}),
      make_sequence("complete_tx before expect_tx",
                    {kInit, "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%_b], %bytes;",
                     "mbarrier.arrive.expect_tx.shared.b64 %_st, [%_b], %bytes;", kAllButOne,
                     "mbarrier.arrive.shared.b64 %_st, [%_b];"}),
      make_sequence(
          "states",
          {kInit, kAllButOne, "mov.b64 %_s0, %_st;\n  mbarrier.test_wait.shared.b64 %_ok, [%_b], %_s0;",
           "mbarrier.arrive.shared.b64 %_st, [%_b];", "mbarrier.test_wait.shared.b64 %_ok, [%_b], %_s0;",
           "mbarrier.try_wait.shared.b64 %_ok, [%_b], %_s0;",
           "mbarrier.arrive.shared.b64 %_s0, [%_b];\n  mbarrier.test_wait.shared.b64 %_ok, [%_b], %_s0;"}),
      make_sequence("arrive_drop.expect_tx",
                    {kInit, "mbarrier.arrive_drop.expect_tx.shared.b64 %_st, [%_b], %bytes;", kAllButOne,
                     "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%_b], %bytes;", kAllButOne}),
      make_sequence("arrive_drop", {kInit, "mbarrier.arrive_drop.shared.b64 %_st, [%_b];", kAllButOne,
                                    "mbarrier.arrive.shared.b64 %_st, [%_b];",
                                    "mbarrier.arrive_drop.noComplete.shared.b64 %_st, [%_b], 1;"}),
  };
}

} // namespace lemma::golden
