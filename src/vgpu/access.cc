// Every access of a handler to memory goes through here: which state space an address means, bounds,
// alignment, write permission, reads of what was never written - and the words in which a wrong address is
// reported.
//
// Addresses are not translated further than to a host pointer; ordering and atomicity are the handlers'.
//
// PTX ISA: "State Spaces", "Generic Addressing", "Addresses as Operands".
// Tests: tests/unit/vgpu/access_test.cc.
#include "vgpu/exec.h"
#include "vgpu/place.h"
#include "vgpu/poison.h"
#include "vgpu/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::vgpu {

using isa::StateSpace;

// One lane's access, its address already within its state space.
struct Exec::Request {
  const DecodedInst& in;
  StateSpace space;
  uint64_t address; // within `space`; shared: within the memory of `owner`
  Cta* owner;       // shared: whose memory
  uint64_t written; // as the program gave it
  uint32_t bytes;
  Access kind;
  int lane;
};

namespace {

struct Place {
  StateSpace space;
  uint64_t address;
};

// The state space that an address lies in, and the address there. What no window holds is global.
Place resolve(StateSpace space, uint64_t address) {
  switch (space) {
  case StateSpace::generic:
    if (address - kSharedWindow < kSharedWindowBytes)
      return {StateSpace::shared_cluster, address - kSharedWindow};
    if (address - kLocalWindow < kWindowBytes)
      return {StateSpace::local, address - kLocalWindow};
    if (address - kParamWindow < kWindowBytes)
      return {StateSpace::param, address - kParamWindow};
    return {StateSpace::global, address};
  default:
    return {space, address};
  }
}

constexpr size_t kReportedUninitialized = 10; // instructions told in full; the others are only counted

bool writes(Access kind) {
  return kind == Access::write || kind == Access::atomic;
}

// Are unwritten bytes among those that it accesses to be reported?
bool uses(Access kind) {
  return kind == Access::read || kind == Access::atomic;
}

bool within(uint64_t address, uint64_t bytes, uint64_t begin, uint64_t end) {
  return address >= begin && address <= end && bytes <= end - address;
}

const char* verb(Access kind) {
  switch (kind) {
  case Access::read:
  case Access::copy:
    return "read";
  case Access::write:
    return "write";
  case Access::atomic:
    return "atomic access";
  }
  return "access";
}

std::string_view space_name(StateSpace space) {
  return space == StateSpace::reg      ? "the .param area"
         : space == StateSpace::const_ ? ".const"
                                       : isa::to_string(space);
}

// "write of 16 bytes at global address 0x1f0000000440"
std::string describe(Access kind, uint64_t bytes, StateSpace space, uint64_t address) {
  return fmt::format("{} of {} byte{} at {} address {:#x}", verb(kind), bytes, bytes == 1 ? "" : "s",
                     space_name(space), address);
}

// "arg 2 (buf, 1024 bytes)"
std::string describe(const Allocation& allocation) {
  const std::string size =
      fmt::format("{} byte{}", allocation.size_bytes, allocation.size_bytes == 1 ? "" : "s");
  if (allocation.name.ends_with(')'))
    return fmt::format("{}, {})", std::string_view(allocation.name).substr(0, allocation.name.size() - 1),
                       size);
  return fmt::format("{} ({})", allocation.name, size);
}

// What a wrong address may be besides: no allocation of the device lies there, but the host's memory does.
std::string_view or_host_memory(uint64_t address) {
  constexpr uint64_t kHostEnd = 0x0001'0000'0000'0000;
  return address >= kGlobalEnd && address < kHostEnd ? ", or host memory that was not registered" : "";
}

// Where a wrong global address lies, seen from the nearest allocation.
std::string relation(const GlobalMemory& memory, uint64_t address, uint64_t bytes) {
  constexpr uint64_t kNullPage = 4096;
  constexpr uint64_t kNear = uint64_t{1} << 30;
  if (address < kNullPage)
    return address == 0 ? "a null pointer" : fmt::format("a null pointer plus {} bytes", address);
  if (address - kSharedWindow < kSharedWindowBytes)
    return "a generic address of shared memory";
  if (address - kLocalWindow < kWindowBytes)
    return "a generic address of local memory";
  if (address - kParamWindow < kWindowBytes)
    return "a generic address of the kernel's parameters";
  if (address >= kFunctionBase && address < kFunctionBase + (uint64_t{1} << 32))
    return "the address of a function";
  const Allocation* near = memory.nearest(address);
  if (!near)
    return fmt::format("there is no allocation{}", or_host_memory(address));
  if (address < near->base) {
    const uint64_t distance = near->base - address;
    return distance > kNear
               ? fmt::format("far from every allocation{}", or_host_memory(address))
               : fmt::format("{} bytes before {}{}", distance, describe(*near), or_host_memory(address));
  }
  const uint64_t offset = address - near->base;
  if (offset < near->size_bytes) {
    if (near->freed)
      return fmt::format("{} bytes into {}, which was freed", offset, describe(*near));
    return fmt::format("{} bytes into {}, so its last {} lie past the end", offset, describe(*near),
                       offset + bytes - near->size_bytes);
  }
  const uint64_t past = offset - near->size_bytes;
  if (past > kNear)
    return fmt::format("far from every allocation{}", or_host_memory(address));
  return past == 0
             ? fmt::format("at the end of {}{}", describe(*near), near->freed ? ", which was freed" : "")
             : fmt::format("{} bytes past the end of {}{}{}", past, describe(*near),
                           near->freed ? ", which was freed" : "", or_host_memory(address));
}

// Where a wrong address of a space that is one block lies.
std::string relation(uint64_t address, uint64_t bytes, uint64_t begin, uint64_t end, std::string_view what) {
  if (address < begin)
    return fmt::format("the first {} bytes of {} are the system's", begin, what);
  if (address < end)
    return fmt::format("its last {} lie past the end of {} ({} bytes)", address + bytes - end, what, end);
  if (address == end)
    return fmt::format("at the end of {} ({} bytes)", what, end);
  return fmt::format("{} bytes past the end of {} ({} bytes)", address - end, what, end);
}

} // namespace

