// Clusters of CTAs on host threads. A launch without clusters has clusters of one CTA.
//
// A cluster is resident from its start to its end, and as many are resident as the modelled GPU would hold. A
// worker takes a resident cluster for one turn: until it ends, until none of its warps can go on (idle), or
// until a quantum of instructions is over. Which cluster, which of its warps, and how long: schedule.h. New
// clusters start when no resident one can run, and each time a
// quantum runs out: a CTA that spins may be waiting for one that has not started.
//
// A cluster that ends leaves its place to the next one to start: in the same turn, on the same worker and
// without the scheduler's lock, unless somebody waits for a turn. Small CTAs would have workers wait for the
// lock else.
//
// Where --max-memory has no room for another cluster, as many are resident as there are.
//
// `epoch_` counts turns in which something moved. A cluster that had an idle turn within the current epoch
// stays idle until the epoch changes. When every resident cluster is idle in the same epoch and no further
// one may start, only time can move: the clocks jump to where the first part of a warp goes on that waits for
// one (waiting.h). If none does, somebody else may still do what is waited for (LaunchSurroundings): the
// clusters look again, ever more seldom, for as long as that may be. Then it is a deadlock.
#include "vgpu/engine/scheduler.h"

#include "isa/machine.h"
#include "support/processors.h"
#include "support/worker_pool.h"
#include "vgpu/engine/cluster_start.h"
#include "vgpu/engine/launch_check.h"
#include "vgpu/engine/observer.h"
#include "vgpu/engine/occupancy.h"
#include "vgpu/engine/patience.h"
#include "vgpu/engine/schedule.h"
#include "vgpu/engine/spare_clusters.h"
#include "vgpu/engine/waiting.h"
#include "vgpu/engine/warp.h"
#include "vgpu/memory/place.h"
#include "vgpu/reports/deadlock.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <utility>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kMostWorkers = 1024;

enum class Turn { finished, idle, preempted };

template <class T>
void add(std::optional<T>& total, const T& counts) {
  T sum = total.value_or(T{});
  sum += counts;
  total = sum;
}

// Of the counts, which are by opcode, those that are not 0: Stats::called.
std::vector<CalledCount> most_frequent(std::span<const uint64_t> counts) {
  std::vector<CalledCount> called;
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0)
      called.push_back({.opcode = std::string(to_string(static_cast<isa::Opcode>(i))), .count = counts[i]});
  std::ranges::stable_sort(called, std::ranges::greater(), &CalledCount::count);
  return called;
}

// How many clusters LaunchConfig::check_ctas lets be watched.
uint64_t watched_clusters(const LaunchConfig& config, uint64_t clusters) {
  return config.check_ctas == 0
             ? clusters
             : std::clamp<uint64_t>(config.check_ctas / product(config.cluster), 1, clusters);
}

// Of `n` watched clusters, number i is i * clusters / n.
bool is_watched(uint64_t id, const LaunchConfig& config, uint64_t clusters) {
  const uint64_t watched = watched_clusters(config, clusters);
  if (watched == clusters)
    return true;
  const uint64_t number = (id * watched + clusters - 1) / clusters;
  return number < watched && number * clusters / watched == id;
}

// Have the approximate functions of this machine been asked?
bool is_measured(Arch arch) {
  const isa::Machine* machine = isa::find_machine(arch.sm);
  return machine && machine->approximate == numeric::Evidence::measured;
}

// One cluster's turn on one worker.
class ClusterTurn {
public:
  // `pass`: room for one.
  ClusterTurn(Launch& launch, WarpRunner& runner, Cluster& cluster, Pass& pass)
      : launch_(launch), runner_(runner), cluster_(cluster), pass_(pass), stop_(launch.config.stop) {}

