// Options, hooks, and the end of a program. See context.h and runtime.h.
#include "mgpu/context.h"

#include "mgpu/runtime.h"
#include "support/printable.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace lemma::mgpu {
namespace {

constexpr int kFailed = 1, kUnsupported = 3, kInterrupted = 130; // as `lemma run`

OrFailure<Options> options_of_environment() {
  Options options;
  const auto variable = [](const char* name) -> std::string_view {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  const auto illegal = [](const char* name, std::string_view value, const char* legal) {
    return wrong(fmt::format("the environment says {}={}; {}", name, value, legal));
  };
  if (const auto device = variable("LEMMA_DEVICE"); !device.empty()) {
    if (device != "cpu" && device != "cuda")
      return illegal("LEMMA_DEVICE", device, "there are cpu (the virtual GPU) and cuda");
    options.device = device;
  }
  options.arch = variable("LEMMA_ARCH");
  if (const auto async = variable("LEMMA_ASYNC"); !async.empty()) {
    if (async != "eager" && async != "late")
      return illegal("LEMMA_ASYNC", async, "there are eager and late");
    options.launch.async = async == "late" ? AsyncMode::late : AsyncMode::eager;
  }
  const std::pair<const char*, uint64_t*> numbers[] = {{"LEMMA_SEED", &options.launch.seed},
                                                       {"LEMMA_MAX_MEMORY", &options.max_memory_bytes}};
  for (const auto& [name, number] : numbers) {
    const std::string_view text = variable(name);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (!text.empty() && (error != std::errc() || end != text.data() + text.size()))
      return illegal(name, text, "it is a number from 0 up");
  }
  return options;
}

// As `lemma run` prints it.
std::string render(const std::string& entry_point, const Failure& failure) {
  if (failure.report)
    return failure.report->rendered;
  std::string text;
  for (const Message& message : failure.error->messages)
    text += message.rendered;
  if (!text.empty())
    return text;
  const std::string where =
      failure.kernel.empty() ? entry_point : fmt::format("{} of kernel {}", entry_point, failure.kernel);
  return printable_lines(fmt::format("lemma: {}: {}\n", where, failure.error->text));
}

int exit_status_of(const Failure& failure) {
  if (failure.report)
    return failure.report->outcome == lemma::Outcome::unsupported ? kUnsupported
           : failure.report->outcome == lemma::Outcome::stopped   ? kInterrupted
                                                                  : kFailed;
  return failure.error->kind == ErrorKind::unsupported || failure.error->kind == ErrorKind::unavailable
             ? kUnsupported
             : kFailed;
}

} // namespace

Runtime& Runtime::instance() {
  static auto* const runtime = new Runtime;
  return *runtime;
}

void Runtime::configure(Options options, Hooks hooks) {
  const std::scoped_lock lock(mutex_);
  state_.reset();
  options_ = std::move(options);
  hooks_ = std::move(hooks);
}

void Runtime::finish() {
  const std::scoped_lock lock(mutex_);
  state_.reset();
}

OrFailure<State*> Runtime::state() {
  if (state_)
    return state_.get();
  if (!options_) {
    OrFailure<Options> options = options_of_environment();
    if (!options)
      return Unexpected<Failure>{std::move(options).error()};
    options_ = *std::move(options);
  }
  state_ = std::make_unique<State>(*options_);
  return state_.get();
}

void Runtime::say(const std::string& text) const {
  if (text.empty())
    return;
  if (hooks_.said)
    hooks_.said(text);
  else
    fmt::print(stderr, "{}", text);
}

void Runtime::stop(const char* entry_point, Failure failure) {
  stop_mutex_.lock();
  if (exit_status_) // again, on the way out
    std::_Exit(*exit_status_);
  Stop stop{.entry_point = entry_point,
            .kernel = failure.kernel,
            .report = std::move(failure.report),
            .error = std::move(failure.error),
            .text = {},
            .exit_status = 0};
  const Failure whole{.error = stop.error, .report = stop.report, .kernel = stop.kernel};
  stop.text = render(stop.entry_point, whole);
  stop.exit_status = exit_status_of(whole);
  exit_status_ = stop.exit_status;
  std::fflush(stdout); // the program's output before what is said about its end
  if (hooks_.stopped)
    hooks_.stopped(stop);
  else
    fmt::print(stderr, "{}", stop.text);
  std::exit(stop.exit_status);
}

void configure(Options options, Hooks hooks) {
  Runtime::instance().configure(std::move(options), std::move(hooks));
}

void finish() {
  Runtime::instance().finish();
}

} // namespace lemma::mgpu
