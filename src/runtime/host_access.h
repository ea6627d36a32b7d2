// What copies and fills use, for StreamChecks.
//
// Tests: tests/check/streams_test.cc.
#pragma once

#include "runtime/device_impl.h"

#include <array>
#include <cstdint>
#include <memory>

namespace lemma::runtime {

struct HostAccess {
  const char* what = ""; // "a copy to the device"
  struct Range {
    uint64_t address = 0, bytes = 0;
    check::Use use = check::Use::weak_read;
  };
  std::array<Range, 2> ranges = {}; // one of 0 bytes is none
  bool waits_for_value = false;
};

inline HostAccess writing(uint64_t address, uint64_t bytes) {
  return {.what = "a copy to the device, or a fill,",
          .ranges = {{{address, bytes, check::Use::weak_write}, {}}}};
}
inline HostAccess reading(uint64_t address, uint64_t bytes) {
  return {.what = "a copy from the device", .ranges = {{{address, bytes, check::Use::weak_read}, {}}}};
}
inline HostAccess writing_value(uint64_t address, uint64_t bytes) {
  return {.what = "a value that a stream writes,",
          .ranges = {{{address, bytes, check::Use::strong_write}, {}}}};
}
inline HostAccess waiting_for_value(uint64_t address, uint64_t bytes) {
  return {.what = "a wait for a value",
          .ranges = {{{address, bytes, check::Use::strong_read}, {}}},
          .waits_for_value = true};
}
// Whoever uses the memory must have done so before.
inline HostAccess freeing(uint64_t address, uint64_t bytes) {
  return {.what = "the free of memory in the order of a stream",
          .ranges = {{{address, bytes, check::Use::weak_write}, {}}}};
}
inline HostAccess copying(uint64_t to, uint64_t from, uint64_t bytes) {
  return {.what = "a copy on the device",
          .ranges = {{{from, bytes, check::Use::weak_read}, {to, bytes, check::Use::weak_write}}}};
}

// The operation has made it.
inline void note_access(DeviceImpl& device, const Timeline::Operation& operation, const HostAccess& access) {
  if (!device.stream_checks)
    return;
  auto footprint = std::make_shared<check::Footprint>();
  for (const HostAccess::Range& range : access.ranges)
    footprint->add(range.address, range.bytes, range.use);
  device.stream_checks->add({.position = operation.position(),
                             .what = access.what,
                             .kernel = "",
                             .footprint = std::move(footprint),
                             .waits_for_value = access.waits_for_value},
                            *device.timeline);
}

} // namespace lemma::runtime