  // Instructions at most.
  Turn run(uint64_t most) {
    runner_.moved = false;
    runner_.begin_turn(cluster_);
    effects_at_begin_ = 0;
    bool looks = false;                           // all warps wait: they only look whether they have to
    if (std::exchange(cluster_.had_turn, true)) { // else nobody waits yet
      effects_at_begin_ = total_effects();
      wake_by_clock(cluster_);
      looks = all_wait();
      allow_time_outs(cluster_);
      look_again();
    }
    bool is_waiting = false;
    while ((executed_ < most || (looks && is_looking())) && !launch_.stop.load(std::memory_order_relaxed)) {
      const uint64_t in_pass = pass();
      executed_ += in_pass;
      if (cluster_.is_finished()) {
        read_before_it_goes();
        cluster_.async.drain();
        cluster_.async.watch().tell(&Observer::cluster_ends, cluster_);
        return Turn::finished;
      }
      if (!in_pass && !find_more()) {
        is_waiting = true;
        break;
      }
    }
    if (!is_waiting && executed_ >= most) {
      // A turn in which nothing was done that another warp could see: loops that wait, and that count how
      // long they do, are not found to poll. What else would only go on when nothing can move goes on now.
      if (total_effects() == effects_at_begin_)
        find_more();
      return Turn::preempted;
    }
    return runner_.moved || total_effects() != effects_at_begin_ ? Turn::preempted : Turn::idle;
  }
  uint64_t executed() const { return executed_; } // instructions

private:
  // Ends the launch if its caller wants that.
  bool stop_was_requested() {
    if (!stop_ || !stop_->load(std::memory_order_relaxed))
      return false;
    launch_.stop.store(true);
    return true;
  }

  bool all_wait() const {
    for (const auto& cta : cluster_.ctas)
      for (const Warp& warp : cta->warps)
        if (WarpRunner::may_run(warp))
          return false;
    return true;
  }

  // Where warps only look, none of them having found anything yet, the turn lasts until all have, however
  // short it was to be: else a cluster in which nothing can move would have one turn after the other in the
  // middle of a round, and never be seen to be idle.
  bool is_looking() const {
    constexpr uint64_t kMost = 400'000;
    return executed_ < kMost && !runner_.moved && total_effects() == effects_at_begin_;
  }

  // The warps run for their slices, as far as they can. Returns the instructions executed.
  uint64_t pass() {
    wake_by_clock(cluster_);
    if (!std::exchange(is_planned_, launch_.schedule->repeats_passes))
      launch_.schedule->plan(cluster_, pass_);
    if (pass_.wakes_polling && total_effects() != looked_at_)
      look_again();
    if (pass_.times_out) {
      allow_time_outs(cluster_);
      time_out_mbarrier_waiters(cluster_);
    }
    uint64_t executed = 0, longest = 0;
    const size_t slices = pass_.slices.size();
    for (size_t i = 0; i < slices; ++i) {
      const Slice& slice = pass_.slices[i];
      if (slice.if_none_ran && executed > 0)
        break;
      if (i + 1 < slices)
        WarpRunner::prefetch(*pass_.slices[i + 1].warp);
      if (!WarpRunner::may_run(*slice.warp))
        continue;
      if (stop_was_requested())
        return executed;
      const uint64_t most = std::min(slice.instructions, cluster_.async.until_due());
      const uint64_t count = runner_.run(*slice.cta, *slice.warp, most);
      cluster_.async.advance(count);
      executed += count;
      longest = std::max(longest, count);
    }
    cluster_.scheduled.executed += executed;
    cluster_.clock += longest * kTicksPerInstruction;
    return executed;
  }

  // What is still in flight reads the shared memory of CTAs whose threads are gone.
  void read_before_it_goes() {
    cluster_.async.read_sources([&](const AsyncOperation& operation) {
      if (operation.group != AsyncGroup::bulk || launch_.config.check)
        return;
      const AsyncIssuer& issuer = operation.issuer;
      launch_.remark(
          issuer.code, issuer.instruction,
          fmt::format("a {} still had shared memory to read when the threads of its CTA had ended, and "
                      "none has waited for it. The PTX ISA does not say that the memory is there "
                      "then (async.unwaited, an error with --check); this run reads it",
                      to_string(operation.kind)));
    });
  }

  // No warp is ready. What may go on all the same: loops that look at memory which has changed since, then
  // what an asynchronous operation completes, last a try_wait that has waited long enough.
  bool find_more() {
    if (total_effects() != looked_at_) {
      look_again();
      return true;
    }
    if (cluster_.async.run_one())
      return true;
    const TimeOuts outs = time_out_mbarrier_waiters(cluster_);
    runner_.moved |= outs.moved;
    return outs.any;
  }

  void look_again() {
    looked_at_ = total_effects();
    for (const auto& cta : cluster_.ctas)
      for (Warp& warp : cta->warps)
        wake_polling(warp);
  }

