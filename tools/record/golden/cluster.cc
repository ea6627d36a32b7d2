// Clusters: registers, addresses of shared memory, the barrier, and programs of several CTAs on each other's
// shared memory. PTX ISA: "mapa", "getctarank", "isspacep", "barrier.cluster", "Special Registers:
// %cluster_*". Loads, stores and atomics one by one are those of memory.cc and atomic.cc on another CTA's
// memory.
#include "golden/fill.h"
#include "golden/templates.h"
#include "golden/thread_kernel.h"

#include <fmt/format.h>

#include <iterator>

namespace lemma::golden {
namespace {

using isa::Type;

constexpr uint32_t kBlock = 64;
constexpr uint32_t kCtas = 4;               // of a cluster
constexpr uint64_t kUnits = kBlock * 3 * 8; // a multiple of clusters of 1, 2, 3, 4, 8

constexpr const char* kArrive = "barrier.cluster.arrive.aligned;";
constexpr const char* kWait = "barrier.cluster.wait.aligned;";

void lines(ThreadKernel& kernel, std::initializer_list<const char*> statements) {
  for (const char* statement : statements)
    kernel.body(statement);
}

// --- Registers -----------------------------------------------------------------------------------

// A grid of 4 x 4 x 2 CTAs of 2 threads in clusters of 2 x 2 x 1, or in clusters of one, or none.
Case make_registers(const char* name, std::array<uint32_t, 3> cluster, uint32_t shared_bytes) {
  static constexpr const char* kRegisters[] = {"clusterid.x",
                                               "clusterid.y",
                                               "clusterid.z",
                                               "nclusterid.x",
                                               "nclusterid.y",
                                               "nclusterid.z",
                                               "cluster_ctaid.x",
                                               "cluster_ctaid.y",
                                               "cluster_ctaid.z",
                                               "cluster_nctaid.x",
                                               "cluster_nctaid.y",
                                               "cluster_nctaid.z",
                                               "cluster_ctarank",
                                               "cluster_nctarank",
                                               "ctaid.x",
                                               "ctaid.y",
                                               "ctaid.z",
                                               "nctaid.x",
                                               "dynamic_smem_size",
                                               "total_smem_size",
                                               "aggr_smem_size",
                                               "reserved_smem_offset_begin",
                                               "reserved_smem_offset_end",
                                               "reserved_smem_offset_cap"};
  Case c;
  c.name = name;
  c.family = "registers";
  c.entry = entry_name(name);
  c.grid = {4, 4, 2};
  c.block = {2, 1, 1};
  c.cluster = cluster;
  c.shared_bytes = shared_bytes;
  c.units = 4 * 4 * 2 * 2;
  c.parts = {{"all", 0, c.units}};
  for (const char* reg : kRegisters)
    c.outputs.push_back({.name = reg, .type = Type::b32});
  c.outputs.push_back({.name = "is_explicit_cluster", .type = Type::b32});
  lay_out(c.outputs, c.units);
  c.text = kernel_head(c.entry) + R"(  .reg .b32 %t, %x;
  .reg .pred %_t;
  .shared .align 4 .b8 used[100];
  mov.u32 %_i, %ctaid.z;
  mov.u32 %t, %ctaid.y;  mad.lo.u32 %_i, %_i, 4, %t;
  mov.u32 %t, %ctaid.x;  mad.lo.u32 %_i, %_i, 4, %t;
  mov.u32 %t, %tid.x;    mad.lo.u32 %_i, %_i, 2, %t;
  mad.wide.u32 %_p, %_i, 4, %_out;
  st.shared.u32 [used], %t;
)";
  for (size_t i = 0; i < std::size(kRegisters); ++i)
    c.text += fmt::format("  mov.u32 %x, %{};\n  st.global.u32 [%_p+{}], %x;\n", kRegisters[i],
                          c.outputs[i].offset_bytes);
  c.text += fmt::format("  mov.pred %_t, %is_explicit_cluster;\n  selp.u32 %x, 1, 0, %_t;\n"
                        "  st.global.u32 [%_p+{}], %x;\n  ret;\n}}\n",
                        c.outputs.back().offset_bytes);
  return c;
}

// --- Addresses -----------------------------------------------------------------------------------

// Shared addresses as numbers; generic ones relative to the own CTA's variable.
Case make_addresses() {
  ThreadKernel kernel("addresses", "addresses");
  kernel.block(kBlock);
  kernel.cluster(kCtas);
  kernel.in("rank", Type::u32, 32);
  kernel.in("offset", Type::u32, 32);
  kernel.declare(".shared .align 16 .b8 first[48];\n  .shared .align 16 .b8 var[64];\n"
                 "  .reg .b64 %_a, %_b, %_g;\n  .reg .pred %_t;");
  kernel.body("mov.u32 %_c, first;\n  st.shared.u32 [%_c], %_i;");
  const auto result = [&](const char* name, const std::string& statements) {
    kernel.out(name, Type::b32, 32);
    kernel.body(statements);
  };
  result("var", "mov.u32 %var, var+4;");
  result("var64", "mov.u64 %_a, var+4;\n  cvt.u32.u64 %var64, %_a;");
  result("mapa", "add.u32 %mapa, %var, %offset;\n  mapa.shared::cluster.u32 %mapa, %mapa, %rank;");
  result("mapa_of_variable", "mapa.shared::cluster.u32 %mapa_of_variable, var+8, %rank;");
  result("mapa64", "mapa.shared::cluster.u64 %_b, %_a, %rank;\n  cvt.u32.u64 %mapa64, %_b;");
  result("mapa_generic", "cvta.shared.u64 %_g, %_a;\n  mapa.u64 %_b, %_g, %rank;\n  mapa.u64 %_g, %_g, 0;\n"
                         "  sub.u64 %_g, %_b, %_g;\n  cvt.u32.u64 %mapa_generic, %_g;");
  result("cvta_to", "cvta.to.shared::cluster.u64 %_g, %_b;\n  cvt.u32.u64 %cvta_to, %_g;");
  result("rank_back", "getctarank.shared::cluster.u32 %rank_back, %mapa;");
  result("rank_of_variable", "getctarank.shared::cluster.u32 %rank_of_variable, var;");
  result("rank64", "cvt.u64.u32 %_g, %mapa;\n  getctarank.shared::cluster.u64 %rank64, %_g;");
  result("rank_generic", "getctarank.u64 %rank_generic, %_b;");
  result("spaces", "mov.u32 %spaces, 0;");
  int bit = 0;
  for (const char* space : {"shared", "shared::cta", "shared::cluster", "global", "local", "const"})
    kernel.body(
        fmt::format("isspacep.{} %_t, %_b;\n  @%_t add.u32 %spaces, %spaces, {};", space, 1 << bit++));
  Case c = kernel.finish(kUnits);
  c.fill = fill_each({below(kCtas), below(56)});
  return c;
}

// A variable by its name is the CTA's own, whatever the space.
Case make_by_name() {
  ThreadKernel kernel("variables by name", "addresses");
  kernel.block(kBlock);
  kernel.cluster(kCtas);
  kernel.in("a", Type::u32, 32);
  kernel.out("d", Type::u32, 32);
  kernel.out("e", Type::u32, 32);
  kernel.declare(".shared .align 4 .b32 var[2];\n  .reg .pred %_t;\n  .reg .b32 %_x;");
  lines(kernel, {"mov.u32 %_x, %tid.x;", "setp.eq.u32 %_t, %_x, 0;",
                 "@%_t st.shared::cluster.u32 [var+4], %a;", "@%_t st.shared.u32 [var], %_i;", kArrive, kWait,
                 "ld.shared::cta.u32 %d, [var+4];", "ld.shared::cluster.u32 %e, [var];"});
  Case c = kernel.finish(kUnits);
  c.fill = fill_each({any_bits()});
  return c;
}

// --- The barrier ---------------------------------------------------------------------------------

struct BarrierShape {
  const char* name;
  const char* arrive; // statements
  const char* wait;
};
constexpr BarrierShape kBarriers[] = {
    {"barrier.cluster.arrive and wait", "barrier.cluster.arrive;", "barrier.cluster.wait;"},
    {"barrier.cluster.arrive.aligned and wait.aligned", kArrive, kWait},
    {"barrier.cluster.arrive.release and wait.acquire", "barrier.cluster.arrive.release;",
     "barrier.cluster.wait.acquire;"},
    {"barrier.cluster.arrive.release.aligned and wait.acquire.aligned",
     "barrier.cluster.arrive.release.aligned;", "barrier.cluster.wait.acquire.aligned;"},
    {"barrier.cluster.arrive.relaxed after a fence",
     "fence.acq_rel.cluster;\n  barrier.cluster.arrive.relaxed;", "barrier.cluster.wait.acquire;"},
    {"barrier.cluster.arrive.relaxed.aligned after a fence",
     "fence.sc.cluster;\n  barrier.cluster.arrive.relaxed.aligned;", "barrier.cluster.wait.aligned;"},
};

// Values go round the cluster, a CTA a step.
Case make_ring(const BarrierShape& shape, uint32_t ctas) {
  ThreadKernel kernel(fmt::format("{}, {} CTAs", shape.name, ctas), "barrier.cluster");
  kernel.block(kBlock);
  kernel.cluster(ctas);
  kernel.in("a", Type::u32, 32);
  kernel.out("d", Type::u32, 32);
  kernel.declare(fmt::format(".shared .align 4 .b32 words[{}];\n  .reg .b32 %_s, %_r;", 2 * kBlock));
  lines(kernel, {"mov.u32 %_c, %tid.x;", "mov.u32 %_s, words;", "mad.lo.u32 %_s, %_c, 4, %_s;",
                 "mov.u32 %_c, %cluster_ctarank;", "add.u32 %_c, %_c, 1;", "mov.u32 %_n, %cluster_nctarank;",
                 "rem.u32 %_c, %_c, %_n;", "mapa.shared::cluster.u32 %_r, %_s, %_c;", "mov.u32 %d, %a;"});
  for (int step = 0; step < 5; ++step) { // two words in turn: one is read while the other is written
    const int at = step % 2 * static_cast<int>(kBlock) * 4;
    kernel.body(fmt::format("st.shared::cluster.u32 [%_r+{}], %d;", at));
    kernel.body(shape.arrive);
    kernel.body(shape.wait);
    kernel.body(fmt::format("ld.shared.u32 %_w, [%_s+{}];", at));
    kernel.body("mad.lo.u32 %d, %_w, 3, %_i;");
  }
  Case c = kernel.finish(kUnits);
  c.fill = fill_each({any_bits()});
  return c;
}

// Some threads, and of CTA 1 all, are gone before the others meet.
Case make_exited() {
  ThreadKernel kernel("barrier.cluster when some have exited", "barrier.cluster");
  kernel.block(kBlock);
  kernel.in("goes", Type::pred, 1);
  kernel.memory("m", Type::u32, 4);
  kernel.declare(".shared .align 4 .b32 word;\n  .reg .b32 %_s;\n  .reg .pred %_t;");
  lines(kernel, {"mov.u32 %_c, %cluster_ctarank;", "setp.eq.u32 %_t, %_c, 1;", "or.pred %_t, %_t, %goes;",
                 "barrier.cluster.arrive;", "barrier.cluster.wait;", "@%_t ret;", "barrier.cluster.arrive;",
                 "barrier.cluster.wait;", "st.global.u32 [%m], %_c;"});
  Case c = kernel.finish(kUnits);
  c.cluster = {kCtas, 1, 1};
  c.fill = fill_each({below(2), any_bits()});
  return c;
}

// --- Programs ------------------------------------------------------------------------------------

// The clusters count into the memory of all their CTAs; CTA r holds the counts from r * kBlock on.
Case make_histogram() {
  ThreadKernel kernel("histogram over a cluster", "programs");
  kernel.block(kBlock);
  kernel.cluster(kCtas);
  kernel.in("a", Type::u32, 32);
  kernel.out("count", Type::u32, 32);
  kernel.declare(fmt::format(".shared .align 4 .b32 counts[{}];\n  .reg .b32 %_s, %_r;", kBlock));
  lines(kernel,
        {"mov.u32 %_c, %tid.x;", "mov.u32 %_s, counts;", "mad.lo.u32 %_s, %_c, 4, %_s;",
         "st.shared.u32 [%_s], 0;", kArrive, kWait, "shr.u32 %_c, %a, 6;", "and.b32 %_w, %a, 63;",
         "mov.u32 %_r, counts;", "mad.lo.u32 %_r, %_w, 4, %_r;", "mapa.shared::cluster.u32 %_r, %_r, %_c;",
         "red.shared::cluster.add.u32 [%_r], 1;", kArrive, kWait, "ld.shared.u32 %count, [%_s];"});
  Case c = kernel.finish(kUnits);
  c.fill = fill_each({below(uint64_t{kBlock} * kCtas)});
  return c;
}

// Every CTA sums its values in its own memory and adds the sums of all.
Case make_reduction() {
  ThreadKernel kernel("sum over a cluster of 8", "programs");
  kernel.block(kBlock);
  kernel.cluster(8);
  kernel.in("a", Type::u64, 64);
  kernel.out("sum", Type::u64, 64);
  kernel.declare(
      ".shared .align 8 .b64 total;\n  .reg .b64 %_q, %_g, %_v;\n  .reg .pred %_t;\n  .reg .b32 %_r;");
  lines(kernel,
        {"mov.u32 %_c, %tid.x;", "setp.eq.u32 %_t, %_c, 0;", "@%_t st.shared.u64 [total], 0;", "bar.sync 0;",
         "red.shared::cta.add.u64 [total], %a;", kArrive, kWait, "cvta.shared.u64 %_q, total;",
         "mov.u64 %sum, 0;", "mov.u32 %_r, 0;", "NEXT:", "mapa.u64 %_g, %_q, %_r;", "ld.u64 %_v, [%_g];",
         "add.u64 %sum, %sum, %_v;", "add.u32 %_r, %_r, 1;", "setp.lt.u32 %_t, %_r, 8;", "@%_t bra NEXT;"});
  Case c = kernel.finish(kUnits);
  c.fill = fill_each({any_bits()});
  return c;
}

void append(std::vector<Case>& cases, std::vector<Case> more) {
  cases.insert(cases.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
}

} // namespace

std::vector<Case> cluster_cases(std::string_view) {
  std::vector<Case> cases;
  cases.push_back(make_registers("registers, clusters of 2 x 2", {2, 2, 1}, 1000));
  cases.push_back(make_registers("registers, clusters of 1 x 2 x 2", {1, 2, 2}, 0));
  cases.push_back(make_registers("registers, clusters of one CTA", {1, 1, 1}, 65536));
  cases.push_back(make_registers("registers, no clusters", {0, 0, 0}, 227 * 1024 - 128));
  cases.push_back(make_addresses());
  cases.push_back(make_by_name());
  for (const BarrierShape& shape : kBarriers)
    cases.push_back(make_ring(shape, kCtas));
  for (const uint32_t ctas : {1u, 2u, 3u, 8u})
    cases.push_back(make_ring(kBarriers[0], ctas));
  cases.push_back(make_exited());
  cases.push_back(make_histogram());
  cases.push_back(make_reduction());
  append(cases, cluster_memory_cases());
  append(cases, cluster_atomic_cases());
  return cases;
}

} // namespace lemma::golden
