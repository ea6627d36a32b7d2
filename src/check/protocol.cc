// Rules of use: barriers in divergent code or shared by accident, mbarriers that are overwritten, lapped or
// left with counts open, memory of CTAs that may not be there yet or any more. Each is a finding of one
// instruction, or of two that do not fit. See checker.h.
#include "check/checker.h"
#include "vgpu/deadlock.h"
#include "vgpu/exec.h"
#include "vgpu/place.h"
#include "vgpu/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::check {

using isa::Opcode;

namespace {

CheckedAccess described(const Statement& who, const Dim3& cta, std::string what) {
  return {.place = vgpu::place_of(*who.code, *who.instruction),
          .cta = cta,
          .warp = who.warp,
          .lane = who.lane,
          .what = std::move(what)};
}

// Those that the block has: the last warp may lack some.
LaneMask lanes_of(const vgpu::Cta& cta, const vgpu::Warp& warp) {
  const uint32_t left = cta.threads - warp.index * static_cast<uint32_t>(vgpu::kWarpSize);
  return left >= static_cast<uint32_t>(vgpu::kWarpSize) ? vgpu::kAllLanes : (LaneMask{1} << left) - 1;
}

Statement statement(const vgpu::Exec& x, LaneMask lanes) {
  return {x.code, &x.code->insts[x.pc], x.warp->index,
          (lanes & (lanes - 1)) == 0 && lanes != 0 ? std::countr_zero(lanes) : -1};
}

} // namespace

void Checker::misuse(std::string_view id, std::string message, const Statement& who, const Dim3& cta,
                     std::string what, std::string memory, std::string fix) {
  misuse(id, std::move(message), who, std::move(what), {}, {}, cta, std::move(memory), std::move(fix));
}

void Checker::misuse(std::string_view id, std::string message, const Statement& who, std::string what,
                     const Statement& before, std::string what_before, const Dim3& cta, std::string memory,
                     std::string fix) {
  Finding finding{.id = std::string(id),
                  .message = std::move(message),
                  .memory = std::move(memory),
                  .access = described(who, cta, std::move(what)),
                  .earlier = {},
                  .fix = std::move(fix)};
  if (before.instruction)
    finding.earlier = described(before, cta, std::move(what_before));
  report(std::move(finding), before.instruction ? *before.instruction : *who.instruction, *who.instruction);
}

// --- barriers of a CTA

// An arrival that the last phase's do not precede might have counted as one of them.
void Checker::arrives_at_barrier(ClusterState& cluster, const vgpu::Exec& x,
                                 const vgpu::Synchronization& sync, Gathering& barrier) {
  const Statement here = statement(x, sync.lanes);
  const WarpKnowledge& knowledge = cluster.warp(x).knowledge;
  const Clock& known = knowledge.group_of(std::countr_zero(sync.lanes)).knowledge.known;
  for (const BarrierArrival& before : barrier.last_phase) {
    if (before.agent == knowledge.agent() ||
        known.covers(cluster.id, before.agent, std::countr_zero(before.lanes), before.epoch))
      continue;
    const bool same = before.who.instruction == here.instruction;
    misuse(
        same ? "barrier.count" : "barrier.id",
        same ? fmt::format("more threads come to a barrier than it waits for: this arrival and one of the "
                           "phase before, of warp {}, are not ordered",
                           before.who.warp)
             : fmt::format("two meetings share a barrier: this arrival and one of the phase before, of warp "
                           "{}, are not ordered",
                           before.who.warp),
        here, "arrives", before.who, "arrives", x.cta->id, fmt::format("barrier {}", sync.id),
        same ? "the number of all threads that come here" : "another barrier for one of the two");
    break;
  }
  barrier.arrivals.push_back({knowledge.agent(), sync.lanes, knowledge.epoch(), here});
}

