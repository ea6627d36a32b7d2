// Turns, rounds and what is counted. On "cuda" a turn is queued as a whole - before each launch the fill that
// empties the L2, around each step an event - so that the GPU never waits for the host between two events:
// the fill takes longer than the host needs to queue what follows.
//
// Tests: tests/unit/timing/.
#include "timing/nvml.h"
#include "timing/step.h"

#include "runtime/cuda_driver.h"

#include <algorithm>
#include <cassert>

namespace lemma {
namespace {

namespace cuda = runtime::cuda;

constexpr uint64_t kFlushBytes = uint64_t{256} << 20; // several times any GPU's L2
constexpr double kTurnSeconds = 0.15;                 // TimingOptions::launches

unsigned launches_for(double seconds, bool is_cuda) {
  const double wanted = seconds > 0 ? kTurnSeconds / seconds : 60;
  return static_cast<unsigned>(is_cuda ? std::clamp(wanted, 10.0, 60.0) : std::clamp(wanted, 1.0, 10.0));
}

} // namespace

namespace timing {

// Events of a turn, which all turns use.
class Events {
public:
  explicit Events(runtime::DeviceImpl& device) : device_(device) {}
  ~Events() {
    (void)device_.with_driver("cannot destroy events", [&](const cuda::Driver& driver) {
      for (const cuda::Event event : events_)
        driver.event_destroy(event);
      return cuda::kSuccess;
    });
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  Result<void, Error> reserve(size_t count) {
    return device_.with_driver("cannot create events", [&](const cuda::Driver& driver) {
      cuda::Status status = cuda::kSuccess;
      while (status == cuda::kSuccess && events_.size() < count) {
        cuda::Event event = nullptr;
        status = driver.event_create(&event, 0);
        if (status == cuda::kSuccess)
          events_.push_back(event);
      }
      return status;
    });
  }
  cuda::Event operator[](size_t i) const { return events_[i]; }

private:
  runtime::DeviceImpl& device_;
  std::vector<cuda::Event> events_;
};

} // namespace timing

class Timer {
public:
  Timer(const Device& device, const TimingOptions& options)
      : device_(device), impl_(*device.impl_), options_(options), events_(*device.impl_) {}

  Result<Timings, Error> time(std::span<const Work> works);

private:
  bool is_cuda() const { return impl_.info.kind == "cuda"; }
  // Appends to `seconds`, of each step.
  Result<void, Error> turn(const Work& work, unsigned launches, std::vector<std::vector<double>>& seconds);
  Result<void, Error> turn_on_cuda(const Work& work, unsigned launches,
                                   std::vector<std::vector<double>>& seconds);
  Result<void, Error> queue(const cuda::Driver& driver, const Work& work, unsigned launches,
                            cuda::Status& status);

  const Device& device_;
  runtime::DeviceImpl& impl_;
  const TimingOptions options_;
  timing::Events events_;
  Buffer flushed_;
};

// `status`: the driver's; the error: a step's.
Result<void, Error> Timer::queue(const cuda::Driver& driver, const Work& work, unsigned launches,
                                 cuda::Status& status) {
  size_t event = 0;
  for (unsigned i = 0; i < launches && status == cuda::kSuccess; ++i) {
    if (options_.flushes_l2)
      status =
          driver.memory_set_async(flushed_.address(), static_cast<unsigned char>(i), kFlushBytes, nullptr);
    if (status == cuda::kSuccess)
      status = driver.event_record(events_[event++], nullptr);
    for (const Step& step : work) {
      if (status != cuda::kSuccess)
        break;
      if (auto started = step.impl_->start(); !started)
        return started;
      status = driver.event_record(events_[event++], nullptr);
    }
  }
  return {};
}

Result<void, Error> Timer::turn_on_cuda(const Work& work, unsigned launches,
                                        std::vector<std::vector<double>>& seconds) {
  if (auto reserved = events_.reserve(launches * (work.size() + 1)); !reserved)
    return reserved;
  Result<void, Error> queued;
  const auto done = impl_.with_driver("cannot time launches", [&](const cuda::Driver& driver) {
    cuda::Status status = cuda::kSuccess;
    queued = queue(driver, work, launches, status);
    const cuda::Status ended = driver.context_synchronize();
    status = status == cuda::kSuccess ? ended : status;
    for (unsigned i = 0; i < launches && status == cuda::kSuccess && queued; ++i)
      for (size_t step = 0; step < work.size() && status == cuda::kSuccess; ++step) {
        const size_t event = i * (work.size() + 1) + step;
        float milliseconds = 0;
        status = driver.event_elapsed_time(&milliseconds, events_[event], events_[event + 1]);
        seconds[step].push_back(double{milliseconds} * 1e-3);
      }
    return status;
  });
  return queued ? done : queued;
}

Result<void, Error> Timer::turn(const Work& work, unsigned launches,
                                std::vector<std::vector<double>>& seconds) {
  if (is_cuda())
    return turn_on_cuda(work, launches, seconds);
  for (unsigned i = 0; i < launches; ++i)
    for (size_t step = 0; step < work.size(); ++step) {
      const auto took = work[step].impl_->run();
      if (!took)
        return Unexpected<Error>{took.error()};
      seconds[step].push_back(*took);
    }
  return {};
}

Result<Timings, Error> Timer::time(std::span<const Work> works) {
  for (const Work& work : works)
    for (const Step& step : work)
      if (step.impl_->device.get() != &impl_)
        return runtime::failure(ErrorKind::invalid_argument, "a step is another device's: " + step.name());
  if (is_cuda() && options_.flushes_l2) {
    auto buffer = device_.allocate(kFlushBytes, {.name = "what the L2 is flushed with"});
    if (!buffer)
      return Unexpected<Error>{std::move(buffer).error()};
    flushed_ = *std::move(buffer);
  }
  Timings timings;
  std::vector<unsigned> launches;
  for (const Work& work : works) {
    timings.works.emplace_back().seconds.resize(work.size());
    WorkTimes first{.seconds = std::vector<std::vector<double>>(work.size())};
    if (auto done = turn(work, 1, first.seconds); !done)
      return Unexpected<Error>{std::move(done).error()};
    launches.push_back(options_.launches ? options_.launches
                                         : launches_for(totals(first).front(), is_cuda()));
  }
  timing::Sampler sampler(impl_.info, works.size());
  timings.no_state = sampler.absent();
  for (unsigned round = 0; round < options_.rounds; ++round)
    for (size_t i = 0; i < works.size(); ++i) {
      const size_t which = (i + round) % works.size(); // nobody is always the first
      std::vector<std::vector<double>> warm(works[which].size());
      if (auto done = turn(works[which], options_.warm_up, warm); !done)
        return Unexpected<Error>{std::move(done).error()};
      const timing::Sampler::Turn sampled(sampler, which);
      if (auto done = turn(works[which], launches[which], timings.works[which].seconds); !done)
        return Unexpected<Error>{std::move(done).error()};
    }
  for (size_t i = 0; i < works.size(); ++i)
    timings.works[i].state = sampler.state_of(i);
  return timings;
}

Result<Timings, Error> time_in_turns(const Device& device, std::span<const Work> works,
                                     const TimingOptions& options) {
  return Timer(device, options).time(works);
}

Spread spread_of(std::vector<double> values) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) { // between two values: on the line from one to the other
    const double place = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return {at(0.5), at(0.1), at(0.9)};
}

std::vector<double> totals(const WorkTimes& work) {
  std::vector<double> sums(work.seconds.empty() ? 0 : work.seconds.front().size());
  for (const std::vector<double>& step : work.seconds)
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += step[i];
  return sums;
}

} // namespace lemma
