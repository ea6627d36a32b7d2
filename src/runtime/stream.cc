// Streams and events of the public API: each call is an operation of the device's timeline.
#include "lemma/stream.h"

#include "isa/target.h"
#include "runtime/callers_code.h"
#include "runtime/device_impl.h"
#include "runtime/guarded.h"
#include "runtime/host_access.h"
#include "runtime/run_kernel.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <utility>
#include <vector>

namespace lemma {

using runtime::failure;
using runtime::Timeline;

namespace runtime {
struct EventImpl {
  std::shared_ptr<Timeline> timeline;
  Timeline::OperationPtr mark;
};
} // namespace runtime

struct Stream::Impl {
  std::shared_ptr<runtime::DeviceImpl> device;
  Timeline::StreamPtr queue;

  // An operation that uses device memory so; none of 0 bytes.
  template <class F>
  Result<void, Error> access(runtime::HostAccess access, F f) const {
    return enqueue([device = device, access = std::move(access),
                    f = std::move(f)](Timeline::Operation& operation) -> Result<void, Error> {
      if (access.ranges.front().bytes == 0)
        return {};
      Result<void, Error> done = runtime::guarded([&] { return f(*device); });
      if (done)
        runtime::note_access(*device, operation, access);
      return done;
    });
  }

  Result<void, Error> enqueue(Timeline::Work work, bool is_host_call = false) const {
    return runtime::guarded([&]() -> Result<void, Error> {
      device->timeline->enqueue(queue, std::move(work), {.is_host_call = is_host_call});
      return {};
    });
  }
};

// --- Device

namespace {

using Kind = Timeline::Stream::Kind;

} // namespace

Stream Device::create_stream(const StreamOptions& options) const {
  return Stream(std::make_shared<const Stream::Impl>(Stream::Impl{
      .device = impl_,
      .queue = impl_->timeline->make_stream(options.non_blocking ? Kind::non_blocking : Kind::blocking)}));
}

Stream Device::default_stream() const {
  return Stream(std::make_shared<const Stream::Impl>(
      Stream::Impl{.device = impl_, .queue = impl_->timeline->legacy_default()}));
}

Stream Device::thread_default_stream() const {
  return Stream(std::make_shared<const Stream::Impl>(
      Stream::Impl{.device = impl_, .queue = impl_->timeline->per_thread_default()}));
}

// --- Stream

namespace runtime {
namespace {
// Has the target griddepcontrol? No target: what the device is, which may have it.
bool may_depend(const std::string& target) {
  const std::optional<isa::Target> known = isa::parse_target(target);
  return !known || known->sm >= 90;
}
} // namespace
} // namespace runtime

Result<void, Error> Stream::launch(const Kernel& kernel, const LaunchConfig& config,
                                   std::span<const Argument> arguments, Done done) const {
  return runtime::guarded([&]() -> Result<void, Error> {
    Result<runtime::PreparedLaunch, Error> prepared =
        runtime::prepare(kernel.module_, kernel.index_, config, arguments);
    if (!prepared)
      return Unexpected<Error>{std::move(prepared).error()};
    if (prepared->module->device != impl_->device)
      return failure(ErrorKind::invalid_argument,
                     fmt::format("kernel {} is of another device than the stream", kernel.name()));
    const auto tell = [done = std::move(done)](Result<Report, Error> report) {
      if (done)
        runtime::call_callers("function for the end of a launch", [&] { done(std::move(report)); });
    };
    Timeline::Given given{.is_kernel = true,
                          .programmatic = config.programmatic,
                          .may_depend = runtime::may_depend(prepared->module->target)};
    given.not_run = [tell](const Error& error) { tell(Unexpected<Error>{error}); };
    Timeline& timeline = *impl_->device->timeline;
    const auto work = [launch = *std::move(prepared), tell,
                       &timeline](Timeline::Operation& operation) -> Result<void, Error> {
      Result<Report, Error> report = runtime::guarded([&] {
        return runtime::run_noted(launch,
                                  {.others_may_act = [] { return true; },
                                   .prerequisites_done = &operation.prerequisites_done(),
                                   .dependents_may_start = [&] { timeline.let_dependents_start(operation); }},
                                  operation);
      });
      Result<void, Error> outcome;
      if (!report)
        outcome = Unexpected<Error>{report.error()};
      else if (!report->ok())
        outcome = failure(ErrorKind::kernel_failed, report->rendered);
      tell(std::move(report));
      return outcome;
    };
    timeline.enqueue(impl_->queue, work, std::move(given));
    return {};
  });
}

Result<void, Error> Stream::write(uint64_t address, std::span<const std::byte> source) const {
  return impl_->access(runtime::writing(address, source.size()),
                       [=](runtime::DeviceImpl& device) { return device.write(address, source); });
}

Result<void, Error> Stream::read(uint64_t address, std::span<std::byte> destination) const {
  return impl_->access(runtime::reading(address, destination.size()),
                       [=](runtime::DeviceImpl& device) { return device.read(address, destination); });
}

Result<void, Error> Stream::fill(uint64_t address, uint64_t size_bytes, uint8_t value) const {
  return impl_->access(runtime::writing(address, size_bytes),
                       [=](runtime::DeviceImpl& device) { return device.fill(address, size_bytes, value); });
}

Result<void, Error> Stream::copy(uint64_t to, uint64_t from, uint64_t size_bytes) const {
  const auto make = [=](runtime::DeviceImpl& device) -> Result<void, Error> {
    if (to < from + size_bytes && from < to + size_bytes)
      return failure(
          ErrorKind::invalid_argument,
          fmt::format("the {} bytes at {:#x} and at {:#x} overlap: a copy's do not", size_bytes, from, to));
    return device.copy(to, from, size_bytes);
  };
  return impl_->access(runtime::copying(to, from, size_bytes), make);
}

namespace {

bool is_there(uint64_t word, uint64_t value, uint32_t bytes, WaitUntil until) {
  const uint64_t mask = bytes == 8 ? ~uint64_t{0} : ~uint32_t{0}, sign = mask ^ mask >> 1;
  switch (until) {
  case WaitUntil::geq:
    return ((word - value) & sign) == 0;
  case WaitUntil::eq:
    return ((word ^ value) & mask) == 0;
  case WaitUntil::and_:
    return (word & value & mask) != 0;
  case WaitUntil::nor_:
    return (~(word | value) & mask) != 0;
  }
  return false;
}

Result<void, Error> check_word(uint64_t address, uint32_t bytes) {
  if ((bytes == 4 || bytes == 8) && address % bytes == 0)
    return {};
  return failure(ErrorKind::invalid_argument,
                 fmt::format("a word of {} bytes at {:#x}: words have 4 or 8 bytes, and are aligned to that",
                             bytes, address));
}

} // namespace

Result<void, Error> Stream::write_value(uint64_t address, uint64_t value, uint32_t bytes) const {
  if (Result<void, Error> wrong = check_word(address, bytes); !wrong)
    return wrong;
  return impl_->access(runtime::writing_value(address, bytes), [=](runtime::DeviceImpl& device) {
    return device.write_value(address, value, bytes);
  });
}

Result<void, Error> Stream::wait_value(uint64_t address, uint64_t value, uint32_t bytes, WaitUntil until,
                                       std::function<void(Result<void, Error>)> done) const {
  if (Result<void, Error> wrong = check_word(address, bytes); !wrong)
    return wrong;
  const auto tell = [done = std::move(done)](const Result<void, Error>& outcome) {
    if (done)
      runtime::call_callers("function for the end of a wait", [&] { done(outcome); });
  };
  const auto work = [=, device = impl_->device](Timeline::Operation& operation) -> Result<void, Error> {
    Result<void, Error> waited = runtime::guarded([&] {
      return device->wait_value(address, bytes,
                                [=](uint64_t word) { return is_there(word, value, bytes, until); });
    });
    if (waited)
      runtime::note_access(*device, operation, runtime::waiting_for_value(address, bytes));
    tell(waited);
    return waited;
  };
  return runtime::guarded([&]() -> Result<void, Error> {
    impl_->device->timeline->enqueue(
        impl_->queue, work, {.not_run = [tell](const Error& error) { tell(Unexpected<Error>{error}); }});
    return {};
  });
}

namespace {

// Where a stream has come to an allocation.
Result<void, Error> commit(runtime::DeviceImpl& device, uint64_t address) {
  while (true) {
    const uint64_t ends = device.timeline->ends(); // what ends after this may have freed what was missing
    Result<void, Error> done = runtime::guarded([&] { return device.commit(address); });
    if (done || done.error().kind != ErrorKind::out_of_memory || !device.timeline->wait_for_another_end(ends))
      return done;
  }
}

} // namespace

Result<Buffer, Error> Stream::allocate(uint64_t size_bytes, const AllocateOptions& options,
                                       std::function<void(Result<void, Error>)> done) const {
  if (options.host_shared)
    return failure(ErrorKind::invalid_argument, "memory in the order of a stream is not host_shared");
  runtime::DeviceImpl& device = *impl_->device;
  Result<uint64_t, Error> address = runtime::guarded([&] { return device.reserve(size_bytes, options); });
  if (!address)
    return Unexpected<Error>{std::move(address).error()};
  Buffer buffer;
  buffer.device_ = impl_->device;
  buffer.address_ = *address;
  buffer.size_bytes_ = size_bytes;
  buffer.epoch_ = device.epoch();
  const auto tell = [done = std::move(done)](const Result<void, Error>& outcome) {
    if (done)
      runtime::call_callers("function for the end of an allocation", [&] { done(outcome); });
  };
  const Result<void, Error> given = runtime::guarded([&]() -> Result<void, Error> {
    device.timeline->enqueue(impl_->queue,
                             [device = impl_->device, address = *address, tell](Timeline::Operation&) {
                               Result<void, Error> outcome = commit(*device, address);
                               tell(outcome);
                               return outcome;
                             },
                             {.not_run = [tell](const Error& error) { tell(Unexpected<Error>{error}); }});
    return {};
  });
  if (!given)
    return Unexpected<Error>{given.error()};
  return buffer;
}

Result<void, Error> Stream::free(Buffer buffer, std::function<void()> before) const {
  if (!buffer.device_)
    return {};
  if (buffer.device_ != impl_->device)
    return failure(ErrorKind::invalid_argument, "the buffer is of another device than the stream");
  const auto release = [device = impl_->device, address = buffer.address_, size_bytes = buffer.size_bytes_,
                        is_lost = buffer.epoch_ != impl_->device->epoch(), before = std::move(before)] {
    if (before)
      before();
    if (!is_lost)
      device->free(address);
    device->end_expected_free(size_bytes);
  };
  return runtime::guarded([&]() -> Result<void, Error> {
    impl_->device->expect_free(buffer.size_bytes_);
    impl_->device->timeline->enqueue(
        impl_->queue,
        [release, device = impl_->device, address = buffer.address_,
         size_bytes = buffer.size_bytes_](Timeline::Operation& operation) -> Result<void, Error> {
          note_access(*device, operation, runtime::freeing(address, size_bytes));
          release();
          return {};
        },
        {.not_run = [release](const Error&) { release(); }});
    buffer.device_ = nullptr; // the stream has it
    return {};
  });
}

Result<void, Error> Stream::call(std::function<void()> function) const {
  return impl_->enqueue(
      [device = impl_->device, function = std::move(function)](Timeline::Operation&) -> Result<void, Error> {
        try {
          runtime::call_callers("host function", function);
        } catch (const std::exception& problem) { // the caller's, not ours
          return failure(ErrorKind::invalid_argument, problem.what());
        }
        return {};
      },
      true);
}

struct MemoryInTurn::Impl {
  runtime::DeviceImpl& device;
  check::Footprint* footprint; // null: nobody asks