  uint64_t total_effects() const {
    uint64_t sum = cluster_.async.completed();
    for (const auto& cta : cluster_.ctas)
      for (const Warp& warp : cta->warps)
        sum += warp.effects;
    return sum;
  }

  Launch& launch_;
  WarpRunner& runner_;
  Cluster& cluster_;
  Pass& pass_;
  const std::atomic<bool>* stop_; // the caller's; may be null
  uint64_t executed_ = 0;
  uint64_t effects_at_begin_ = 0; // total_effects(), of the turn
  uint64_t looked_at_ = 0;        // the same, when polling loops last looked
  bool is_planned_ = false;       // `pass_` is the cluster's, and stays
};

// How many warps are where.
class WarpPlaces {
public:
  void add(const Cluster& cluster) {
    for (const auto& cta : cluster.ctas)
      for (const Warp& warp : cta->warps)
        for (const Split& split : warp.splits) {
          const uint32_t pc = split.state == SplitState::ready ? split.pc : split.wait_pc;
          if (!split.stack.empty() && pc < split.stack.back().code->insts.size())
            ++counts_[{split.stack.back().code, pc}];
        }
  }
  std::vector<RunningLaunch::Warps> most() const {
    constexpr size_t kMost = 4;
    std::vector<std::pair<uint64_t, Where>> all;
    for (const auto& [where, count] : counts_)
      all.emplace_back(count, where);
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<RunningLaunch::Warps> most;
    for (size_t i = 0; i < std::min(all.size(), kMost); ++i) {
      const auto& [count, where] = all[i];
      most.push_back({.place = place_of(*where.first, where.first->insts[where.second]), .count = count});
    }
    return most;
  }

private:
  using Where = std::pair<const Code*, uint32_t>;
  std::map<Where, uint64_t> counts_;
};

class Scheduler {
public:
  // `resident_limit`: clusters at a time.
  Scheduler(Launch& launch, uint64_t resident_limit)
      : launch_(launch), resident_limit_(resident_limit),
        cluster_count_(launch.cta_count / product(launch.config.cluster)),
        schedule_(make_schedule(launch.config, cluster_count_)),
        use_{.program = launch.program,
             .entry = launch.entry,
             .shared_bytes = launch.shared_bytes,
             .threads = static_cast<uint32_t>(product(launch.config.block)),
             .ctas = product(launch.config.cluster)},
        patience_(launch.surroundings->others_may_act, launch.surroundings->patience, *launch.memory) {
    launch.schedule = schedule_.get();
    launch.most_clusters = static_cast<uint32_t>(std::min(resident_limit, cluster_count_));
    launch.cancel_cluster = [this] { return cancel(); };
  }

  // Clusters that were canceled, of those that LaunchConfig::check_ctas would have had watched.
  uint64_t canceled_watched() const { return canceled_watched_; }

  void run() {
    uint64_t workers = launch_.config.workers ? launch_.config.workers : usable_processors();
    if (launch_.config.deterministic || launch_.config.schedule != 0)
      workers = 1;
    workers = std::min(workers, cluster_count_);
    launch_.workers = static_cast<uint32_t>(std::min(workers, kMostWorkers));
    tell(&Observer::launch_begins);
    {
      const GlobalMemory::Users users(*launch_.memory, launch_.workers);
      run_on_workers(launch_.workers - 1, [this] { work(); });
    }
    if (deadlocked_)
      report();
    else if (!launch_.report.fault && finished_ < cluster_count_)
      report_stop();
    add(launch_.report.stats.matrix_outputs, launch_.late_outputs);
    launch_.report.stats.called = most_frequent(called_);
    tell(&Observer::launch_ends);
    // Views of the asynchronous modes and what observers have attached are not worth keeping.
    if (finished_ == cluster_count_ && launch_.config.async == AsyncMode::eager && !launch_.watch.is_on())
      launch_.memory->spare_clusters().keep(use_, std::move(spare_));
  }

private:
  void tell(void (Observer::*event)(const Launch&)) {
    try {
      launch_.watch.tell(event, launch_);
    } catch (const std::exception& problem) {
      fail(problem);
    }
  }

