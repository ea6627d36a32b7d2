// Rules of use: barriers in divergent code or shared by accident, mbarriers that are overwritten, lapped or
// left with counts open, memory of CTAs that may not be there yet or any more. Each is a finding of one
// instruction, or of two that do not fit. See checker.h.
#include "check/checker.h"
#include "check/edits.h"
#include "isa/effects.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/exec.h"
#include "vgpu/memory/place.h"
#include "vgpu/reports/deadlock.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::check {

namespace {

// Those that the block has: the last warp may lack some.
LaneMask lanes_of(const vgpu::Cta& cta, const vgpu::Warp& warp) {
  const uint32_t left = cta.threads - warp.index * static_cast<uint32_t>(vgpu::kWarpSize);
  return left >= static_cast<uint32_t>(vgpu::kWarpSize) ? vgpu::kAllLanes : (LaneMask{1} << left) - 1;
}

} // namespace

void Checker::misuse(Misuse found) {
  Finding finding{.id = std::string(found.id),
                  .is_note = found.is_note,
                  .message = std::move(found.message),
                  .memory = std::move(found.memory),
                  .access = described(found.who, std::move(found.what)),
                  .earlier = {},
                  .fix = {}};
  finding.access.address = found.address;
  vgpu::InstId first = found.who.instruction;
  if (found.before.instruction) {
    finding.earlier = described(found.before, std::move(found.what_before));
    finding.earlier->address = found.address;
    first = found.before.instruction;
  }
  Key key = defect_key(finding.id, finding.is_note, first, found.who.instruction);
  std::get<0>(key) += found.kind;
  report(key, 0, std::move(finding), std::move(found.fix));
}

// --- barriers of a CTA

// An arrival that the last phase's do not precede might have counted as one of them.
void Checker::arrives_at_barrier(ClusterState& cluster, const vgpu::Exec& x,
                                 const vgpu::Synchronization& sync, Gathering& barrier) {
  const Statement here = Statement::at(x, sync.lanes);
  const WarpKnowledge& knowledge = cluster.warp(x).knowledge;
  const Clock& known = knowledge.group_of(std::countr_zero(sync.lanes)).knowledge.known;
  for (const BarrierArrival& before : barrier.last_phase) {
    if (before.agent == knowledge.agent() ||
        known.covers(cluster.id, before.agent, std::countr_zero(before.lanes), before.epoch))
      continue;
    const bool same = before.who.instruction == here.instruction;
    const auto other_for = [&](const Statement& one, const Statement& other, uint32_t warp) {
      return std::vector{Remedy{.kind = Remedy::Kind::other_barrier,
                                .at = one.spot(),
                                .from = other.spot(),
                                .uses = barrier.uses,
                                .object = sync.id,
                                .warp = warp}};
    };
    misuse({.id = same ? "barrier.count" : "barrier.id",
            .message = fmt::format(
                "{}: this arrival and one of the phase before, of warp {}, are not ordered",
                same ? "more threads come to a barrier than it waits for" : "two meetings share a barrier",
                before.who.warp),
            .who = here,
            .what = "arrives",
            .before = before.who,
            .what_before = "arrives",
            .memory = fmt::format("barrier {}", sync.id),
            .fix = same ? Advice("the number of all threads that come here", {{.kind = Remedy::Kind::arrivals,
                                                                               .at = here.spot(),
                                                                               .uses = barrier.uses,
                                                                               .object = sync.id}})
                        : Advice::either("another barrier for one of the two",
                                         {other_for(here, before.who, knowledge.agent()),
                                          other_for(before.who, here, before.agent)})});
    break;
  }
  barrier.uses->add(knowledge.agent(), {.by = here.spot(), .object = sync.id, .lanes = sync.lanes});
  barrier.arrivals.push_back({knowledge.agent(), sync.lanes, knowledge.epoch(), here});
}

