// Streams, events and asynchronous copies.
//
//   lemma::Stream stream = device->create_stream();
//   stream.write(x.address(), bytes);
//   stream.launch(*kernel, {.grid = {4}, .block = {256}}, {x, y});
//   stream.read(y.address(), result);
//   if (auto done = stream.synchronize(); !done) puts(done.error().text.c_str());
//
// A stream is a queue: its operations run in the order in which it was given them, the host goes on
// meanwhile. Operations of several streams run at the same time, kernels too: one may wait for what another,
// or the host, writes (atomics or volatile accesses at the scope of the system, as the PTX ISA has them). One
// that waits for what nobody does is reported as a deadlock when nothing has happened for
// DeviceOptions::patience_seconds.
//
// Default streams are CUDA's: an operation of the legacy default stream (Device::default_stream()) waits for
// all that other streams were given before, and what they are given after waits for it, but for streams that
// are non_blocking. Calls that return when all is done (Kernel::launch(), Buffer::copy_from(), Device::read()
// ...) are operations of the legacy default stream too.
//
// An operation that fails (a kernel's fault, a copy out of bounds) takes with it all that comes after it in
// its stream, and what waits for it by an event: these do not run. synchronize() returns the error, once;
// then the stream works again. All is thread-safe.
//
// On "cuda" the order is the same, and kernels run one after the other: one that waits for another stream's
// is not possible there.
//
// Tests: tests/unit/runtime/stream_test.cc.
#pragma once

#include "lemma/device.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

namespace lemma {

namespace runtime {
struct EventImpl;
} // namespace runtime

// A point in a stream, made by Stream::record().
class Event {
public:
  Event() = default; // one that has always been reached

  // Whether all that its stream was given before it has ended.
  bool is_done() const;
  // Waits for that. Errors: that of what failed before it; invalid_argument in a callback.
  Result<void, Error> synchronize() const;
  // From one to the other, of the host's time. Error: invalid_argument if one of them is not done.
  static Result<double, Error> elapsed_seconds(const Event& begin, const Event& end);

private:
  friend class Stream;
  std::shared_ptr<const runtime::EventImpl> impl_;
};

// How a word is compared with a value, as CUDA's CUstreamWaitValue_flags have it.
enum class WaitUntil : uint8_t {
  geq,  // their difference, taken for a signed number, is not negative
  eq,   // they are equal
  and_, // they have a bit in common
  nor_, // there is a bit that neither has
};

// The device's memory, for a function of the host's that computes in the order of a stream
// (Stream::compute()).
class MemoryInTurn {
public:
  // Rows of so many bytes, `pitch_bytes` apart on the device, and one behind the other here: as many as fill
  // the span. What lies between the rows is neither used nor taken for used (DeviceOptions::check_streams).
  // Error: invalid_argument, if they do not lie inside one allocation.
  Result<void, Error> read(uint64_t address, std::span<std::byte> rows, uint64_t row_bytes,
                           uint64_t pitch_bytes) const;
  Result<void, Error> write(uint64_t address, std::span<const std::byte> rows, uint64_t row_bytes,
                            uint64_t pitch_bytes) const;

private:
  friend class Stream;
  struct Impl;
  explicit MemoryInTurn(const Impl& impl) : impl_(&impl) {}
  const Impl* impl_;
};

class Stream {
public:
  // Called when the launch has ended, before anything after it runs, or when it is known not to run. In a
  // callback of a launch (device.h) the same is forbidden.
  using Done = std::function<void(Result<Report, Error>)>;

  // As Kernel::launch(), but returns before the kernel has run; its faults are errors of the stream
  // (Error::text is the fault's report). What the configuration points to (observer, stop) must stay until
  // then. Errors of the call itself: invalid_argument, if the arguments do not fit the kernel.
  Result<void, Error> launch(const Kernel& kernel, const LaunchConfig& config,
                             std::span<const Argument> arguments, Done done = {}) const;
  Result<void, Error> launch(const Kernel& kernel, const LaunchConfig& config,
                             std::initializer_list<Argument> arguments, Done done = {}) const {
    return launch(kernel, config, std::span<const Argument>(arguments.begin(), arguments.size()),
                  std::move(done));
  }

  // As those of Device. Host memory must stay, and a source as it is, until the copy has been made. A range
  // that does not lie inside one allocation then is an error of the stream.
  Result<void, Error> write(uint64_t address, std::span<const std::byte> source) const;
  Result<void, Error> read(uint64_t address, std::span<std::byte> destination) const;
  Result<void, Error> fill(uint64_t address, uint64_t size_bytes, uint8_t value) const;
  // From device memory to device memory. Error of the stream: the ranges overlap.
  Result<void, Error> copy(uint64_t to, uint64_t from, uint64_t size_bytes) const;

  // Words of 4 or 8 bytes, aligned to that. Whoever sees the word written sees all that the stream was given
  // before it, and what comes after the wait sees what was written before the word was: by the host, a kernel
  // or another stream. A wait for what nobody writes fails when nothing has happened on the device for
  // DeviceOptions::patience_seconds: kernel_failed; `done` is called as a launch's is. Errors of the call:
  // invalid_argument (another size, or not aligned), unsupported (on "cuda"). Of the stream: the word does
  // not lie inside one allocation then.
  Result<void, Error> write_value(uint64_t address, uint64_t value, uint32_t bytes) const;
  Result<void, Error> wait_value(uint64_t address, uint64_t value, uint32_t bytes, WaitUntil until,
                                 std::function<void(Result<void, Error>)> done = {}) const;

  // Memory in the order of the stream, as cudaMallocAsync and cudaFreeAsync have it: the Buffer has its
  // address at once and its memory when the stream comes to it, so that what was freed before it there serves
  // for it. If there is none then and others still run, it waits for what they free; an error of the stream,
  // out_of_memory, where none would come, of which `done` is told. Errors of the call: as Device::allocate();
  // out_of_memory where all that streams have been told to free would not be enough. On "cuda" the memory
  // comes at once.
  Result<Buffer, Error> allocate(uint64_t size_bytes, const AllocateOptions& options = {},
                                 std::function<void(Result<void, Error>)> done = {}) const;
  // Frees it when the stream comes to it, or when it is known that the stream will not. `before` is called
  // right before.
  Result<void, Error> free(Buffer buffer, std::function<void()> before = {}) const;

  // Calls a function of the host. It must not wait for the device: a copy, a synchronize() or a launch that
  // would have to is an error in it. One that throws fails: invalid_argument.
  Result<void, Error> call(std::function<void()> function) const;

  // The same for one that works on the device's memory, as a kernel does: `what` is what findings call it,
  // and what it returns is the operation's outcome.
  Result<void, Error> compute(std::string what,
                              std::function<Result<void, Error>(const MemoryInTurn&)> function) const;

  // The point behind all that the stream was given so far.
  Result<Event, Error> record() const;
  // What the stream is given from now on waits for the event.
  Result<void, Error> wait(const Event& event) const;

  // Whether all has ended that the stream was given.
  bool is_done() const;
  // Waits for that. Errors: that of the first operation that failed; invalid_argument in a callback.
  Result<void, Error> synchronize() const;

private:
  friend class Device;
  struct Impl;
  explicit Stream(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

} // namespace lemma