// By then all threads of a warp have come to an aligned barrier together, or some never will.
void Checker::meets_at_barrier(const vgpu::Cta& cta, uint32_t id, const Gathering& barrier) {
  for (const BarrierArrival& arrival : barrier.arrivals) {
    const Statement& here = arrival.who;
    const ptx::Instruction& instruction = here.code->function->instructions[here.instruction->source];
    if (instruction.opcode != Opcode::bar && !instruction.has(isa::Qual::aligned))
      continue;
    LaneMask together = 0;
    const Statement* other = nullptr;
    for (const BarrierArrival& part : barrier.arrivals)
      if (part.agent == arrival.agent) {
        if (part.who.instruction == here.instruction)
          together |= part.lanes;
        else
          other = &part.who;
      }
    const vgpu::Warp& warp = cta.warps[here.warp];
    const LaneMask missing = (warp.live | warp.exited) & lanes_of(cta, warp) & ~together;
    if (!missing)
      continue;
    Finding finding{.id = "barrier.divergent",
                    .is_note = (missing & warp.live) == 0, // they have exited: nobody waits for them
                    .message = fmt::format("lanes {:#010x} of a warp execute an aligned barrier, and lanes "
                                           "{:#010x} do not",
                                           together, missing),
                    .memory = fmt::format("barrier {}", id),
                    .access = described(here, cta.id, "arrives"),
                    .earlier = {},
                    .fix = "a barrier that all threads of the warp reach together: move it out of the "
                           "divergent code"};
    if (other)
      finding.earlier = described(*other, cta.id, "arrives elsewhere");
    report(std::move(finding), other ? *other->instruction : *here.instruction, *here.instruction);
  }
}

// --- mbarriers

void Checker::initializes(ClusterState& cluster, const vgpu::Exec& x, const vgpu::SharedPlace& at, int lane) {
  MbarrierState& mbarrier = cluster.mbarrier(at);
  const Statement here = statement(x, LaneMask{1} << lane);
  const bool begins = x.code->opcode_of(*here.instruction) == Opcode::mbarrier_init;
  if (begins && mbarrier.alive)
    misuse("mbarrier.init", "an mbarrier object is initialized where there is one already", here,
           "initializes it", mbarrier.last.instruction ? mbarrier.last : here, "used it last", x.cta->id,
           memory_of(at), "mbarrier.inval before it, or no second mbarrier.init");
  mbarrier.alive = begins;
  mbarrier.init = here;
  mbarrier.init_agent = cluster.warp(x).knowledge.agent();
  mbarrier.init_epoch = cluster.warp(x).knowledge.epoch();
  mbarrier.published = false;
  mbarrier.last = here;
  std::fill(mbarrier.waits_since.begin(), mbarrier.waits_since.end(), 0);
  std::fill(mbarrier.found.begin(), mbarrier.found.end(), std::array<Epoch, kWarpSize>{});
  mbarrier.begun = false;
  mbarrier.tx = 0;
  mbarrier.expects_last = {};
  ClusterState::Span& span = cluster.mbarrier_spans[at.cta->rank];
  span.begin = std::min<uint64_t>(span.begin, at.offset);
  span.end = std::max<uint64_t>(span.end, at.offset + vgpu::kMbarrierBytes);
}

// An access that is no operation on mbarriers, to memory where some are.
void Checker::touches_mbarriers(const Visit& visit, uint64_t bytes) {
  const vgpu::Cta& cta = *visit.place.cta;
  const Record& record = visit.accessor.record;
  auto found = visit.cluster.mbarriers.lower_bound(
      {cta.rank, static_cast<uint32_t>(visit.place.offset -
                                       std::min<uint64_t>(visit.place.offset, vgpu::kMbarrierBytes - 1))});
  for (; found != visit.cluster.mbarriers.end() && found->first.first == cta.rank &&
         found->first.second < visit.place.offset + bytes;
       ++found) {
    MbarrierState& mbarrier = found->second;
    if (!mbarrier.alive)
      continue;
    mbarrier.alive = !record.writes;
    const Statement here{record.code, record.instruction, record.warp, std::countr_zero(visit.lanes)};
    misuse(record.writes ? "mbarrier.inval" : "mbarrier.plain",
           record.writes
               ? "the memory of an mbarrier object is written, and nothing has invalidated the object"
               : "the memory of an mbarrier object is read as plain memory",
           here, record.writes ? "writes" : "reads", mbarrier.last, "used the object last",
           visit.accessor.warp.cta, memory_of({visit.place.cta, found->first.second}),
           record.writes ? "mbarrier.inval before the memory is used for something else"
                         : "mbarrier instructions alone, from mbarrier.init to mbarrier.inval");
  }
}

