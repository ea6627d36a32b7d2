// What a device does, and in which order: the operations of its streams.
//
//   Timeline   of one device: which operations are ready, on which threads they run
//   Stream     a queue: its operations run one after the other (here; lemma::Stream is the handle to one)
//   Operation  a launch, a copy, a call of the host's, or nothing but a mark in the queue (an event)
//
// An operation is ready when the one before it in its stream and all those that it was told to wait for have
// ended. It runs at once then, on a thread of its own, whatever else runs: kernels may wait for one another.
// The order of the default streams is CUDA's ("Stream synchronization behavior"): an operation of the legacy
// default stream waits for all that blocking streams were given before, and what they are given after it
// waits for it. Calls that return when all is done (Device::write(), Kernel::launch()) are operations of that
// stream too, and run on the caller's thread (Turn).
//
// A programmatic launch is ready when the kernel before it says so (griddepcontrol.launch_dependents), and
// ends no earlier than that one.
//
// An operation that fails takes with it what comes after it in its stream and what waits for it by an event;
// these do not run. synchronize() says so, once, and the stream works again.
//
// Where streams are checked, each operation has a Position: what it comes after. The host is taken for one
// thread of control: what it gives a stream comes after all that it has waited for. What it does itself with
// memory that the device has (HostWatch) has a position in a stream of its own, number 0.
//
// Callbacks (of launches, and the host functions of streams) must not wait: whoever asks for that is told.
//
// Tests: tests/unit/runtime/stream_test.cc, threads_test.cc.
#pragma once

#include "lemma/message.h"
#include "lemma/result.h"
#include "runtime/host_watch.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace lemma::runtime {

// Where an operation stands in the order of a device's operations.
struct Position {
  using Before =
      std::map<uint64_t, uint64_t>; // stream -> number of the last operation there that comes before
  uint64_t stream = 0, number = 0;
  Before before_begin = {};
  Before before_wait = {}; // of a programmatic launch: before what follows its griddepcontrol.wait
  Before before_next = {}; // before what waits for the operation: itself too

  bool follows(const Position& other, bool waited) const {
    const Before& before = waited ? before_wait : before_begin;
    const auto found = before.find(other.stream);
    return found != before.end() && found->second >= other.number;
  }
};

class Timeline : public std::enable_shared_from_this<Timeline> {
public:
  class Operation;
  using OperationPtr = std::shared_ptr<Operation>;
  using Work = std::function<Result<void, Error>(Operation&)>;

  class Stream {
  public:
    enum class Kind : uint8_t { legacy_default, blocking, non_blocking };
    explicit Stream(Kind kind) : kind(kind) {}
    const Kind kind;

  private:
    friend class Timeline;
    uint64_t number_ = 0;     // where streams are checked
    uint64_t operations_ = 0; // that it was given
    OperationPtr last_;       // that it was given; null: none, or its error has been told
  };
  using StreamPtr = std::shared_ptr<Stream>;

  class Operation {
  public:
    // A launch: what its griddepcontrol.wait waits for.
    const std::atomic<bool>& prerequisites_done() const { return prerequisites_done_; }
    // Only where streams are checked.
    const Position& position() const { return position_; }

  private:
    friend class Timeline;
    struct Waiting {
      OperationPtr operation;
      bool fails_too = false; // if the one that is waited for does
    };
    bool on_callers_thread_ = false; // Turn
    Work work_;                      // else null: a mark
    std::function<void(const Error&)> not_run_;
    StreamPtr stream_;
    Position position_;
    bool is_kernel_ = false, is_host_call_ = false, may_depend_ = true;
    uint64_t waits_for_ = 0;                     // so many have not ended
    std::vector<Waiting> then_;                  // they wait for the end of this one
    std::vector<OperationPtr> after_dependents_; // ... or for its letting them start
    std::vector<OperationPtr> dependents_;       // programmatic ones, which end no earlier
    OperationPtr ends_after_;
    std::atomic<bool> prerequisites_done_{true};
    bool dependents_may_start_ = false;
    bool worked_ = false; // but the one it ends after has not ended
    bool ended_ = false;
    std::shared_ptr<const Error> error_;
    std::chrono::steady_clock::time_point ended_at_;
  };

  // `acted`: called whenever something has been done that a kernel may be waiting for; from any thread.
  explicit Timeline(std::function<void()> acted);

  // From now on operations have positions, and `watch` notes what the host does while there is work that it
  // has not waited for. Before the first.
  void keep_order(std::shared_ptr<HostWatch> watch) {
    keeps_order_ = true;
    watch_ = std::move(watch);
  }
  // Whether all that is not done, and all that is yet to come, comes after.
  bool is_behind_all(const Position& position) const;
  struct HostAccess {
    Position position;
    HostWatch::Touch touch;
  };
  // What was noted since the last call.
  std::vector<HostAccess> take_host_accesses();
  // Whether an operation has not ended that was given before that access of the host's.
  bool is_open_before(const HostAccess& access) const;

  const StreamPtr& legacy_default() const { return legacy_; }
  // The calling thread's default stream: a blocking one.
  StreamPtr per_thread_default();
  StreamPtr make_stream(Stream::Kind kind);

