// Whose instruction it is, in the words of a report. See statement.h.
#include "check/statement.h"

#include "vgpu/memory/place.h"

#include <bit>

namespace lemma::check {

Statement Statement::at(const vgpu::Exec& x, vgpu::LaneMask lanes) {
  return {x.code, x.code->id_at(x.pc), x.cta->id, x.warp->index,
          std::has_single_bit(lanes) ? std::countr_zero(lanes) : -1};
}

Statement Statement::of(const vgpu::AsyncIssuer& issuer) {
  return {issuer.code, issuer.instruction, issuer.cta->id, issuer.warp->index, issuer.lane};
}

CheckedAccess described(const Statement& who, std::string what) {
  return {.place = vgpu::place_of(*who.code, who.instruction),
          .cta = who.cta,
          .warp = who.warp,
          .lane = who.lane,
          .what = std::move(what)};
}

} // namespace lemma::check
