// One mutex for all streams of a device: what is done under it is counting. An operation knows how many it
// waits for, and those know it; the last of them to end makes it ready. Marks end where they become ready, in
// the same turn, so that a chain of events costs no threads. An operation that waits on its caller's thread
// (Turn) has neither work nor is it a mark: `changed_` tells its caller.
#include "runtime/timeline.h"

#include "runtime/device_impl.h"
#include "support/worker_pool.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

namespace lemma::runtime {

thread_local bool Timeline::in_callback_ = false;

namespace {

constexpr uint64_t kHostStream = 0;

void join(Position::Before& into, const Position::Before& more) {
  for (const auto& [stream, number] : more)
    into[stream] = std::max(into[stream], number);
}

Result<void, Error> outcome(const std::shared_ptr<const Error>& error) {
  if (error)
    return Unexpected<Error>{*error};
  return {};
}

} // namespace

Timeline::Timeline(std::function<void()> acted)
    : acted_(std::move(acted)), legacy_(std::make_shared<Stream>(Stream::Kind::legacy_default)) {}

Timeline::StreamPtr Timeline::make_stream(Stream::Kind kind) {
  auto stream = std::make_shared<Stream>(kind);
  const std::lock_guard lock(mutex_);
  if (streams_.size() >= 2 * known_live_ + 16) { // so that those that are gone are never most of them
    std::erase_if(streams_, [](const std::weak_ptr<Stream>& each) { return each.expired(); });
    known_live_ = streams_.size();
  }
  streams_.push_back(stream);
  return stream;
}

Timeline::StreamPtr Timeline::per_thread_default() {
  // A thread has few devices; those that are gone are forgotten when a stream is made.
  static thread_local std::vector<std::pair<std::weak_ptr<Timeline>, StreamPtr>> own;
  for (const auto& [timeline, stream] : own)
    if (timeline.lock().get() == this)
      return stream;
  std::erase_if(own, [](const auto& each) { return each.first.expired(); });
  own.emplace_back(weak_from_this(), make_stream(Stream::Kind::blocking));
  return own.back().second;
}

std::vector<Timeline::StreamPtr> Timeline::live_streams() {
  std::vector<StreamPtr> live;
  std::erase_if(streams_, [&](const std::weak_ptr<Stream>& each) {
    StreamPtr stream = each.lock();
    const bool is_gone = !stream;
    if (stream)
      live.push_back(std::move(stream));
    return is_gone;
  });
  return live;
}

// --- which operation waits for which

void Timeline::wait_for(const OperationPtr& operation, const OperationPtr& before, bool fails_too) const {
  if (!before)
    return;
  if (keeps_order_)
    join(operation->position_.before_begin, before->position_.before_next);
  if (!before->ended_) {
    before->then_.push_back({.operation = operation, .fails_too = fails_too});
    ++operation->waits_for_;
  } else if (fails_too && before->error_ && !operation->error_) {
    operation->error_ = before->error_;
  }
}

void Timeline::add(const OperationPtr& operation, Given given, Ready& ready) {
  Stream& stream = *operation->stream_;
  operation->is_kernel_ = given.is_kernel;
  operation->is_host_call_ = given.is_host_call;
  operation->may_depend_ = given.may_depend;
  operation->not_run_ = std::move(given.not_run);
  operation->waits_for_ = 1; // until all are known
  if (keeps_order_)
    give_position(*operation);
  // Of two kernels whose targets have no griddepcontrol the second begins when the first has ended, and finds
  // what that has written: measured on an H200, 4000 launches of two kernels for sm_80. With
  // griddepcontrol.launch_dependents in the first it does not.
  if (given.programmatic && stream.last_ && stream.last_->is_kernel_ &&
      (given.may_depend || stream.last_->may_depend_))
    follow_programmatically(operation, *stream.last_);
  else
    wait_for(operation, stream.last_, true);
  for (const OperationPtr& before : given.after)
    wait_for(operation, before, true);
  if (stream.kind == Stream::Kind::blocking)
    wait_for(operation, legacy_->last_, false);
  else if (stream.kind == Stream::Kind::legacy_default)
    for (const StreamPtr& other : live_streams())
      if (other->kind == Stream::Kind::blocking)
        wait_for(operation, other->last_, false);
  if (keeps_order_) {
    Position& position = operation->position_;
    join(position.before_wait, position.before_begin);
    position.before_next = position.before_wait;
    position.before_next[position.stream] = position.number;
  }
  stream.last_ = operation;
  one_less(operation, ready);
}

// `operation` is a launch that may begin before the one ahead of it ends.
void Timeline::follow_programmatically(const OperationPtr& operation, Operation& ahead) const {
  if (keeps_order_) {
    join(operation->position_.before_begin, ahead.position_.before_begin);
    operation->position_.before_wait = ahead.position_.before_next;
  }
  if (ahead.ended_) {
    operation->error_ = ahead.error_;
    return;
  }
  operation->ends_after_ = operation->stream_->last_;
  operation->prerequisites_done_ = false;
  ahead.dependents_.push_back(operation);
  if (!ahead.dependents_may_start_) {
    ahead.after_dependents_.push_back(operation);
    ++operation->waits_for_;
  }
}

void Timeline::give_position(Operation& operation) {
  Stream& stream = *operation.stream_;
  if (stream.number_ == 0)
    stream.number_ = ++stream_numbers_;
  operation.position_.stream = stream.number_;
  operation.position_.number = ++stream.operations_;
  note_host_accesses();
  ++before_host_[kHostStream]; // what it has done so far
  operation.position_.before_begin = before_host_;
  open_.insert(&operation);
  if (!watch_ || !operation.work_)
    return;
  not_waited_for_[stream.number_] = operation.position_.number;
  watch_->begin();
}

void Timeline::host_has_waited_for(const Operation& operation) {
  if (!keeps_order_)
    return;
  note_host_accesses();
  join(before_host_, operation.position_.before_next);
  std::erase_if(not_waited_for_, [&](const auto& each) {
    const auto found = before_host_.find(each.first);
    return found != before_host_.end() && found->second >= each.second;
  });
  if (watch_ && not_waited_for_.empty())
    watch_->end();
}

// The order has not changed since they were made.
void Timeline::note_host_accesses() {
  if (!watch_)
    return;
  Position position{
      .stream = kHostStream, .number = before_host_[kHostStream] + 1, .before_begin = before_host_};
  join(position.before_begin, before_host_accesses_);
  position.before_wait = position.before_begin;
  for (const HostWatch::Touch& touch : watch_->take())
    host_accesses_.push_back({.position = position, .touch = touch});
}

std::vector<Timeline::HostAccess> Timeline::take_host_accesses() {
  const std::lock_guard lock(mutex_);
  note_host_accesses();
  return std::exchange(host_accesses_, {});
}

bool Timeline::is_open_before(const HostAccess& access) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      open_, [&](const Operation* each) { return !each->position_.follows(access.position, false); });
}