// fence.mbarrier_init: what the lanes have initialized is there for whoever it is handed on to.
void Checker::publishes(ClusterState& cluster, const vgpu::Exec& x) {
  const uint32_t agent = cluster.warp(x).knowledge.agent();
  for (auto& [place, mbarrier] : cluster.mbarriers)
    mbarrier.published |= mbarrier.init_agent == agent;
}

// An operation completes on the object, in the async proxy, and no fence has made the initialization known
// there. The ISA does not say that it must be; NVIDIA's own code has the fence.
void Checker::signals(ClusterState& cluster, const vgpu::Exec& x, const vgpu::SharedPlace& at, int lane) {
  const MbarrierState& mbarrier = cluster.mbarrier(at);
  if (mbarrier.published || !mbarrier.init.instruction)
    return;
  const Clock& fenced = cluster.warp(x).knowledge.group_of(lane).knowledge.fenced;
  if (fenced.covers(cluster.id, mbarrier.init_agent, std::max(mbarrier.init.lane, 0), mbarrier.init_epoch))
    return;
  const Statement here = statement(x, LaneMask{1} << lane);
  report(
      {.id = "mbarrier.init",
       .is_note = true,
       .message =
           "an operation of the async proxy completes on an mbarrier whose initialization no fence has made "
           "known there",
       .memory = memory_of(at),
       .access = described(here, x.cta->id, "issues it"),
       .earlier = described(mbarrier.init, at.cta->id, "initializes it"),
       .fix = "fence.mbarrier_init.release.cluster, or fence.proxy.async, after mbarrier.init"},
      *mbarrier.init.instruction, *here.instruction);
}

// Lanes test a phase: what was open when they first did is what they wait for.
void Checker::tests_phase(ClusterState& cluster, const WarpState& warp, const vgpu::SharedPlace& at) {
  MbarrierState& mbarrier = cluster.mbarrier(at);
  Epoch& since = mbarrier.waits_since[warp.knowledge.agent()];
  if (!since)
    since = mbarrier.phase;
}

void Checker::ends_wait(ClusterState& cluster, const vgpu::Exec& x, const vgpu::MbarrierWait& wait) {
  MbarrierState& mbarrier = cluster.mbarrier(wait.at);
  const uint32_t agent = cluster.warp(x).knowledge.agent();
  const Epoch since = std::exchange(mbarrier.waits_since[agent], 0);
  LaneMask again = 0;
  vgpu::for_lanes(wait.lanes, [&](int lane) {
    Epoch& found = mbarrier.found[agent][static_cast<size_t>(lane)];
    again |= LaneMask{found == mbarrier.phase - 1 && found != 0} << lane;
    found = mbarrier.phase - 1;
  });
  if (again && mbarrier.begun)
    misuse(
        "mbarrier.phase",
        "a phase is waited for whose end this thread has seen already, and the next one has begun: it goes "
        "on at once",
        statement(x, again), "waits", mbarrier.last, "changed its counts last", x.cta->id, memory_of(wait.at),
        "the other parity: it changes with each phase");
  if (since && mbarrier.phase >= since + 3)
    misuse(
        "mbarrier.phase",
        fmt::format("the phase that was waited for has passed, and {} more since: its parity came again",
                    mbarrier.phase - 1 - since),
        statement(x, wait.lanes), "waits", mbarrier.last, "changed its counts last", x.cta->id,
        memory_of(wait.at),
        "a wait of whoever completes phases, for those who have used the one before (an \"empty\" mbarrier)");
}

