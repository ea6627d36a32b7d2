// Contexts, the calls that they serve, and the end of a program. See context.h and runtime.h.
//
// A program that cannot go on is left by longjmp: its frames are machine code that a compiler of MLIR made,
// which has nothing to clean up and no tables to unwind by. The runtime's own frames have returned by then.
#include "mgpu/context.h"

#include "mgpu/runtime.h"
#include "support/printable.h"

#include <fmt/format.h>

#include <cassert>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace lemma::mgpu {

struct Context::Impl {
  const Options options;
  const Hooks hooks;
  std::mutex mutex;             // of what follows
  std::unique_ptr<State> state; // from the first call on
  std::optional<Stop> stop;
};

namespace {

constexpr int kFailed = 1, kUnsupported = 3, kInterrupted = 130; // as `lemma run`

thread_local Context* bound = nullptr;
thread_local std::jmp_buf* way_out = nullptr; // of the run() that this thread is in

// As `lemma run` prints it.
std::string render(const std::string& entry_point, const Failure& failure) {
  if (failure.report)
    return failure.report->rendered;
  assert(failure.error);
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
  assert(failure.error);
  return failure.error->kind == ErrorKind::unsupported || failure.error->kind == ErrorKind::unavailable
             ? kUnsupported
             : kFailed;
}

} // namespace

Context* (*unbound_context)(const char* entry_point) = nullptr;

Stop stop_of(const char* entry_point, Failure failure) {
  Stop stop{.entry_point = entry_point,
            .kernel = failure.kernel,
            .report = {},
            .error = {},
            .text = render(entry_point, failure),
            .exit_status = exit_status_of(failure)};
  stop.report = std::move(failure.report);
  stop.error = std::move(failure.error);
  return stop;
}

// --- Context

Context::Context(Options options, Hooks hooks)
    : impl_(new Impl{
          .options = std::move(options), .hooks = std::move(hooks), .mutex = {}, .state = {}, .stop = {}}) {}

Context::~Context() = default;

Context::Bound::Bound(Context& context)
    : outer_(std::exchange(bound, &context)), outer_way_out_(std::exchange(way_out, nullptr)) {}

Context::Bound::~Bound() {
  bound = outer_;
  way_out = static_cast<std::jmp_buf*>(outer_way_out_);
}

std::optional<Stop> Context::run(void (*program)(void*), void* argument) {
  const Bound bound_here(*this);
  std::jmp_buf here;
  way_out = &here;
  if (setjmp(here) == 0) // NOLINT(cert-err52-cpp): see above
    program(argument);
  return take_stop();
}

std::optional<Stop> Context::take_stop() {
  const std::scoped_lock lock(impl_->mutex);
  return std::exchange(impl_->stop, std::nullopt);
}

// --- Call

Call::Call(const char* entry_point) : entry_point_(entry_point) {
  Context* context = bound ? bound : unbound_context ? unbound_context(entry_point) : nullptr;
  if (!context) {
    fmt::print(stderr, "lemma: {} was called by a thread that runs no MLIR program\n", entry_point);
    std::abort();
  }
  context_ = context->impl_.get();
}

bool Call::attempt(const std::function<OrFailure<void>(State&)>& f) {
  std::unique_lock lock(context_->mutex);
  if (context_->stop)
    return false;
  if (!context_->state)
    context_->state = std::make_unique<State>(context_->options);
  OrFailure<void> result = f(*context_->state);
  const std::string said = std::exchange(context_->state->said, {});
  if (result) {
    lock.unlock(); // hooks may call entry points
    say(said);
    return true;
  }
  const Stop stop = stop_of(entry_point_, std::move(result).error());
  context_->stop = stop;
  lock.unlock();
  say(said);
  std::fflush(stdout); // the program's output before what is said about its end
  if (context_->hooks.stopped)
    context_->hooks.stopped(stop);
  return false;
}

void Call::say(const std::string& text) const {
  if (text.empty())
    return;
  if (context_->hooks.said)
    context_->hooks.said(text);
  else
    fmt::print(stderr, "{}", text);
}

void Call::launched(const Launched& launch) const {
  if (context_->hooks.launched)
    context_->hooks.launched(launch);
}

void Call::leave() {
  if (way_out)
    std::longjmp(*way_out, 1); // NOLINT(cert-err52-cpp): see above
}

} // namespace lemma::mgpu
