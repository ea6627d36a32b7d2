// Compiled code of a function: which segments have some, and how often the others have run.
//
//   a segment has run so often --compile()--> a unit around it (unit.h) --> host code (generate.h) -->
//   entries of its segments
//
// Code is compiled by the thread that comes first, while others go on in the interpreter, or wait with
// Engine::compiled; it stays until the function goes. Where the host has no compiler, forbids executable
// pages, or there is no memory left for code, nothing is ever compiled.
//
// Tests: tests/unit/vgpu/compiled_test.cc.
#pragma once

#include "lemma/launch.h"
#include "support/memory_budget.h"
#include "vgpu/code/code.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace lemma::vgpu {

class CodePages;
class Liveness;

// Runs from the segment at Exec::pc on, with the lanes of Exec::mask, as WarpRunner::execute() would, until
// CompiledState::end, or where something else has to be done; then Exec::pc, mask and executed are as after
// the last instruction, whose Step it returns.
using CompiledEntry = uint32_t (*)(Exec* x);

class CompiledCode {
public:
  // For launches that somebody watches, or nobody does.
  CompiledCode(const Code& code, bool is_watched);
  ~CompiledCode();

  // Of the segment at the pc, for the lanes of Exec::mask; null: it has none yet, and this visit counts.
  CompiledEntry find(Exec& x, uint32_t pc, LaneMask mask, uint32_t visits_before) {
    Spot* spots = spots_.load(std::memory_order_acquire);
    if (!spots) [[unlikely]]
      spots = make_spots();
    Spot& spot = spots[pc];
    Way& way = spot.way(mask);
    if (const CompiledEntry entry = way.entry.load(std::memory_order_acquire)) [[likely]]
      return entry;
    const uint32_t visits = way.visits.load(std::memory_order_relaxed);
    if (visits < uint64_t{visits_before} * turns_.load(std::memory_order_relaxed)) [[likely]] {
      way.visits.store(visits + 1, std::memory_order_relaxed);
      return nullptr;
    }
    return compile(x, pc, mask, visits_before);
  }

  // Where compiled code of another function jumps to, after a call or a return; null: no such code.
  const void* inside(uint32_t pc, LaneMask mask) const {
    Spot* const spots = spots_.load(std::memory_order_acquire);
    return spots ? spots[pc].way(mask).inside.load(std::memory_order_acquire) : nullptr;
  }

private:
  // A segment as it runs for all lanes, or for fewer.
  struct Way {
    std::atomic<CompiledEntry> entry{nullptr};
    std::atomic<const void*> inside{nullptr}; // inside()
    std::atomic<uint32_t> visits{0};
  };
  struct Spot {
    Way all, some;
    Way& way(LaneMask mask) { return mask == kAllLanes ? all : some; }
  };
  Spot* make_spots();
  CompiledEntry compile(Exec& x, uint32_t pc, LaneMask mask, uint32_t visits_before);

  const Code& code_;
  const bool is_watched_;
  std::atomic<Spot*> spots_{nullptr}; // by pc; made when the function first runs
  // Units so far and 1: each is made of all that has run, and so has to pay for itself the more.
  std::atomic<uint32_t> turns_{1};
  std::mutex compiling_;
  MemoryShare taken_;                  // for pages
  std::unique_ptr<Liveness> liveness_; // made with the first unit
  std::vector<std::unique_ptr<CodePages>> pages_;
  std::vector<std::vector<uint32_t>> join_pcs_; // of units; their code names them
  std::atomic<bool> gave_up_{false};
};

// So often does a segment run in the interpreter before it is compiled; kNeverCompiled: never. With
// Engine::automatic what LEMMA_COMPILE_AFTER says.
inline constexpr uint32_t kNeverCompiled = UINT32_MAX;
uint32_t visits_before_compiling(Engine engine);

// Whether this build and this host have a compiler; else why not.
bool can_compile(std::string* why_not = nullptr);
// For the first launch of the process that asks for Engine::compiled and cannot have it: what it is told.
std::optional<std::string> warn_of_no_compiler(Engine engine);

} // namespace lemma::vgpu
