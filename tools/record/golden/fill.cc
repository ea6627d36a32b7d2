// Generators of input planes. See fill.h. The recorded bits depend on every line here.
#include "golden/fill.h"

namespace lemma::golden {
namespace {

using numeric::Random;

WarpDraw draw_warp(Random& random) {
  WarpDraw warp;
  warp.word = random.next();
  const uint64_t groups = 1 + random.below(4);
  for (uint8_t& group : warp.group)
    group = static_cast<uint8_t>(random.below(groups));
  return warp;
}

} // namespace

uint32_t WarpDraw::mask_of(uint32_t lane) const {
  uint32_t mask = 0;
  for (uint32_t other = 0; other < 32; ++other)
    if (group[other] == group[lane])
      mask |= 1u << other;
  return mask;
}

std::function<void(const Part&, Random&, Inputs&)> fill_each(std::vector<Element> planes,
                                                             std::vector<uint32_t> per_unit) {
  per_unit.resize(planes.size(), 1);
  return [planes = std::move(planes), per_unit = std::move(per_unit)](const Part& part, Random& random,
                                                                      Inputs& inputs) {
    WarpDraw warp;
    for (uint64_t thread = part.first; thread < part.first + part.units; ++thread) {
      if (thread == part.first || thread % 32 == 0)
        warp = draw_warp(random);
      for (size_t k = 0; k < planes.size(); ++k)
        for (uint32_t i = 0; i < per_unit[k]; ++i)
          inputs.set(k, thread * per_unit[k] + i, planes[k](random, warp, thread));
    }
  };
}

Element any_bits() {
  return [](Random& random, const WarpDraw&, uint64_t) { return random.next(); };
}
Element below(uint64_t bound) {
  return [bound](Random& random, const WarpDraw&, uint64_t) { return random.below(bound); };
}
Element group_of_lane() {
  return [](Random&, const WarpDraw& warp, uint64_t thread) { return uint64_t{warp.group[thread % 32]}; };
}
Element group_mask() {
  return [](Random&, const WarpDraw& warp, uint64_t thread) { return uint64_t{warp.mask_of(thread % 32)}; };
}
Element values(Values v) {
  return [v](Random& random, const WarpDraw&, uint64_t) {
    const numeric::OperandClass oc =
        numeric::kAllOperandClasses[random.below(std::size(numeric::kAllOperandClasses))];
    return make_operands(std::span(&v, 1), oc, Relation::none, random, 1)[0][0];
  };
}

} // namespace lemma::golden
