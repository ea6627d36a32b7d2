// Where in a function an instruction can stand that has to lie between two others, and that all threads of a
// warp, CTA or cluster come to together.
//
// A place lies between two instructions if every path from the one to the other comes through it. That all
// threads come to it is a matter of branches: one whose condition may differ among threads divides them up to
// where both ways have met again. What differs is followed from %tid and the like through registers, through
// what divided code writes, and not through memory: what threads load from one address is taken for one
// value.
//
// A function that would take too much has no such places: a text may be hostile.
//
// Tests: tests/unit/check/meeting_test.cc.
#pragma once

#include "ptx/flow.h"
#include "ptx/module.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace lemma::check {

// Who has to come to a place.
enum class Together : uint8_t { thread, warp, cta, cluster };

// Before or behind an instruction of a function, by its index.
struct Point {
  uint32_t instruction = 0;
  bool behind = false;
  friend bool operator==(const Point&, const Point&) = default;
};

// Ways through a function from instruction to instruction.
class Paths {
public:
  explicit Paths(const ptx::Function& function);

  // False: the function has too many branches, and nothing else may be asked.
  bool is_known() const { return flow_.has_successors && !block_of_.empty(); }
  using Stops = std::function<bool(uint32_t instruction)>;
  // Is there a path from behind the one to the other, but for those on which an instruction stops it, and
  // those through a place? Where all paths that were asked for took too many steps, there is.
  bool reaches(uint32_t from, uint32_t to, const Stops& stops, const Point* cut = nullptr) const;

  const ptx::Flow& flow() const { return flow_; }
  uint32_t block_of(uint32_t instruction) const { return block_of_[instruction]; }

private:
  const ptx::Flow flow_;
  std::vector<uint32_t> block_of_;
  mutable uint64_t steps_ = 0; // instructions that were looked at
};

class MeetingPlaces {
public:
  explicit MeetingPlaces(const ptx::Function& function);

  // False: nothing else may be asked.
  bool is_known() const { return is_known_; }
  using Stops = Paths::Stops;
  // As Paths has it.
  bool reaches(uint32_t from, uint32_t to, const Stops& stops) const {
    return paths_.reaches(from, to, stops);
  }
  // The place between the two that is in the fewest loops, and of those the nearest to `to`; nullopt: there
  // is none, or not all would come. `to` must be reached from `from`.
  std::optional<Point> between(uint32_t from, uint32_t to, Together together) const;
  // Where threads are together again that the innermost branch before an instruction divides: behind what it
  // divides, or before the branch; nullopt: none divides them.
  std::optional<Point> outside(uint32_t instruction, Together together, bool behind) const;
  // Every path to `second` comes through `first`.
  bool dominates(uint32_t first, uint32_t second) const;
  // All paths from the one to the other come through the place.
  bool separates(const Point& point, uint32_t from, uint32_t to) const;
  uint32_t count() const { return static_cast<uint32_t>(function_.instructions.size()); }

private:
  struct Divided { // of each block
    std::vector<uint32_t> surely,
        by_exits; // branches that divide its threads; those of which one way is the end
  };
  Divided divided(Together together) const;
  const Divided& divided_of(Together together) const {
    return together == Together::cluster ? cluster_ : together == Together::cta ? cta_ : warp_;
  }
  void find_loops();
  std::vector<Point> candidates(uint32_t from, uint32_t to) const;
  bool is_end(uint32_t block) const;

  const ptx::Function& function_;
  const Paths paths_;
  const ptx::Flow& flow_ = paths_.flow();
  bool is_known_ = false;
  std::vector<uint32_t> dominator_, post_dominator_;
  std::vector<uint32_t> loops_; // by block: how many it is in
  Divided warp_, cta_, cluster_;
};

} // namespace lemma::check
