// The rows of effects (isa/effects.h) against execution: while recorded cases are replayed, an observer sees
// no access, no operation and no meeting that the row of its instruction denies. These are every eighth case
// of a group and what has an opcode that none before it has; with LEMMA_EFFECTS_ALL=1 (make test-long) all.
// And what a pure instruction makes of numbers is what its row says, no more and no less.
#include "golden/groups.h"
#include "golden/replay.h"
#include "isa/effects.h"
#include "lemma/lemma.h"
#include "lemma/observer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace lemma::golden {
namespace {

using isa::Effects;
using isa::Opcode;
using namespace isa::effect;

// "ld.global.v4.f32": ld. The longest opcode that the words begin with.
Opcode opcode_of(std::string_view form) {
  for (size_t end = form.size(); end != std::string_view::npos; end = form.rfind('.', end - 1)) {
    if (const auto opcode = isa::parse_opcode(form.substr(0, end)))
      return *opcode;
    if (end == 0)
      break;
  }
  return Opcode::none;
}

// What a row has to say for an event to be.
Effects needed(const WatchedAccess& access) {
  const Effects order = access.semantics == "weak" ? Effects() : ordered;
  return order | (access.type == AccessType::read    ? reads
                  : access.type == AccessType::write ? writes
                                                     : updates);
}

// Any of these will do.
Effects one_needed(const WatchedSync& sync) {
  switch (sync.event) {
  case SyncEvent::fence:
  case SyncEvent::proxy_fence:
  case SyncEvent::wgmma_fence:
    return fences;
  case SyncEvent::warp_barrier:
    return masked;
  case SyncEvent::convergence:
    return masked | by_warp | by_warpgroup;
  case SyncEvent::barrier_arrive:
    return meets_cta;
  case SyncEvent::cluster_arrive:
  case SyncEvent::cluster_wait:
    return meets_cluster;
  case SyncEvent::grid_wait:
    return meets_grid;
  case SyncEvent::mbarrier_arrive:
    return sync.by_operation ? asynchronous : on_mbarrier;
  case SyncEvent::mbarrier_wait:
    return on_mbarrier;
  case SyncEvent::group_commit:
    return commits;
  case SyncEvent::group_wait:
    return waits;
  case SyncEvent::exit:
    return leaves | jumps | stops;
  default:
    return {};
  }
}

// Of an access lane by lane, which ordinary loads and stores are, that.
bool is_allowed(Effects row, const WatchedAccess& access) {
  if (!row.has(needed(access)))
    return false;
  return !row.has(accesses) || (access.type == AccessType::read    ? is_load(row)
                                : access.type == AccessType::write ? is_store(row)
                                                                   : is_atomic(row));
}

Effects needed(const WatchedOperation& operation) {
  Effects all = asynchronous;
  if (operation.bytes_read != 0)
    all = all | reads;
  if (operation.bytes_written != 0)
    all = all | writes;
  if (operation.group == "cp.async")
    all = all | cp_group;
  if (operation.group == "bulk")
    all = all | bulk_group;
  if (operation.group == "wgmma")
    all = all | wgmma_group;
  return all;
}

class Witness final : public LaunchObserver {
public:
  Watch watches() const override { return {.instructions = false}; }
  void launch_begins(const WatchedLaunch& launch) override {
    launch_ = &launch;
    opcodes_.assign(launch.instructions, Opcode::none);
  }
  void accesses(const WarpStep& step, const WatchedAccess& access) override {
    hold(step, [&](Effects row) { return is_allowed(row, access); }, "accesses memory");
  }
  void synchronizes(const WarpStep& step, const WatchedSync& sync) override {
    if (const Effects one = one_needed(sync); one.is_stated())
      hold(step, [&](Effects row) { return row.has_any(one); }, std::string(to_string(sync.event)));
  }
  void operates(const WarpStep& step, const WatchedOperation& operation) override {
    hold(step, [&](Effects row) { return row.has(needed(operation)); }, std::string(operation.kind));
  }

  std::set<std::string> denied; // "ld.u32: accesses memory"
  std::set<Opcode> seen;

private:
  template <class F>
  void hold(const WarpStep& step, F&& allows, const std::string& what) {
    if (step.instruction == kNoInstruction) // the end of a body
      return;
    const std::lock_guard lock(mutex_);
    Opcode& opcode = opcodes_[step.instruction];
    if (opcode == Opcode::none)
      opcode = opcode_of(launch_->form(step.instruction));
    seen.insert(opcode);
    if (!allows(isa::effects_of(opcode)))
      denied.insert(launch_->form(step.instruction) + ": " + what);
  }

