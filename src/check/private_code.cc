// Effects by opcode; and regions: tried is, breadth first, which piece all ways from a branch lead to. See
// private_code.h.
#include "check/private_code.h"

#include "isa/effects.h"
#include "ptx/flow.h"

#include <algorithm>

namespace lemma::check {

namespace effect = isa::effect;
using isa::Qual;
using vgpu::Code;
using vgpu::DecodedInst;

namespace {

bool is_weak(const ptx::Instruction& instruction) {
  return !instruction.has(Qual::volatile_) && !instruction.has(Qual::relaxed) &&
         !instruction.has(Qual::acquire) && !instruction.has(Qual::mmio);
}

// Of which others see something, where its guard lets it execute, and nothing else.
bool is_guarded_store(const Code& code, const DecodedInst& in) {
  const isa::Effects does = isa::effects_of(code.opcode_of(in));
  return in.guarded && (is_store(does) || does.has(effect::accesses | effect::reduces)) &&
         effect_of(code, in) == Effect::acts;
}

// All lie ahead of `join`, and lead nowhere else.
std::optional<std::vector<size_t>> until(const std::vector<Piece>& pieces,
                                         const std::vector<bool>& is_private, size_t branch, size_t join) {
  std::vector<size_t> found, left = pieces[branch].next;
  while (!left.empty()) {
    const size_t piece = left.back();
    left.pop_back();
    if (piece == join || std::find(found.begin(), found.end(), piece) != found.end())
      continue;
    if (!is_private[piece] || pieces[piece].next.empty() || found.size() == PrivateRegions::kMostPieces)
      return {};
    found.push_back(piece);
    left.insert(left.end(), pieces[piece].next.begin(), pieces[piece].next.end());
  }
  return found;
}

} // namespace

Effect effect_of(const Code& code, const DecodedInst& in) {
  if (in.source == ptx::kNone) // the decoder's own
    return in.dst_count != 0 ? Effect::computes : in.always_run ? Effect::branches : Effect::acts;
  const ptx::Instruction& instruction = code.function->instructions[in.source];
  const isa::Effects does = isa::effects_of(instruction.opcode);
  if (ptx::is_branch(instruction))
    return Effect::branches;
  if (is_load(does)) {
    if (in.updates || !is_weak(instruction))
      return Effect::acts;
    return instruction.has(Qual::local) || instruction.has(Qual::const_) || instruction.has(Qual::param)
               ? Effect::loads_privately
               : Effect::loads;
  }
  if (is_store(does))
    return instruction.has(Qual::local) && is_weak(instruction) ? Effect::stores_privately : Effect::acts;
  if (does.has(effect::collects))
    return Effect::gathers;
  return does.has(effect::pure) && !in.updates && in.dst_count != 0 ? Effect::computes : Effect::acts;
}

bool reads_carry(isa::Opcode opcode) {
  return isa::effects_of(opcode).has(effect::carry);
}

bool writes_carry(const Code& code, const DecodedInst& in) {
  return in.source != ptx::kNone && code.function->instructions[in.source].has(Qual::cc);
}

bool may_load_local(const Code& code, const DecodedInst& in) {
  if (!is_load(isa::effects_of(code.opcode_of(in))))
    return false;
  const ptx::Instruction& instruction = code.function->instructions[in.source];
  const auto is_other = [&](Qual space) { return instruction.has(space); };
  constexpr Qual kOthers[] = {Qual::global, Qual::shared,         Qual::shared_cta,
                              Qual::const_, Qual::shared_cluster, Qual::param};
  return std::none_of(std::begin(kOthers), std::end(kOthers), is_other);
}

bool PrivateRegion::has(uint32_t pc) const {
  return std::any_of(pcs.begin(), pcs.end(),
                     [&](const auto& range) { return range.first <= pc && pc < range.second; });
}

bool PrivateRegion::waits_for(vgpu::InstId load) const {
  return std::find(loads_again.begin(), loads_again.end(), load) != loads_again.end();
}

const PrivateRegion* PrivateRegions::behind(const Code& code, uint32_t branch) {
  const auto [found, is_new] = known_.try_emplace(&code);
  Known& known = found->second;
  if (is_new) {
    known.pieces = pieces_of(code, {});
    for (const Piece& piece : known.pieces)
      known.is_private.push_back(std::all_of(
          code.insts.begin() + piece.begin, code.insts.begin() + piece.end, [&](const DecodedInst& in) {
            const Effect effect = effect_of(code, in);
            return (effect != Effect::acts && effect != Effect::gathers) || is_guarded_store(code, in);
          }));
  }
  const auto [region, is_asked_first] = known.behind.try_emplace(branch);
  if (is_asked_first && !known.pieces.empty())
    region->second = find(code, known, branch);
  return region->second ? &*region->second : nullptr;
}

// The ways meet in the first piece, breadth first, that all of them lead to.
std::optional<PrivateRegion> PrivateRegions::find(const Code& code, const Known& known, uint32_t branch) {
  const std::vector<Piece>& pieces = known.pieces;
  const size_t from = piece_with(pieces, branch);
  if (pieces[from].next.empty())
    return {};
  std::vector<size_t> joins;
  const auto add = [&](size_t piece) {
    if (std::find(joins.begin(), joins.end(), piece) == joins.end() && joins.size() < kMostPieces)
      joins.push_back(piece);
  };
  std::for_each(pieces[from].next.begin(), pieces[from].next.end(), add);
  for (size_t i = 0; i < joins.size(); ++i) {
    const auto inside = until(pieces, known.is_private, from, joins[i]);
    if (!inside) {
      if (known.is_private[joins[i]])
        std::for_each(pieces[joins[i]].next.begin(), pieces[joins[i]].next.end(), add);
      continue;
    }
    PrivateRegion region;
    const bool comes_again = std::find(inside->begin(), inside->end(), from) != inside->end();
    for (const size_t piece : *inside) {
      region.pcs.emplace_back(pieces[piece].begin, pieces[piece].end);
      for (uint32_t pc = pieces[piece].begin; pc < pieces[piece].end; ++pc) {
        const DecodedInst& in = code.insts[pc];
        const Effect effect = effect_of(code, in);
        region.stores |= effect == Effect::stores_privately;
        if (comes_again && effect == Effect::loads)
          region.loads_again.push_back(code.id_of(in));
        if (is_guarded_store(code, in))
          region.stores_under.push_back({in.guard_offset, in.guard_negated});
        each_destination(code, in, [&](uint32_t offset) { region.writes.push_back(offset); });
      }
    }
    const auto is_written = [&](const PrivateRegion::Guard& guard) {
      return std::find(region.writes.begin(), region.writes.end(), guard.predicate) != region.writes.end();
    };
    if (std::any_of(region.stores_under.begin(), region.stores_under.end(), is_written))
      return {};
    return region;
  }
  return {};
}

} // namespace lemma::check