  // On each thread, the caller's among them.
  void work() {
    WarpRunner runner(launch_, workers_begun_.fetch_add(1));
    try {
      take_turns(runner);
    } catch (const std::exception& problem) {
      fail(problem);
    }
    {
      const std::lock_guard lock(mutex_); // whoever has seen `stop` unset waits by now
      changed_.notify_all();
    }
    const std::lock_guard report_lock(launch_.report_mutex);
    const WorkerCounts& counts = runner.stats();
    Stats& total = launch_.report.stats;
    add(total.warp_instructions, counts.warp_instructions);
    add(total.lane_instructions, counts.lane_instructions);
    add(total.compiled_instructions, counts.compiled_instructions);
    add(total.compiled_code_bytes, counts.compiled_code_bytes);
    total.compile_seconds += static_cast<double>(counts.compile_nanoseconds) * 1e-9;
    std::ranges::transform(called_, counts.called, called_.begin(), std::plus());
    add(total.matrix_flops, counts.matrix_flops);
    add(total.matrix_outputs, counts.matrix_outputs);
    launch_.report.float_atomics |= runner.added_floats();
    launch_.report.assumed_approximate |= runner.used_approximate() && !is_measured(launch_.program->arch());
  }

  // An exception that no instruction has thrown ends the launch.
  void fail(const std::exception& problem) {
    auto [kind, message] = describe(problem);
    const std::lock_guard report_lock(launch_.report_mutex);
    if (!launch_.report.fault)
      launch_.report.fault = Fault{.kind = kind, .message = std::move(message), .place = {}};
    launch_.stop.store(true);
  }

  void take_turns(WarpRunner& runner) {
    Pass pass;
    std::unique_lock lock(mutex_);
    while (!launch_.stop.load()) {
      std::unique_ptr<Cluster> cluster = next_cluster(lock);
      if (!cluster)
        break;
      const uint64_t epoch = epoch_, most = schedule_->turn_instructions();
      ++running_;
      note_who_waits();
      lock.unlock();
      const Turns turns = run_in_place(runner, *cluster, pass, most);
      lock.lock();
      --running_;
      executed_ += turns.executed;
      note_running(*cluster);
      end_turn(std::move(cluster), turns, epoch);
      note_who_waits();
      changed_.notify_all();
      if (std::exchange(callbacks_are_due_, false)) {
        lock.unlock();
        launch_.callbacks.run();
        lock.lock();
      }
    }
  }

  // Turns on one worker, in one place among the resident clusters.
  struct Turns {
    Turn last = Turn::idle; // of the cluster that has the place now
    uint64_t ended = 0;     // clusters that had it before
    uint64_t executed = 0;  // instructions
  };

  // The cluster's turn, of so many instructions; those that begin in its place have what is left of them.
  Turns run_in_place(WarpRunner& runner, Cluster& cluster, Pass& pass, uint64_t most) {
    Turns turns;
    uint64_t ctas = 0; // that have ended and not launched dependents themselves
    for (bool goes_on = true; goes_on;) {
      ClusterTurn turn(launch_, runner, cluster, pass);
      turns.last = turn.run(most);
      turns.executed += turn.executed();
      if (turns.last == Turn::finished)
        for (const auto& cta : cluster.ctas)
          ctas += !std::exchange(cta->launched_dependents, true);
      goes_on = turns.last == Turn::finished && turn.executed() < most && begin_in_place(cluster);
      turns.ended += goes_on;
      most -= std::min(turn.executed(), most);
    }
    launch_.dependents_launched_by(ctas);
    return turns;
  }

  // Makes a cluster that has ended the next one to start. False: somebody is to be asked first, or none is
  // left.
  bool begin_in_place(Cluster& cluster) {
    if (launch_.workers == 1 || launch_.watch.is_on() || launch_.watch_of_others.is_on() ||
        somebody_waits_.load(std::memory_order_relaxed) || launch_.stop.load(std::memory_order_relaxed))
      return false;
    const uint64_t nth = next_.fetch_add(1, std::memory_order_relaxed);
    if (nth >= cluster_count_)
      return false;
    try {
      begin(cluster, schedule_->cluster_to_start(nth));
      return true;
    } catch (const OverBudget&) {
      const std::lock_guard lock(mutex_);
      put_off_.push_back(nth);
      return false;
    }
  }