bool Timeline::is_behind_all(const Position& position) const {
  const std::lock_guard lock(mutex_);
  const auto found = before_host_.find(position.stream);
  return found != before_host_.end() && found->second >= position.number &&
         std::ranges::all_of(open_,
                             [&](const Operation* each) { return each->position_.follows(position, false); });
}

void Timeline::one_less(const OperationPtr& operation, Ready& ready) {
  if (--operation->waits_for_ != 0)
    return;
  if (operation->on_callers_thread_) {
    ++running_;
    changed_.notify_all();
  } else if (operation->work_) { // whether it runs or not: what it holds must not go under the mutex
    ++running_;
    ready.push_back(operation);
  } else {
    end(operation, ready);
  }
}

void Timeline::end(const OperationPtr& first, Ready& ready) {
  Ready ending{first};
  while (!ending.empty()) {
    const OperationPtr operation = std::move(ending.back());
    ending.pop_back();
    operation->worked_ = true;
    for (const OperationPtr& dependent : std::exchange(operation->after_dependents_, {}))
      one_less(dependent, ready); // its work has said nothing of them
    operation->dependents_may_start_ = true;
    if (operation->ends_after_ && !operation->ends_after_->ended_)
      continue;
    if (const OperationPtr before = std::exchange(operation->ends_after_, nullptr);
        before && before->error_ && !operation->error_)
      operation->error_ = before->error_;
    operation->ended_ = true;
    open_.erase(operation.get());
    operation->ended_at_ = std::chrono::steady_clock::now();
    operation->stream_ = nullptr;
    for (const OperationPtr& dependent : std::exchange(operation->dependents_, {})) {
      dependent->prerequisites_done_.store(true, std::memory_order_release);
      if (dependent->worked_)
        ending.push_back(dependent);
    }
    for (const auto& [next, fails_too] : std::exchange(operation->then_, {})) {
      if (fails_too && operation->error_ && !next->error_)
        next->error_ = operation->error_;
      one_less(next, ready);
    }
  }
  changed_.notify_all();
}