// Bytes that come where an expect_tx went before, and that it does not cover: the phase ended without them. A
// program may expect bytes after it has issued the copy, if it does so from the beginning.
void Checker::counts_bytes(MbarrierState& mbarrier, const vgpu::MbarrierArrival& arrival) {
  mbarrier.tx += arrival.change.expect_bytes;
  mbarrier.begun = !arrival.completes_phase;
  if (arrival.change.expect_bytes > 0)
    mbarrier.expects_last = mbarrier.last;
  mbarrier.expects_late |= mbarrier.tx < 0 && !mbarrier.expects_last.instruction;
  const vgpu::AsyncOperation* operation = arrival.operation;
  if (operation && mbarrier.tx < 0 && !mbarrier.expects_late && operation->issuer.cta == arrival.at.cta &&
      mbarrier.expects_last.warp == mbarrier.last.warp && operation->targets.size() < 2)
    misuse("mbarrier.tx", "bytes come that no expect_tx has announced: a phase may end without them",
           mbarrier.last, "completes", mbarrier.expects_last, "expects", arrival.at.cta->id,
           memory_of(arrival.at), "an expect_tx of all bytes of the phase, before the copies are issued");
  if (arrival.completes_phase)
    mbarrier.tx = 0;
}

// --- variables

void Checker::stays_in_variable(const vgpu::Exec& x, const vgpu::WarpAccess& access) {
  const vgpu::Access& what = access.access;
  const bool local = what.space == isa::StateSpace::local;
  if (!local && what.cta != x.cta)
    return;
  const Provenance::Range* range = provenances_[function_of(x)].of(*what.instruction);
  if (!range || (range->variable->space == isa::StateSpace::local) != local)
    return;
  const uint64_t base = local ? x.warp->splits[x.split].stack.back().local_base : 0;
  if (what.offset >= base + range->begin && what.offset + what.bytes <= base + range->end) [[likely]]
    return;
  int piece = std::countr_zero(access.pieces);
  access.each([&](int each, uint64_t offset) {
    if (offset < base + range->begin || offset + access.piece_bytes > base + range->end)
      piece = each;
  });
  const uint64_t offset = access.offset(piece);
  misuse("memory.bounds",
         fmt::format(
             "an address that was made from {} ({} bytes) lies {}", range->variable->name,
             range->end - range->begin,
             offset < base + range->begin ? fmt::format("{} bytes before it", base + range->begin - offset)
             : offset < base + range->end ? std::string("at its end, and the access reaches over it")
                                          : fmt::format("{} bytes past its end", offset - base - range->end)),
         {x.code, what.instruction, x.warp->index, access.by_lane ? piece : -1}, x.cta->id,
         vgpu::writes(what.kind) ? "writes" : "reads",
         local ? "local memory" : launch_->program->describe(what.at(offset - what.offset), *launch_->entry),
         "an index within the variable, or more room in it");
}

// --- values that were never written

UndefinedValues& Checker::values(ClusterState& cluster, const vgpu::Exec& x) {
  return cluster.undefined_values[cluster.warp(x).knowledge.agent()];
}

UndefinedValues::Report Checker::uses_undefined(const vgpu::Exec& x) {
  return [this, &x](const UndefinedOrigin& origin, std::string_view use, int lane) {
    const Statement here{x.code, &x.code->insts[x.pc], x.warp->index, lane};
    report({.id = "memory.undefined",
            .message = fmt::format("a value that was never written {}", use),
            .memory = origin.what,
            .access = described(here, x.cta->id, "uses it"),
            .earlier = CheckedAccess{.place = origin.place,
                                     .cta = origin.cta,
                                     .warp = origin.warp,
                                     .lane = origin.lane,
                                     .what = "finds it"},
            .fix = "a write before it, by every thread and for every part of the tile"},
           *origin.instruction, *here.instruction);
  };
}

