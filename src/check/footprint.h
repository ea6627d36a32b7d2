// Which bytes of global memory an operation as a whole - a launch, a copy - reads and writes, and by which
// instruction first: what is compared where two operations of streams may run at the same time.
//
// Tests: tests/unit/check/footprint_test.cc, tests/check/streams_test.cc.
#pragma once

#include "check/statement.h"
#include "vgpu/engine/observer.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

namespace lemma::check {

// Strong: by operations that are not weak, at the scope of the GPU or the system, so that threads of another
// kernel may use them too ("Memory Consistency Model": "Morally Strong Operations").
enum class Use : uint8_t { weak_read, weak_write, strong_read, strong_write };
inline constexpr size_t kUses = 4;

inline bool writes(Use use) {
  return use == Use::weak_write || use == Use::strong_write;
}

class Footprint {
public:
  Footprint();
  ~Footprint();
  Footprint(const Footprint&) = delete;

  // Any thread. `who` has no instruction where the host does it.
  void add(uint64_t address, uint64_t bytes, Use use, const Statement& who = {});
  // Several, one after the other, for as long as this lives: those that lie in one page in turn take one lock
  // and one look-up. Others add meanwhile, so a thread has one at a time.
  class Adder;

  // Once it is finished: without those bytes.
  void forget(uint64_t address, uint64_t bytes);

  // griddepcontrol.wait was executed.
  bool waited_for_grids() const { return waited_for_grids_; }
  void note_grid_wait() { waited_for_grids_ = true; }

  // Memory that the host sees too was used strongly: it may have been told of what came before, or have told.
  bool may_talk_to_host() const { return may_talk_to_host_; }
  void note_talk_to_host() { may_talk_to_host_ = true; }

  bool is_empty() const;

  // The operation has ended: from now on the footprint needs nothing of its program's.
  void finish();
  // Once it is finished: where the instruction of one of its statements stands. The statement's pointers may
  // be of what is gone.
  const Place& place_of(const Statement& who) const { return places_.at(who.instruction); }

private:
  friend std::optional<struct Meeting> first_meeting(const Footprint&, const Footprint&);
  struct Page;
  struct Shard;
  std::unique_ptr<Shard[]> shards_;
  std::atomic<bool> waited_for_grids_{false};
  std::atomic<bool> may_talk_to_host_{false};
  std::unordered_map<vgpu::InstId, Place, vgpu::InstIdHash> places_;
};

// Bytes that both use, at least one writing, and not both strongly.
struct Meeting {
  uint64_t address = 0; // of the first such byte
  uint64_t bytes = 0;   // in all
  // The first of each in the page of that byte that uses memory so; not always that byte.
  Use use_of_a = Use::weak_read, use_of_b = Use::weak_read;
  Statement a, b;
  // There are bytes that one writes and the other reads, both strongly: a flag perhaps, which orders them.
  bool may_be_ordered = false;
};
std::optional<Meeting> first_meeting(const Footprint& a, const Footprint& b);

// Fills the footprint of a launch.
class FootprintObserver : public vgpu::Observer {
public:
  explicit FootprintObserver(Footprint& footprint) : footprint_(footprint) {}
  void accesses(const vgpu::Exec& x, const vgpu::WarpAccess& access) override;
  void issues(const vgpu::Exec& x, const vgpu::AsyncOperation& operation) override;
  void synchronizes(const vgpu::Exec& x, const vgpu::Synchronization& sync) override;

private:
  Footprint& footprint_;
};

} // namespace lemma::check
