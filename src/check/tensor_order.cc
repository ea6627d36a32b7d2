// What orders operations on tensor memory. See checker.h, and docs/checks.md for how the ISA is read.
//
// tcgen05.mma, cp, ld and st are asynchronous: an operation comes after an earlier one only if that is known
// to be complete - by tcgen05.wait, of a warp's own ld and st, or by an mbarrier that a tcgen05.commit has
// arrived at - and if fences have carried this over (knowledge.h): before_thread_sync, or a commit, by the
// one thread, whatever synchronizes the two, after_thread_sync by the other. Some pairs need no more than
// their order of issue, in one thread or through fences: a product after one that adds to the same D, after a
// copy and after a shift; a shift after a product; tcgen05.cp.4x256b after a shift.
//
// Compilers and libraries leave fences out where a release and an acquire, or a barrier, order the two anyway
// (Triton 3.9, CUTLASS 4), and no GPU is known to mind: in a module that has no such fence at all a missing
// one is a note. So is a copy or a product over what products of the same thread may still read: scale
// factors (CUTLASS, DeepGEMM), A (FlashAttention-4). And so is what comes after a load of which there was no
// wait where an instruction between has needed its registers: CUTLASS and FlashAttention-4 leave such waits
// out.
//
// PTX ISA: "Memory Consistency Model for 5th generation of TensorCore operations".
// Tests: tests/unit/check/tensor_order_test.cc, tests/check/corpus.
#include "check/checker.h"
#include "vgpu/async/tensor_cp.h"
#include "vgpu/async/tensor_mma.h"
#include "vgpu/async/tensor_shift.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>

