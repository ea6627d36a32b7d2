// What becomes of a value that a load has got while a write raced with it. As long as it lies in registers,
// predicates and local memory, or what is computed of it does, here or in lanes that it was shuffled to,
// nobody can tell which value it was; the race is one as soon as another instruction takes it: a store, an
// address, a matrix product, or one that its guard or a branch keeps from doing what others see. A branch
// past code that is private to its thread (private_code.h) makes what is computed there another racing value.
//
// Compilers make loads whose value only some lanes go on with (Triton's layouts may hold one number in many
// threads: all load it, one stores), or none (a pipeline that fetches past its end).
//
// A branch that leads back to the load until that gets another value is a use, whatever lies there: a wait
// for the write.
//
// Two questions, one for each order of the two accesses. Of a load that comes second RacingValues follows
// the value from there on, by register and lane. Of one that came first fate_of() says where its value may
// be by now: it goes by the text, by what the guards on the way hold, and in doubt says that it was used.
// Neither costs anything until two accesses race.
//
// Tests: tests/unit/check/loaded_test.cc.
#pragma once

#include "check/private_code.h"
#include "vgpu/engine/exec.h"

#include <functional>
#include <vector>

namespace lemma::check {

using vgpu::LaneMask;

// A register in some lanes, by where it lies in the frame; or their local memory as a whole.
struct Holding {
  uint32_t offset = 0;
  LaneMask lanes = 0;
};
inline constexpr uint32_t kLocalMemory = ~0u; // Holding::offset

// Lanes that are in a region because of a racing value, or might be.
struct Entering {
  const PrivateRegion* region = nullptr;
  LaneMask lanes = 0;
};

// Where lanes are that have executed the load.
struct Whereabouts {
  const vgpu::Code* code = nullptr;
  uint32_t pc = 0; // of the next instruction ...
  LaneMask lanes = 0;
  const std::byte* registers = nullptr; // of this activation
  bool executes = false;                // ... which is being executed ...
  LaneMask active = 0;                  // ... by these
};

struct Fate {
  LaneMask used = 0;          // lanes that may have used the value
  std::vector<Holding> holds; // what may have it, or numbers made of it
  std::vector<Entering> in;   // where it may have led the lanes
};

// Of the value that the load at that pc gave the lanes when they last executed it, or `every` time that they
// did.
Fate fate_of(uint32_t load, const Whereabouts& where, bool every, PrivateRegions& regions);

// A race that waits for the load's value to be used.
struct LoadRace {
  uint32_t number = 0;
  vgpu::InstId load;

  bool operator==(const LoadRace&) const = default;
};

// The racing values of a warp. Calls come in the order of the events of the same names in vgpu::Observer.
class RacingValues {
public:
  // A lane uses the value of a race that has this number.
  using Report = std::function<void(uint32_t race, int lane)>;

  bool empty() const { return values_.empty() && loaded_.empty() && branched_.empty(); }
  // The instruction that is being executed loads it.
  void load(LoadRace race, LaneMask lanes);
  void hold(LoadRace race, const std::byte* registers, const Holding& holding);
  void branch(LoadRace race, const std::byte* registers, const Entering& entering);
  // Also of an instruction whose guard keeps it from executing in all lanes.
  void begin(const vgpu::Exec& x, PrivateRegions& regions, const Report& report);
  // The instruction is a shuffle: the lane that each lane's value comes from.
  void shuffle(const vgpu::Exec& x, const int* sources);
  void end(const vgpu::Exec& x, const vgpu::DecodedInst& in);

private:
  struct Value {
    LoadRace race = {};
    const std::byte* registers = nullptr; // null: of local memory
    Holding in = {};
  };
  struct Branched {
    LoadRace race = {};
    const std::byte* registers = nullptr;
    Entering in = {};
  };
  struct Made {
    LoadRace race = {};
    LaneMask lanes = 0;
  };
  static void add(std::vector<Made>& to, LoadRace race, LaneMask lanes);
  static void add(std::vector<Made>& to, const std::vector<Made>& more);
  // Of the lanes, those in which a register of this activation has one.
  template <class F>
  void each_in(const vgpu::Exec& x, uint32_t offset, LaneMask lanes, F&& f) const;
  std::vector<Made> take_sources(const vgpu::Exec& x) const;
  LaneMask may_store_in(const PrivateRegion& region, const vgpu::Exec& x) const;
  std::vector<Made> lead_here(const vgpu::Exec& x);
  void use(const std::vector<Made>& values, const Report& report);

  std::vector<Value> values_;
  std::vector<Branched> branched_;
  std::vector<Made> loaded_; // by the instruction that is being executed
  vgpu::InstId now_ = {};
  std::vector<Made> made_; // what it computes
};

} // namespace lemma::check
