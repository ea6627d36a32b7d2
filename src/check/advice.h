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

// One instruction more, or another opcode.
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
  } kind = Kind::before;
  std::string text = {}; // statements, "bar.sync 0;", one a line; `order`: "st.release.gpu.global.u32"
  Spot at = {}, from = {};
  Together together = Together::thread;
  std::string then = {}; // the barrier
};

struct Advice {
  // NOLINTBEGIN(google-explicit-constructor): most is words alone
  Advice(const char* text) : words(text) {}
  Advice(std::string text) : words(std::move(text)) {}
  // NOLINTEND(google-explicit-constructor)
  Advice(std::string text, std::vector<Remedy> by) : words(std::move(text)), remedies(std::move(by)) {}

  Advice(std::string text, std::vector<Remedy> by, std::vector<Remedy> otherwise, std::string not_then = {})
      : words(std::move(text)), remedies(std::move(by)), or_else(std::move(otherwise)),
        if_not(std::move(not_then)) {}

  // Both.
  Advice and_also(const Advice& other) const;
  // ..., or the weak access strongly.
  Advice or_strong(std::vector<Remedy> order) const;
  // Of whom it wants a barrier alone.
  Barrier barrier() const;

  std::string words;            // Finding::fix
  std::vector<Remedy> remedies; // all of them together; none: it takes more than an instruction here or there
  std::vector<Remedy> or_else = {}; // if there is no place for these
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
// "@%p0 ", if the instruction has a guard.
std::string guard_text(const Spot& spot);
// The opcode as it is written.
std::string opcode_text(const Spot& spot);

// The edits of the text that remedies are. One launch, one object.
class Repairs {
public:
  // Empty: there is no place for one of the instructions.
  std::vector<FindingRepair> of(const std::vector<Remedy>& remedies);
  // A release that every path to what it is to release comes through before.
  bool contradicts(const std::vector<Remedy>& remedies);

private:
  const MeetingPlaces& places(const ptx::Function& function);
  bool add(const Remedy& remedy, std::vector<FindingRepair>& to);
  bool add_meeting(const Remedy& remedy, uint32_t from, std::vector<FindingRepair>& to);
  bool add_wait(const Remedy& remedy, std::vector<FindingRepair>& to);
  bool add_order(const Remedy& remedy, std::vector<FindingRepair>& to);
  bool add_scope(const Remedy& remedy, std::vector<FindingRepair>& to);

  std::map<const ptx::Function*, std::unique_ptr<MeetingPlaces>> places_;
};

} // namespace lemma::check
