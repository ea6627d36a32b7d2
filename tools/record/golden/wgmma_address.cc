// Cases of wgmma that show where matrix descriptors lead. See matrix.h.
//
// A unit is a warpgroup, a CTA of its own. Every element of its shared memory, 192 KB, tells where it lies;
// one operand is the identity, so that D says from which address each element of the other came. Starts,
// offsets (negative ones too: addresses wrap at 2^18) and base offsets are random.
//
// Tests: tests/unit/golden/, tests/golden/.
#include "golden/fragment_text.h"
#include "golden/matrix.h"
#include "golden/thread_kernel.h"
#include "layout/smem_descriptor.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::golden {
namespace {

using isa::Type;
using layout::SmemDescriptor;
using layout::Swizzle;

constexpr uint32_t kBlock = 128, kWarps = 4, kRows = 64;
constexpr uint32_t kAtom = 1024; // bytes; the longest swizzle repeats after them
constexpr Swizzle kSwizzles[] = {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128};
constexpr auto kSwizzleCount = static_cast<uint32_t>(std::size(kSwizzles));

// A plane of a warp's registers as one of a warpgroup's, and back.
Plane of_group(Plane plane) {
  plane.per_unit *= kWarps;
  plane.dims.insert(plane.dims.begin(), {"warp", kWarps});
  return plane;
}
Plane of_warp(Plane plane) {
  plane.per_unit /= kWarps;
  return plane;
}

constexpr const char* kDeclarations = "  .reg .b32 %_s, %_t, %x<4>;\n  .reg .b64 %_a, %_b, %_q;\n"
                                      "  .reg .pred %_scale;\n";

// Loads the unit's two descriptors, relative to `smem`, to %_a and %_b; %_s: the address of smem.
std::string load_descriptors(const Plane& plane) {
  return fmt::format("  mad.wide.u32 %_p, %_c, 16, %_in;\n  ld.global.b64 %_a, [%_p+{}];\n"
                     "  ld.global.b64 %_b, [%_p+{}];\n  shr.u32 %_t, %_s, 4;\n  cvt.u64.u32 %_q, %_t;\n"
                     "  add.u64 %_a, %_a, %_q;\n  add.u64 %_b, %_b, %_q;\n",
                     plane.offset_bytes, plane.offset_bytes + 8);
}

constexpr const char* kFence = "  wgmma.fence.sync.aligned;\n";
constexpr const char* kFinish = "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";

// Shared memory holds f16 numbers: the low bits of every element's index in a first pass, the high bits in a
// second. Its first kAtom bytes hold the identity that A is multiplied with, where A is looked at.
constexpr uint32_t kSharedBytes = 192 * 1024;
constexpr int kLowBits = 9;
constexpr int kInstructionK = 16;

struct Look {
  bool at_a = false, mn_major = false;
  uint32_t rows() const { return at_a ? kRows : 64; }
};

uint64_t random_descriptor(const Look& look, Swizzle swizzle, bool base_offset, numeric::Random& random) {
  const auto offset = [&] {
    return 16 * (1 + static_cast<uint32_t>(random.below(uint64_t{8} << random.below(8))));
  };
  for (;;) {
    const uint32_t leading = offset(), stride = offset(), line = line_bytes(swizzle);
    // What the matrix spans, with a line's worth on either side for the swizzle.
    uint32_t span = 4 * kAtom + 8 * line;
    if (!look.mn_major)
      span += (look.rows() / 8 - 1) * stride + (swizzle == Swizzle::none ? leading : 16);
    else if (swizzle == Swizzle::none)
      span += (look.rows() / 8 - 1) * stride + leading;
    else
      span += stride + look.rows() * 2 / line * leading + 128;
    if (span >= kSharedBytes)
      continue;
    uint32_t start = 2 * kAtom + static_cast<uint32_t>(random.below((kSharedBytes - span) / 16)) * 16;
    if (random.bits(2) == 0)
      start = start / kAtom * kAtom;
    return SmemDescriptor{.start = start,
                          .leading = leading,
                          .stride = stride,
                          .base_offset = base_offset ? static_cast<uint32_t>(random.below(8)) : 0,
                          .swizzle = swizzle}
        .encode();
  }
}

// Writes shared memory; `expression` makes %_t of the element index %_t.
std::string fill_shared(int pass, const char* expression, bool identity) {
  std::string text =
      fmt::format("  bar.sync 0;\n  mov.u32 %_m, %tid.x;\nFILL{0}:\n  mov.u32 %_t, %_m;\n  {1}\n"
                  "  cvt.rn.f16.u32 %_h, %_t;\n  mad.lo.u32 %_t, %_m, 2, %_s;\n"
                  "  st.shared.b16 [%_t], %_h;\n  add.u32 %_m, %_m, {2};\n"
                  "  setp.lt.u32 %_scale, %_m, {3};\n  @%_scale bra FILL{0};\n  bar.sync 0;\n",
                  pass, expression, kBlock, kSharedBytes / 2);
  if (identity) { // 16 x 16, K-major, no swizzle: column n's bytes of K 0-7 at n * 16, of K 8-15 512 on
    text += fmt::format("  mov.u32 %_t, %tid.x;\n  mad.lo.u32 %_t, %_t, 8, %_s;\n"
                        "  st.shared.v2.b32 [%_t], {{0, 0}};\n  bar.sync 0;\n  mov.u32 %_t, %tid.x;\n"
                        "  setp.lt.u32 %_scale, %_t, 16;\n  mad.lo.u32 %_m, %_t, 18, %_s;\n"
                        "  and.b32 %_t, %_t, 8;\n  mad.lo.u32 %_m, %_t, 62, %_m;\n  mov.b16 %_h, 0x3c00;\n"
                        "  @%_scale st.shared.b16 [%_m], %_h;\n");
  }
  return text + "  fence.proxy.async;\n  bar.sync 0;\n";
}

Case make_look(const Look& look) {
  constexpr uint64_t kUnitsPerPart = 12;
  const uint32_t n = look.at_a ? kInstructionK : look.rows();
  const FragmentText d = word_registers(Type::f32, static_cast<int>(n) / 2);
  Case c;
  c.name = fmt::format("descriptors of {}, {}-major", look.at_a ? "A" : "B", look.mn_major ? "MN" : "K");
  c.family = c.name;
  c.entry = entry_name(c.name);
  c.unit_name = "warpgroup";
  c.inputs = {{.name = "descriptor", .type = Type::b64, .element_bytes = 8, .per_unit = 2}};
  // Of B the four warps see the same 16 rows of K: all are kept, they are alike.
  c.outputs = {of_group(fragment_plane("low", d)), of_group(fragment_plane("high", d))};
  for (const char* base : {"", ", base offsets"})
    for (const Swizzle swizzle : kSwizzles)
      c.parts.push_back(
          {fmt::format("{}{}", swizzle == Swizzle::none ? "none" : fmt::format("{}B", line_bytes(swizzle)),
                       base),
           c.parts.size() * kUnitsPerPart, kUnitsPerPart});
  c.units = c.parts.size() * kUnitsPerPart;
  lay_out(c.inputs, c.units);
  lay_out(c.outputs, c.units);
  c.block[0] = kBlock;
  c.grid[0] = static_cast<uint32_t>(c.units);
  c.shared_bytes = kSharedBytes;
  c.common = ".extern .shared .align 1024 .b8 dynamic[];\n";

  c.text = kernel_head(c.entry) + std::string(kWarpAndLane) + kDeclarations +
           "  .reg .b32 %_m;\n  .reg .pred %_one;\n" + declare_fragment("d", d) +
           "  mov.u32 %_s, dynamic;\n" + load_descriptors(c.inputs[0]);
  std::string a = "%_a";
  if (!look.at_a) { // each warp's 16 rows of A: the identity
    a = "{%x0, %x1, %x1, %x0}";
    c.text += "  mov.b32 %x1, 0;\n  mov.b32 %x0, 0;\n  shr.u32 %_t, %_n, 2;\n  and.b32 %_m, %_n, 3;\n"
              "  add.u32 %_m, %_m, %_m;\n  sub.u32 %_t, %_t, %_m;\n  setp.eq.u32 %_one, %_t, 0;\n"
              "  @%_one mov.b32 %x0, 0x3c00;\n  setp.eq.u32 %_one, %_t, 1;\n"
              "  @%_one mov.b32 %x0, 0x3c000000;\n";
  }
  const std::string shape = fmt::format("wgmma.mma_async.sync.aligned.m64n{}k16.f32.f16.f16", n);
  const std::string transpose =
      look.at_a ? fmt::format("{}, 0", look.mn_major ? 1 : 0) : fmt::format("{}", look.mn_major ? 1 : 0);
  const std::string low = fmt::format("and.b32 %_t, %_t, {};", (1 << kLowBits) - 1);
  const std::string high = fmt::format("shr.u32 %_t, %_t, {};", kLowBits);
  for (const int pass : {0, 1}) {
    c.text += fill_shared(pass, (pass == 0 ? low : high).c_str(), look.at_a);
    c.text += fmt::format("{}  {} {}, {}, %_b, 0, 1, 1, {};\n{}", kFence, shape, register_list("d", d.count),
                          a, transpose, kFinish);
    c.text += transfer_fragment(false, "d", d, of_warp(c.outputs[static_cast<size_t>(pass)]));
  }
  c.text += "  ret;\n}\n";
  c.fill = [look](const Part& part, numeric::Random& random, Inputs& inputs) {
    const auto index = static_cast<uint32_t>(part.first / kUnitsPerPart);
    for (uint64_t unit = part.first; unit < part.first + part.units; ++unit) {
      const uint64_t bits =
          random_descriptor(look, kSwizzles[index % kSwizzleCount], index >= kSwizzleCount, random);
      inputs.set(0, unit * 2, look.at_a ? bits : 0);
      inputs.set(0, unit * 2 + 1, look.at_a ? SmemDescriptor{.leading = 512, .stride = 128}.encode() : bits);
    }
  };
  return c;
}

} // namespace

std::vector<Case> wgmma_address_cases() {
  std::vector<Case> cases;
  for (const bool at_a : {false, true})
    for (const bool mn_major : {false, true})
      cases.push_back(make_look({.at_a = at_a, .mn_major = mn_major}));
  return cases;
}

} // namespace lemma::golden