  struct Given {
    bool is_kernel = false;
    bool programmatic = false;            // a launch: starts when the kernel before it lets it
    bool may_depend = true;               // a kernel: its target has griddepcontrol
    bool is_host_call = false;            // a function of the host's, which may tell it of what came before
    std::vector<OperationPtr> after = {}; // more that it waits for
    // Called instead of its work where that does not run, with the error of the one it came after.
    std::function<void(const Error&)> not_run = {};
  };
  // Puts an operation into a stream; without `work` it is a mark. What throws in it is its error.
  OperationPtr enqueue(const StreamPtr& stream, Work work) {
    return enqueue(stream, std::move(work), Given());
  }
  OperationPtr enqueue(const StreamPtr& stream, Work work, Given given);

  bool has_ended(const Operation& operation);
  bool has_ended(const Stream& stream);
  // Wait for the end. Errors: the operation's own, or that of one before it; invalid_argument in a callback.
  Result<void, Error> synchronize(const OperationPtr& operation);
  Result<void, Error> synchronize(const StreamPtr& stream);
  // ... of all that all streams were given; the first error among them.
  Result<void, Error> synchronize_all();
  // When an operation ended, if it has.
  std::optional<std::chrono::steady_clock::time_point> end_of(const Operation& operation) const;

  // For a launch, while it runs: the programmatic one after it may start.
  void let_dependents_start(Operation& operation);
  // How many operations have ended so far.
  uint64_t ends() const;
  // For an operation's work, or (`of_host`) for a caller that is none: waits until more than `so_far` have
  // ended. False: none runs but such as wait here too.
  bool wait_for_another_end(uint64_t so_far, bool of_host = false);
  // Whether anything but one operation runs.
  bool others_run() const { return running_.load() > 1; }

  // An operation of the legacy default stream on the calling thread, for as long as this lives. False: it was
  // not given, in a callback.
  class Turn {
  public:
    Turn() = default;
    Turn(Turn&& other) noexcept
        : timeline_(std::exchange(other.timeline_, nullptr)), operation_(std::move(other.operation_)),
          error_(std::move(other.error_)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (timeline_)
        timeline_->leave(operation_);
    }
    explicit operator bool() const { return timeline_ != nullptr; }
    // That of an operation before it in the stream; null: none.
    const Error* error() const { return error_.get(); }
    const Operation& operation() const { return *operation_; }

  private:
    friend class Timeline;
    Turn(Timeline* timeline, OperationPtr operation, std::shared_ptr<const Error> error)
        : timeline_(timeline), operation_(std::move(operation)), error_(std::move(error)) {}
    Timeline* timeline_ = nullptr;
    OperationPtr operation_;
    std::shared_ptr<const Error> error_;
  };
  // Waits for it. In a callback it does not wait.
  Turn enter();
  // Runs the task as such an operation: waits, or in a callback leaves it to after_all().
  void when_free(std::function<void()> task);
  // Runs the task when all that streams were given until now has ended: at once, or on another thread.
  // Nothing waits for it but synchronize_all().
  void after_all(std::function<void()> task);

  // This thread is in a callback, of any device, for as long as this lives.
  class InCallback {
  public:
    InCallback() { in_callback_ = true; }
    InCallback(const InCallback&) = delete;
    ~InCallback() { in_callback_ = false; }
  };
  static bool in_callback() { return in_callback_; }

private:
  using Ready = std::vector<OperationPtr>;

  // These under mutex_, but start() and run(). What has become ready is added to `ready`, for start().
  void add(const OperationPtr& operation, Given given, Ready& ready);
  void wait_for(const OperationPtr& operation, const OperationPtr& before, bool fails_too) const;
  void follow_programmatically(const OperationPtr& operation, Operation& ahead) const;
  void give_position(Operation& operation);
  void host_has_waited_for(const Operation& operation);
  void note_host_accesses();
  void one_less(const OperationPtr& operation, Ready& ready);
  void end(const OperationPtr& operation, Ready& ready);
  void start(const Ready& ready);
  void run(OperationPtr operation); // and those that become ready by it, one after the other
  Ready run_one(const OperationPtr& operation);
  Result<void, Error> wait_until_ended(std::unique_lock<std::mutex>& lock, const Operation& operation);
  bool would_wait(); // an operation of the legacy default stream; under mutex_
  void leave(const OperationPtr& operation);
  std::vector<StreamPtr> live_streams(); // under mutex_; forgets the others
  static thread_local bool in_callback_;

  const std::function<void()> acted_;
  const StreamPtr legacy_;
  std::atomic<uint64_t> running_{0};
  mutable std::mutex
      mutex_; // of what follows, and of all streams' and operations' own; held for moments only
  std::condition_variable changed_;
  uint64_t ends_ = 0;                          // of operations with work, so far
  uint64_t waiting_for_ends_ = 0;              // operations in wait_for_another_end()
  std::vector<std::weak_ptr<Stream>> streams_; // but the legacy one; some may be gone
  size_t known_live_ = 0;                      // of them, when it was looked at last
  bool keeps_order_ = false;
  Position::Before before_host_;
  // More: what functions of the host's, called by streams, may have told it.
  Position::Before before_host_accesses_;
  std::shared_ptr<HostWatch> watch_;            // null: nobody asks
  std::map<uint64_t, uint64_t> not_waited_for_; // stream -> number of the last operation with work there
  std::vector<HostAccess> host_accesses_;
  uint64_t stream_numbers_ = 0;
  std::set<const Operation*> open_; // given, and not ended
};

} // namespace lemma::runtime