void Exec::uninitialized(const DecodedInst& in, int lane, std::string what) {
  const std::lock_guard lock(launch->report_mutex);
  std::vector<UninitializedRead>& reads = launch->report.uninitialized;
  ++launch->report.uninitialized_reads;
  const auto [entry, first] = launch->uninitialized_at.try_emplace(&in, launch->uninitialized_at.size());
  if (entry->second >= kReportedUninitialized)
    return;
  if (first)
    reads.push_back({place_of(*code, in), cta->id, warp->index, lane, std::move(what), 0});
  ++reads[entry->second].count;
}

void Exec::check_register(const DecodedInst& in, uint32_t reg, LaneMask lanes) {
  if (const LaneMask missing = lanes & ~frame->written[reg])
    uninitialized(in, std::countr_zero(missing), "register " + code->function->registers[reg].name);
}

Allocation* Exec::find_allocation(uint64_t address, uint64_t bytes) {
  Allocation*& recent = recent_allocations_[pc % recent_allocations_.size()];
  if (recent && recent->holds(address, bytes) && !recent->freed.load(std::memory_order_relaxed))
    return recent;
  Allocation* allocation = launch->memory->find(address);
  if (!allocation || !allocation->holds(address, bytes))
    return nullptr;
  recent = allocation;
  return allocation;
}

// End of the lanes' local memory that is in use: what the running function's frame and its callers' hold.
uint64_t Exec::local_limit() const {
  const uint64_t capacity = warp->local_capacity;
  if (split >= warp->splits.size() || warp->splits[split].stack.empty())
    return capacity;
  return std::min<uint64_t>(capacity, warp->splits[split].stack.back().local_end());
}