// --- running them

Timeline::OperationPtr Timeline::enqueue(const StreamPtr& stream, Work work, Given given) {
  auto operation = std::make_shared<Operation>();
  operation->work_ = std::move(work);
  operation->stream_ = stream;
  Ready ready;
  {
    const std::lock_guard lock(mutex_);
    add(operation, std::move(given), ready);
  }
  acted_();
  start(ready);
  return operation;
}

void Timeline::start(const Ready& ready) {
  for (const OperationPtr& operation : ready)
    if (!call_on_worker([self = shared_from_this(), operation] { self->run(operation); }))
      run(operation); // the host has no more threads
}

void Timeline::run(OperationPtr operation) {
  while (operation) {
    Ready ready = run_one(operation);
    operation = nullptr;
    if (!ready.empty()) { // one of those that wait goes on here
      operation = std::move(ready.back());
      ready.pop_back();
    }
    start(ready);
  }
}

Timeline::Ready Timeline::run_one(const OperationPtr& operation) {
  std::shared_ptr<const Error> error = operation->error_;
  if (watch_ && operation->is_host_call_) {
    const std::lock_guard lock(mutex_);
    note_host_accesses();
    join(before_host_accesses_, operation->position_.before_begin);
  }
  { // what the work holds, the device perhaps, goes before the operation has ended
    const Work work = std::move(operation->work_);
    const auto not_run = std::move(operation->not_run_);
    std::optional<HostWatch::Aside> aside;
    if (watch_)
      aside.emplace();
    try {
      if (!error) {
        if (const Result<void, Error> done = work(*operation); !done)
          error = std::make_shared<const Error>(done.error());
      } else if (not_run) {
        not_run(*error);
      }
    } catch (const std::exception& problem) {
      error = std::make_shared<const Error>(
          Error{.kind = ErrorKind::internal, .text = problem.what(), .messages = {}});
    }
    acted_();
  }
  Ready ready;
  const std::lock_guard lock(mutex_);
  operation->error_ = std::move(error);
  --running_;
  ++ends_;
  end(operation, ready);
  return ready;
}

void Timeline::let_dependents_start(Operation& operation) {
  Ready ready;
  {
    const std::lock_guard lock(mutex_);
    operation.dependents_may_start_ = true;
    for (const OperationPtr& dependent : std::exchange(operation.after_dependents_, {}))
      one_less(dependent, ready);
  }
  start(ready);
}

// --- waiting for them

uint64_t Timeline::ends() const {
  const std::lock_guard lock(mutex_);
  return ends_;
}

bool Timeline::wait_for_another_end(uint64_t so_far, bool of_host) {
  std::unique_lock lock(mutex_);
  waiting_for_ends_ += of_host ? 0 : 1;
  changed_.wait(lock, [&] { return ends_ != so_far || running_ <= waiting_for_ends_; });
  waiting_for_ends_ -= of_host ? 0 : 1;
  return ends_ != so_far;
}