  void note(uint64_t address, uint64_t bytes, uint64_t row_bytes, uint64_t pitch_bytes,
            check::Use use) const {
    if (!footprint)
      return;
    if (row_bytes == pitch_bytes)
      return footprint->add(address, bytes, use);
    for (uint64_t done = 0; done < bytes; done += row_bytes, address += pitch_bytes)
      footprint->add(address, row_bytes, use);
  }
};

namespace {

// Rows so short are read with what lies between them, if that is not too much.
constexpr uint64_t kShortRowBytes = 256, kMostBytesBetween = uint64_t{1} << 26;

} // namespace

Result<void, Error> MemoryInTurn::read(uint64_t address, std::span<std::byte> rows, uint64_t row_bytes,
                                       uint64_t pitch_bytes) const {
  if (rows.empty())
    return {};
  const uint64_t count = rows.size() / row_bytes, whole = (count - 1) * pitch_bytes + row_bytes;
  Result<void, Error> done;
  if (count == 1 || row_bytes == pitch_bytes) {
    done = impl_->device.read(address, rows);
  } else if (row_bytes < kShortRowBytes && whole <= kMostBytesBetween) {
    std::vector<std::byte> all(whole);
    done = impl_->device.read(address, all);
    for (uint64_t i = 0; done && i < count; ++i)
      std::memcpy(rows.data() + i * row_bytes, all.data() + i * pitch_bytes, row_bytes);
  } else {
    for (uint64_t i = 0; done && i < count; ++i)
      done = impl_->device.read(address + i * pitch_bytes, rows.subspan(i * row_bytes, row_bytes));
  }
  if (done)
    impl_->note(address, rows.size(), row_bytes, count == 1 ? row_bytes : pitch_bytes, check::Use::weak_read);
  return done;
}

Result<void, Error> MemoryInTurn::write(uint64_t address, std::span<const std::byte> rows, uint64_t row_bytes,
                                        uint64_t pitch_bytes) const {
  if (rows.empty())
    return {};
  const uint64_t count = rows.size() / row_bytes;
  Result<void, Error> done;
  if (count == 1 || row_bytes == pitch_bytes)
    done = impl_->device.write(address, rows);
  else
    for (uint64_t i = 0; done && i < count; ++i)
      done = impl_->device.write(address + i * pitch_bytes, rows.subspan(i * row_bytes, row_bytes));
  if (done)
    impl_->note(address, rows.size(), row_bytes, count == 1 ? row_bytes : pitch_bytes,
                check::Use::weak_write);
  return done;
}

Result<void, Error> Stream::compute(std::string what,
                                    std::function<Result<void, Error>(const MemoryInTurn&)> function) const {
  return impl_->enqueue([device = impl_->device, what = std::move(what), function = std::move(function)](
                            Timeline::Operation& operation) -> Result<void, Error> {
    const auto footprint = device->stream_checks ? std::make_shared<check::Footprint>() : nullptr;
    const MemoryInTurn::Impl memory{*device, footprint.get()};
    Result<void, Error> done;
    try {
      runtime::call_callers("host function", [&] { done = function(MemoryInTurn(memory)); });
    } catch (const std::exception& problem) { // the caller's, not ours
      return failure(ErrorKind::invalid_argument, problem.what());
    }
    if (footprint)
      device->stream_checks->add(
          {.position = operation.position(), .what = what, .kernel = "", .footprint = footprint},
          *device->timeline);
    return done;
  });
}

Result<Event, Error> Stream::record() const {
  return runtime::guarded([&]() -> Result<Event, Error> {
    Event event;
    event.impl_ = std::make_shared<const runtime::EventImpl>(
        runtime::EventImpl{.timeline = impl_->device->timeline,
                           .mark = impl_->device->timeline->enqueue(impl_->queue, nullptr)});
    return event;
  });
}

Result<void, Error> Stream::wait(const Event& event) const {
  if (!event.impl_)
    return {};
  if (event.impl_->timeline != impl_->device->timeline)
    return failure(ErrorKind::invalid_argument,
                   "the event is of another device than the stream that is to wait");
  return runtime::guarded([&]() -> Result<void, Error> {
    impl_->device->timeline->enqueue(impl_->queue, nullptr, {.after = {event.impl_->mark}});
    return {};
  });
}

bool Stream::is_done() const {
  return impl_->device->timeline->has_ended(*impl_->queue);
}

Result<void, Error> Stream::synchronize() const {
  return runtime::guarded([&] { return impl_->device->timeline->synchronize(impl_->queue); });
}

// --- Event

bool Event::is_done() const {
  return !impl_ || impl_->timeline->has_ended(*impl_->mark);
}

Result<void, Error> Event::synchronize() const {
  if (!impl_)
    return {};
  return runtime::guarded([&] { return impl_->timeline->synchronize(impl_->mark); });
}

Result<double, Error> Event::elapsed_seconds(const Event& begin, const Event& end) {
  const auto from = begin.impl_ ? begin.impl_->timeline->end_of(*begin.impl_->mark) : std::nullopt;
  const auto to = end.impl_ ? end.impl_->timeline->end_of(*end.impl_->mark) : std::nullopt;
  if (!from || !to)
    return failure(
        ErrorKind::invalid_argument,
        fmt::format("the event at the {} is not done: synchronize with it first", from ? "end" : "begin"));
  return std::chrono::duration<double>(*to - *from).count();
}

} // namespace lemma