std::byte* Exec::access_global(const Request& r) {
  Allocation* allocation = find_allocation(r.address, r.bytes);
  if (!allocation) {
    fault_at(r.in, FaultKind::out_of_bounds,
             fmt::format("{} is out of bounds: {}", describe(r.kind, r.bytes, StateSpace::global, r.written),
                         relation(*launch->memory, r.address, r.bytes)),
             r.lane, r.written);
    return nullptr;
  }
  if (r.space == StateSpace::const_ && !allocation->read_only) {
    fault_at(r.in, FaultKind::wrong_space,
             fmt::format("{} is not in .const: it lies in {}", describe(r.kind, r.bytes, r.space, r.written),
                         describe(*allocation)),
             r.lane, r.written);
    return nullptr;
  }
  if (writes(r.kind) && allocation->read_only) {
    fault_at(r.in, FaultKind::read_only,
             fmt::format("{} is in read-only memory: {}",
                         describe(r.kind, r.bytes, StateSpace::global, r.written), describe(*allocation)),
             r.lane, r.written);
    return nullptr;
  }
  const uint64_t offset = r.address - allocation->base;
  if (allocation->init) {
    if (uses(r.kind) && !allocation->init->all_set(offset, r.bytes))
      uninitialized(r.in, r.lane,
                    name_unwritten(StateSpace::global,
                                   allocation->base + allocation->init->first_unset(offset, r.bytes)));
    if (writes(r.kind))
      allocation->init->set(offset, r.bytes);
  }
  return allocation->host + offset;
}

// The CTA whose memory a shared address names, or null. `.shared::cta` may leave the rank out.
Cta* Exec::shared_owner(StateSpace space, uint64_t address) const {
  const uint64_t rank = address >> kSharedRankShift;
  if (rank == cta->rank || (rank == 0 && space == StateSpace::shared))
    return cta;
  if (space == StateSpace::shared || rank >= cta->cluster->ctas.size())
    return nullptr;
  Cta* owner = cta->cluster->ctas[rank].get();
  return owner->is_finished() ? nullptr : owner;
}

// A shared address that names no CTA of which this one may access the memory.
std::byte* Exec::fault_no_owner(const Request& r) {
  const uint64_t rank = r.address >> kSharedRankShift;
  const std::string what = describe(r.kind, r.bytes, r.space, r.written);
  if (rank >= cta->cluster->ctas.size()) {
    std::vector<std::string> notes;
    if (r.space == StateSpace::shared && r.address - kSharedWindow < kSharedWindowBytes)
      notes.push_back("this is a generic address; cvta.to.shared makes a shared one of it");
    const bool one = cta->cluster->ctas.size() == 1;
    fault_at(r.in, FaultKind::out_of_bounds,
             fmt::format("{} is out of bounds: it names CTA rank {} of a cluster of {} CTA{} (the rank is in "
                         "bits 24 and up)",
                         what, rank, cta->cluster->ctas.size(), one ? "" : "s"),
             r.lane, r.written, std::move(notes));
  } else if (r.space == StateSpace::shared) {
    fault_at(r.in, FaultKind::wrong_space,
             fmt::format("{} is in the shared memory of CTA rank {}, and this CTA has rank {}", what, rank,
                         cta->rank),
             r.lane, r.written, {".shared and .shared::cta are the CTA's own; use .shared::cluster"});
  } else {
    fault_at(
        r.in, FaultKind::out_of_bounds,
        fmt::format("{} is in the shared memory of CTA rank {}, which has exited: its memory may be gone",
                    what, rank),
        r.lane, r.written,
        {"fix: let every CTA wait at a barrier.cluster after the last access to its shared memory, and "
         "exit then"});
  }
  return nullptr;
}

std::byte* Exec::access_shared(const Request& r) {
  std::vector<std::byte>& shared = r.owner->shared;
  if (!within(r.address, r.bytes, kSharedReservedBytes, shared.size())) {
    fault_at(
        r.in, FaultKind::out_of_bounds,
        fmt::format("{} is out of bounds: {}", describe(r.kind, r.bytes, r.space, r.written),
                    relation(r.address, r.bytes, kSharedReservedBytes, shared.size(),
                             r.owner == cta ? "the CTA's shared memory"
                                            : fmt::format("CTA rank {}'s shared memory", r.owner->rank))),
        r.lane, r.written);
    return nullptr;
  }
  uint8_t* written = r.owner->shared_written.data() + r.address;
  if (uses(r.kind)) {
    if (const void* hole = std::memchr(written, 0, r.bytes))
      uninitialized(r.in, r.lane,
                    name_unwritten(StateSpace::shared_cluster,
                                   (uint64_t{r.owner->rank} << kSharedRankShift) + r.address +
                                       static_cast<uint64_t>(static_cast<const uint8_t*>(hole) - written)));
  }
  if (writes(r.kind)) {
    std::memset(written, 1, r.bytes);
    if (!r.owner->unpublished.empty())
      std::memset(r.owner->unpublished.data() + r.address, unpublished_mark(*r.owner), r.bytes);
  }
  return shared.data() + r.address;
}