  // See Launch::cancel_cluster.
  std::optional<Dim3> cancel() {
    if (launch_.config.cooperative) // all clusters have been launched, whether they have begun here or not
      return std::nullopt;
    uint64_t id = 0;
    {
      const std::lock_guard lock(mutex_);
      const std::optional<uint64_t> nth = schedule_->grants_cluster() ? take_not_started() : std::nullopt;
      if (!nth)
        return std::nullopt;
      id = schedule_->cluster_to_start(*nth);
      ++finished_;
      ++canceled_;
      canceled_watched_ += is_watched(id, launch_.config, cluster_count_);
    }
    launch_.dependents_launched_by(product(launch_.config.cluster));
    return first_cta(launch_, id);
  }

  // The next cluster in the order of the schedule, under the lock; none is left to start.
  std::optional<uint64_t> take_not_started() {
    if (!put_off_.empty()) {
      const uint64_t nth = put_off_.back();
      put_off_.pop_back();
      return nth;
    }
    const uint64_t nth = next_.fetch_add(1, std::memory_order_relaxed);
    return nth < cluster_count_ ? std::optional(nth) : std::nullopt;
  }

  void note_who_waits() {
    somebody_waits_.store(!ready_.empty() || !idle_.empty() || !put_off_.empty(), std::memory_order_relaxed);
  }

  // The next cluster to give a turn; waits for one. Null: the launch is over.
  std::unique_ptr<Cluster> next_cluster(std::unique_lock<std::mutex>& lock) {
    for (;;) {
      if (launch_.stop.load())
        return nullptr;
      if ((next_ < cluster_count_ || !put_off_.empty()) && resident_ < resident_limit_ &&
          (start_more_ || ready_.empty())) {
        start_more_ = false;
        if (auto cluster = start_next(lock))
          return cluster;
        continue; // much may have happened
      }
      if (!ready_.empty()) {
        const size_t pick = schedule_->cluster_to_run(ready_.size());
        std::unique_ptr<Cluster> cluster = std::move(ready_[pick]);
        ready_.erase(ready_.begin() + static_cast<ptrdiff_t>(pick));
        return cluster;
      }
      if (finished_ == cluster_count_)
        return nullptr;
      if (running_ == 0) {       // all resident clusters are idle, none may start
        if (waits_for_others_) { // another worker does
          changed_.wait(lock);
          continue;
        }
        if (jump_clock(lock) || look_at_others(lock))
          continue;
        deadlocked_ = true;
        launch_.stop.store(true);
        return nullptr;
      }
      changed_.wait(lock);
    }
  }

  void end_turn(std::unique_ptr<Cluster> cluster, Turns turns, uint64_t epoch) {
    const Turn turn = turns.last;
    move_clock(cluster->clock);
    started_ += turns.ended;
    finished_ += turns.ended;
    if (turn != Turn::idle || turns.ended != 0) {
      launch_.memory->note_activity();
      resume_all();
    }
    if (turn == Turn::idle && epoch == epoch_) {
      idle_.push_back(std::move(cluster));
      return;
    }
    if (turn == Turn::finished) {
      ++finished_;
      --resident_;
      free_places_.push_back(cluster->place);
      spare_.push_back(std::move(cluster));
      note_progress();
      return;
    }
    start_more_ |= turn == Turn::preempted;
    ready_.push_back(std::move(cluster));
  }

  void move_clock(uint64_t to) { launch_.clock.store(std::max(launch_.clock.load(), to)); }

  // An idle cluster gets a turn. It has waited meanwhile: its clock catches up.
  void resume(std::unique_ptr<Cluster> cluster) {
    cluster->clock = std::max(cluster->clock, launch_.clock.load());
    ready_.push_back(std::move(cluster));
  }

  void resume_all() {
    ++epoch_;
    for (auto& sleeper : idle_)
      resume(std::move(sleeper));
    idle_.clear();
  }