// By then all threads of a warp have come to an aligned barrier together, or some never will.
void Checker::meets_at_barrier(const vgpu::Cta& cta, uint32_t id, const Gathering& barrier) {
  for (const BarrierArrival& arrival : barrier.arrivals) {
    const Statement& here = arrival.who;
    const ptx::Instruction& instruction = here.code->function->instructions[here.instruction.index];
    if (!isa::effects_of(instruction.opcode).has(isa::effect::aligned) &&
        !instruction.has(isa::Qual::aligned))
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
    misuse(
        {.id = "barrier.divergent",
         .is_note = (missing & warp.live) == 0, // they have exited: nobody waits for them
         .message = fmt::format("lanes {:#010x} of a warp execute an aligned barrier, and lanes {:#010x} do "
                                "not",
                                together, missing),
         .who = here,
         .what = "arrives",
         .before = other ? *other : Statement{},
         .what_before = "arrives elsewhere",
         .memory = fmt::format("barrier {}", id),
         .fix = Advice::either(
             "a barrier that all threads of the warp reach together: move it out of the divergent code",
             moved_out(here.spot(), Together::warp))});
  }
}

// --- mbarriers

// Of the object that the instruction initializes.
static Remedy invalidation(const Statement& init) {
  std::string opcode = opcode_text(init.spot());
  opcode.replace(opcode.find("init"), 4, "inval");
  const SourceText& source = *init.code->module->source;
  const std::string address(source.slice(init.spot().ptx().operands[0].range));
  return {.kind = Remedy::Kind::before,
          .text = guard_text(init.spot()) + opcode + " " + address + ";",
          .at = init.spot()};
}

void Checker::initializes(ClusterState& cluster, const vgpu::Exec& x, const vgpu::SharedPlace& at, int lane) {
  MbarrierState& mbarrier = cluster.mbarrier(at);
  const Statement here = Statement::at(x, LaneMask{1} << lane);
  const bool begins = isa::effects_of(x.code->opcode_of(here.instruction)).has(isa::effect::makes_mbarrier);
  if (begins && mbarrier.alive)
    misuse(
        {.id = "mbarrier.init",
         .message = "an mbarrier object is initialized where there is one already",
         .who = here,
         .what = "initializes it",
         .before = mbarrier.last.instruction ? mbarrier.last : here,
         .what_before = "used it last",
         .memory = memory_of(at),
         .fix =
             mbarrier.init.instruction == here.instruction
                 ? Advice(
                       "mbarrier.init by one thread alone; or, if it is used again, mbarrier.inval before it")
                 : Advice("mbarrier.inval before it, or no second mbarrier.init", {invalidation(here)}),
         .address = at.offset});
  mbarrier.alive = begins;
  mbarrier.init = here;
  mbarrier.init_agent = cluster.warp(x).knowledge.agent();
  mbarrier.init_epoch = cluster.warp(x).knowledge.epoch();
  mbarrier.published = false;
  mbarrier.last = here;
  std::fill(mbarrier.waits_since.begin(), mbarrier.waits_since.end(), 0);
  std::fill(mbarrier.found.begin(), mbarrier.found.end(), std::array<Epoch, kWarpSize>{});
  mbarrier.first_phase = mbarrier.phase;
  mbarrier.begun = false;
  mbarrier.tx = 0;
  mbarrier.expects_last = {};
  ClusterState::Span& span = cluster.mbarrier_spans[at.cta->rank];
  span.begin = std::min<uint64_t>(span.begin, at.offset);
  span.end = std::max<uint64_t>(span.end, at.offset + vgpu::kMbarrierBytes);
}