std::byte* Exec::access_local(const Request& r) {
  const uint64_t limit = local_limit();
  if (!within(r.address, r.bytes, 0, limit)) {
    fault_at(r.in, FaultKind::out_of_bounds,
             fmt::format("{} is out of bounds: {}", describe(r.kind, r.bytes, StateSpace::local, r.address),
                         relation(r.address, r.bytes, 0, limit, "the lane's local memory")),
             r.lane, r.written);
    return nullptr;
  }
  std::byte* host = warp->local.data() + static_cast<uint64_t>(r.lane) * warp->local_capacity + r.address;
  LaneMask* written = warp->local_written.data() + r.address;
  const LaneMask lane = LaneMask{1} << r.lane;
  if (writes(r.kind)) {
    for (uint32_t i = 0; i < r.bytes; ++i)
      written[i] |= lane;
    return host;
  }
  // What was never written gets its value when it is first looked at.
  bool reported = !uses(r.kind);
  for (uint32_t i = 0; i < r.bytes; ++i) {
    if (written[i] & lane)
      continue;
    host[i] = poison_byte(poison_key(warp->poison_key, Poisoned::local, static_cast<uint64_t>(r.lane)),
                          r.address + i);
    if (!std::exchange(reported, true))
      uninitialized(r.in, r.lane, name_unwritten(StateSpace::local, r.address + i));
  }
  return host;
}

std::byte* Exec::access_param(const Request& r) {
  std::vector<std::byte>& params = launch->config.params;
  if (writes(r.kind)) {
    fault_at(r.in, FaultKind::read_only,
             fmt::format("{} is in read-only memory: the kernel's parameters",
                         describe(r.kind, r.bytes, StateSpace::param, r.address)),
             r.lane, r.written);
    return nullptr;
  }
  if (!within(r.address, r.bytes, 0, params.size())) {
    fault_at(r.in, FaultKind::out_of_bounds,
             fmt::format("{} is out of bounds: {}", describe(r.kind, r.bytes, StateSpace::param, r.address),
                         relation(r.address, r.bytes, 0, params.size(), "the kernel's parameters")),
             r.lane, r.written);
    return nullptr;
  }
  return params.data() + r.address;
}

std::byte* Exec::access_param_area(const Request& r) {
  if (!within(r.address, r.bytes, 0, code->param_bytes)) {
    fault_at(
        r.in, FaultKind::out_of_bounds,
        fmt::format("{} is out of bounds: {}", describe(r.kind, r.bytes, StateSpace::param, r.address),
                    relation(r.address, r.bytes, 0, code->param_bytes, "the function's .param variables")),
        r.lane, r.written);
    return nullptr;
  }
  return bases[0] + code->param_area_offset + static_cast<uint64_t>(r.lane) * code->param_bytes + r.address;
}

std::byte* Exec::access(const DecodedInst& in, StateSpace space, uint64_t address, uint32_t bytes,
                        uint32_t align, Access kind, int lane) {
  const Place place = resolve(space, address);
  Request r{in, place.space, place.address, nullptr, address, bytes, kind, lane};
  if (address & (align - 1)) {
    fault_at(in, FaultKind::misaligned,
             fmt::format("{} is misaligned: the address is not a multiple of {}",
                         describe(kind, bytes, space, address), align),
             lane, address);
    return nullptr;
  }
  // Atomic accesses are to memory that threads share.
  if (kind == Access::atomic && place.space == StateSpace::local) {
    fault_at(in, FaultKind::wrong_space,
             fmt::format("{} needs global or shared memory", describe(kind, bytes, place.space, address)),
             lane, address);
    return nullptr;
  }
  if (kind == Access::write && place.space != StateSpace::reg)
    effect();
  switch (place.space) {
  case StateSpace::shared:
  case StateSpace::shared_cluster:
    r.owner = shared_owner(place.space, place.address);
    if (!r.owner)
      return fault_no_owner(r);
    r.address &= kSharedOffsetMask;
    return access_shared(r);
  case StateSpace::local:
    return access_local(r);
  case StateSpace::param:
    return access_param(r);
  case StateSpace::reg:
    return access_param_area(r);
  default:
    return access_global(r);
  }
}