  std::mutex mutex_;
  const WatchedLaunch* launch_ = nullptr;
  std::vector<Opcode> opcodes_; // by instruction; none: not asked yet
};

// The opcodes of a kernel, by the statements of its text.
std::set<Opcode> opcodes_in(const std::string& text) {
  std::set<Opcode> found;
  std::string statement;
  for (std::istringstream statements(text); std::getline(statements, statement, ';');) {
    std::istringstream words(statement.substr(statement.find_last_of("{}:\n", statement.size()) + 1));
    std::string word;
    words >> word;
    if (word.starts_with('@'))
      words >> word;
    if (const Opcode opcode = opcode_of(word); opcode != Opcode::none)
      found.insert(opcode);
  }
  return found;
}

// Which cases of a group are run: by their index.
std::vector<bool> sample_of(const Group& group) {
  constexpr size_t kStep = 8;
  std::vector<bool> wanted(group.cases.size(), std::getenv("LEMMA_EFFECTS_ALL") != nullptr);
  std::set<Opcode> covered;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const size_t before = covered.size();
    std::set<Opcode> opcodes = opcodes_in(group.cases[i].text);
    const bool is_new =
        std::any_of(opcodes.begin(), opcodes.end(), [&](Opcode opcode) { return !covered.contains(opcode); });
    wanted[i] = wanted[i] || i % kStep == 0 || is_new;
    if (wanted[i])
      covered.merge(opcodes);
    EXPECT_TRUE(!is_new || covered.size() > before) << group.cases[i].name;
  }
  return wanted;
}

TEST(Effects, NothingIsDoneThatTheRowDenies) {
  Witness witness;
  RunOptions options;
  options.observer = &witness;
  size_t ran = 0;
  std::istringstream names(LEMMA_GROUPS);
  for (std::string name; names >> name;) {
    const Group group = make_group(name);
    const std::vector<bool> wanted = sample_of(group);
    const auto is_wanted = [&](const Case& c) {
      return wanted[static_cast<size_t>(&c - group.cases.data())];
    };
    EXPECT_TRUE(run_group(group, options, is_wanted,
                          [&](const Case&, std::span<const std::byte>, std::span<const std::byte>,
                              const std::string&) { ++ran; }));
  }
  for (const std::string& text : witness.denied)
    ADD_FAILURE() << text;
  EXPECT_GE(ran, 900u);
  EXPECT_GE(witness.seen.size(), 40u);
}

// An event that a row lacks the word for is seen.
TEST(Effects, OfOtherRowsDenyWhatIsDone) {
  const auto access = [](AccessType type, std::string_view semantics) {
    WatchedAccess told;
    told.type = type;
    told.semantics = semantics;
    return needed(told);
  };
  EXPECT_FALSE(pure.has(access(AccessType::read, "weak")));
  EXPECT_FALSE(reads.has(access(AccessType::write, "weak")));
  EXPECT_FALSE(reads.has(access(AccessType::atomic, "weak")));
  EXPECT_FALSE(reads.has(access(AccessType::read, "acquire")));
  EXPECT_TRUE((reads | ordered).has(access(AccessType::read, "acquire")));
  WatchedOperation copy;
  copy.bytes_read = 4;
  EXPECT_FALSE(updates.has(needed(copy)));
  EXPECT_FALSE((asynchronous | writes).has(needed(copy)));
  EXPECT_TRUE((asynchronous | reads).has(needed(copy)));
  WatchedSync arrival;
  arrival.event = SyncEvent::barrier_arrive;
  EXPECT_FALSE(masked.has_any(one_needed(arrival)));
  EXPECT_EQ(opcode_of("bar.warp.sync"), Opcode::bar_warp_sync);
  EXPECT_EQ(opcode_of("mbarrier.arrive.shared.b64"), Opcode::mbarrier_arrive);
  EXPECT_EQ(opcode_of("ld"), Opcode::ld);
  EXPECT_EQ(opcode_of("nothing.f32"), Opcode::none);
}

// --- what a pure one makes

constexpr size_t kPairs = 64;
using Words = std::array<uint32_t, kPairs>;

struct Pairs {
  Words first{}, second{};
};

// Numbers of many bits, and some that a shift may take.
Pairs pairs() {
  Pairs made;
  uint32_t bits = 1;
  const auto next = [&] { return bits = bits * 1664525 + 1013904223; };
  for (size_t i = 0; i < kPairs; ++i) {
    made.first[i] = i == 0 ? 0 : i == 1 ? UINT32_MAX : next();
    made.second[i] = i % 3 == 0 ? next() % 32 : next();
  }
  return made;
}