bool Timeline::has_ended(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  if (operation.ended_)
    host_has_waited_for(operation);
  return operation.ended_;
}

bool Timeline::has_ended(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  if (stream.last_ && stream.last_->ended_)
    host_has_waited_for(*stream.last_);
  return !stream.last_ || stream.last_->ended_;
}

std::optional<std::chrono::steady_clock::time_point> Timeline::end_of(const Operation& operation) const {
  const std::lock_guard lock(mutex_);
  return operation.ended_ ? std::optional(operation.ended_at_) : std::nullopt;
}

Result<void, Error> Timeline::wait_until_ended(std::unique_lock<std::mutex>& lock,
                                               const Operation& operation) {
  if (!operation.ended_ && in_callback_)
    return failure_in_callback();
  changed_.wait(lock, [&] { return operation.ended_; });
  host_has_waited_for(operation);
  return outcome(operation.error_);
}

Result<void, Error> Timeline::synchronize(const OperationPtr& operation) {
  std::unique_lock lock(mutex_);
  return wait_until_ended(lock, *operation);
}

Result<void, Error> Timeline::synchronize(const StreamPtr& stream) {
  std::unique_lock lock(mutex_);
  const OperationPtr last = stream->last_;
  if (!last)
    return {};
  Result<void, Error> ended = wait_until_ended(lock, *last);
  if (last->ended_ && stream->last_ == last)
    stream->last_ = nullptr;
  return ended;
}

Result<void, Error> Timeline::synchronize_all() {
  std::vector<StreamPtr> all;
  {
    const std::lock_guard lock(mutex_);
    all = live_streams();
  }
  all.push_back(legacy_);
  Result<void, Error> first;
  for (const StreamPtr& stream : all)
    if (Result<void, Error> ended = synchronize(stream); !ended && first)
      first = std::move(ended);
  return first;
}

// --- on the caller's thread

bool Timeline::would_wait() {
  const auto is_open = [](const StreamPtr& stream) { return stream->last_ && !stream->last_->ended_; };
  for (const StreamPtr& stream : live_streams())
    if (stream->kind == Stream::Kind::blocking && is_open(stream))
      return true;
  return is_open(legacy_);
}

Timeline::Turn Timeline::enter() {
  auto operation = std::make_shared<Operation>();
  std::unique_lock lock(mutex_);
  if (in_callback_ && would_wait())
    return {};
  operation->stream_ = legacy_;
  operation->on_callers_thread_ = true;
  Ready ready;
  add(operation, {}, ready);
  changed_.wait(lock, [&] { return operation->waits_for_ == 0; });
  return Turn(this, operation, operation->error_);
}

void Timeline::leave(const OperationPtr& operation) {
  Ready ready;
  {
    const std::lock_guard lock(mutex_);
    --running_;
    ++ends_;
    end(operation, ready);
    host_has_waited_for(*operation);
  }
  acted_();
  start(ready);
}

void Timeline::when_free(std::function<void()> task) {
  if (const Turn turn = enter())
    task();
  else
    after_all(std::move(task));
}

void Timeline::after_all(std::function<void()> task) {
  Given given;
  {
    const std::lock_guard lock(mutex_);
    std::vector<StreamPtr> all = live_streams();
    all.push_back(legacy_);
    for (const StreamPtr& stream : all)
      if (stream->last_ && !stream->last_->ended_)
        given.after.push_back(stream->last_);
  }
  if (given.after.empty()) {
    task();
    return;
  }
  given.not_run = [task](const Error&) { task(); };
  const Work work = [task = std::move(task)](Operation&) -> Result<void, Error> {
    task();
    return {};
  };
  enqueue(make_stream(Stream::Kind::non_blocking), work, std::move(given));
}

} // namespace lemma::runtime
