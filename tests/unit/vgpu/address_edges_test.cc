// Every instruction that takes an address, given addresses round the edges of the state spaces, of their
// windows and of the numbers: it succeeds where each lane's bytes lie in memory of the kernel's, and else is
// a fault. Under AddressSanitizer the same runs show that nothing else is touched.
#include "kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kBufferBytes = 4096, kSharedBytes = 2048, kLocalBytes = 64, kParamBytes = 32;

struct Family {
  std::string text;       // with %a the address
  std::string space = {}; // as in PTX; "": generic
  uint32_t bytes = 0;     // of a lane, aligned to as many; 0: what is legal is not said here
  bool writes = false;
};

std::string kernel_of(const Family& family) {
  return fmt::format(R"(
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func free(.param .b64 p);
.shared .align 128 .b8 shared[{}];
.visible .entry k(.param .u64 addresses, .param .u64 mask, .param .u64 buffer, .param .u64 unused) {{
  .local .align 16 .b8 depot[{}];
  .reg .b64 %addresses, %mask, %buffer, %a, %x<4>;
  .reg .b32 %t, %m, %r<8>, %s;
  .reg .b16 %h<2>;
  .reg .f32 %f<8>;
  .reg .b128 %w;
  .reg .pred %p, %q;
  mov.u32 %t, %tid.x;
  ld.param.u64 %addresses, [addresses];
  ld.param.u64 %mask, [mask];
  ld.param.u64 %buffer, [buffer];
  mov.u32 %s, shared;
  mov.u64 %x0, depot;
  st.local.u32 [depot], %t;
  mul.wide.u32 %a, %t, 8;
  add.u64 %a, %a, %addresses;
  ld.global.u64 %a, [%a];
  cvt.u32.u64 %m, %mask;
  shr.u32 %m, %m, %t;
  and.b32 %m, %m, 1;
  setp.ne.u32 %p, %m, 0;
  mov.b32 %r0, 0; mov.b32 %r1, 1; mov.b32 %r2, 2; mov.b32 %r3, 3;
  mov.b64 %x1, 1; mov.b64 %x2, 2;
  mov.b128 %w, {{%x1, %x2}};
  mov.b32 %f0, 0; mov.b32 %f1, 0; mov.b32 %f2, 0; mov.b32 %f3, 0; mov.b32 %f4, 0; mov.b32 %f5, 0;
  mov.b32 %f6, 0; mov.b32 %f7, 0;
  {}
  ret;
}}
)",
                     kSharedBytes, kLocalBytes, family.text);
}

std::vector<Family> loads_and_stores() {
  struct Shape {
    const char* type;
    const char* registers;
    uint32_t bytes;
  };
  constexpr Shape kShapes[] = {{"u8", "%r1", 1},
                               {"b16", "%h0", 2},
                               {"u32", "%r1", 4},
                               {"b64", "%x1", 8},
                               {"v2.u32", "{%r1, %r2}", 8},
                               {"v4.u32", "{%r0, %r1, %r2, %r3}", 16},
                               {"v2.u64", "{%x1, %x2}", 16},
                               {"b128", "%w", 16}};
  std::vector<Family> families;
  for (const std::string space : {"", "global", "shared", "shared::cluster", "local", "param"})
    for (const Shape& shape : kShapes) {
      const std::string dot = space.empty() ? "" : "." + space;
      families.push_back({fmt::format("@%p ld{}.{} {}, [%a];", dot, shape.type, shape.registers), space,
                          shape.bytes, false});
      if (space != "param")
        families.push_back({fmt::format("@%p st{}.{} [%a], {};", dot, shape.type, shape.registers), space,
                            shape.bytes, true});
    }
  for (const std::string space : {"", "global", "shared"}) {
    const std::string dot = space.empty() ? "" : "." + space;
    for (const auto& [text, bytes] : {std::pair{"atom{}.add.u32 %r0, [%a], %r1;", 4},
                                      {"atom{}.cas.b64 %x0, [%a], %x1, %x2;", 8},
                                      {"atom{}.cas.b16 %h0, [%a], %h0, %h1;", 2},
                                      {"atom{}.exch.b128 %w, [%a], %w;", 16},
                                      {"red{}.max.s64 [%a], %x1;", 8},
                                      {"red{}.add.noftz.f16x2 [%a], %r1;", 4}})
      families.push_back(
          {"@%p " + fmt::format(fmt::runtime(text), dot), space, static_cast<uint32_t>(bytes), true});
  }
  families.push_back(
      {"@%p atom.global.add.v4.f32 {%f0, %f1, %f2, %f3}, [%a], {%f4, %f5, %f6, %f7};", "global", 16, true});
  return families;
}