// What ends the objects of a variable, by one thread, when all have used them and nobody writes there yet;
// none where that cannot be said in a line for each.
std::vector<Remedy> Checker::invalidations(const ClusterState& cluster, const vgpu::SharedPlace& at,
                                           Spot last, Spot write) const {
  const Dim3& block = launch_->config.block;
  const ptx::Variable* variable = variable_at(*launch_->program, *launch_->entry->function, at.offset).first;
  if (!variable || block[1] * block[2] != 1)
    return {};
  std::string text = "bar.sync 0;\n{\n.reg .pred is_first;\n.reg .b32 thread;\nmov.u32 thread, %tid.x;\n"
                     "setp.eq.u32 is_first, thread, 0;\n";
  for (const auto& [key, mbarrier] : cluster.mbarriers) {
    const auto [of, offset] = variable_at(*launch_->program, *launch_->entry->function, key.second);
    if (key.first == at.cta->rank && of == variable && (mbarrier.alive || key.second == at.offset))
      text += fmt::format("@is_first mbarrier.inval.shared.b64 [{}{}];\n", variable->name,
                          offset ? fmt::format("+{}", offset) : "");
  }
  return {{.kind = Remedy::Kind::meet,
           .text = text + "}\nbar.sync 0;",
           .at = write,
           .from = last,
           .together = Together::cta}};
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
    misuse(
        {.id = record.writes ? "mbarrier.inval" : "mbarrier.plain",
         .message =
             record.writes
                 ? "the memory of an mbarrier object is written, and nothing has invalidated the object"
                 : "the memory of an mbarrier object is read as plain memory",
         .who = statement_of(record, std::countr_zero(visit.lanes)),
         .what = record.writes ? "writes" : "reads",
         .before = mbarrier.last,
         .what_before = "used the object last",
         .memory = memory_of({visit.place.cta, found->first.second}),
         .fix = record.writes
                    ? Advice::either("mbarrier.inval before the memory is used for something else",
                                     {invalidations(visit.cluster, {visit.place.cta, found->first.second},
                                                    mbarrier.last.spot(), {record.code, record.instruction}),
                                      without({record.code, record.instruction})})
                    : Advice("mbarrier instructions alone, from mbarrier.init to mbarrier.inval",
                             without({record.code, record.instruction})),
         .address = found->first.second});
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
  const Clock& fenced = cluster.warp(x).knowledge.group_of(lane).knowledge.fenced[1];
  if (fenced.covers(cluster.id, mbarrier.init_agent, std::max(mbarrier.init.lane, 0), mbarrier.init_epoch))
    return;
  misuse({.id = "mbarrier.init",
          .is_note = true,
          .message =
              "an operation of the async proxy completes on an mbarrier whose initialization no fence has "
              "made known there",
          .who = Statement::at(x, LaneMask{1} << lane),
          .what = "issues it",
          .before = mbarrier.init,
          .what_before = "initializes it",
          .memory = memory_of(at),
          .fix = {"fence.mbarrier_init.release.cluster, or fence.proxy.async, after mbarrier.init",
                  {{.kind = Remedy::Kind::behind,
                    .text = "fence.mbarrier_init.release.cluster;",
                    .at = mbarrier.init.spot()}}},
          .address = at.offset});
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
  cluster.waits->add(
      agent, {.by = Spot::at(x), .object = wait.at.offset, .lanes = wait.lanes, .first_parity = wait.parity});
  const auto wrong = [&](LaneMask lanes, std::string message, Advice fix) {
    misuse({.id = "mbarrier.phase",
            .message = std::move(message),
            .who = Statement::at(x, lanes),
            .what = "waits",
            .before = mbarrier.last,
            .what_before = "changed its counts last",
            .memory = memory_of(wait.at),
            .fix = std::move(fix),
            .address = wait.at.offset});
  };
  if (again && mbarrier.begun)
    wrong(again,
          "a phase is waited for whose end this thread has seen already, and the next one has begun: it goes "
          "on "
          "at once",
          {"the other parity: it changes with each phase",
           {{.kind = Remedy::Kind::alternate,
             .at = Spot::at(x),
             .uses = cluster.waits,
             .object = wait.at.offset}}});
  if (since && mbarrier.phase >= since + 2)
    wrong(
        wait.lanes,
        fmt::format("the phase that was waited for has passed, and {} more since, before this thread saw it",
                    mbarrier.phase - 1 - since),
        kWaitForUsers);
}

