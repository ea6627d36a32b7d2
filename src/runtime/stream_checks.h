// Operations of streams that use the same memory, and that nothing orders: DeviceOptions::check_streams. Each
// operation leaves its footprint when it ends; it is compared with those that it neither follows nor
// precedes. A footprint goes when all that is to come follows it.
//
// Not seen: what the host does by itself with memory that it shares.
//
// Tests: tests/unit/runtime/stream_checks_test.cc.
#pragma once

#include "check/footprint.h"
#include "lemma/report.h"
#include "runtime/timeline.h"

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace lemma::runtime {

class StreamChecks {
public:
  // `memory_at`: how messages name the memory at an address.
  explicit StreamChecks(std::function<std::string(uint64_t)> memory_at) : memory_at_(std::move(memory_at)) {}

  struct Done {
    Position position;
    std::string what;                                  // "kernel `scale`", "a copy to the device"
    std::string kernel;                                // of a launch
    std::shared_ptr<const check::Footprint> footprint; // finished
  };
  // An operation has ended.
  void add(Done done, const Timeline& timeline);

  // What was found since the last call.
  std::vector<Finding> take();

private:
  void compare(const Done& earlier, const Done& later);

  const std::function<std::string(uint64_t)> memory_at_;
  std::mutex mutex_; // of what follows
  std::list<Done> remembered_;
  // One defect is one finding: by the two operations' words and instructions.
  using Key = std::tuple<std::string, std::string, size_t, size_t>;
  std::map<Key, Finding> found_;
};

} // namespace lemma::runtime
