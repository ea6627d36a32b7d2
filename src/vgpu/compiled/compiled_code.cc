// Finding, making and keeping compiled code: compiled_code.h. Without asmjit none is made.
#include "vgpu/compiled/compiled_code.h"

#include "vgpu/compiled/generate.h"
#include "vgpu/handlers/arithmetic/levels.h"

#include <string>

namespace lemma::vgpu {
namespace {

constexpr size_t kMostUnits = 64; // of a function, each made anew where more of it runs

} // namespace

CompiledCode::CompiledCode(const Code& code) : code_(code) {}

CompiledCode::~CompiledCode() {
  delete[] spots_.load();
}

CompiledCode::Spot* CompiledCode::make_spots() {
  const std::unique_lock lock(compiling_);
  if (!spots_.load())
    spots_.store(new Spot[code_.insts.size()](), std::memory_order_release);
  return spots_.load();
}

CompiledEntry CompiledCode::compile(Exec& x, uint32_t pc, uint32_t visits_before) {
  const std::unique_lock lock(compiling_, std::try_to_lock);
  if (!lock || gave_up_)
    return nullptr;
  Spot* const spots = spots_.load();
  if (const CompiledEntry entry = spots[pc].entry.load())
    return entry;
  const auto has_run = [&](uint32_t at) {
    return visits_before == 0 || spots[at].visits.load(std::memory_order_relaxed) != 0;
  };
  const Unit unit = find_unit(code_, pc, has_run, kPartsOfZone);
  join_pcs_.push_back(unit.join_pcs);
  if (!liveness_)
    liveness_ = std::make_unique<Liveness>(code_);
  Generated made = generate(unit, *liveness_, join_pcs_.back().data(), x);
  if (!made.pages) {
    gave_up_ = true;
    return nullptr;
  }
  for (size_t s = 0; s < unit.segments.size(); ++s)
    spots[unit.segments[s].begin].entry.store(reinterpret_cast<CompiledEntry>(made.entries[s]),
                                              std::memory_order_release);
  pages_.push_back(std::move(made.pages));
  gave_up_ = pages_.size() == kMostUnits;
  return spots[pc].entry.load();
}

uint32_t visits_before_compiling(Engine engine) {
  return engine == Engine::compiled && can_compile() ? 0 : UINT32_MAX;
}

bool can_compile(std::string* why_not) {
#if !defined(LEMMA_HAS_COMPILED)
  if (why_not)
    *why_not = "this build has no code generator (Debian: libasmjit-dev)";
  return false;
#endif
  if (host_level() == HostLevel::avx512)
    return true;
  if (why_not)
    *why_not = "this host has no AVX-512";
  return false;
}

} // namespace lemma::vgpu

#if !defined(LEMMA_HAS_COMPILED)
namespace lemma::vgpu {

Generated generate(const Unit&, const Liveness&, const uint32_t*, Exec&) {
  return {};
}
Generated generate_one(const Code&, uint32_t, Exec&) {
  return {};
}

} // namespace lemma::vgpu
#endif
