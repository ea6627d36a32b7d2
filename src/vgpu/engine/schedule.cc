// The usual schedule, and the unusual ones. Those are rows of a table, then, from its end on, drawn from the
// schedule's number.
//
// A warp that is starved, or that comes after one that runs ahead, could wait for ever behind one that spins
// and is not found to poll. So the order is dropped for a pass whenever the cluster has executed so many
// instructions; that number is halved each time, down to some thousands.
//
// S. Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", 2010: order
// by priorities that change at few points.
#include "vgpu/engine/schedule.h"

#include "lemma/explore.h"
#include "vgpu/engine/launch.h"
#include "vgpu/memory/mix.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kTurnInstructions = 400'000; // of a cluster
// Of a warp within a turn: the warps of a cluster advance near evenly, as on a GPU.
constexpr uint64_t kWarpSlice = 512;

// --- the usual one

class UsualSchedule : public Schedule {
public:
  // `by_cluster`: asynchronous operations differ between clusters.
  UsualSchedule(uint64_t seed, uint64_t clusters, bool by_cluster = false)
      : seed_(seed), clusters_(clusters), by_cluster_(by_cluster) {
    repeats_passes = true;
    waits_end_slices = true;
    if (!seed)
      return;
    stride_ = mix(seed) % clusters | 1; // every choice moves with the seed
    while (std::gcd(stride_, clusters) != 1)
      stride_ += 2;
    first_ = mix(seed + 1) % clusters;
  }

  uint64_t cluster_to_start(uint64_t nth) override { return (first_ + nth * stride_) % clusters_; }
  size_t cluster_to_run(size_t ready) override { return seed_ ? mix(seed_ + ++picks_) % ready : 0; }
  uint64_t async_seed(uint64_t cluster) const override {
    return by_cluster_ ? mix(seed_ ^ mix(cluster + 1)) : seed_;
  }
  uint32_t first_column(uint64_t cta) const override {
    return static_cast<uint32_t>(seed_ ? mix(seed_ ^ mix(cta)) % TensorMemory::kColumns : 0);
  }
  uint32_t first_warp(uint64_t cta, uint32_t warps) const override {
    return static_cast<uint32_t>(seed_ ? mix(seed_ ^ mix(cta)) % warps : 0);
  }
  uint64_t turn_instructions() override { return kTurnInstructions; }

  void plan(Cluster& cluster, Pass& pass) override {
    pass.slices.clear();
    for (const auto& cta : cluster.ctas) {
      const auto add = [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
          if (Warp& warp = cta->warps[i]; !warp.splits.empty())
            pass.slices.push_back({cta.get(), &warp, kWarpSlice});
      };
      add(cta->next_warp, cta->warps.size());
      add(0, cta->next_warp);
    }
  }

private:
  const uint64_t seed_, clusters_;
  const bool by_cluster_;
  uint64_t stride_ = 1, first_ = 0, picks_ = 0;
};

// --- the unusual ones

enum class Order : uint8_t { usual, reversed, random };

enum class Warps : uint8_t {
  reversed,   // the last first
  random,     // in another order each pass, for another time each
  starved,    // one of a CTA runs only when no other can
  ahead,      // one of a CTA runs as far as it can before the others move
  priorities, // the first in an order runs, which changes at three points
};

enum class Which : uint8_t { first, last, any }; // warp of a CTA

struct Unusual {
  Order clusters = Order::usual;
  Warps warps = Warps::random;
  Which which = Which::any; // is starved, or runs ahead
  bool short_turns = false; // clusters change often
  bool other_path = false;  // Schedule::other_path_first
  bool time_outs = false;   // try_wait returns false now and then, and try_cancel fails
  AsyncMode async = AsyncMode::eager;
  bool old_values = false; // lemma::gives_old_values()
};

constexpr Unusual kTable[] = {
    {.clusters = Order::reversed, .warps = Warps::reversed, .async = AsyncMode::late},
    {.clusters = Order::random,
     .warps = Warps::random,
     .short_turns = true,
     .async = AsyncMode::random,
     .old_values = true},
    {.warps = Warps::starved,
     .which = Which::first,
     .short_turns = true,
     .async = AsyncMode::eager,
     .old_values = true},
    {.warps = Warps::ahead, .which = Which::first, .other_path = true, .async = AsyncMode::late},
    {.clusters = Order::reversed, .warps = Warps::priorities, .other_path = true, .async = AsyncMode::eager},
    {.clusters = Order::random,
     .warps = Warps::random,
     .short_turns = true,
     .time_outs = true,
     .async = AsyncMode::random,
     .old_values = true},
    {.clusters = Order::reversed,
     .warps = Warps::starved,
     .which = Which::last,
     .short_turns = true,
     .time_outs = true,
     .async = AsyncMode::late},
};

