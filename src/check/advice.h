// What mends a defect: the words of a finding, and with them the instructions that they name and between
// which accesses these belong. Where in the text that is, is worked out when the launch has ended.
//
// Tests: tests/check/corpus/advice.py, tests/unit/check/meeting_test.cc.
#pragma once

#include "check/meeting.h"
#include "check/statement.h"
#include "lemma/report.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lemma::check {

// Who comes to barriers, or waits on mbarriers, of a cluster, and by which instructions. It grows while the
// launch runs.
struct Uses {
  struct Use {
    Spot by;
    uint32_t object = 0; // a barrier's number; an mbarrier's offset
    vgpu::LaneMask lanes = 0;
    bool first_parity = false; // a wait's
  };
  std::vector<std::vector<Use>> by_warp; // of the cluster

  void add(uint32_t warp, const Use& use);
  // How many come to the object.
  int64_t threads(uint32_t object) const;
};

// One instruction more, another opcode or operand, or an instruction elsewhere.
struct Remedy {
  enum class Kind : uint8_t {
    before, // text before `at`
    first,  // a barrier, text, on every path from the function's entry to `at`
    behind, // text behind `at`
    meet,  // a barrier, text, between `from` and `at`; or between `at` and the next `from`, if it lacks there
    leave, // barrier.cluster.wait before the exit `at`, or behind the arrival `from` that no wait follows
    wait,  // text between `from`, which issues an operation, and `at`; and `then` towards other threads
    handed,        // `then` between a wait for what `from` has issued and `at`
    order,         // the opcode `text` in place of that of `at`
    release,       // the write or arrival `at` with a release; before it lies `from`, which is to be released
    acquire,       // the read or wait `at` with an acquire, if no fence follows; behind it lies `from`
    widen_release, // the scope `text` on `at`, and on fences between `from` and it
    widen_acquire, // the scope `text` on `at`, and on fences between it and `from`
    operand,       // `number` as the operand of `at`, or by so much more than it is
    remove,        // no `at`, if nothing reads what it writes
    out_behind,    // `at` behind the code of the innermost branch that divides its threads (`together`)
    out_before,    // `at` before that branch
    room,          // `number` bytes as the size of `variable`
    other_barrier, // a barrier that nobody has, for `at` and all by which its `warp` comes to `object`
    arrivals,  // `number`, or else as many threads as come to the barrier `object`, in all that come to it
    alternate, // a parity that changes with each phase in all waits on the mbarrier `object`
  } kind = Kind::before;
  std::string text = {}; // statements, "bar.sync 0;", one a line; `order`: "st.release.gpu.global.u32"
  Spot at = {}, from = {};
  Together together = Together::thread;
  std::string then = {}; // the barrier
  uint32_t operand = 0;
  bool by = false;    // `number` is added to what the operand is
  bool by_mov = true; // ... where one mov gives it, there
  std::shared_ptr<const int64_t> number = {};
  const ptx::Variable* variable = nullptr;
  std::shared_ptr<const Uses> uses = {};
  uint32_t object = 0, warp = 0; // of those
};
// An operand of `at`, by its index, that is to be that number; or, `by`, that much more.
Remedy with_operand(Spot at, size_t operand, int64_t number, bool by = false);
// Its last operand: a membermask, a count, bytes.
Remedy with_last(Spot at, int64_t number, bool by = false);
// Likewise in this instruction alone, where others have their operand from the same mov.
Remedy with_last_here(Spot at, int64_t number);
// No such instruction.
std::vector<Remedy> without(Spot at);
// The instruction out of the code that divides its threads: behind that, or before it.
std::vector<std::vector<Remedy>> moved_out(Spot at, Together together);

struct Advice {
  // NOLINTBEGIN(google-explicit-constructor): most is words alone
  Advice(const char* text) : words(text) {}
  Advice(std::string text) : words(std::move(text)) {}
  // NOLINTEND(google-explicit-constructor)
  Advice(std::string text, std::vector<Remedy> by) : words(std::move(text)), remedies(std::move(by)) {}

  Advice(std::string text, std::vector<Remedy> by, std::vector<Remedy> otherwise, std::string not_then = {})
      : words(std::move(text)), remedies(std::move(by)), or_else(std::move(otherwise)),
        if_not(std::move(not_then)) {}

  // Any of the lists: nobody knows what was meant.
  static Advice either(std::string text, std::vector<std::vector<Remedy>> lists);
  // Both.
  Advice and_also(const Advice& other) const;
  // ..., or the weak access strongly.
  Advice or_strong(std::vector<Remedy> order) const;
  // Of whom it wants a barrier alone.
  Barrier barrier() const;

  std::string words;            // Finding::fix
  std::vector<Remedy> remedies; // all of them together; none: it takes more than an instruction here or there
  std::vector<Remedy> or_else = {};                   // if there is no place for these
  std::vector<std::vector<Remedy>> alternatives = {}; // to `remedies`, each as much
  std::string if_not = {}; // the words if these cannot do: what is to be released comes after the release
};

// A barrier that threads so far from each other have: its words, and its instructions.
struct BarrierText {
  const char* words;
  const char* text;
};
BarrierText barrier_of(Together together);
// The barrier between two instructions that threads have executed of which neither need come first.
Remedy meeting(Together together, Spot earlier, Spot later);

// The opcode of an instruction on memory with that order, "release", and scope, "gpu":
// "st.release.gpu.global.u32". An empty one stays as it is.
std::string with_order(const Spot& spot, std::string_view semantics, std::string_view scope);

// The edits of the text that remedies are. One launch, one object.
class Repairs {
public:
  // Empty: there is no place for one of the instructions.
  std::vector<FindingRepair> of(const std::vector<Remedy>& remedies);
  // Those of the alternatives that have a place, the first as the repairs if there are none.
  void add_alternatives(const Advice& advice, Finding& finding);
  // A release that every path to what it is to release comes through before.
  bool contradicts(const std::vector<Remedy>& remedies);

private:
  const MeetingPlaces& places(const ptx::Function& function);
  bool add(const Remedy& remedy, std::vector<FindingRepair>& to);
  bool add_meeting(const Remedy& remedy, uint32_t from, std::vector<FindingRepair>& to);
  bool add_wait(const Remedy& remedy, std::vector<FindingRepair>& to);
  bool add_order(const Remedy& remedy, std::vector<FindingRepair>& to);
  bool add_scope(const Remedy& remedy, std::vector<FindingRepair>& to);
  // Of what stands there (rewrite.cc).
  bool rewrite(const Remedy& remedy, std::vector<FindingRepair>& to);
  bool add_move(const Remedy& remedy, std::vector<FindingRepair>& to);

  std::map<const ptx::Function*, std::unique_ptr<MeetingPlaces>> places_;
};

} // namespace lemma::check
