// A job lies on the stack of whoever runs it and is in the list while it wants helpers. When its own thread
// is done, it is taken from the list and waits for those that have joined in, not for those that might have.
// A call that nobody waits for is a job of one helper that owns itself.
#include "support/worker_pool.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace lemma {
namespace {

constexpr uint64_t kMostThreads = 1024;

// A call of run_on_workers() or call_on_worker().
struct Job {
  const std::function<void()>* f = nullptr; // its caller's; null: `own`
  std::function<void()> own = {};
  bool is_waited_for = true;
  uint64_t wanted = 0;  // helpers that may still join in
  uint64_t running = 0; // that have
  std::condition_variable ended = {};
  std::exception_ptr problem = {}; // the first
};

// This thread takes no signal for as long as this lives, but those of its own faults; threads that it starts
// never do.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t others;
    sigfillset(&others);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      sigdelset(&others, own);
    pthread_sigmask(SIG_BLOCK, &others, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
  sigset_t before_{};
};

class Pool {
public:
  void run(uint64_t helpers, const std::function<void()>& f) {
    Job job{.f = &f};
    {
      const std::lock_guard lock(mutex_);
      if (!closed_)
        offer(job, helpers);
    }
    std::exception_ptr problem;
    try {
      f();
    } catch (...) {
      problem = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    wanted_ -= job.wanted;
    std::erase(jobs_, &job);
    job.ended.wait(lock, [&] { return job.running == 0; });
    if (problem || job.problem)
      std::rethrow_exception(problem ? problem : job.problem);
  }

  bool call(std::function<void()> f) {
    auto job = std::make_unique<Job>();
    job->own = std::move(f);
    job->is_waited_for = false;
    const std::lock_guard lock(mutex_);
    if (closed_)
      return false;
    offer(*job, 1);
    if (threads_.empty()) {
      --wanted_;
      std::erase(jobs_, job.get());
      return false;
    }
    (void)job.release(); // it is its thread's
    return true;
  }

  // At exit.
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    offered_.notify_all();
    left_.wait(lock, [&] { return idle_ == 0; });
    for (Thread& thread : threads_)
      thread.has_left ? thread.handle.join() : thread.handle.detach();
    // One that is still at work looks at its own later.
    std::erase_if(threads_, [](const Thread& thread) { return thread.has_left; });
  }

  std::mutex& mutex() { return mutex_; }

private:
  struct Thread {
    std::thread handle;
    bool has_left = false;
  };

  // Under the mutex.
  void offer(Job& job, uint64_t helpers) {
    job.wanted = helpers;
    wanted_ += helpers;
    jobs_.push_back(&job);
    while (idle_ < wanted_ && threads_.size() < kMostThreads)
      if (!start_thread())
        break; // the host has no more: those that there are do it
    wake_two();
  }

  // Whoever has joined in wakes two more: so no thread wakes them all, and a job that is over soon has woken
  // few.
  void wake_two() {
    for (uint64_t i = std::min({wanted_, idle_, uint64_t{2}}); i > 0; --i)
      offered_.notify_one();
  }

  bool start_thread() {
    const SignalsBlocked blocked;
    Thread& thread = threads_.emplace_back();
    try {
      thread.handle = std::thread([this, &thread] { work(thread); });
    } catch (const std::system_error&) {
      threads_.pop_back();
      return false;
    }
    ++idle_;
    return true;
  }

  void work(Thread& self) {
    std::unique_lock lock(mutex_);
    for (;;) {
      offered_.wait(lock, [&] { return closed_ || !jobs_.empty(); });
      if (closed_)
        break;
      Job& job = *jobs_.front();
      --wanted_;
      if (--job.wanted == 0)
        jobs_.pop_front();
      ++job.running;
      --idle_;
      wake_two();
      lock.unlock();
      if (!job.is_waited_for) {
        std::unique_ptr<Job>(&job)->own();
        lock.lock();
        ++idle_;
        continue;
      }
      std::exception_ptr problem;
      try {
        (*job.f)();
      } catch (...) {
        problem = std::current_exception();
      }
      lock.lock();
      ++idle_;
      if (problem && !job.problem)
        job.problem = problem;
      if (--job.running == 0)
        job.ended.notify_one(); // under the mutex: the job goes when its caller has it
    }
    --idle_;
    self.has_left = true;
    left_.notify_one();
  }

  std::mutex mutex_; // of what follows
  std::condition_variable offered_, left_;
  std::deque<Job*> jobs_; // that want helpers
  uint64_t wanted_ = 0;   // by all of them
  uint64_t idle_ = 0;     // threads that work for nobody
  std::list<Thread> threads_;
  bool closed_ = false;
};

// Never destroyed: a thread that works while the process ends looks at it. A child of fork() has another: the
// threads of its parent's are not there, nor ever will be.
Pool* the_pool = nullptr;

Pool& pool() {
  struct Life {
    Life() {
      the_pool = new Pool;
      pthread_atfork([] { the_pool->mutex().lock(); }, [] { the_pool->mutex().unlock(); },
                     [] {
                       the_pool->mutex().unlock();
                       the_pool = new Pool;
                     });
    }
    ~Life() { the_pool->close(); }
  };
  static const Life life;
  return *the_pool;
}

} // namespace

void run_on_workers(uint64_t helpers, const std::function<void()>& f) {
  if (helpers == 0)
    f();
  else
    pool().run(helpers, f);
}

bool call_on_worker(std::function<void()> f) {
  return pool().call(std::move(f));
}

} // namespace lemma
