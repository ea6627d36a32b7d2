// Finding, making and keeping compiled code: compiled_code.h. Without asmjit none is made.
#include "vgpu/compiled/compiled_code.h"

#include "vgpu/compiled/generate.h"
#include "vgpu/handlers/arithmetic/levels.h"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

namespace lemma::vgpu {
namespace {

constexpr size_t kMostUnits = 64; // of a function, each made anew where more of it runs
// Executions of a segment by the interpreter, after which the time pays that it takes to compile it; what has
// a part of that is compiled with it.
constexpr uint32_t kVisits = 256, kWarm = 16;

} // namespace

CompiledCode::CompiledCode(const Code& code, bool is_watched) : code_(code), is_watched_(is_watched) {}

CompiledCode::~CompiledCode() {
  delete[] spots_.load();
}

CompiledCode::Spot* CompiledCode::make_spots() {
  const std::unique_lock lock(compiling_);
  if (!spots_.load())
    spots_.store(new Spot[code_.insts.size()](), std::memory_order_release);
  return spots_.load();
}

CompiledEntry CompiledCode::compile(Exec& x, uint32_t pc, LaneMask mask, uint32_t visits_before) {
  if (gave_up_.load(std::memory_order_relaxed))
    return nullptr;
  std::unique_lock lock(compiling_, std::defer_lock);
  if (visits_before == 0)
    lock.lock(); // nothing is the interpreter's
  else if (!lock.try_lock())
    return nullptr;
  Spot* const spots = spots_.load();
  const auto entry = [&] { return spots[pc].way(mask).entry.load(); };
  if (entry())
    return entry();
  const auto began = std::chrono::steady_clock::now();
  const auto has_run = [&](const Way& way) {
    return visits_before == 0 || way.entry.load(std::memory_order_relaxed) ||
           way.visits.load(std::memory_order_relaxed) > visits_before / kWarm;
  };
  const auto choose = [&](Segment& segment) {
    const Spot& spot = spots[segment.begin];
    segment.for_all = has_run(spot.all);
    segment.for_some = has_run(spot.some);
  };
  const Unit unit = find_unit(code_, pc, choose, kPartsOfZone);
  join_pcs_.push_back(unit.join_pcs);
  if (!liveness_) {
    liveness_ = std::make_unique<Liveness>(code_);
    taken_ = MemoryShare(x.launch->memory->budget());
  }
  Generated made = generate(unit, *liveness_, join_pcs_.back().data(), is_watched_, x);
  if (!made.pages || !taken_.try_take(made.pages->bytes())) {
    gave_up_ = true;
    return nullptr;
  }
  x.stats.compiled_code_bytes += made.pages->bytes();
  x.stats.compile_nanoseconds +=
      static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count());
  const auto set = [](Way& way, const Entry& made) {
    if (!made.entry)
      return;
    way.entry.store(reinterpret_cast<CompiledEntry>(made.entry), std::memory_order_release);
    way.inside.store(made.inside, std::memory_order_release);
  };
  for (size_t s = 0; s < unit.segments.size(); ++s) {
    Spot& spot = spots[unit.segments[s].begin];
    set(spot.all, made.entries_for_all[s]);
    set(spot.some, made.entries_for_some[s]);
  }
  pages_.push_back(std::move(made.pages));
  gave_up_ = pages_.size() == kMostUnits;
  turns_.fetch_add(1, std::memory_order_relaxed);
  return entry();
}

uint32_t visits_before_compiling(Engine engine) {
  static const uint32_t after = [] {
    const char* const text = std::getenv("LEMMA_COMPILE_AFTER");
    uint32_t number = kVisits;
    if (text)
      std::from_chars(text, text + std::strlen(text), number); // what is no number leaves it
    return number;
  }();
  if (engine == Engine::interpreter || !can_compile())
    return kNeverCompiled;
  return engine == Engine::compiled ? 0 : after;
}

bool can_compile(std::string* why_not) {
#if !defined(LEMMA_HAS_COMPILED)
  if (why_not)
    *why_not = "this build has no code generator (Debian: libasmjit-dev)";
  return false;
#endif
  static const bool has_pages = [] { // asked of the host once
    const auto pages = CodePages::allocate(1);
    return pages && pages->make_executable();
  }();
  const char* lacks = nullptr;
  if (host_level() != HostLevel::avx512)
    lacks = "this host has no AVX-512";
  else if (!has_pages)
    lacks = "this host lets no process make code";
  if (why_not && lacks)
    *why_not = lacks;
  return !lacks;
}

std::optional<std::string> warn_of_no_compiler(Engine engine) {
  static std::atomic<bool> is_said{false};
  std::string why;
  if (engine != Engine::compiled || can_compile(&why) || is_said.exchange(true))
    return std::nullopt;
  return "nothing is compiled, as the engine is to: " + why +
         "; the interpreter executes everything, with the same results";
}

} // namespace lemma::vgpu

#if !defined(LEMMA_HAS_COMPILED)
namespace lemma::vgpu {

Generated generate(const Unit&, const Liveness&, const uint32_t*, bool, Exec&) {
  return {};
}
Generated generate_one(const Code&, uint32_t, Exec&) {
  return {};
}

} // namespace lemma::vgpu
#endif