  // All wait: does one wait for time? The clock moves there. Where others may act, they get some time to do
  // it in: a kernel that waits for the host does so with a time limit.
  bool jump_clock(std::unique_lock<std::mutex>& lock) {
    uint64_t wake = kNever;
    for (const auto& cluster : idle_)
      wake = std::min(wake, cluster->next_wake);
    if (wake == kNever)
      return false;
    if (patience_.others_may_act()) {
      const uint64_t now = launch_.clock.load();
      const uint64_t most = static_cast<uint64_t>(Patience::kLongestPause.count());
      pause(lock, std::chrono::nanoseconds(wake > now ? std::min(most, (wake - now) / kTicksPerNs) : 0));
    }
    move_clock(wake);
    for (auto& cluster : idle_)
      if (cluster->next_wake <= launch_.clock.load())
        resume(std::move(cluster));
    std::erase(idle_, nullptr);
    return true;
  }

  // All wait, and not for time: does somebody else do what they wait for? True: they may look.
  bool look_at_others(std::unique_lock<std::mutex>& lock) {
    const std::optional<std::chrono::nanoseconds> next = patience_.next_pause();
    if (!next)
      return false;
    pause(lock, *next);
    resume_all();
    return true;
  }

  // All wait, this thread too.
  void pause(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds time) {
    waits_for_others_ = true;
    lock.unlock();
    if (time.count() == 0)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(time);
    if (launch_.config.stop && launch_.config.stop->load(std::memory_order_relaxed))
      launch_.stop.store(true);
    lock.lock();
    waits_for_others_ = false;
    changed_.notify_all();
  }

  // The next cluster in order begins, without the lock: others do at the same time. Null: there is no memory
  // for one more beside those that are resident, or another worker has just taken the last one.
  std::unique_ptr<Cluster> start_next(std::unique_lock<std::mutex>& lock) {
    const std::optional<uint64_t> taken = take_not_started();
    if (!taken)
      return nullptr;
    const uint64_t nth = *taken;
    const uint64_t id = schedule_->cluster_to_start(nth);
    const uint64_t clock = nth < resident_limit_ ? 0 : launch_.clock.load(); // in the place of an ended one
    std::unique_ptr<Cluster> spare = take_spare();
    ++resident_;
    ++running_;
    lock.unlock();
    std::unique_ptr<Cluster> cluster;
    try {
      cluster = begin(std::move(spare), id);
    } catch (const OverBudget&) {
    }
    lock.lock();
    --running_;
    --resident_;
    if (!cluster && !(cluster = begin_if_memory_lasts(id))) {
      put_off_.push_back(nth);
      return nullptr;
    }
    ++started_;
    ++resident_;
    cluster->clock = clock;
    cluster->place = take_place();
    cluster->async.watch().tell(&Observer::cluster_begins, *cluster);
    return cluster;
  }

  // Under the lock: Cluster::place of one that is resident from now on.
  uint32_t take_place() {
    if (free_places_.empty())
      return places_++;
    const uint32_t place = free_places_.back();
    free_places_.pop_back();
    return place;
  }

  // Under the lock: one of this launch's that has ended, or null.
  std::unique_ptr<Cluster> take_spare() {
    if (spare_.empty())
      return nullptr;
    std::unique_ptr<Cluster> spare = std::move(spare_.back());
    spare_.pop_back();
    return spare;
  }

  // Under the lock: what failed because others took memory too, only to fail themselves, or to end since,
  // does not fail now.
  std::unique_ptr<Cluster> begin_if_memory_lasts(uint64_t id) {
    try {
      return begin(take_spare(), id);
    } catch (const OverBudget&) {
      if (resident_ == 0)
        throw;
      resident_limit_ = resident_;
      limited_by_memory_ = true;
      return nullptr;
    }
  }

  // `spare`: one of this launch's that has ended, or null. Throws OverBudget.
  std::unique_ptr<Cluster> begin(std::unique_ptr<Cluster> spare, uint64_t id) {
    std::unique_ptr<Cluster> cluster = std::move(spare);
    if (!cluster)
      cluster = launch_.memory->spare_clusters().take(use_);
    if (!cluster)
      cluster = std::make_unique<Cluster>();
    begin(*cluster, id);
    return cluster;
  }
  void begin(Cluster& cluster, uint64_t id) {
    cluster.async.reset(launch_.config.async, schedule_->async_seed(id), &launch_.memory->budget(),
                        is_watched(id, launch_.config, cluster_count_) ? launch_.watch
                                                                       : launch_.watch_of_others);
    start_cluster(launch_, cluster, id);
  }