// What the instruction "add.u32 d, a, b" makes of pairs; nothing where there is none of that form, or where
// it wants more than numbers.
std::optional<Words> made_of(const Device& device, const std::string& instruction, const Pairs& pairs) {
  const auto module = device.load_ptx(fmt::format(R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {{
.reg .b32 a, b, d, t;
.reg .b64 x, y;
mov.u32 t, %tid.x;
ld.param.u64 x, [in];
ld.param.u64 y, [out];
mad.wide.u32 x, t, 4, x;
mad.wide.u32 y, t, 4, y;
ld.global.u32 a, [x];
ld.global.u32 b, [x+{}];
{};
st.global.u32 [y], d;
ret;
}}
)",
                                                  sizeof(Words), instruction));
  if (!module)
    return std::nullopt;
  auto in = device.allocate(sizeof(Pairs)), out = device.allocate(sizeof(Words));
  EXPECT_TRUE(in && out);
  EXPECT_TRUE(in->copy_from(std::as_bytes(std::span(&pairs, 1))));
  const auto report = module->kernel("k")->launch({.grid = {1}, .block = {kPairs}}, {*in, *out});
  if (!report || !report->ok())
    return std::nullopt;
  Words made{};
  EXPECT_TRUE(device.read(out->address(), std::as_writable_bytes(std::span(made))));
  return made;
}

// Whether `f` of two numbers is what the instruction has made of all pairs.
template <class F>
bool is_made(const Words& made, const Pairs& pairs, F&& f) {
  for (size_t i = 0; i < kPairs; ++i)
    if (made[i] != f(pairs.first[i], pairs.second[i]))
      return false;
  return true;
}

// Whether a bit depends on the two of its place alone, and what on: bit 2a + b is what a and b make.
std::optional<uint32_t> truth_table(const Words& made, const Pairs& pairs) {
  uint32_t ones = 0, zeros = 0;
  for (size_t i = 0; i < kPairs; ++i)
    for (int bit = 0; bit < 32; ++bit) {
      const uint32_t at = (pairs.first[i] >> bit & 1) * 2 + (pairs.second[i] >> bit & 1);
      (made[i] >> bit & 1 ? ones : zeros) |= 1u << at;
    }
  return (ones & zeros) == 0 ? std::optional(ones) : std::nullopt;
}

Effects shown_by(const Words& made, const Pairs& pairs) {
  Effects shown;
  const auto show = [&](Effects what, bool is_so) { shown = is_so ? shown | what : shown; };
  show(adds, is_made(made, pairs, [](uint32_t a, uint32_t b) { return a + b; }) ||
                 is_made(made, pairs, [](uint32_t a, uint32_t b) { return a - b; }));
  show(shifts_left, is_made(made, pairs, [](uint32_t a, uint32_t b) { return b < 32 ? a << b : 0; }));
  show(shifts_right, is_made(made, pairs, [](uint32_t a, uint32_t b) { return b < 32 ? a >> b : 0; }));
  if (const auto table = truth_table(made, pairs)) {
    show(bitwise, true);
    show(zero_decides, (*table & 0b0111) == 0);
    show(one_decides, (*table & 0b1110) == 0b1110);
  }
  return shown;
}

TEST(Effects, SayWhatAPureOneMakesOfNumbers) {
  const auto device = Device::open("cpu");
  ASSERT_TRUE(device);
  const Pairs numbers = pairs();
  size_t of_two = 0, of_one = 0;
  for (int i = 1; i < isa::kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    const Effects row = isa::effects_of(opcode);
    if (!row.has(pure) || row.has(carry))
      continue;
    for (const char* type : {"u32", "b32", "lo.u32", "u32.u32"}) {
      const std::string words = fmt::format("{}.{}", isa::to_string(opcode), type);
      if (const auto made = made_of(*device, words + " d, a, b", numbers)) {
        ++of_two;
        const Effects shown = shown_by(*made, numbers);
        for (const Effects what : {adds, bitwise, zero_decides, one_decides, shifts_left, shifts_right})
          EXPECT_EQ(row.has(what), shown.has(what)) << words;
      }
      if (const auto made = made_of(*device, words + " d, a", numbers)) {
        ++of_one;
        EXPECT_EQ(row.has_any(moves | converts), *made == numbers.first) << words;
      }
    }
  }
  EXPECT_GE(of_two, 10u);
  EXPECT_GE(of_one, 5u);
  const auto selected = made_of(*device, ".reg .pred p;\nsetp.lt.u32 p, a, b;\nselp.u32 d, a, b, p", numbers);
  ASSERT_TRUE(selected);
  EXPECT_TRUE(is_made(*selected, numbers, [](uint32_t a, uint32_t b) { return a < b ? a : b; }));
}

} // namespace
} // namespace lemma::golden