// Of a schedule that is not 0.
Unusual unusual(uint64_t schedule) {
  if (schedule <= std::size(kTable))
    return kTable[schedule - 1];
  uint64_t draws = 0;
  const auto draw = [&](uint64_t below) { return mix(mix(schedule) + ++draws) % below; };
  Unusual drawn;
  drawn.clusters = static_cast<Order>(draw(3));
  drawn.warps = static_cast<Warps>(draw(5));
  drawn.which = static_cast<Which>(draw(3));
  drawn.short_turns = draw(2) != 0;
  drawn.other_path = draw(2) != 0;
  drawn.time_outs = draw(4) == 0;
  drawn.async = static_cast<AsyncMode>(draw(3));
  drawn.old_values = draw(2) != 0;
  return drawn;
}

class UnusualSchedule : public Schedule {
public:
  UnusualSchedule(const LaunchConfig& config, uint64_t clusters)
      : kind_(unusual(config.schedule)), key_(mix(mix(config.schedule) ^ config.seed)), clusters_(clusters),
        in_random_order_(key_, clusters) {
    other_path_first = kind_.other_path;
  }

  uint64_t cluster_to_start(uint64_t nth) override {
    return kind_.clusters == Order::usual      ? nth
           : kind_.clusters == Order::reversed ? clusters_ - 1 - nth
                                               : in_random_order_.cluster_to_start(nth);
  }
  size_t cluster_to_run(size_t ready) override { return kind_.short_turns ? draw(ready) : 0; }
  bool grants_cluster() override { return !kind_.time_outs || draw(4) != 0; }
  uint64_t async_seed(uint64_t cluster) const override { return mix(key_ ^ mix(cluster + 1)); }
  uint32_t first_column(uint64_t cta) const override {
    return static_cast<uint32_t>(mix(key_ ^ mix(cta)) % TensorMemory::kColumns);
  }
  uint32_t first_warp(uint64_t, uint32_t) const override { return 0; }
  uint64_t turn_instructions() override {
    return kind_.short_turns ? uint64_t{64} << draw(10) : kTurnInstructions;
  }

  void plan(Cluster& cluster, Pass& pass) override {
    pass.slices.clear();
    for (const auto& cta : cluster.ctas)
      for (Warp& warp : cta->warps)
        if (!warp.splits.empty())
          pass.slices.push_back({cta.get(), &warp, some_instructions()});
    pass.wakes_polling = true;
    pass.times_out = kind_.time_outs && draw(4) == 0;
    ScheduledCluster& scheduled = cluster.scheduled;
    if (scheduled.next_fair == 0)
      scheduled.next_fair = kTurnInstructions;
    if (scheduled.executed < scheduled.next_fair) {
      put_in_order(cluster, pass.slices);
      return;
    }
    constexpr uint64_t kOftenest = 4096;
    scheduled.fair = std::min(scheduled.fair + 1, 63u);
    scheduled.next_fair = scheduled.executed + std::max(kTurnInstructions >> scheduled.fair, kOftenest);
    for (Slice& slice : pass.slices)
      slice.instructions = kWarpSlice;
  }

private:
  uint64_t draw(uint64_t below) { return mix(key_ + ++draws_) % below; }
  // 1 to 512, every power of two as likely as any.
  uint64_t some_instructions() { return 1 + draw(uint64_t{1} << draw(10)); }

  void put_in_order(Cluster& cluster, std::vector<Slice>& slices) {
    switch (kind_.warps) {
    case Warps::reversed:
      std::reverse(slices.begin(), slices.end());
      break;
    case Warps::random:
      for (size_t i = slices.size(); i > 1; --i)
        std::swap(slices[i - 1], slices[draw(i)]);
      break;
    case Warps::starved: {
      const auto others =
          std::stable_partition(slices.begin(), slices.end(), [&](const Slice& s) { return !is_chosen(s); });
      if (others != slices.end())
        others->if_none_ran = true;
      break;
    }
    case Warps::ahead: {
      const auto others =
          std::stable_partition(slices.begin(), slices.end(), [&](const Slice& s) { return is_chosen(s); });
      for (auto at = slices.begin(); at != others; ++at)
        at->instructions = kTurnInstructions;
      if (others != slices.end())
        others->if_none_ran = true;
      break;
    }
    case Warps::priorities:
      put_in_priority(cluster.scheduled, slices);
      break;
    }
  }