// Threads of two CTAs meet at an mbarrier, and one side has no scope.
void Checker::lacks_scope(MbarrierState& mbarrier, const vgpu::Exec& x, const vgpu::MbarrierWait& wait,
                          const HandedOn::OfCta& threads) {
  if (std::exchange(mbarrier.told_unscoped, true))
    return;
  misuse({.id = "race.scope",
          .is_note = true,
          .message =
              "threads of two CTAs synchronize by an mbarrier without a scope: the ISA takes that for .cta, "
              "which orders nothing between them",
          .who = Statement::at(x, wait.lanes),
          .what = "waits",
          .before = threads.unscoped,
          .what_before = "arrives",
          .memory = memory_of(wait.at),
          .fix = {".release.cluster of the arrival and .acquire.cluster of the wait",
                  {{.kind = Remedy::Kind::order,
                    .text = with_order(threads.unscoped.spot(), "release", "cluster"),
                    .at = threads.unscoped.spot()},
                   {.kind = Remedy::Kind::order,
                    .text = with_order(Spot::at(x), "acquire", "cluster"),
                    .at = Spot::at(x)}}},
          .address = wait.at.offset});
}

// Bytes that come where an expect_tx went before, and that it does not cover: the phase ended without them. A
// program may expect bytes after it has issued the copy, if it does so from the beginning: see issues(),
// since the schedule says when they come.
void Checker::counts_bytes(MbarrierState& mbarrier, const vgpu::MbarrierArrival& arrival) {
  mbarrier.tx += arrival.change.expect_bytes;
  mbarrier.begun = !arrival.completes_phase;
  if (arrival.change.expect_bytes > 0)
    mbarrier.expects_last = mbarrier.last;
  mbarrier.expects_late |= mbarrier.tx < 0 && !mbarrier.expects_last.instruction;
  const vgpu::AsyncOperation* operation = arrival.operation;
  if (operation && mbarrier.tx < 0 && !mbarrier.expects_late && operation->issuer.cta == arrival.at.cta &&
      mbarrier.expects_last.warp == mbarrier.last.warp && operation->targets.size() < 2)
    misuse({.id = "mbarrier.tx",
            .message = "bytes come that no expect_tx has announced: a phase may end without them",
            .who = mbarrier.last,
            .what = "completes",
            .before = mbarrier.expects_last,
            .what_before = "expects",
            .memory = memory_of(arrival.at),
            .fix = {"an expect_tx of all bytes of the phase, before the copies are issued",
                    {with_last(mbarrier.expects_last.spot(), -mbarrier.tx, true)}},
            .address = arrival.at.offset});
  if (arrival.completes_phase)
    mbarrier.tx = 0;
}

// --- memory

// Compilers make such reads, of four words where there are three; the hardware runs them.
void Checker::reads_past_shared(const vgpu::Exec& x, const vgpu::Access& access, int lane,
                                uint32_t past_bytes) {
  misuse(
      {.id = "memory.bounds",
       .is_note = true,
       .message = fmt::format("a read of shared memory ends {} bytes past what the CTA has ({} bytes): a GPU "
                              "has memory there, since it gives out units of 128 bytes",
                              past_bytes, access.cta->shared.size() - vgpu::kSharedReservedBytes),
       .who = Statement::at(x, LaneMask{1} << lane),
       .what = fmt::format("reads {} bytes", access.bytes + past_bytes),
       .memory = "shared memory of the CTA, and what follows it",
       .fix = "a read that ends with the memory, or a launch that asks for more of it",
       .address = access.offset});
}

// How far accesses reach that began in the variable; it grows while the launch runs.
std::shared_ptr<const int64_t> Checker::reach(const ptx::Variable& variable, uint64_t bytes) {
  const std::lock_guard lock(findings_mutex_);
  std::shared_ptr<int64_t>& farthest = reaches_[&variable];
  if (!farthest)
    farthest = std::make_shared<int64_t>(0);
  *farthest = std::max(*farthest, static_cast<int64_t>(bytes));
  return farthest;
}

