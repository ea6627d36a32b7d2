// Which groups there are. See groups.h.
#include "golden/groups.h"

#include "golden/layout.h"
#include "golden/matrix.h"
#include "golden/scalar.h"
#include "golden/templates.h"

#include <algorithm>
#include <cassert>

namespace lemma::golden {
namespace {

struct Maker {
  GroupInfo info;
  std::vector<Case> (*make)(std::string_view group);
};

constexpr Maker kMakers[] = {
    {{"integer", "integer arithmetic, bit fields and counts, packed 16-bit integers, dot products of bytes"},
     scalar_cases},
    {{"logic", "logic, shifts, lop3, prmt"}, scalar_cases},
    {{"f32", "f32 arithmetic in every rounding mode"}, scalar_cases},
    {{"f64", "f64 arithmetic in every rounding mode"}, scalar_cases},
    {{"half", "f16, f16x2, bf16, bf16x2 arithmetic"}, scalar_cases},
    {{"compare", "set, setp, selp, slct"}, scalar_cases},
    {{"convert", "cvt"}, scalar_cases},
    {{"video", "vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vmad, vset, and theirs of halves and bytes"},
     scalar_cases},
    {{"operands", "vector registers, sums of a register and a constant"}, operand_cases},
    {{"constants", "div.approx and div.full by numbers that the assembler knows"}, constant_cases},
    {{"carry", "add.cc, addc, sub.cc, subc, mad.cc, madc"}, carry_cases},
    {{"warp", "shfl, vote, match, redux, elect, activemask"}, warp_cases},
    {{"atomic", "atom, red"}, atomic_cases},
    {{"divergence", "branches, loops, calls, barriers, predicates"}, divergence_cases},
    {{"memory", "ld, st, mov, variables, generic addresses, special registers"}, memory_cases},
    {{"cluster", "ld, st, atom, red on other CTAs' shared memory, mapa, barrier.cluster, registers"},
     cluster_cases},
    {{"mma", "mma.sync, every row and spelling"}, mma_cases},
    {{"wmma", "wmma.load, wmma.mma, wmma.store, every row and spelling"}, wmma_cases},
    {{"mma_narrow", "mma.sync and wmma of fp8, four bits and one bit, every row and spelling"},
     mma_narrow_cases},
    {{"mma_sp", "mma.sp and mma.sp::ordered_metadata, every row, spelling and selector"}, mma_cases},
    {{"ldmatrix", "ldmatrix, stmatrix, movmatrix"}, ldmatrix_cases},
    {{"layout", "matrix instructions on elements that tell their places: who holds what"}, layout_cases},
    {{"mbarrier", "mbarrier: states, pending counts, phases"}, mbarrier_cases},
    {{"async_copy", "cp.async, cp.async.bulk, cp.reduce.async.bulk, st.async, red.async"}, async_copy_cases},
    {{"tma", "tensor copies: loads, stores, reductions, im2col, multicast, changed maps"}, tma_cases},
    {{"wgmma", "wgmma.mma_async, every type, and matrix descriptors"}, wgmma_cases},
    {{"wgmma_sp", "wgmma.mma_async.sp, every type and selector"}, wgmma_sp_cases},
};

} // namespace

std::span<const GroupInfo> group_infos() {
  static const std::vector<GroupInfo> infos = [] {
    std::vector<GroupInfo> all;
    for (const Maker& maker : kMakers)
      all.push_back(maker.info);
    return all;
  }();
  return infos;
}

Group make_group(std::string_view name) {
  const auto maker = std::find_if(std::begin(kMakers), std::end(kMakers),
                                  [&](const Maker& m) { return m.info.name == name; });
  assert(maker != std::end(kMakers));
  return {std::string(name), std::string(maker->info.title), maker->make(name)};
}

} // namespace lemma::golden