void Checker::finds_undefined(const vgpu::Exec& x, const vgpu::DecodedInst& in, int lane,
                              const std::string& what) {
  values(state(*x.cta->cluster), x).find(x, in, lane, what);
  x.warp->follows_values = true;
}

void Checker::begins(const vgpu::Exec& x) {
  values(state(*x.cta->cluster), x).begin(x, uses_undefined(x));
}

void Checker::ends(const vgpu::Exec& x, const vgpu::DecodedInst& in) {
  values(state(*x.cta->cluster), x).end(x, in);
}

void Checker::shuffles(const vgpu::Exec& x, const int* sources) {
  values(state(*x.cta->cluster), x).shuffle(sources);
}

// --- warps

void Checker::names_absent(const vgpu::Exec& x, const vgpu::Synchronization& sync) {
  const LaneMask absent = sync.members & ~sync.lanes & x.warp->exited & lanes_of(*x.cta, *x.warp);
  if (!absent)
    return;
  const Statement here = statement(x, sync.lanes);
  report({.id = "warp.mask",
          .is_note = true, // what the ISA waits for are those that have not exited
          .message = fmt::format("the membermask {:#010x} names lanes {:#010x}, which have exited",
                                 sync.members, absent),
          .memory = "a membermask",
          .access = described(here, x.cta->id, "waits for them"),
          .earlier = {},
          .fix = "the lanes that come here alone: __ballot_sync before the others leave"},
         *here.instruction, *here.instruction);
}

void Checker::reads_absent(const vgpu::Exec& x, LaneMask readers, LaneMask absent) {
  const Statement here = statement(x, readers);
  Finding finding{.id = "warp.mask",
                  // Of those that live, a program may leave unused what it gets.
                  .is_note = (absent & x.warp->exited) == 0,
                  .message =
                      fmt::format("lanes {:#010x} take the values of lanes {:#010x}, which take no part",
                                  readers, absent),
                  .memory = "registers of other lanes",
                  .access = described(here, x.cta->id, "reads them"),
                  .earlier = {},
                  .fix = "lanes that are named by the membermask, and come here"};
  report(std::move(finding), *here.instruction, *here.instruction);
}

// --- grids

// An access to global memory, in a module that waits for the grids before it.
void Checker::depends_on_grids(ClusterState& cluster, const vgpu::Exec& x, const vgpu::WarpAccess& access) {
  const vgpu::Access& what = access.access;
  const WarpKnowledge& knowledge = cluster.warp(x).knowledge;
  LaneMask before = 0;
  for (const LaneGroup& group : knowledge.groups())
    if (!group.knowledge.known.covers_any(cluster.id, cluster.grid_wait, 1))
      before |= group.lanes & what.lanes;
  const std::lock_guard lock(grid_mutex_);
  GridAccesses& accesses = grid_accesses_[what.allocation];
  if (!before) {
    accesses.read_after |= what.kind != vgpu::AccessKind::write;
    return;
  }
  const Statement here{x.code, what.instruction, x.warp->index, std::countr_zero(before)};
  if (vgpu::writes(what.kind) && !accesses.written) {
    accesses.written = described(here, x.cta->id, "writes");
    accesses.writer = what.instruction;
  } else if (!vgpu::writes(what.kind) && !accesses.read) {
    accesses.read = described(here, x.cta->id, "reads");
    accesses.reader = what.instruction;
  }
}

