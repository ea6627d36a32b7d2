// What threads make of undefined values together: the lanes of a warp by vote, match and redux, those of a
// CTA by a barrier's reduction. See undefined.h.
#include "check/undefined.h"

#include <algorithm>
#include <bit>

namespace lemma::check {

using vgpu::DecodedInst;
using vgpu::Exec;

namespace {

constexpr uint16_t kWhole = 0xffff; // all bytes of a register
constexpr int kVoteOfBarrier = 2;   // sources before are its number and count

} // namespace

// Of all lanes of a membermask, which is the last operand. A vote that others decide is what it is; a ballot
// has a bit of each lane.
void UndefinedValues::collect(const Exec& x, const DecodedInst& in) {
  const int mask = in.op_count - in.dst_count - 1;
  const Value given = value_of_sources(x, in, 0, mask);
  const LaneMask undefined = given.lanes & x.active;
  const ptx::Instruction& instruction = x.ptx_instruction(in);
  if (!undefined)
    return;
  if (instruction.has(isa::Qual::ballot)) {
    Value::Bits bits{};
    vgpu::for_lanes(x.active, [&](int lane) {
      bits[static_cast<size_t>(lane)] = static_cast<LaneMask>(x.src_lane(in, mask, lane)) & undefined;
    });
    made_.set_bits(x.active, bits, given.origin);
    return;
  }
  const bool votes = x.src_slot(in, 0).bytes == 0; // of predicates
  const bool all = votes && instruction.has(isa::Qual::all), any = votes && instruction.has(isa::Qual::any);
  vgpu::for_lanes(x.active, [&](int lane) {
    const auto members = static_cast<LaneMask>(x.src_lane(in, mask, lane)) & x.active;
    const LaneMask decided = members & ~undefined & (all ? ~x.pred(in, 0) : any ? x.pred(in, 0) : 0);
    if ((members & undefined) != 0 && decided == 0)
      made_.add(lane, kWhole, {given.origin, true});
  });
}

// .and and .or are what a thread has decided whose own predicate is known; .popc counts all.
void UndefinedVote::add(const UndefinedByte* undefined, bool predicate, isa::Qual reduction) {
  if (undefined)
    of_unknown = *undefined;
  is_unknown |= undefined != nullptr;
  is_decided |= !undefined &&
                ((reduction == isa::Qual::or_ && predicate) || (reduction == isa::Qual::and_ && !predicate));
}

void UndefinedValues::vote(const Exec& x, LaneMask lanes, std::shared_ptr<UndefinedVote> with) {
  const DecodedInst& in = x.code->insts[x.pc];
  const isa::Qual reduction =
      x.ptx_instruction(in).one_of({isa::Qual::popc, isa::Qual::and_, isa::Qual::or_});
  const Value given = value_of(x, x.src_slot(in, kVoteOfBarrier));
  const LaneMask predicates = x.pred(in, kVoteOfBarrier);
  vgpu::for_lanes(lanes, [&](int lane) {
    const UndefinedByte how{given.origin, true};
    with->add((given.lanes >> lane & 1) != 0 ? &how : nullptr, (predicates >> lane & 1) != 0, reduction);
  });
  std::erase_if(votes_, [&](const auto& earlier) { return (earlier.first & lanes) != 0; });
  votes_.emplace_back(lanes, std::move(with));
}

// A barrier's reduction is executed twice: to arrive, and for its result.
void UndefinedValues::take_vote(const Exec& x) {
  const auto mine =
      std::ranges::find_if(votes_, [&](const auto& vote) { return (vote.first & x.active) != 0; });
  if (mine == votes_.end() || !x.warp->splits[x.split].barrier_done)
    return;
  if (const UndefinedVote& vote = *mine->second; vote.is_unknown && !vote.is_decided)
    vgpu::for_lanes(x.active, [&](int lane) { made_.add(lane, kWhole, vote.of_unknown); });
  votes_.erase(mine);
}

} // namespace lemma::check