  // Whoever holds the lock calls the callback when it has let go of it.
  void note_progress() {
    if (!launch_.config.progress)
      return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_progress_ < std::chrono::milliseconds(100))
      return;
    last_progress_ = now;
    const uint64_t done = finished_ * product(launch_.config.cluster);
    launch_.callbacks.add([&launch = launch_, done] { launch.config.progress(done, launch.cta_count); });
    callbacks_are_due_ = true;
  }

  // The same. `cluster` has just had a turn.
  void note_running(const Cluster& cluster) {
    if (!launch_.surroundings->on_running)
      return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_running_ < std::chrono::milliseconds(200))
      return;
    last_running_ = now;
    const uint64_t ctas = product(launch_.config.cluster);
    RunningLaunch running{.kernel = launch_.entry->function->name,
                          .seconds = std::chrono::duration<double>(now - begun_).count(),
                          .warp_instructions = executed_,
                          .ctas = launch_.cta_count,
                          .ctas_done = finished_ * ctas};
    WarpPlaces places;
    places.add(cluster);
    for (const auto& each : ready_)
      places.add(*each);
    for (const auto& each : idle_)
      places.add(*each);
    running.warps = places.most();
    launch_.callbacks.add(
        [&launch = launch_, running = std::move(running)] { launch.surroundings->on_running(running); });
    callbacks_are_due_ = true;
  }

  void report() {
    Fault& fault = report_deadlock(launch_, idle_);
    for (const auto& cluster : idle_)
      cluster->async.watch().tell(&Observer::is_stuck, *cluster, fault);
    const uint64_t size = product(launch_.config.cluster);
    if (started_ + canceled_ < cluster_count_)
      fault.notes.push_back(fmt::format(
          "{} of {} CTAs have not started: {} {} at a time", (cluster_count_ - started_ - canceled_) * size,
          launch_.cta_count, limited_by_memory_ ? "--max-memory has room for" : "the modelled GPU holds",
          resident_limit_ * size));
  }

  // Nothing else ends a launch early.
  void report_stop() {
    std::vector<const Cluster*> begun;
    for (const auto& cluster : ready_)
      begun.push_back(cluster.get());
    for (const auto& cluster : idle_)
      begun.push_back(cluster.get());
    report_stopped(launch_, begun, finished_ * product(launch_.config.cluster));
  }

  Launch& launch_;
  uint64_t resident_limit_;
  bool limited_by_memory_ = false;
  const uint64_t cluster_count_;
  const std::unique_ptr<Schedule> schedule_;
  const SpareClusters::Use use_;
  std::atomic<uint32_t> workers_begun_{0};
  std::atomic<bool> somebody_waits_{false};   // for a turn; set under the lock
  alignas(64) std::atomic<uint64_t> next_{0}; // cluster in the order of the schedule; there may be none such

  alignas(64) std::mutex mutex_; // guards everything below
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Cluster>> ready_;
  std::vector<std::unique_ptr<Cluster>> idle_, spare_;
  std::vector<uint64_t> put_off_;     // earlier ones for which there was no memory
  std::vector<uint32_t> free_places_; // Cluster::place of those that have ended ...
  uint32_t places_ = 0;               // ... and of those that have begun it is below
  // `resident_` and `running_` with those that begin.
  uint64_t started_ = 0, finished_ = 0, resident_ = 0, running_ = 0;
  // By clusterlaunchcontrol; they are among those that have finished, and not among those that have started.
  uint64_t canceled_ = 0, canceled_watched_ = 0;
  std::array<uint64_t, isa::kOpcodeCount> called_{}; // WorkerCounts::called, of all workers
  uint64_t epoch_ = 0;
  bool start_more_ = false;
  bool deadlocked_ = false;
  bool callbacks_are_due_ = false;
  bool waits_for_others_ = false;
  Patience patience_;
  std::chrono::steady_clock::time_point last_progress_ = std::chrono::steady_clock::now();
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_running_ = begun_;
  uint64_t executed_ = 0; // instructions, in turns that have ended
};

Outcome outcome_of(FaultKind kind) {
  return kind == FaultKind::stopped       ? Outcome::stopped
         : kind == FaultKind::unsupported ? Outcome::unsupported
         : kind == FaultKind::internal    ? Outcome::internal
                                          : Outcome::fault;
}