// What a grid reads before the wait must be there from the beginning, weights for instance: memory that it
// reads after the wait, too, is not; and if it reads none after it, the wait comes too late for all.
void Checker::check_grid_waits() {
  const bool none_after = std::none_of(grid_accesses_.begin(), grid_accesses_.end(),
                                       [](const auto& entry) { return entry.second.read_after; });
  for (auto& [allocation, accesses] : grid_accesses_) {
    const auto found = [&](CheckedAccess access, const vgpu::DecodedInst& in, std::string message) {
      report({.id = "warp.griddepcontrol",
              .message = std::move(message),
              .memory = "global memory",
              .access = std::move(access),
              .earlier = {},
              .fix = "griddepcontrol.wait before it, by this thread or by one that it synchronizes with"},
             in, in);
    };
    if (accesses.read && (accesses.read_after || none_after))
      found(
          *accesses.read, *accesses.reader,
          "memory is read before griddepcontrol.wait: the grids before this one may not have written it yet");
    if (accesses.written)
      found(*accesses.written, *accesses.writer,
            "memory is written before griddepcontrol.wait: the grids before this one may still use it");
  }
  grid_accesses_.clear();
}

// --- ends

// Whether those who took part in the object's last phase, and have not yet in the one that is waited for,
// live and wait elsewhere: then the wait is no root, but theirs may be.
bool Checker::waits_for_others(const vgpu::Cluster& stuck, const vgpu::Split& split) {
  const ClusterState& cluster = state(stuck);
  const auto found = cluster.mbarriers.find({split.mbarrier_rank, split.mbarrier_offset});
  if (found == cluster.mbarriers.end())
    return false;
  const Participants& participants = found->second.participants;
  const auto waits_elsewhere = [&](uint32_t agent) {
    const vgpu::Warp& warp = stuck.ctas[agent / cluster.warps_per_cta]->warps[agent % cluster.warps_per_cta];
    return !warp.splits.empty() &&
           std::none_of(warp.splits.begin(), warp.splits.end(), [&](const auto& other) {
             return other.state == vgpu::SplitState::at_mbarrier &&
                    other.mbarrier_rank == split.mbarrier_rank &&
                    other.mbarrier_offset == split.mbarrier_offset;
           });
  };
  std::vector<uint32_t> missing;
  std::copy_if(participants.before.begin(), participants.before.end(), std::back_inserter(missing),
               [&](uint32_t agent) {
                 return std::find(participants.now.begin(), participants.now.end(), agent) ==
                        participants.now.end();
               });
  return !missing.empty() && std::all_of(missing.begin(), missing.end(), waits_elsewhere);
}

// Of all that wait, those by a misuse; or, if none shows one, all but those who merely lack bytes of somebody
// who waits. The fault is to name one of them, if it can one that waits for nobody who does.
void Checker::is_stuck(const vgpu::Cluster& stuck, Fault& fault) {
  struct Wait {
    const vgpu::Cta* cta;
    const vgpu::Warp* warp;
    const vgpu::Split* split;
    vgpu::Misuse wrong;
    bool follows;
    int rank; // the higher, the nearer to the cause
  };
  ClusterState& cluster = state(stuck);
  std::vector<Wait> waits;
  for (const auto& cta : stuck.ctas)
    for (const vgpu::Warp& warp : cta->warps)
      for (const vgpu::Split& split : warp.splits) {
        const vgpu::Misuse wrong = vgpu::misuse_of(*cta, warp, split);
        if (wrong.id.empty())
          continue;
        const bool follows = split.state == vgpu::SplitState::at_mbarrier && waits_for_others(stuck, split);
        waits.push_back({cta.get(), &warp, &split, wrong, follows,
                         follows && wrong.id == "mbarrier.tx" ? 0
                         : wrong.is_root                      ? 2
                                                              : 1});
      }
  if (waits.empty())
    return;
  const int highest = std::max_element(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) {
                        return a.rank < b.rank;
                      })->rank;
  std::erase_if(waits, [&](const Wait& wait) { return wait.rank < highest; });
  std::stable_partition(waits.begin(), waits.end(), [](const Wait& wait) { return !wait.follows; });
  bool is_named = std::none_of(stuck.ctas.begin(), stuck.ctas.end(),
                               [&](const auto& cta) { return cta->id == fault.cta; }) ||
                  std::any_of(waits.begin(), waits.end(), [&](const Wait& wait) {
                    return wait.cta->id == fault.cta && wait.warp->index == fault.warp;
                  });
  for (Wait& wait : waits) {
    const vgpu::Code& code = *wait.split->stack.back().code;
    const Statement here{&code, &code.insts[wait.split->wait_pc], wait.warp->index,
                         std::countr_zero(wait.split->mask)};
    std::string memory;
    Statement last;
    if (wait.split->state == vgpu::SplitState::at_mbarrier) {
      const vgpu::SharedPlace at{stuck.ctas[wait.split->mbarrier_rank].get(), wait.split->mbarrier_offset};
      const MbarrierState& mbarrier = cluster.mbarrier(at);
      memory = memory_of(at);
      last = mbarrier.last;
      if (wait.rank == 1 && mbarrier.phase > 1)
        wait.wrong.id = "mbarrier.phase"; // it has worked until now
    }
    misuse(wait.wrong.id, "nothing can move any more: this waits for ever", here, "waits", last,
           "changed the counts last", wait.cta->id, std::move(memory),
           "see what the report of the deadlock says");
    if (!std::exchange(is_named, true)) {
      fault.id = wait.wrong.id;
      fault.place = vgpu::place_of(code, *here.instruction);
      fault.cta = wait.cta->id;
      fault.warp = wait.warp->index;
    }
  }
}