MemoryRange Exec::access_range(StateSpace space, uint64_t address, uint64_t bytes, Access kind) {
  const Place place = resolve(space, address);
  MemoryRange range;
  if (bytes == 0)
    return range;
  switch (place.space) {
  case StateSpace::shared:
  case StateSpace::shared_cluster: {
    Cta* owner = shared_owner(place.space, place.address);
    const uint64_t offset = place.address & kSharedOffsetMask;
    if (!owner || !within(offset, bytes, kSharedReservedBytes, owner->shared.size()))
      return range;
    range.written = owner->shared_written.data() + offset;
    if (!owner->unpublished.empty()) {
      range.unpublished = owner->unpublished.data() + offset;
      range.unpublished_mark = unpublished_mark(*owner);
    }
    range.host = owner->shared.data() + offset;
    return range;
  }
  case StateSpace::local:
    if (!within(place.address, bytes, 0, local_limit()))
      return range;
    range.host = warp->local.data() + place.address;
    range.lane_stride = warp->local_capacity;
    range.lanes_written = warp->local_written.data() + place.address;
    return range;
  case StateSpace::param:
    if (writes(kind) || !within(place.address, bytes, 0, launch->config.params.size()))
      return range;
    range.host = launch->config.params.data() + place.address;
    return range;
  case StateSpace::reg:
    if (!within(place.address, bytes, 0, code->param_bytes))
      return range;
    range.host = bases[0] + code->param_area_offset + place.address;
    range.lane_stride = code->param_bytes;
    return range;
  default: {
    Allocation* allocation = find_allocation(place.address, bytes);
    // .const may be read through its generic address too.
    if (!allocation || (allocation->read_only ? writes(kind) : place.space == StateSpace::const_))
      return range;
    const uint64_t offset = place.address - allocation->base;
    range.init = allocation->init.get();
    range.init_offset = offset;
    range.host = allocation->host + offset;
    return range;
  }
  }
}

uint32_t Exec::unwritten(StateSpace space, uint64_t address, uint32_t bytes, int lane) {
  const MemoryRange range = access_range(space, address, bytes, Access::copy);
  if (range.init)
    return range.init->unset_among(range.init_offset, bytes);
  uint32_t unwritten = 0;
  for (uint32_t i = 0; i < bytes; ++i) {
    const bool written = range.written         ? range.written[i] != 0
                         : range.lanes_written ? (range.lanes_written[i] >> lane & 1) != 0
                                               : true;
    unwritten |= static_cast<uint32_t>(!written) << i;
  }
  return unwritten;
}

bool Exec::set_unwritten(StateSpace space, uint64_t address, uint32_t bytes, int lane) {
  const MemoryRange range = access_range(space, address, kWarpSize - std::countl_zero(bytes), Access::write);
  if (range.init)
    range.init->unset(range.init_offset, bytes);
  for_lanes(bytes, [&](int i) {
    if (range.written)
      range.written[i] = 0;
    else if (range.lanes_written)
      range.lanes_written[i] &= ~(LaneMask{1} << lane);
  });
  return range.is_tracked() || range.lanes_written;
}

std::string Exec::name_unwritten(StateSpace space, uint64_t address) {
  const Place place = resolve(space, address);
  switch (place.space) {
  case StateSpace::shared:
  case StateSpace::shared_cluster: {
    const uint64_t rank = place.address >> kSharedRankShift;
    return fmt::format(
        "shared memory at {:#x}{}", place.address & kSharedOffsetMask,
        place.space == StateSpace::shared || rank == cta->rank ? "" : fmt::format(" of CTA rank {}", rank));
  }
  case StateSpace::local:
    return fmt::format("local memory at {:#x}", place.address);
  default: {
    const Allocation* allocation = launch->memory->find(place.address);
    return allocation ? fmt::format("'{}' at byte {}", allocation->name, place.address - allocation->base)
                      : fmt::format("global memory at {:#x}", place.address);
  }
  }
}

} // namespace lemma::vgpu
