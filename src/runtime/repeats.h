// Launches that do once more what has been done: a program that times a kernel launches it a hundred times,
// with the same arguments and the same memory. What a launch makes of memory follows from its kernel,
// arguments, configuration and memory; so one that was seen to make state B of state A need not run again
// where memory is A. It is put off, B is remembered as what memory would be, and whoever looks at memory, or
// changes it, has what was put off done first - unless memory would be again what it is, as at the end of
// each round of a loop that repeats itself: then there is nothing to be done.
//
// A state is known by a digest of all memory, made before and after launches that are followed. Digests take
// a fifth of the time of launches at most, and a kernel that is launched again with the same arguments is
// followed ever more seldom while nothing comes of it.
//
// Tests: tests/unit/runtime/repeats_test.cc.
#pragma once

#include "lemma/message.h"
#include "lemma/report.h"
#include "lemma/result.h"

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lemma::runtime {

// Of bytes: two that differ have the same one with a probability of 2^-64.
struct Digest {
  uint64_t low = 0, high = 0;
  auto operator<=>(const Digest&) const = default;
};
Digest digest_of(std::span<const std::byte> bytes, Digest seed);

class Repeats {
public:
  // What kernels see and change, all of it.
  class Memory {
  public:
    virtual ~Memory() = default;
    virtual uint64_t bytes() const = 0;
    // None: somebody else may change it at any time, as the host does memory that both have.
    virtual std::optional<Digest> digest() const = 0;
  };
  using Run = std::function<Result<Report, Error>()>;
  struct Launch {
    // Of launches with the same key in the same memory the outcome is the same. Empty: of this one it may be
    // another, or there is more to it than memory.
    std::string key = {};
    Run now = {};   // called before launch() returns, or never
    Run later = {}; // the same with nothing beside it; may be called at any time until the Repeats goes
  };

  // `seconds`: a clock, by which launches and digests are timed.
  explicit Repeats(const Memory& memory, std::function<double()> seconds = steady_seconds)
      : memory_(memory), seconds_(std::move(seconds)) {}
  static double steady_seconds();

  // The report is that of the run, or of one before that did the same, with no time of its own.
  Result<Report, Error> launch(Launch launch);

  // Lives as long as something else uses memory.
  class Use {
  public:
    // Null: nobody asks.
    Use(Repeats* repeats, bool changes_memory);
    ~Use();
    Use(const Use&) = delete;
    // Of what had been put off, if it could not be done.
    const std::optional<Error>& failed() const { return failed_; }

  private:
    Repeats* const repeats_;
    std::optional<Error> failed_;
  };

  uint64_t skipped() const; // launches so far that were not run

private:
  // Of a key.
  struct Seen {
    uint64_t runs = 0;
    uint64_t follow_from = 2; // which run is followed next
    uint64_t step = 1;        // and how many runs later the one after it
  };
  struct Outcome {
    Digest state;
    Report report;
  };
  struct PutOff {
    Run run;
    Digest after; // what memory would be then
  };
  // These under mutex_, which run() lets go of meanwhile.
  std::optional<Report> report_of_repeat(Launch& launch);
  bool may_follow(const std::string& key);
  std::optional<Digest> digest();
  Result<Report, Error> run(std::unique_lock<std::mutex>& lock, const Launch& launch);
  std::optional<Error> do_what_was_put_off();

  const Memory& memory_;
  const std::function<double()> seconds_;
  mutable std::mutex mutex_;
  // All under mutex_.
  std::map<std::string, Seen> seen_;
  std::map<std::pair<Digest, std::string>, Outcome> outcomes_;
  std::optional<Digest> actual_; // what memory is; none: not known
  Digest virtual_;               // what it would be after put_off_; if actual_ is known
  std::vector<PutOff> put_off_;
  double run_seconds_ = 0, digest_seconds_ = 0; // so far
  double last_digest_seconds_ = 0;
  uint64_t users_ = 0;    // launches that run and Uses that live
  uint64_t arrivals_ = 0; // of them, all
  uint64_t skipped_ = 0;
};

} // namespace lemma::runtime