// What is legal for these depends on more than each lane's address.
std::vector<Family> others() {
  std::vector<Family> families;
  for (const char* text :
       {"@%p ld.const.u32 %r1, [%a];",
        "@%p ld.const.v4.u32 {%r0, %r1, %r2, %r3}, [%a];",
        "@%p ldu.global.u32 %r1, [%a];",
        "@%p prefetch.global.L2 [%a];",
        "@%p prefetch.local.L1 [%a];",
        "@%p prefetchu.L1 [%a];",
        "@%p discard.global.L2 [%a], 128;",
        "@%p discard.L2 [%a], 128;",
        "@%p applypriority.global.L2::evict_normal [%a], 128;",
        "@%p cp.async.ca.shared.global [%a], [%buffer], 4; cp.async.wait_all;",
        "@%p cp.async.ca.shared.global [%s], [%a], 8; cp.async.wait_all;",
        "@%p cp.async.cg.shared.global [%a], [%a], 16; cp.async.wait_all;",
        "@%p cp.async.ca.shared.global [%s], [%a], 16, %r3; cp.async.wait_all;",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%a];",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%a];",
        "ldmatrix.sync.aligned.m8n8.x4.trans.b16 {%r0, %r1, %r2, %r3}, [%a];",
        "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%a], {%r0, %r1};",
        "stmatrix.sync.aligned.m8n8.x4.b16 [%a], {%r0, %r1, %r2, %r3};",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%a];",
        "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%a], "
        "%r3;",
        "wmma.load.c.sync.aligned.row.m16n16k16.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [%a], %m;",
        "wmma.store.d.sync.aligned.row.m16n16k16.f32 [%a], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};",
        "@%p mbarrier.init.shared.b64 [%a], 3;",
        "@%p mbarrier.init.b64 [%a], 3;",
        "@%p mbarrier.arrive.shared.b64 %x0, [%a];",
        "@%p mbarrier.test_wait.parity.shared.b64 %q, [%a], 0;",
        "@%p cp.async.mbarrier.arrive.shared.b64 [%a];",
        "@%p cp.async.bulk.global.shared::cta.bulk_group [%a], [%s], 64;",
        "@%p cp.async.bulk.global.shared::cta.bulk_group [%buffer], [%a], 64;",
        "@%p cp.async.bulk.global.shared::cta.bulk_group [%buffer], [%s], %m;",
        "mov.u32 %r4, 0xfffffff0;\n @%p cp.async.bulk.global.shared::cta.bulk_group [%a], [%s], %r4;",
        "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%buffer], 64, [%s];",
        "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%a], 64, [%s];",
        "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%buffer], 64, [%a];",
        "@%p cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%a], [%s], 64;",
        "@%p st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%a], %r0, [%s];",
        "@%p st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%s], %r0, [%a];",
        "@%p red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%a], %r0, [%s];",
        "mapa.u64 %a, %a, %m; @%p st.u32 [%a], %r0;",
        "cvta.to.shared.u64 %a, %a; @%p ld.shared.u32 %r0, [%a];",
        "cvta.local.u64 %a, %a; @%p ld.v4.u32 {%r0, %r1, %r2, %r3}, [%a];",
        "add.u64 %x0, %x0, %a; @%p st.local.u32 [%x0], %r0;",
        "@%p ld.global.u32 %r0, [%a+2147483647];",
        "@%p st.shared.u32 [%a+-2147483648], %r0;",
        "{ .param .b64 f; .param .b64 g; .param .b32 r; st.param.b64 [f], %a; st.param.b64 [g], %a;"
        " @%p call (r), vprintf, (f, g); }",
        "{ .param .b64 f; st.param.b64 [f], %a; @%p call free, (f); }",
        "@%p stackrestore.u64 %a;",
        "@%p alloca.u64 %x0, %a; @%p st.local.u32 [%x0], %r0;"})
    families.push_back({text, "", 0, true});
  return families;
}