void Checker::leaves(ClusterState& cluster, const vgpu::Exec& x, LaneMask lanes) {
  const Statement here = statement(x, lanes);
  if (const LaneMask waiting = lanes & (x.warp->cluster_arrived | x.warp->cluster_passed))
    misuse("cluster.arrive", "a thread exits that has arrived at the cluster's barrier and not waited there",
           {here.code, here.instruction, here.warp, std::countr_zero(waiting)}, "exits",
           cluster.warp(x).cluster_arrival, "arrives", x.cta->id, "the cluster's barrier",
           "barrier.cluster.wait before the exit");
  if (cluster.exits.size() == 1)
    return;
  ExitState& state = cluster.exits[x.cta->rank];
  state.knowledge.join(cluster.warp(x).knowledge.all_of(lanes));
  state.last = here;
  state.threads += static_cast<uint32_t>(std::popcount(lanes));
  if (state.threads == x.cta->threads)
    cta_ends(cluster, *x.cta);
}

// The CTA's shared memory is gone with its last thread.
void Checker::cta_ends(ClusterState& cluster, const vgpu::Cta& cta) {
  ExitState& state = cluster.exits[cta.rank];
  state.complete = true;
  for (auto at = cluster.remote.lower_bound({cta.rank, 0});
       at != cluster.remote.end() && at->first.first == cta.rank; ++at)
    for (int lane = 0; lane < vgpu::kWarpSize; ++lane)
      if (const uint32_t number = at->second[static_cast<size_t>(lane)]) {
        const Record& record = cluster.records[number];
        if (!state.knowledge.known.covers(cluster.id, record.agent, lane, record.epoch))
          outlives(cluster, cta, record, lane);
      }
}

void Checker::outlives(ClusterState& cluster, const vgpu::Cta& cta, const Record& record, int lane) {
  const Statement here{record.code, record.instruction, record.warp, lane};
  const Statement& exit = cluster.exits[cta.rank].last;
  report({.id = "cluster.exit",
          .message = fmt::format("CTA {},{},{} may have exited when its shared memory is accessed", cta.id[0],
                                 cta.id[1], cta.id[2]),
          .memory = "shared memory of another CTA",
          .access = described(here, cta_of(record), "accesses it"),
          .earlier = described(exit, cta.id, "exits"),
          .fix = "barrier.cluster.arrive and wait after the access and before the exit"},
         *record.instruction, *exit.instruction);
}