namespace lemma::check {

using Use = TensorUses::Use;

namespace {

enum class Standing : uint8_t {
  precedes,
  by_habit,     // the ISA does not say so, but it is relied on
  lacks_after,  // it does, but for a tcgen05.fence::after_thread_sync
  lacks_before, // ... a tcgen05.fence::before_thread_sync
  unwaited,     // nobody has waited until the earlier one is complete
  unordered,    // ... and the threads have not synchronized either
};

// As PTX spells it.
std::string_view name_of(const TensorOperation& operation) {
  return isa::to_string(operation.who.spot().ptx().opcode);
}

std::string_view wait_of(const TensorOperation& move) {
  return move.deed == TensorDeed::load ? "tcgen05.wait::ld" : "tcgen05.wait::st";
}

// What the thread that issues the later one has issued itself.
bool is_own(const TensorOperation& earlier, const TensorOperation& later) {
  return earlier.issuer == later.issuer &&
         (earlier.is_by_warp() || later.is_by_warp() || earlier.lane == later.lane);
}

bool is_pipelined(const Use& earlier, const Use& later) {
  const TensorDeed first = earlier.by->deed;
  switch (later.by->deed) {
  case TensorDeed::product:
    return first == TensorDeed::copy || first == TensorDeed::shift ||
           (first == TensorDeed::product && earlier.writes && later.writes &&
            earlier.by->accumulator == later.by->accumulator);
  case TensorDeed::copy:
    return first == TensorDeed::shift && later.by->is_of_4x256b;
  case TensorDeed::shift:
    return first == TensorDeed::product;
  default:
    return false;
  }
}

bool is_habit(const Use& earlier, const Use& later) {
  if (earlier.by->deed == TensorDeed::product && !earlier.writes)
    return later.writes && !later.by->is_by_warp();
  return earlier.by->deed == TensorDeed::copy && later.by->deed == TensorDeed::copy;
}

struct Judged {
  Standing standing = Standing::precedes;
  bool is_known = false; // by causality order, fences of tcgen05 apart
};

Judged stand(const ClusterState& cluster, const WarpState& warp, const Use& earlier, const Use& later) {
  const TensorOperation& first = *earlier.by;
  const TensorOperation& then = *later.by;
  const bool pipelined = is_pipelined(earlier, later), own = is_own(first, then);
  if (own && pipelined)
    return {};
  if (own && first.is_move()) {
    const TensorMoves& moves = *warp.knowledge.moves;
    const Epoch open = first.deed == TensorDeed::load ? moves.loads : moves.stores;
    return {first.epoch < open ? Standing::precedes : Standing::unwaited};
  }
  const auto covers = [&](const Clock& clock, uint32_t agent, Epoch epoch) {
    return first.is_by_warp() ? clock.covers_any(cluster.id, agent, epoch)
                              : clock.covers(cluster.id, agent, first.lane, epoch);
  };
  const auto is_complete = [&](const Clock& clock) { return covers(clock, first.agent, first.epoch); };
  const auto is_issued = [&](const Clock& clock) { return covers(clock, first.issuer, first.issued); };
  const auto suffices = [&](const Clock& clock) {
    return is_complete(clock) || (pipelined && is_issued(clock));
  };
  bool fenced = false, carried = false, known = false, issued = own;
  for (const LaneGroup& group : warp.knowledge.groups()) {
    if (!then.is_by_warp() && (group.lanes >> then.lane & 1) == 0)
      continue;
    fenced |= suffices(group.tensor_fenced);
    carried |= suffices(group.knowledge.tensor);
    known |= suffices(group.knowledge.known);
    issued |= is_issued(group.knowledge.known);
  }
  if (fenced || (then.deed == TensorDeed::release && (known || carried)))
    return {};
  if (carried)
    return {Standing::lacks_after, known};
  if (known)
    return {Standing::lacks_before, true};
  if (own && is_habit(earlier, later))
    return {Standing::by_habit};
  return {issued ? Standing::unwaited : Standing::unordered};
}

std::string cells_text(const TensorUses::Place& place) {
  const uint32_t quarter = place.quarter * vgpu::kWarpSize;
  return fmt::format("column {} (lanes {} to {}) of tensor memory", place.column,
                     quarter + static_cast<uint32_t>(std::countr_zero(place.lanes)),
                     quarter + static_cast<uint32_t>(std::bit_width(place.lanes)) - 1);
}

uint64_t address_of(const TensorUses::Place& place) {
  const uint32_t lane =
      place.quarter * vgpu::kWarpSize + static_cast<uint32_t>(std::countr_zero(place.lanes));
  return layout::TensorAddress{lane, place.column}.encode();
}

std::string deed_text(const Use& use) {
  const std::string_view verb = use.by->deed == TensorDeed::release ? "gives back tensor memory"
                                : use.writes                        ? "writes tensor memory"
                                                                    : "reads tensor memory";
  return std::string(verb);
}

// What has to come behind the operation until it is complete, for its own thread.
Advice wait_for(const Use& earlier, const Use& later) {
  const TensorOperation& first = *earlier.by;
  const bool own = is_own(first, *later.by);
  if (!first.is_move())
    return fmt::format("tcgen05.commit behind the {}, a wait on its mbarrier (mbarrier.try_wait until it is "
                       "true), and tcgen05.fence::after_thread_sync",
                       name_of(first));
  const std::string_view wait = wait_of(first);
  std::string words =
      fmt::format("{} behind the {}{}", wait, name_of(first),
                  own ? "" : ", before tcgen05.fence::before_thread_sync and what synchronizes the two");
  if (later.by->deed == TensorDeed::product)
    words += fmt::format("; tcgen05.commit does not track {}", name_of(first));
  return {std::move(words),
          {{.kind = Remedy::Kind::behind,
            .text = fmt::format("{}.sync.aligned;", wait),
            .at = first.who.spot()}}};
}

// Either may be meant to come first.
Advice order_between(const Use& earlier, const Use& later) {
  const auto first = [](const TensorOperation& operation) {
    const std::string_view name = name_of(operation);
    if (!operation.is_move())
      return fmt::format("to have the {} first, a wait on the mbarrier of a tcgen05.commit behind it", name);
    return fmt::format(
        "to have the {} first, {} behind it, tcgen05.fence::before_thread_sync, and a barrier or "
        "an arrival that the other thread waits for",
        name, wait_of(operation));
  };
  std::string words = first(*earlier.by);
  if (later.by->deed != earlier.by->deed && later.by->deed != TensorDeed::release)
    words += "; " + first(*later.by);
  std::vector<Remedy> remedies;
  if (earlier.by->is_move())
    remedies.push_back(
        {.kind = Remedy::Kind::meet,
         .text = "tcgen05.fence::before_thread_sync;\nbar.sync 0;\ntcgen05.fence::after_thread_sync;",
         .at = later.by->who.spot(),
         .from = earlier.by->who.spot(),
         .together = Together::cta});
  return {words + "; then tcgen05.fence::after_thread_sync", std::move(remedies)};
}

Advice fence_for(const ClusterState& cluster, const Use& earlier, const Use& later, Standing standing) {
  if (standing == Standing::lacks_after)
    return {fmt::format("tcgen05.fence::after_thread_sync before the {}, behind what synchronizes with the "
                        "thread of the {}",
                        name_of(*later.by), name_of(*earlier.by)),
            {{.kind = Remedy::Kind::before,
              .text = "tcgen05.fence::after_thread_sync;",
              .at = later.by->who.spot()}}};
  const TensorOperation& first = *earlier.by;
  const WarpKnowledge& issuer = cluster.warps[first.issuer].knowledge;
  const Spot behind = first.is_move() ? issuer.moves->last_wait : first.who.spot();
  return {fmt::format("tcgen05.fence::before_thread_sync behind the {}{}, before what synchronizes with the "
                      "thread of the {}; and tcgen05.fence::after_thread_sync by that thread",
                      name_of(first), first.is_move() ? " and its wait" : "", name_of(*later.by)),
          {{.kind = Remedy::Kind::behind, .text = "tcgen05.fence::before_thread_sync;", .at = behind}}};
}

} // namespace

// Whether a load that nobody has waited for has read its cells all the same.
bool Checker::has_been_read(const Use& earlier, const Use& later) {
  const TensorOperation& load = *earlier.by;
  if (load.deed != TensorDeed::load)
    return false;
  // Warps that have loaded alike give memory back by one of them.
  return is_own(load, *later.by) && later.by->deed != TensorDeed::release
             ? needed_loads_.before(load.who.spot(), later.by->who.spot())
             : needed_loads_.before_others_hear(load.who.spot(), later.by->who.spot());
}

// Of a conflict between two operations: it is reported, unless the earlier one precedes.
void Checker::conflict_in_tensor_memory(const ClusterState& cluster, const WarpState& warp,
                                        const Use& earlier, const Use& later,
                                        const TensorUses::Place& place) {
  const Judged judged = stand(cluster, warp, earlier, later);
  const std::string_view first = name_of(*earlier.by), then = name_of(*later.by);
  const std::string_view does = later.by->deed == TensorDeed::release ? "gives back"
                                : later.writes                        ? "overwrites"
                                                                      : "reads";
  Misuse found{.id = "",
               .message = "",
               .who = later.by->who,
               .what = deed_text(later),
               .before = earlier.by->who,
               .what_before = deed_text(earlier),
               .memory = cells_text(place),
               .fix = "",
               .address = address_of(place)};
  switch (judged.standing) {
  case Standing::precedes:
    return;
  case Standing::lacks_after:
  case Standing::lacks_before:
    found.id = "tcgen05.fence";
    found.is_note = judged.is_known && !has_tensor_fences_;
    found.message = fmt::format("a {} comes after a {} without tcgen05.fence::{}_thread_sync", then, first,
                                judged.standing == Standing::lacks_after ? "after" : "before");
    found.fix = fence_for(cluster, earlier, later, judged.standing);
    break;
  case Standing::by_habit:
  case Standing::unwaited: {
    const bool is_read = has_been_read(earlier, later);
    found.id = "async.unwaited";
    found.is_note = judged.standing == Standing::by_habit || is_read;
    found.message = fmt::format("a {} {} tensor memory that a {} may still {}{}", then, does, first,
                                earlier.writes ? "write" : "read",
                                is_read ? ", but for the instructions between that need its registers" : "");
    found.fix = wait_for(earlier, later);
    break;
  }
  case Standing::unordered:
    found.id = "race.tensor";
    found.message = fmt::format("a {} and a {} on the same tensor memory that nothing orders", first, then);
    found.fix = order_between(earlier, later);
    break;
  }
  misuse(std::move(found));
}

// Where one of the threads has issued both operations, that nobody has waited says more than that the others
// are not ordered.
bool Checker::is_unwaited_too(const Key& key) const {
  const auto& [id, one, other] = key;
  return id == "race.tensor" && found_.contains({"async.unwaited", one, other});
}

TensorOperation Checker::tensor_operation(ClusterState& cluster, const vgpu::Exec& x, TensorDeed deed,
                                          uint32_t agent, Epoch epoch) {
  const WarpKnowledge& issuer = cluster.warp(x).knowledge;
  return {.deed = deed,
          .who = Statement::at(x, vgpu::kAllLanes),
          .issuer = issuer.agent(),
          .issued = issuer.epoch(),
          .agent = agent,
          .epoch = epoch};
}

void Checker::use_tensor_memory(ClusterState& cluster, const WarpState& warp,
                                std::shared_ptr<const TensorOperation> operation, bool writes,
                                const EachTensorCell& each) {
  const auto meets = [&](const Use& earlier, const Use& later, const TensorUses::Place& place) {
    conflict_in_tensor_memory(cluster, warp, earlier, later, place);
  };
  each([&](const vgpu::Cta& cta, uint32_t column, const vgpu::TensorLanes& lanes) {
    for (uint32_t quarter = 0; quarter < lanes.size(); ++quarter)
      cluster.tensor_uses.use(cta.rank, column, quarter, {operation, lanes[quarter], writes}, meets);
  });
}

// tcgen05.mma, cp and shift; `agent`, `epoch`: of what the thread's next commit completes.
void Checker::issues_in_tensor_memory(ClusterState& cluster, const vgpu::Exec& x,
                                      const vgpu::AsyncOperation& operation, uint32_t agent, Epoch epoch) {
  const WarpState& warp = cluster.warp(x);
  TensorOperation made = tensor_operation(cluster, x,
                                          operation.mma  ? TensorDeed::product
                                          : operation.cp ? TensorDeed::copy
                                                         : TensorDeed::shift,
                                          agent, epoch);
  made.who = Statement::of(operation.issuer);
  made.lane = operation.issuer.lane;
  made.is_of_4x256b = operation.cp && operation.cp->shape == layout::CopyShape::s4x256b;
  if (operation.mma) {
    const layout::TensorInstructionDescriptor& descriptor = operation.mma->product->descriptor;
    const layout::TensorCell d = operation.mma->d_cell;
    made.accumulator = {layout::TensorAddress{d.lane, d.column}.encode(), descriptor.m << 16 | descriptor.n,
                        static_cast<uint32_t>(descriptor.kind)};
  }
  const auto shared = std::make_shared<const TensorOperation>(made);
  const auto use = [&](bool writes, const EachTensorCell& each) {
    use_tensor_memory(cluster, warp, shared, writes, each);
  };
  if (operation.mma) {
    use(false, [&](const vgpu::TensorVisit& visit) { each_cell_read(*operation.mma, visit); });
    use(true, [&](const vgpu::TensorVisit& visit) { each_cell_written(*operation.mma, visit); });
  } else if (operation.cp) {
    use(true, [&](const vgpu::TensorVisit& visit) { each_cell_written(*operation.cp, visit); });
  } else {
    use(true, [&](const vgpu::TensorVisit& visit) { each_cell(*operation.shift, visit); });
  }
}

TensorMoves& Checker::tensor_moves(ClusterState& cluster, WarpState& warp) {
  std::unique_ptr<TensorMoves>& moves = warp.knowledge.moves;
  if (!moves)
    moves = std::make_unique<TensorMoves>(
        TensorMoves{.load_agent = cluster.new_agent(), .store_agent = cluster.new_agent(), .last_wait = {}});
  return *moves;
}

void Checker::moves_tensor(const vgpu::Exec& x, const vgpu::TensorMove& move) {
  ClusterState& cluster = state(*x.cta->cluster);
  WarpState& warp = cluster.warp(x);
  const TensorMoves& moves = tensor_moves(cluster, warp);
  const auto operation = std::make_shared<const TensorOperation>(
      move.writes ? tensor_operation(cluster, x, TensorDeed::store, moves.store_agent, moves.stores)
                  : tensor_operation(cluster, x, TensorDeed::load, moves.load_agent, moves.loads));
  use_tensor_memory(cluster, warp, operation, move.writes, [&](const vgpu::TensorVisit& visit) {
    for (uint32_t i = 0; i < move.lanes.size(); ++i) {
      vgpu::TensorLanes lanes{};
      lanes[x.warp->index % lanes.size()] = move.lanes[i];
      visit(*x.cta, move.column + i, lanes);
    }
  });
}

void Checker::orders_tensor(const vgpu::Exec& x, vgpu::TensorOrder order) {
  ClusterState& cluster = state(*x.cta->cluster);
  WarpState& warp = cluster.warp(x);
  switch (order) {
  case vgpu::TensorOrder::before_thread_sync:
    warp.knowledge.tensor_fence_before(x.active);
    break;
  case vgpu::TensorOrder::after_thread_sync:
    warp.knowledge.tensor_fence_after(x.active);
    break;
  case vgpu::TensorOrder::wait_ld:
  case vgpu::TensorOrder::wait_st: {
    TensorMoves& moves = tensor_moves(cluster, warp);
    ++(order == vgpu::TensorOrder::wait_ld ? moves.loads : moves.stores);
    moves.last_wait = Spot::at(x);
    break;
  }
  }
}

void Checker::frees_tensor(const vgpu::Exec& x, uint32_t column, uint32_t columns) {
  ClusterState& cluster = state(*x.cta->cluster);
  const auto operation =
      std::make_shared<const TensorOperation>(tensor_operation(cluster, x, TensorDeed::release, 0, 0));
  use_tensor_memory(cluster, cluster.warp(x), operation, true, [&](const vgpu::TensorVisit& visit) {
    vgpu::TensorLanes all;
    all.fill(vgpu::kAllLanes);
    for (uint32_t i = 0; i < columns; ++i)
      visit(*x.cta, column + i, all);
  });
  cluster.tensor_uses.forget(x.cta->rank, column, columns);
}

} // namespace lemma::check