void Checker::stays_in_variable(const vgpu::Exec& x, const vgpu::WarpAccess& access, vgpu::InstId in) {
  const vgpu::Access& what = access.access;
  const bool local = what.space == isa::StateSpace::local;
  if (!local && what.cta != x.cta)
    return;
  const Provenance::Range* range = provenances_[function_of(*x.code)]->of(in);
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
  std::vector<Remedy> room;
  if (what.offset >= base + range->begin)
    room.push_back({.kind = Remedy::Kind::room,
                    .at = Spot::at(x),
                    .number = reach(*range->variable, what.offset + what.bytes - base - range->begin),
                    .variable = range->variable});
  const uint64_t offset = access.offset(piece);
  const vgpu::MemoryPlace place = what.at(offset - what.offset);
  misuse({.id = "memory.bounds",
          .message = fmt::format("an address that was made from {} ({} bytes) lies {}", range->variable->name,
                                 range->end - range->begin,
                                 offset < base + range->begin
                                     ? fmt::format("{} bytes before it", base + range->begin - offset)
                                 : offset < base + range->end
                                     ? std::string("at its end, and the access reaches over it")
                                     : fmt::format("{} bytes past its end", offset - base - range->end)),
          .who = Statement::at(x, access.by_lane ? LaneMask{1} << piece : vgpu::kAllLanes),
          .what = vgpu::writes(what.kind) ? "writes" : "reads",
          .memory = local ? "local memory" : launch_->program->describe(place, *launch_->entry),
          .fix = {"an index within the variable, or more room in it", room},
          .address = offset});
}

// --- values that were never written

UndefinedValues& Checker::values(ClusterState& cluster, const vgpu::Exec& x) {
  return cluster.undefined_values[cluster.warp(x).knowledge.agent()];
}

RacingValues& Checker::racing_values(ClusterState& cluster, const vgpu::Exec& x) {
  return cluster.racing_values[cluster.warp(x).knowledge.agent()];
}

UndefinedValues::Report Checker::uses_undefined(const vgpu::Exec& x) {
  return [this, &x](const UndefinedOrigin& origin, std::string_view use, int lane) {
    misuse({.id = "memory.undefined",
            .message = fmt::format("a value that was never written {}", use),
            .who = Statement::at(x, lane < 0 ? vgpu::kAllLanes : LaneMask{1} << lane),
            .what = "uses it",
            .before = origin.who,
            .what_before = "finds it",
            .memory = origin.what,
            .fix = origin.what.starts_with("register")
                       ? "a value for the register on every way to this instruction"
                   : origin.what.starts_with("shared")
                       ? "a write before it, by every thread and for every part of the tile"
                       : "a write before it, by a copy, a fill or a kernel"});
  };
}

void Checker::finds_undefined(const vgpu::Exec& x, const vgpu::DecodedInst& in, int lane,
                              const std::string& what) {
  values(state(*x.cta->cluster), x).find(x, in, lane, what);
  x.warp->follows_values = true;
}

namespace {
// The guard keeps it from executing, in all lanes.
bool is_skipped(const vgpu::Exec& x, const vgpu::DecodedInst& in) {
  return x.active == 0 && !in.always_run;
}
} // namespace

void Checker::begins(const vgpu::Exec& x) {
  ClusterState& cluster = state(*x.cta->cluster);
  if (!is_skipped(x, x.code->insts[x.pc]))
    values(cluster, x).begin(x, uses_undefined(x));
  if (RacingValues& racing = racing_values(cluster, x); !racing.empty())
    racing.begin(x, cluster.private_regions, uses_racing(cluster));
}

void Checker::ends(const vgpu::Exec& x, const vgpu::DecodedInst& in) {
  ClusterState& cluster = state(*x.cta->cluster);
  if (!is_skipped(x, in))
    values(cluster, x).end(x, in);
  if (RacingValues& racing = racing_values(cluster, x); !racing.empty())
    racing.end(x, in);
}

void Checker::votes(ClusterState& cluster, const vgpu::Exec& x, const vgpu::Synchronization& sync,
                    Gathering& barrier) {
  if (!x.ptx_instruction(x.code->insts[x.pc]).has(isa::Qual::red))
    return;
  if (!barrier.vote)
    barrier.vote = std::make_shared<UndefinedVote>();
  values(cluster, x).vote(x, sync.lanes, barrier.vote);
}