// An access to the shared memory of another CTA of the cluster.
void Checker::reaches_out(const Visit& visit) {
  ClusterState& cluster = visit.cluster;
  const vgpu::Cta& cta = *visit.place.cta;
  const Record& record = visit.accessor.record;
  const int first = std::countr_zero(visit.lanes);
  const Clock& known = visit.accessor.warp.knowledge.group_of(first).knowledge.known;
  uint32_t& started = visit.accessor.warp.started;
  if (!(started >> cta.rank & 1)) {
    const uint32_t warp = cta.rank * cluster.warps_per_cta;
    for (uint32_t i = warp; i < warp + cluster.warps_per_cta; ++i)
      started |= uint32_t{known.covers_any(cluster.id, i, 1)} << cta.rank;
    if (!(started >> cta.rank & 1))
      misuse("cluster.start",
             fmt::format("CTA {},{},{} may not have started when its shared memory is accessed", cta.id[0],
                         cta.id[1], cta.id[2]),
             {record.code, record.instruction, record.warp, first}, cta_of(record), "accesses it",
             "shared memory of another CTA", "barrier.cluster.arrive and wait before the first access");
  }
  if (cluster.exits[cta.rank].complete)
    outlives(cluster, cta, record, first);
  auto& remote = cluster.remote[{cta.rank, record.agent}];
  vgpu::for_lanes(visit.lanes, [&](int lane) { remote[static_cast<size_t>(lane)] = visit.number; });
}

// What is left when all have exited.
void Checker::check_leftovers(ClusterState& cluster, const vgpu::Cluster& ended) {
  if (launch_->stop.load())
    return;
  for (const auto& cta : ended.ctas)
    for (const vgpu::Warpgroup& group : cta->warpgroups)
      if (const vgpu::RegisterRequest& request = group.register_request; request.warps != 0)
        misuse("warp.setmaxnreg",
               fmt::format("{} of the {} warps of a warpgroup have executed setmaxnreg",
                           std::popcount(request.warps), vgpu::kWarpsInGroup),
               {request.code, request.instruction, request.first_warp, -1}, cta->id, "executes it",
               "registers of the CTA", "setmaxnreg by all warps of the warpgroup");
  for (const auto& [key, barrier] : cluster.barriers)
    if (!barrier.arrivals.empty() && barrier.waiting.empty())
      misuse("barrier.count", "threads have arrived at a barrier that has never completed again",
             barrier.arrivals.back().who, ended.ctas[key.first]->id, "arrives last",
             fmt::format("barrier {}", key.second), "as many arrivals as the barrier waits for");
  for (const auto& [key, mbarrier] : cluster.mbarriers) {
    const vgpu::SharedPlace at{ended.ctas[key.first].get(), key.second};
    if (!mbarrier.alive || !mbarrier.last.instruction)
      continue;
    const vgpu::Mbarrier counts = vgpu::read_mbarrier(at);
    if (counts.pending_bytes != 0)
      misuse("mbarrier.tx",
             counts.pending_bytes > 0
                 ? fmt::format("{} bytes were expected that have not come when all threads have exited",
                               counts.pending_bytes)
                 : fmt::format("{} bytes have come that were never expected", -counts.pending_bytes),
             mbarrier.last, at.cta->id, "changed its counts last", memory_of(at),
             "an expect_tx of exactly the bytes that come");
    else if (counts.pending != counts.expected)
      misuse("mbarrier.count",
             fmt::format("a phase has {} of {} arrivals when all threads have exited",
                         counts.expected - counts.pending, counts.expected),
             mbarrier.last, at.cta->id, "changed its counts last", memory_of(at),
             "as many arrivals as mbarrier.init says");
  }
}

std::string Checker::memory_of(const vgpu::SharedPlace& at) const {
  vgpu::MemoryPlace place;
  place.space = isa::StateSpace::shared;
  place.cta = at.cta;
  place.offset = at.offset;
  place.host = at.cta->shared.data() + at.offset;
  return launch_->program->describe(place, *launch_->entry);
}

} // namespace lemma::check