  // The one of its CTA that is starved, or runs ahead.
  bool is_chosen(const Slice& slice) const {
    const uint64_t warps = slice.cta->warps.size();
    const uint64_t chosen = kind_.which == Which::first  ? 0
                            : kind_.which == Which::last ? warps - 1
                                                         : mix(key_ ^ mix(slice.cta->linear_id)) % warps;
    return slice.warp->index == chosen;
  }

  static uint64_t name(const Slice& slice) { return slice.cta->linear_id << 32 | slice.warp->index; }

  // At a point of change the warp that would run falls behind all others.
  void put_in_priority(ScheduledCluster& scheduled, std::vector<Slice>& slices) {
    const auto rank = [&](const Slice& slice) {
      const auto fallen = std::find(scheduled.fallen.begin(), scheduled.fallen.end(), name(slice));
      const auto place = static_cast<uint64_t>(fallen - scheduled.fallen.begin());
      return fallen == scheduled.fallen.end() ? std::pair{uint64_t{0}, mix(key_ ^ mix(name(slice)))}
                                              : std::pair{place + 1, uint64_t{0}};
    };
    const auto sort = [&] {
      std::stable_sort(slices.begin(), slices.end(),
                       [&](const Slice& a, const Slice& b) { return rank(a) < rank(b); });
    };
    sort();
    constexpr size_t kChanges = 3;
    if (scheduled.next_change == 0)
      scheduled.next_change = 1 + draw(uint64_t{1} << (4 + draw(11)));
    if (scheduled.executed >= scheduled.next_change && scheduled.fallen.size() < kChanges &&
        !slices.empty()) {
      scheduled.fallen.push_back(name(slices.front()));
      scheduled.next_change = scheduled.executed + 1 + draw(uint64_t{1} << (4 + draw(11)));
      sort();
    }
    for (Slice& slice : slices)
      slice.if_none_ran = true;
  }

  const Unusual kind_;
  const uint64_t key_, clusters_;
  UsualSchedule in_random_order_;
  uint64_t draws_ = 0;
};

} // namespace

std::unique_ptr<Schedule> make_schedule(const LaunchConfig& config, uint64_t clusters) {
  if (config.schedule == 0)
    return std::make_unique<UsualSchedule>(config.seed, clusters, config.async == AsyncMode::random);
  return std::make_unique<UnusualSchedule>(config, clusters);
}

AsyncMode async_mode(const LaunchConfig& config) {
  return config.schedule == 0 || config.async != AsyncMode::eager ? config.async
                                                                  : unusual(config.schedule).async;
}

} // namespace lemma::vgpu

namespace lemma {

bool gives_old_values(uint64_t schedule) {
  return schedule != 0 && vgpu::unusual(schedule).old_values;
}

std::string schedule_text(uint64_t schedule) {
  using namespace vgpu;
  if (schedule == 0)
    return "the usual one";
  const Unusual kind = unusual(schedule);
  constexpr const char* kWhich[] = {"first warp", "last warp", "one warp"};
  const char* which = kWhich[static_cast<size_t>(kind.which)];
  std::string text = kind.warps == Warps::reversed  ? "the last warps first"
                     : kind.warps == Warps::random  ? "warps in random order"
                     : kind.warps == Warps::starved ? fmt::format("the {} of each CTA starved", which)
                     : kind.warps == Warps::ahead   ? fmt::format("the {} of each CTA ahead", which)
                                                    : "warps by priorities that change";
  if (kind.clusters != Order::usual)
    text += kind.clusters == Order::reversed ? ", the last CTAs first" : ", CTAs in random order";
  if (kind.short_turns)
    text += ", CTAs in short turns";
  if (kind.other_path)
    text += ", the other path of branches first";
  if (kind.time_outs)
    text += ", try_wait timing out and try_cancel failing";
  if (kind.old_values)
    text += ", older values for strong loads (--check)";
  constexpr const char* kAsync[] = {"at once", "late", "at random times"};
  return text + ", asynchronous operations " + kAsync[static_cast<size_t>(kind.async)];
}

} // namespace lemma
