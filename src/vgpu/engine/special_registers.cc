// Four readers, chosen when an instruction is decoded: of the thread's index, of the lane, of the clocks, and
// of what is the same in all lanes. A register that the virtual GPU has nothing to say about reads as 0.
#include "vgpu/engine/special_registers.h"

#include "isa/effects.h"
#include "support/align.h"
#include "vgpu/code/machine.h"
#include "vgpu/engine/waiting.h"

namespace lemma::vgpu {
namespace {

using isa::SpecialRegister;

constexpr uint32_t kSystemSharedBytes = 288; // what the system uses of what is reserved for it

// d[lane] = value(lane) for the active lanes of a destination of in.width bytes, 0: a predicate.
template <class F>
void fill(const Exec& x, const DecodedInst& in, F value) {
  const auto lanes = [&](auto unit) {
    using T = decltype(unit);
    T values[kWarpSize];
    for (int lane = 0; lane < kWarpSize; ++lane)
      values[lane] = static_cast<T>(value(lane));
    keep_active(x.dst<T>(in), values, x.active);
  };
  switch (in.width) {
  case 0: {
    LaneMask mask = 0;
    for_lanes(x.active, [&](int lane) { mask |= static_cast<LaneMask>(value(lane) & 1) << lane; });
    x.set_pred(in, 0, mask);
    return;
  }
  case 2:
    return lanes(uint16_t{});
  case 4:
    return lanes(uint32_t{});
  default:
    return lanes(uint64_t{});
  }
}

// %tid: the thread's index in its CTA, from its linear index.
Step read_tid(Exec& x, const DecodedInst& in) {
  const Dim3& block = x.launch->config.block;
  const uint32_t first = x.warp->index * kWarpSize;
  const auto axis = static_cast<size_t>(in.imm) - static_cast<size_t>(SpecialRegister::tid_x);
  if (block[0] >= first + kWarpSize) { // a division a lane costs as much as 20 instructions
    fill(x, in, [&](int lane) -> uint64_t { return axis == 0 ? first + static_cast<uint32_t>(lane) : 0; });
    return Step::next;
  }
  std::array<uint32_t, 3> at = {first % block[0], first / block[0] % block[1], first / block[0] / block[1]};
  uint32_t ids[kWarpSize];
  for (uint32_t& id : ids) {
    id = at[axis];
    for (size_t i = 0; i < 2 && ++at[i] == block[i]; ++i)
      at[i] = 0;
    at[2] += at[0] == 0 && at[1] == 0;
  }
  fill(x, in, [&](int lane) -> uint64_t { return ids[lane]; });
  return Step::next;
}

Step read_lane(Exec& x, const DecodedInst& in) {
  const auto from_bit = [&](auto f) {
    fill(x, in, [&](int lane) -> uint64_t { return f(LaneMask{1} << lane); });
    return Step::next;
  };
  switch (static_cast<SpecialRegister>(in.imm)) {
  case SpecialRegister::laneid:
    fill(x, in, [](int lane) -> uint64_t { return static_cast<uint64_t>(lane); });
    return Step::next;
  case SpecialRegister::lanemask_eq:
    return from_bit([](LaneMask bit) { return bit; });
  case SpecialRegister::lanemask_le:
    return from_bit([](LaneMask bit) { return bit | (bit - 1); });
  case SpecialRegister::lanemask_lt:
    return from_bit([](LaneMask bit) { return bit - 1; });
  case SpecialRegister::lanemask_ge:
    return from_bit([](LaneMask bit) { return ~(bit - 1); });
  default: // lanemask_gt
    return from_bit([](LaneMask bit) { return ~(bit | (bit - 1)); });
  }
}

Step run_read_clock(Exec& x, const DecodedInst& in) {
  const uint64_t ticks = read_clock(x);
  uint64_t value = ticks;
  switch (static_cast<SpecialRegister>(in.imm)) {
  case SpecialRegister::clock_hi:
    value = ticks >> 32;
    break;
  case SpecialRegister::globaltimer:
  case SpecialRegister::globaltimer_lo:
    value = ticks / kTicksPerNs;
    break;
  case SpecialRegister::globaltimer_hi:
    value = ticks / kTicksPerNs >> 32;
    break;
  default:
    break;
  }
  fill(x, in, [&](int) { return value; });
  return Step::next;
}

// Registers that are the same in all lanes.
uint64_t uniform_value(const Exec& x, SpecialRegister sreg) {
  const LaunchConfig& config = x.launch->config;
  const Dim3& id = x.cta->id;
  const Dim3& cluster = config.cluster;
  const auto at = [&](SpecialRegister first) { return static_cast<int>(sreg) - static_cast<int>(first); };
  const auto in_vector = [&](SpecialRegister first) { return at(first) >= 0 && at(first) < 4; };
  using S = SpecialRegister;
  if (in_vector(S::ntid_x))
    return at(S::ntid_x) < 3 ? config.block[at(S::ntid_x)] : 0;
  if (in_vector(S::ctaid_x))
    return at(S::ctaid_x) < 3 ? id[at(S::ctaid_x)] : 0;
  if (in_vector(S::nctaid_x))
    return at(S::nctaid_x) < 3 ? config.grid[at(S::nctaid_x)] : 0;
  if (in_vector(S::clusterid_x))
    return at(S::clusterid_x) < 3 ? id[at(S::clusterid_x)] / cluster[at(S::clusterid_x)] : 0;
  if (in_vector(S::nclusterid_x))
    return at(S::nclusterid_x) < 3 ? config.grid[at(S::nclusterid_x)] / cluster[at(S::nclusterid_x)] : 0;
  if (in_vector(S::cluster_ctaid_x))
    return at(S::cluster_ctaid_x) < 3 ? id[at(S::cluster_ctaid_x)] % cluster[at(S::cluster_ctaid_x)] : 0;
  if (in_vector(S::cluster_nctaid_x))
    return at(S::cluster_nctaid_x) < 3 ? cluster[at(S::cluster_nctaid_x)] : 0;
  switch (sreg) {
  case S::warpid:
    return x.warp->index;
  case S::nwarpid: // measured on H200: 64, whatever the CTA's size
    return x.launch->warps_per_sm;
  case S::smid:
    return x.cta->sm;
  case S::nsmid:
    return x.launch->sm_count;
  case S::cluster_ctarank:
    return id[0] % cluster[0] + cluster[0] * (id[1] % cluster[1] + cluster[1] * (id[2] % cluster[2]));
  case S::cluster_nctarank:
    return uint64_t{cluster[0]} * cluster[1] * cluster[2];
  case S::is_explicit_cluster:
    return x.launch->explicit_cluster;
  case S::gridid:
    return x.launch->grid_id;
  // Where CUDA C++'s cooperative groups find the grid's workspace (cooperative_groups/details/driver_abi.h).
  case S::envreg1:
    return x.launch->workspace >> 32;
  case S::envreg2:
    return x.launch->workspace & UINT32_MAX;
  // What an H200 gives for these is in tests/unit/vgpu/cluster_test.cc.
  case S::total_smem_size:
    return align_up(uint64_t{x.launch->static_shared_bytes} + config.shared_bytes,
                    limits_of(x.launch->program->arch()).shared_unit_bytes);
  case S::aggr_smem_size:
    return kSharedReservedBytes + x.launch->static_shared_bytes + config.shared_bytes;
  case S::dynamic_smem_size:
    return config.shared_bytes;
  case S::reserved_smem_offset_end:
    return kSystemSharedBytes;
  case S::reserved_smem_offset_cap:
    return kSharedReservedBytes;
  default:
    return 0; // performance monitors, other environment registers, other offsets of the reserved region
  }
}

Step read_uniform(Exec& x, const DecodedInst& in) {
  const uint64_t value = uniform_value(x, static_cast<SpecialRegister>(in.imm));
  fill(x, in, [&](int) { return value; });
  return Step::next;
}

} // namespace

Handler special_register_reader(SpecialRegister sreg) {
  switch (isa::extent_of(sreg)) {
  case isa::Extent::moment:
    return run_read_clock;
  case isa::Extent::thread:
    return sreg == SpecialRegister::tid_x || sreg == SpecialRegister::tid_y || sreg == SpecialRegister::tid_z
               ? read_tid
               : read_lane;
  default:
    return read_uniform;
  }
}

bool finds_reserved_shared(SpecialRegister sreg) {
  return sreg == SpecialRegister::reserved_smem_offset_0 || sreg == SpecialRegister::reserved_smem_offset_1;
}

} // namespace lemma::vgpu