void Checker::shuffles(const vgpu::Exec& x, const int* sources) {
  ClusterState& cluster = state(*x.cta->cluster);
  values(cluster, x).shuffle(sources);
  if (RacingValues& racing = racing_values(cluster, x); !racing.empty())
    racing.shuffle(x, sources);
}

// --- warps

void Checker::names_absent(const vgpu::Exec& x, const vgpu::Synchronization& sync) {
  const LaneMask absent = sync.members & ~sync.lanes & x.warp->exited & lanes_of(*x.cta, *x.warp);
  if (!absent)
    return;
  misuse({.id = "warp.mask",
          .is_note = true, // what the ISA waits for are those that have not exited
          .message = fmt::format("the membermask {:#010x} names lanes {:#010x}, which have exited",
                                 sync.members, absent),
          .who = Statement::at(x, sync.lanes),
          .what = "waits for them",
          .memory = "a membermask",
          .fix = "the lanes that come here alone: __ballot_sync before the others leave"});
}

void Checker::reads_absent(const vgpu::Exec& x, LaneMask readers, LaneMask absent) {
  misuse({.id = "warp.mask",
          .is_note = (absent & x.warp->exited) == 0, // a program may leave what it gets of those that live
          .message = fmt::format("lanes {:#010x} take the values of lanes {:#010x}, which take no part",
                                 readers, absent),
          .who = Statement::at(x, readers),
          .what = "reads them",
          .memory = "registers of other lanes",
          .fix = "lanes that are named by the membermask, and come here"});
}

// --- grids

// The CuTe DSL of NVIDIA's CUTLASS does so, and leaves what it gets.
void Checker::asks_for_no_cluster(const vgpu::Exec& x, LaneMask lanes) {
  misuse(
      {.id = "cluster.cancel",
       .is_note = true,
       .message = "the first CTA of a request for a cluster that has failed: the ISA leaves that undefined",
       .who = Statement::at(x, lanes),
       .what = "asks for it",
       .memory = "a response of clusterlaunchcontrol.try_cancel",
       .fix = "query_cancel.is_canceled, and get_first_ctaid only where it was true"});
}

// An access to global memory, in a module that waits for the grids before it.
void Checker::depends_on_grids(ClusterState& cluster, const vgpu::Exec& x, const vgpu::Allocation* memory,
                               bool reads, bool writes, LaneMask lanes) {
  const WarpKnowledge& knowledge = cluster.warp(x).knowledge;
  LaneMask before = 0;
  for (const LaneGroup& group : knowledge.groups())
    if (!group.knowledge.known.covers_any(cluster.id, cluster.grid_wait, 1))
      before |= group.lanes & lanes;
  const std::lock_guard lock(grid_mutex_);
  GridAccesses& accesses = grid_accesses_[memory];
  if (!before) {
    accesses.read_after |= reads;
    return;
  }
  std::optional<Statement>& first = writes ? accesses.written : accesses.read;
  if (!first)
    first = Statement::at(x, before & -before);
}

// What a grid reads before the wait must be there from the beginning, weights for instance: memory that it
// reads after the wait, too, is not; and if it reads none after it, the wait comes too late for all.
void Checker::check_grid_waits() {
  const bool none_after = std::none_of(grid_accesses_.begin(), grid_accesses_.end(),
                                       [](const auto& entry) { return entry.second.read_after; });
  for (const auto& [allocation, accesses] : grid_accesses_) {
    const auto found = [&](const Statement& who, bool writes) {
      misuse({.id = "warp.griddepcontrol",
              .message = fmt::format(
                  "memory is {} before griddepcontrol.wait: the grids before this one may {}",
                  writes ? "written" : "read", writes ? "still use it" : "not have written it yet"),
              .who = who,
              .what = writes ? "writes" : "reads",
              .memory = "global memory",
              .fix = {"griddepcontrol.wait before it, by this thread or by one that it synchronizes with",
                      {{.kind = Remedy::Kind::before, .text = "griddepcontrol.wait;", .at = who.spot()}}}});
    };
    if (accesses.read && (accesses.read_after || none_after))
      found(*accesses.read, false);
    if (accesses.written)
      found(*accesses.written, true);
  }
  grid_accesses_.clear();
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
