// Operations of streams that use the same memory, and that nothing orders: DeviceOptions::check_streams. Each
// operation leaves its footprint when it ends; it is compared with those that it neither follows nor
// precedes. A footprint goes when all that is to come follows it.
//
// A finding is a note where one of the two comes after a wait for a value (Stream::wait_value()): what that
// has seen may be the order.
//
// What the host does by itself with memory that it shares (HostWatch) is compared with them too. It is taken
// for strong: nobody knows whether it was an atomic. And it is a note while a kernel that the host has not
// waited for may talk to the host, by strong operations on memory that both see: that may be the order.
//
// Tests: tests/check/streams_test.cc, tests/unit/runtime/host_watch_test.cc.
#pragma once

#include "check/footprint.h"
#include "lemma/report.h"
#include "ptx/module.h"
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
    std::string what;                            // "kernel `scale`", "a copy to the device"
    std::string kernel;                          // of a launch
    std::shared_ptr<const ptx::Module> ptx = {}; // that the kernel is in
    std::shared_ptr<check::Footprint> footprint; // finished
    bool waits_for_value = false;                // Stream::wait_value()
  };
  // An operation has ended.
  void add(Done done, Timeline& timeline);

  // The addresses are those of a new allocation: what has been done to an older one there is no concern of
  // it.
  void memory_is_new(uint64_t address, uint64_t bytes);

  // What was found since the last call.
  std::vector<Finding> take(Timeline& timeline);

private:
  void compare(const Done& earlier, const Done& later);
  bool may_be_ordered_by_value(const Done& a, const Done& b) const;
  // These with what the host did.
  void fetch_host_accesses(Timeline& timeline);
  void compare_host(const Timeline::HostAccess& access, const Done& done);

  const std::function<std::string(uint64_t)> memory_at_;
  std::mutex mutex_; // of what follows
  std::list<Done> remembered_;
  std::list<Timeline::HostAccess> host_accesses_;
  std::list<Position> talkers_; // operations that may talk to the host
  std::list<Position> waits_for_values_;
  // One defect is one finding: by the two operations' words and instructions.
  using Key = std::tuple<std::string, std::string, size_t, size_t>;
  std::map<Key, Finding> found_;
  // With the host's accesses: whether it is a note is known when all have ended that may have talked to it.
  struct HostFinding {
    Timeline::HostAccess access;
    Finding finding;
    std::shared_ptr<const ptx::Module> ptx; // of the kernel
  };
  std::map<Key, HostFinding> host_found_;
};

} // namespace lemma::runtime