class Edges {
public:
  Edges() {
    const uint64_t windows[] = {0,
                                uint64_t{1} << 24,
                                uint64_t{1} << 31,
                                uint64_t{1} << 32,
                                kSharedReservedBytes,
                                kSharedReservedBytes + kSharedBytes,
                                kSharedWindow,
                                kSharedWindow + kSharedReservedBytes,
                                kSharedWindow + kSharedReservedBytes + kSharedBytes,
                                kSharedWindow + (uint64_t{1} << 24),
                                kSharedWindow + kSharedWindowBytes,
                                kLocalBytes,
                                kLocalWindow,
                                kLocalWindow + kLocalBytes,
                                kLocalWindow + kWindowBytes,
                                kParamWindow,
                                kParamWindow + kParamBytes,
                                kParamWindow + kWindowBytes,
                                kGlobalBase,
                                kGlobalEnd,
                                uint64_t{1} << 40,
                                uint64_t{1} << 63};
    edges_.assign(std::begin(windows), std::end(windows));
  }
  void add(uint64_t edge) { edges_.push_back(edge); }
  void add_home(uint64_t begin) { homes_.push_back(begin); }

  // An address at an edge or near it; 2^64 is 0. As often one that is likely to be legal.
  uint64_t pick(std::mt19937& random, uint32_t align) const {
    if (!homes_.empty() && random() % 2)
      return homes_[random() % homes_.size()] + random() % 4 * std::max(align, 1u);
    const uint64_t edge = edges_[random() % edges_.size()];
    const int64_t near = static_cast<int64_t>(random() % 9) - 4;
    const uint64_t step = random() % 8 ? std::max(align, 1u) : 1;
    return edge + static_cast<uint64_t>(near) * step;
  }

private:
  std::vector<uint64_t> edges_, homes_;
};

struct Pattern {
  std::array<uint64_t, 32> at{};
  uint32_t active = ~0u;
};

Pattern make_pattern(const Edges& edges, std::mt19937& random, uint32_t align) {
  Pattern pattern;
  const uint64_t a = edges.pick(random, align), b = edges.pick(random, align);
  const uint32_t kind = random() % 6, odd = random() % 32;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint64_t& at = pattern.at[lane];
    switch (kind) {
    case 0:
      at = a;
      break;
    case 1: // one lane elsewhere
      at = lane == odd ? b : a;
      break;
    case 2:
      at = lane % 2 ? b : a;
      break;
    case 3: // dense; may run over the edge
      at = a + (static_cast<uint64_t>(lane) - odd) * std::max(align, 1u);
      break;
    case 4:
      at = a + lane * (b - a);
      break;
    default:
      at = edges.pick(random, align);
    }
  }
  if (random() % 3 == 0)
    pattern.active = random() | 1u << odd;
  return pattern;
}

bool inside(uint64_t address, uint64_t bytes, uint64_t begin, uint64_t size) {
  return address - begin < size && bytes <= size - (address - begin);
}

// Do the bytes lie in memory that the kernel may use so?
bool is_legal(const Family& family, uint64_t address, uint64_t buffer) {
  const uint64_t bytes = family.bytes;
  if (address % bytes != 0)
    return false;
  if (family.space == "global")
    return inside(address, bytes, buffer, kBufferBytes);
  if (family.space == "local")
    return inside(address, bytes, 0, kLocalBytes);
  if (family.space == "param")
    return inside(address, bytes, 0, kParamBytes);
  if (family.space.starts_with("shared"))
    return inside(address, bytes, kSharedReservedBytes, kSharedBytes);
  const bool atomic = family.text.starts_with("@%p atom") || family.text.starts_with("@%p red");
  return inside(address, bytes, buffer, kBufferBytes) ||
         inside(address, bytes, kSharedWindow + kSharedReservedBytes, kSharedBytes) ||
         (!atomic && inside(address, bytes, kLocalWindow, kLocalBytes)) ||
         (!family.writes && inside(address, bytes, kParamWindow, kParamBytes));
}

