// What atomic operations hand on at words, and to whom, that nobody has asked about yet.
//
// An atomic operation with .acq_rel - what tl.atomic_add is unless told otherwise - tells each lane all that
// those before it at that word knew, and those after it all that the lane knows. As clocks that takes time in
// proportion to all threads that have been there, for each of them. Yet it is seldom asked for: such
// operations do not race with each other, and counters are read when the launch is over. So each is noted, as
// what it came after, and clocks are made of the notes for whoever asks what precedes an access.
//
//     a word       first <- before <- before <- the last operation there
//                    |         |         |
//     its lanes    parent    bases     parent: the last one that these lanes had come after, or what their
//     warp knew
//
// Whoever knows of a thread's time knows all that the thread knew when it told of it. So what a clock has
// need not be followed further, and over all questions of a thread each note is looked at once.
//
// Not here: which operations are noted (checker.cc); clocks (clock.h).
//
// PTX ISA: "Memory Consistency Model": "Release and Acquire Patterns", "Causality Order".
// Tests: tests/unit/check/handover_test.cc.
#pragma once

#include "check/clock.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lemma::check {

struct Knowledge; // knowledge.h
class Handovers;
struct HandingOver;

// Lanes of one instruction that are at one word, and had come after the same; or, without lanes, what others
// are joined by.
struct Handover {
  const HandingOver* of = nullptr;
  const Handover* before = nullptr; // the one before it at the word; null: it is the first
  const Handover* parent = nullptr; // what the lanes had come after; null: HandingOver::bases
  uint64_t time = 0;                // no less than that of what it is made of
  LaneMask lanes = 0;
  mutable uint32_t mark = 0; // the last question that has come by

  // Whether `other` is one of the last few before it.
  bool is_soon_after(const Handover& other) const;
};

// What groups of lanes knew.
struct Base;
using Bases = std::vector<Base>;

struct HandingOver {
  Handovers* owner = nullptr;
  std::shared_ptr<const Bases> bases; // null: of none
  uint64_t cluster = 0;
  uint32_t agent = 0;
  Epoch epoch = 0; // which ends there
  uint32_t count = 0;
  std::unique_ptr<Handover[]> handovers; // room for one a lane
  HandingOver* made_before = nullptr;

  Handover& add(LaneMask lanes, const Handover* parent, const Handover* before, uint64_t time);
};

// Of one launch; what is noted stays until it ends.
class Handovers {
public:
  Handovers() = default;
  ~Handovers() { clear(); }
  Handovers(const Handovers&) = delete;

  // Whether there is room for more.
  bool has_room() const { return bytes_.load(std::memory_order_relaxed) < most_bytes_; }
  void close() { most_bytes_ = 0; }
  // With room for so many.
  HandingOver& make(uint32_t most);
  // What is known already, as if it were noted.
  const Handover* root(const Knowledge& knowledge, uint64_t time);
  // What comes after both.
  const Handover* both(const Handover* one, const Handover* other);

  // Makes clocks of Knowledge::later.
  void settle(Knowledge& knowledge);
  // What the lanes knew at the instruction, and their own accesses.
  Clock known_at(const HandingOver& instruction);
  // Which of the lanes' accesses at that epoch, none of which was made before `time`, precede what comes
  // after it.
  LaneMask known_of(const Handover* after, uint64_t cluster, uint32_t agent, LaneMask lanes, Epoch epoch,
                    uint64_t time);

  void clear();
  // How many notes and bases questions have looked at.
  uint64_t steps() const { return steps_; }

private:
  void follow(Knowledge& knowledge);
  template <class F>
  void go_back(const Handover& from, F&& take);
  bool come_by(const Handover& handover);
  void begin();

  std::atomic<HandingOver*> made_{nullptr};
  uint64_t most_bytes_ = uint64_t{1} << 29;
  std::atomic<uint64_t> bytes_{0};
  std::mutex mutex_; // of what follows, and all marks
  uint32_t mark_ = 0;
  uint64_t steps_ = 0;
  std::vector<const Handover*> left_, own_; // to be looked at; and what has been, and is news
};

// What preceded a strong write; as a clock when it is asked for.
class Known {
public:
  explicit Known(Clock clock) : clock_(std::move(clock)), is_made_(true) {}
  // ... by that instruction, and what its lanes would know beside that.
  Known(const HandingOver& of, std::shared_ptr<const Clock> more) : of_(&of), more_(std::move(more)) {}
  const Clock& clock() const;

private:
  const HandingOver* of_ = nullptr;
  std::shared_ptr<const Clock> more_;
  mutable std::once_flag once_;
  mutable Clock clock_;
  bool is_made_ = false;
};

} // namespace lemma::check