// What a cooperative launch has its grid-wide barrier in. The driver's layout, zeroed: the size, then the
// barrier's word (cooperative_groups/details/driver_abi.h).
class Workspace {
public:
  explicit Workspace(GlobalMemory& memory) : memory_(memory) {
    constexpr uint64_t kBytes = 8;
    const Allocation* allocation = memory.allocate(kBytes, "the grid's workspace");
    if (!allocation)
      throw std::bad_alloc();
    address_ = allocation->base;
  }
  ~Workspace() { memory_.free(address_); }
  Workspace(const Workspace&) = delete;
  uint64_t address() const { return address_; }

private:
  GlobalMemory& memory_;
  uint64_t address_;
};

// One that stands for all; null: there is none.
Observer* as_one(const std::vector<Observer*>& observers, std::optional<Observers>& several) {
  if (observers.empty())
    return nullptr;
  return observers.size() == 1 ? observers.front() : &several.emplace(observers);
}

} // namespace

Report run_launch(const Program& program, const Code& entry, GlobalMemory& memory, const LaunchConfig& asked,
                  std::vector<std::byte> params, LaunchSurroundings surroundings) {
  static std::atomic<uint64_t> grids{0};
  Launch launch;
  launch.program = &program;
  launch.entry = &entry;
  launch.memory = &memory;
  launch.config = settled(asked, entry);
  launch.config.async = async_mode(asked);
  const LaunchConfig& config = launch.config;
  launch.explicit_cluster = names_cluster(asked);
  launch.params = std::move(params);
  launch.report.stats = {.warp_instructions = 0,
                         .lane_instructions = 0,
                         .compiled_instructions = 0,
                         .compiled_code_bytes = 0,
                         .matrix_flops = 0,
                         .matrix_outputs = MatrixOutputs{}};
  launch.surroundings = &surroundings;
  std::vector<Observer*>& observers = surroundings.observers;
  std::vector<Observer*>& observers_of_all = surroundings.observers_of_all;
  std::optional<AccessCounter> counter;
  if (config.count_accesses)
    observers_of_all.push_back(&counter.emplace());
  observers.insert(observers.end(), observers_of_all.begin(), observers_of_all.end());
  std::optional<Observers> all, others;
  launch.watch = as_one(observers, all);
  launch.watch_of_others = as_one(observers_of_all, others);
  launch.cta_count = product(config.grid);
  launch.shared_bytes = static_cast<uint32_t>(shared_bytes_of(program, entry, config)); // check_launch()
  launch.static_shared_bytes = entry.shared_bytes - kSharedReservedBytes;
  launch.shared_begin = program.uses_reserved_shared() ? 0 : kSharedReservedBytes;
  launch.dynamic_shared_offset = launch.shared_bytes - config.shared_bytes;
  const MachineLimits& limits = surroundings.limits;
  launch.sm_count = limits.sm_count;
  launch.registers = launch_registers(limits, entry.function->bounds, entry.wanted_registers);
  launch.warps_per_sm = limits.threads_per_sm / kWarpSize;
  launch.grid_id = ++grids;
  std::optional<Workspace> workspace;
  if (config.cooperative)
    launch.workspace = workspace.emplace(memory).address();
  memory.set_seed(config.seed);
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t resident = resident_ctas(limits, product(config.block), launch.shared_bytes);
  Scheduler scheduler(launch, std::max<uint64_t>(1, resident / product(config.cluster)));
  scheduler.run();
  launch.report.stats.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (counter)
    counter->report(launch.report.stats);
  if (config.check) {
    const uint64_t size = product(config.cluster);
    launch.report.checked_ctas =
        (watched_clusters(config, launch.cta_count / size) - scheduler.canceled_watched()) * size;
  }
  launch.report.warnings = launch.warnings();
  if (std::optional<std::string> warning = warn_of_no_compiler(config.engine))
    launch.report.warnings.push_back(std::move(*warning));
  if (launch.report.fault)
    launch.report.outcome = outcome_of(launch.report.fault->kind);
  return std::move(launch.report);
}

void Launch::dependents_launched_by(uint64_t ctas) {
  if (ctas != 0 && ctas_that_launched_dependents.fetch_add(ctas) + ctas == cta_count &&
      surroundings->dependents_may_start)
    surroundings->dependents_may_start();
}

} // namespace lemma::vgpu
