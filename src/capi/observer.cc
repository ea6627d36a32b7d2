// include/lemma/c/observer.h. The texts of events are literals of the library, so they end with a NUL.
#include "capi/observer.h"

#include "capi/arena.h"
#include "capi/enumerations.h"
#include "capi/failure.h"
#include "capi/report.h"

#include <optional>
#include <vector>

namespace lemma::capi {

static const lemma_watched_function* to_c(Arena& arena, const WatchedFunction& function) {
  return arena.make<lemma_watched_function>({.name = arena.text(function.name),
                                             .is_kernel = function.is_kernel,
                                             .first = function.first,
                                             .count = function.count});
}

static lemma_warp_step to_c(const WarpStep& step) {
  return {.worker = step.worker,
          .instruction = step.instruction,
          .cta_index = step.cta_index,
          .cta = {step.cta[0], step.cta[1], step.cta[2]},
          .cta_rank = step.cta_rank,
          .warp = step.warp,
          .lanes = step.lanes};
}

static lemma_watched_cta to_c(const WatchedCta& cta) {
  return {.worker = cta.worker,
          .rank = cta.rank,
          .index = cta.index,
          .cluster = cta.cluster,
          .id = {cta.id[0], cta.id[1], cta.id[2]}};
}

namespace {

struct LaunchView : Tree<lemma_watched_launch> {
  explicit LaunchView(const WatchedLaunch& from) : launch(from) {
    kernel = arena.text(from.kernel);
    ptx = arena.text(from.ptx);
    arithmetic = arena.text(from.arithmetic);
    number = from.number;
    for (size_t i = 0; i < 3; ++i) {
      grid[i] = from.grid[i];
      block[i] = from.block[i];
      cluster[i] = from.cluster[i];
    }
    shared_bytes = from.shared_bytes;
    dynamic_shared_from = from.dynamic_shared_from;
    workers = from.workers;
    instructions = from.instructions;
    list(arena, from.functions, function_count, functions);
  }
  const WatchedLaunch& launch;
};

// The ranges, and pointers to them.
struct Ranges {
  explicit Ranges(std::span<const MemoryRange> from) {
    ranges.reserve(from.size());
    for (const MemoryRange& range : from) {
      ranges.push_back({.space = to_c(range.space),
                        .owner_rank = range.owner_rank,
                        .address = range.address,
                        .bytes = range.bytes});
      items.push_back(&ranges.back());
    }
  }
  std::vector<lemma_memory_range> ranges;
  std::vector<const lemma_memory_range*> items;
};

class CObserver final : public LaunchObserver {
public:
  explicit CObserver(const lemma_observer& to) : to_(to) {}

  Watch watches() const override {
    return {.instructions = to_.executes != nullptr,
            .accesses = to_.accesses != nullptr,
            .synchronization = to_.synchronizes != nullptr,
            .operations = to_.operates != nullptr,
            .ranges = to_.ranges};
  }
  void launch_begins(const WatchedLaunch& launch) override {
    launch_.emplace(launch);
    if (to_.launch_begins)
      to_.launch_begins(to_.user, &*launch_);
  }
  void launch_ends(const WatchedLaunch&) override {
    if (launch_ && to_.launch_ends)
      to_.launch_ends(to_.user, &*launch_);
    launch_.reset();
  }
  void cta_begins(const WatchedCta& cta) override {
    if (!to_.cta_begins)
      return;
    const lemma_watched_cta made = to_c(cta);
    to_.cta_begins(to_.user, &made);
  }
  void cta_ends(const WatchedCta& cta) override {
    if (!to_.cta_ends)
      return;
    const lemma_watched_cta made = to_c(cta);
    to_.cta_ends(to_.user, &made);
  }
  void executes(const WarpStep& step) override {
    const lemma_warp_step made = to_c(step);
    to_.executes(to_.user, &made);
  }
  void accesses(const WarpStep& step, const WatchedAccess& access) override {
    const lemma_warp_step by = to_c(step);
    const lemma_watched_access made{.space = to_c(access.space),
                                    .type = to_c(access.type),
                                    .by_lane = access.by_lane,
                                    .pieces = access.pieces,
                                    .piece_bytes = access.piece_bytes,
                                    .owner_rank = access.owner_rank,
                                    .addresses = access.addresses,
                                    .semantics = text(access.semantics),
                                    .scope = text(access.scope)};
    to_.accesses(to_.user, &by, &made);
  }
  void synchronizes(const WarpStep& step, const WatchedSync& sync) override {
    const lemma_warp_step by = to_c(step);
    const lemma_watched_sync made{.event = to_c(sync.event),
                                  .semantics = text(sync.semantics),
                                  .scope = text(sync.scope),
                                  .members = sync.members,
                                  .barrier = sync.barrier,
                                  .waits = sync.waits,
                                  .threads = sync.threads,
                                  .mbarrier_rank = sync.mbarrier_rank,
                                  .mbarrier_address = sync.mbarrier_address,
                                  .parity = sync.parity,
                                  .completes_phase = sync.completes_phase,
                                  .by_operation = sync.by_operation,
                                  .arrivals = sync.arrivals,
                                  .expected_bytes = sync.expected_bytes,
                                  .operation = sync.operation,
                                  .group = text(sync.group),
                                  .pending = sync.pending,
                                  .read_only = sync.read_only,
                                  .uncommitted = sync.uncommitted};
    to_.synchronizes(to_.user, &by, &made);
  }
  void operates(const WarpStep& step, const WatchedOperation& operation) override {
    const lemma_warp_step by = to_c(step);
    const Ranges reads(operation.reads), writes(operation.writes);
    const lemma_watched_operation made{.event = to_c(operation.event),
                                       .parts = operation.parts,
                                       .kind = text(operation.kind),
                                       .group = text(operation.group),
                                       .number = operation.number,
                                       .bytes_read = operation.bytes_read,
                                       .bytes_written = operation.bytes_written,
                                       .read_count = reads.items.size(),
                                       .reads = reads.items.data(),
                                       .write_count = writes.items.size(),
                                       .writes = writes.items.data()};
    to_.operates(to_.user, &by, &made);
  }

private:
  static const char* text(std::string_view literal) { return literal.empty() ? "" : literal.data(); }

  const lemma_observer to_;
  std::optional<LaunchView> launch_;
};

} // namespace

std::unique_ptr<LaunchObserver> observer_of(const lemma_observer* given) {
  return given ? std::make_unique<CObserver>(taken(given, "lemma_observer")) : nullptr;
}

} // namespace lemma::capi

using namespace lemma::capi;

const lemma_watched_instruction* lemma_watched_instruction_of(const lemma_watched_launch* launch,
                                                              uint32_t instruction) {
  if (!launch)
    return nullptr;
  return or_null([&]() -> const lemma_watched_instruction* {
    const lemma::WatchedLaunch& from = static_cast<const LaunchView*>(launch)->launch;
    auto made = std::make_unique<Tree<lemma_watched_instruction>>();
    made->place = to_c(made->arena, from.place(instruction));
    made->form = made->arena.text(from.form(instruction));
    return made.release();
  });
}

void lemma_watched_instruction_release(const lemma_watched_instruction* instruction) {
  release(instruction);
}