// Returns how many launches succeeded.
int run_family(const Family& family, int patterns, uint32_t seed) {
  Kernel kernel(kernel_of(family));
  kernel.config().workers = 1;
  kernel.config().print = [](std::string_view) {};
  kernel.config().max_instructions = 10000;
  std::vector<uint8_t> text(kBufferBytes, 'x');
  text.back() = 0;
  const uint64_t buffer = kernel.buffer(text, "buffer");
  const uint64_t addresses = kernel.buffer(std::vector<uint64_t>(32), "addresses");
  Edges edges;
  edges.add(buffer);
  edges.add(buffer + kBufferBytes);
  if (family.space == "local" || family.space == "param")
    edges.add_home(0);
  if (family.space.starts_with("shared"))
    edges.add_home(kSharedReservedBytes);
  if (family.space.empty() || family.space == "global")
    edges.add_home(buffer);
  if (family.space.empty())
    for (const uint64_t home : {kSharedWindow + kSharedReservedBytes, kLocalWindow, kParamWindow})
      edges.add_home(home);
  std::mt19937 random(seed);
  int succeeded = 0;
  for (int i = 0; i < patterns; ++i) {
    const Pattern pattern = make_pattern(edges, random, family.bytes ? family.bytes : 16);
    std::memcpy(kernel.memory().find(addresses)->host, pattern.at.data(), sizeof pattern.at);
    const Report report = kernel.run({addresses, pattern.active, buffer, 0});
    succeeded += report.ok();
    EXPECT_NE(report.outcome, Outcome::internal) << family.text << fault_in(report).message;
    EXPECT_NE(fault_in(report).kind, FaultKind::unsupported) << family.text;
    if (family.bytes == 0)
      continue;
    bool legal = true;
    for (int lane = 0; lane < 32; ++lane)
      legal &= !(pattern.active >> lane & 1) || is_legal(family, pattern.at[lane], buffer);
    EXPECT_EQ(report.ok(), legal) << family.text << "\nlane 0 at " << std::hex << pattern.at[0]
                                  << ", lane 1 at " << pattern.at[1] << ", active " << pattern.active << "\n"
                                  << fault_in(report).message;
  }
  return succeeded;
}

TEST(AddressEdges, LoadsStoresAndAtomics) {
  uint32_t seed = 1;
  int succeeded = 0;
  for (const Family& family : loads_and_stores())
    succeeded += run_family(family, 400, seed++);
  EXPECT_GT(succeeded, 4000) << "of 46,000";
}

TEST(AddressEdges, EverythingElseThatTakesAnAddress) {
  uint32_t seed = 1000;
  for (const Family& family : others())
    run_family(family, 250, seed++);
}

// One lane at the first address, another at the last: the span between them does not fit 64 bits.
TEST(AddressEdges, ASpanOfTheWholeAddressSpace) {
  for (const std::string space : {"local", "param", "shared", "global"})
    for (const uint32_t bytes : {4u, 8u, 16u}) {
      const std::string type = bytes == 4 ? "u32 %r1" : bytes == 8 ? "u64 %x1" : "v2.u64 {%x1, %x2}";
      Kernel kernel(kernel_of({.text = "@%p ld." + space + "." + type + ", [%a];"}));
      const uint64_t buffer = kernel.buffer(std::vector<uint8_t>(kBufferBytes));
      std::vector<uint64_t> at(32);
      for (const int lane : {1, 16, 31}) {
        std::fill(at.begin(), at.end(), 0);
        at[static_cast<size_t>(lane)] = 0 - uint64_t{bytes};
        const Report report = kernel.run({kernel.buffer(at), ~0u, buffer, 0});
        EXPECT_EQ(fault_in(report).kind, FaultKind::out_of_bounds) << space << bytes;
        EXPECT_EQ(fault_in(report).lane, space == "local" || space == "param" ? lane : 0);
      }
    }
}

} // namespace
} // namespace lemma::vgpu
