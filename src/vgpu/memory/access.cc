// Every access of a handler to memory goes through here: which state space an address means, bounds,
// alignment, write permission, reads of what was never written - and the words in which a wrong address is
// reported.
//
// Addresses are not translated further than to a host pointer; ordering and atomicity are the handlers'.
//
// PTX ISA: "State Spaces", "Generic Addressing", "Addresses as Operands".
// Tests: tests/unit/vgpu/access_test.cc.
#include "support/align.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/observer.h"
#include "vgpu/memory/find_access.h"
#include "vgpu/memory/place.h"
#include "vgpu/memory/poison.h"
#include "vgpu/reports/wrong_address.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::vgpu {

using isa::StateSpace;

// One lane's access that may not be, its address already within its state space.
struct Exec::Wrong {
  const DecodedInst& in;
  StateSpace space;
  uint64_t address; // within `space`
  uint64_t written; // as the program gave it
  uint32_t bytes;
  AccessKind kind;
  int lane;
};

namespace {

constexpr size_t kReportedUninitialized = 10; // instructions told in full; the others are only counted

// Are unwritten bytes among those that it accesses to be reported?
bool uses(AccessKind kind) {
  return kind == AccessKind::read || kind == AccessKind::atomic;
}

const char* verb(AccessKind kind) {
  switch (kind) {
  case AccessKind::read:
  case AccessKind::copy:
    return "read";
  case AccessKind::write:
    return "write";
  case AccessKind::atomic:
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
std::string describe(AccessKind kind, uint64_t bytes, StateSpace space, uint64_t address) {
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

// "an index of 32 bits wrapped: -1 elements of 4 bytes from the begin of arg 0 (x: in, 4000 bytes)"
std::string describe(const Wrapped& wrapped) {
  const bool in_elements = wrapped.element_bytes > 1 && wrapped.before_bytes % wrapped.element_bytes == 0;
  const std::string what = wrapped.element_bytes > 1 ? "index" : "byte offset";
  if (wrapped.before_bytes == 0)
    return fmt::format("an unsigned {} of 32 bits has wrapped below zero: else it were {} bytes into {}",
                       what, wrapped.inside_bytes, describe(*wrapped.allocation));
  const uint64_t count = in_elements ? wrapped.before_bytes / wrapped.element_bytes : wrapped.before_bytes;
  return fmt::format("an unsigned {} of 32 bits has wrapped below zero: -{} {}{} from the begin of {}", what,
                     count, in_elements ? "element" : "byte", count == 1 ? "" : "s",
                     describe(*wrapped.allocation));
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
  const auto far = [&] {
    const auto wrapped = find_wrapped(memory, address, bytes);
    return wrapped ? describe(*wrapped) : fmt::format("far from every allocation{}", or_host_memory(address));
  };
  if (address < near->base) {
    const uint64_t distance = near->base - address;
    return distance > kNear
               ? far()
               : fmt::format("{} bytes before {}{}", distance, describe(*near), or_host_memory(address));
  }
  const uint64_t offset = address - near->base;
  if (offset < near->size_bytes) {
    if (near->freed)
      return fmt::format("{} bytes into {}, {}", offset, describe(*near),
                         near->is_promised ? "which its stream has not come to yet" : "which was freed");
    if (bytes <= near->size_bytes - offset) // another thread's, since the access was looked at
      return fmt::format("{} bytes into {}, which was not there yet", offset, describe(*near));
    return fmt::format("{} bytes into {}, so its last {} lie past the end", offset, describe(*near),
                       offset + bytes - near->size_bytes);
  }
  const uint64_t past = offset - near->size_bytes;
  if (past > kNear)
    return far();
  return past == 0
             ? fmt::format("at the end of {}{}", describe(*near), near->freed ? ", which was freed" : "")
             : fmt::format("{} bytes past the end of {}{}{}", past, describe(*near),
                           near->freed ? ", which was freed" : "", or_host_memory(address));
}

bool is_freed(const GlobalMemory& memory, uint64_t address) {
  const Allocation* near = memory.nearest(address);
  return near && near->freed && address >= near->base && address - near->base < near->size_bytes;
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
  watch.tell(&Observer::finds_undefined, *this, in, lane, what);
  const std::lock_guard lock(launch->report_mutex);
  std::vector<UninitializedRead>& reads = launch->report.uninitialized;
  ++launch->report.uninitialized_reads;
  const auto [entry, first] =
      launch->uninitialized_at.try_emplace(code->id_of(in), launch->uninitialized_at.size());
  if (entry->second >= kReportedUninitialized)
    return;
  if (first)
    reads.push_back({place_of(*code, in), cta->id, warp->index, lane, std::move(what), 0});
  ++reads[entry->second].count;
}

void Exec::check_register(const DecodedInst& in, uint32_t reg, LaneMask lanes) {
  if (const LaneMask missing = lanes & ~frame->written[reg])
    uninitialized(in, std::countr_zero(missing), "register " + code->function->register_name(reg));
}

// What lies there now need not be what the access has found: other threads allocate and register meanwhile.
void Exec::fault_global(const Wrong& r) {
  const Translation* found = translate(r.address, r.bytes);
  if (found && r.space == StateSpace::const_ && !found->is_read_only)
    fault_at(r.in, FaultKind::wrong_space,
             fmt::format("{} is not in .const: it lies in {}", describe(r.kind, r.bytes, r.space, r.written),
                         describe(*found->allocation)),
             r.lane, r.written);
  else if (found && found->is_read_only && writes(r.kind))
    fault_at(r.in, FaultKind::read_only,
             fmt::format("{} is in read-only memory: {}",
                         describe(r.kind, r.bytes, StateSpace::global, r.written),
                         describe(*found->allocation)),
             r.lane, r.written);
  else
    fault_at(r.in, FaultKind::out_of_bounds,
             fmt::format("{} is out of bounds: {}", describe(r.kind, r.bytes, StateSpace::global, r.written),
                         relation(*launch->memory, r.address, r.bytes)),
             r.lane, r.written, {}, is_freed(*launch->memory, r.address) ? "memory.lifetime" : "");
}

// A shared address that names no CTA of which this one may access the memory.
void Exec::fault_no_owner(const Wrong& r) {
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
         "exit then"},
        "cluster.exit");
  }
}

void Exec::fault_shared(const Wrong& r) {
  const Cta* owner = shared_owner(r.space, r.address);
  if (!owner) {
    fault_no_owner(r);
    return;
  }
  fault_at(
      r.in, FaultKind::out_of_bounds,
      fmt::format("{} is out of bounds: {}", describe(r.kind, r.bytes, r.space, r.written),
                  relation(r.address & kSharedOffsetMask, r.bytes, owner->shared_begin, owner->shared.size(),
                           owner == cta ? "the CTA's shared memory"
                                        : fmt::format("CTA rank {}'s shared memory", owner->rank))),
      r.lane, r.written);
}

// Past the end of a space that is one block.
void Exec::fault_outside(const Wrong& r) {
  const StateSpace named = r.space == StateSpace::reg ? StateSpace::param : r.space;
  if (r.space == StateSpace::param && writes(r.kind)) {
    fault_at(r.in, FaultKind::read_only,
             fmt::format("{} is in read-only memory: the kernel's parameters",
                         describe(r.kind, r.bytes, named, r.address)),
             r.lane, r.written);
    return;
  }
  const uint64_t end = r.space == StateSpace::local   ? local_limit()
                       : r.space == StateSpace::param ? launch->params.size()
                                                      : code->param_bytes;
  const char* what = r.space == StateSpace::local   ? "the lane's local memory"
                     : r.space == StateSpace::param ? "the kernel's parameters"
                                                    : "the function's .param variables";
  fault_at(r.in, FaultKind::out_of_bounds,
           fmt::format("{} is out of bounds: {}", describe(r.kind, r.bytes, named, r.address),
                       relation(r.address, r.bytes, 0, end, what)),
           r.lane, r.written, {},
           // There was a frame: the one of a function that has returned.
           r.space == StateSpace::local && r.address + r.bytes <= warp->local_capacity ? "memory.lifetime"
                                                                                       : "");
}

Access Exec::find(const DecodedInst& in, StateSpace space, uint64_t address, uint64_t bytes,
                  AccessKind kind) {
  return find_access(in, space, address, bytes, kind);
}

Access Exec::check(const DecodedInst& in, StateSpace space, uint64_t address, uint32_t bytes, uint32_t align,
                   AccessKind kind, int lane) {
  if (address & (align - 1)) {
    fault_at(in, FaultKind::misaligned,
             fmt::format("{} is misaligned: the address is not a multiple of {}",
                         describe(kind, bytes, space, address), align),
             lane, address);
    return {};
  }
  Access a = find(in, space, address, bytes, kind);
  // Atomic accesses are to memory that threads share.
  if (kind == AccessKind::atomic && a.space == StateSpace::local) {
    fault_at(in, FaultKind::wrong_space,
             fmt::format("{} needs global or shared memory", describe(kind, bytes, a.space, address)), lane,
             address);
    return {};
  }
  if (a) {
    a.lanes = LaneMask{1} << lane;
    a.host += static_cast<uint64_t>(lane) * std::exchange(a.lane_stride, 0);
    return a;
  }
  const Resolved place = resolve(space, address);
  const Wrong wrong{in, place.space, place.address, address, bytes, kind, lane};
  switch (place.space) {
  case StateSpace::shared:
  case StateSpace::shared_cluster:
    fault_shared(wrong);
    break;
  case StateSpace::local:
  case StateSpace::param:
  case StateSpace::reg:
    fault_outside(wrong);
    break;
  default:
    fault_global(wrong);
  }
  return a;
}

// A read of shared memory that ends beyond what the CTA asked for and within the unit in which it is given
// out. Measured on an H200: the unit is 128 bytes, static and dynamic memory together
// (tests/golden/asked/past_end.csv).
Access Exec::read_past_shared(const DecodedInst& in, const Resolved& place, uint32_t bytes, AccessKind kind,
                              int lane) {
  constexpr uint64_t kUnit = 128;
  Cta* owner = shared_owner(place.space, place.address);
  const uint64_t offset = place.address & kSharedOffsetMask;
  if (!owner || offset < owner->shared_begin || offset + bytes <= owner->shared.size() ||
      offset + bytes > align_up(owner->shared.size(), kUnit))
    return {};
  const auto inside =
      static_cast<uint32_t>(owner->shared.size() - std::min<uint64_t>(offset, owner->shared.size()));
  std::byte* copy = past_shared_[static_cast<size_t>(lane)].data();
  std::memcpy(copy, owner->shared.data() + offset, inside);
  for (uint32_t i = inside; i < bytes; ++i)
    copy[i] = poison_byte(poison_key(launch->config.seed, Poisoned::shared, owner->linear_id), offset + i);
  Access a;
  a.instruction = &in;
  a.kind = kind;
  a.order = in.order;
  a.lanes = LaneMask{1} << lane;
  a.bytes = inside; // what who watches is to know of
  a.space = StateSpace::shared;
  a.cta = owner;
  a.offset = offset;
  a.host = copy;
  if (inside != 0)
    a.written = owner->shared_written.data() + offset;
  watch.tell(&Observer::reads_past_shared, *this, a, lane, bytes - inside);
  return a;
}

Access Exec::access_past_end(const DecodedInst& in, StateSpace space, uint64_t address, uint32_t bytes,
                             AccessKind kind, int lane) {
  const Resolved place = resolve(space, address);
  const bool is_shared = place.space == StateSpace::shared || place.space == StateSpace::shared_cluster;
  const bool may_go_on = is_shared ? !writes(kind)
                                   : place.space == StateSpace::global &&
                                         launch->config.on_fault == OnFault::warn && !watch.is_on();
  if (!may_go_on || (address & (bytes - 1)) != 0 || find(in, space, address, bytes, kind))
    return {};
  if (is_shared)
    return read_past_shared(in, place, bytes, kind, lane);
  const GlobalMemory::PastEnd past = launch->memory->past_end(place.address, bytes);
  if (!past.host)
    return {};
  remark(in, fmt::format("{} is out of bounds: {}. A GPU has memory there, and this run goes on "
                         "(--on-fault=warn)",
                         describe(kind, bytes, place.space, address),
                         relation(*launch->memory, place.address, bytes)));
  if (writes(kind))
    effect();
  Access a;
  a.instruction = &in;
  a.kind = kind;
  a.order = in.order;
  a.lanes = LaneMask{1} << lane;
  a.bytes = bytes;
  a.space = place.space;
  a.allocation = past.allocation;
  a.offset = place.address - past.allocation->base;
  a.host = past.host;
  return a;
}

Access Exec::access(const DecodedInst& in, StateSpace space, uint64_t address, uint32_t bytes, uint32_t align,
                    AccessKind kind, int lane) {
  const Access a = check(in, space, address, bytes, align, kind, lane);
  if (!a)
    return a;
  if (kind == AccessKind::write && a.space != StateSpace::reg)
    effect();
  if (!a.is_tracked())
    return a;
  if (!writes(kind) && a.lanes_written)
    fill_unwritten(a, lane);
  if (uses(kind))
    report_unwritten(a, lane);
  if (writes(kind) && a.lanes_written)
    for (uint32_t i = 0; i < bytes; ++i)
      a.lanes_written[i] |= a.lanes;
  else if (writes(kind))
    a.mark_written(0, bytes);
  return a;
}

// What was never written of local memory gets its value when it is first looked at.
void Exec::fill_unwritten(const Access& a, int lane) const {
  const uint64_t key = poison_key(warp->poison_key, Poisoned::local, static_cast<uint64_t>(lane));
  for (uint64_t i = 0; i < a.bytes; ++i)
    if (!(a.lanes_written[i] & a.lanes))
      a.host[i] = poison_byte(key, a.offset + i);
}

void Exec::report_unwritten(const Access& a, int lane) {
  if (const uint64_t first = a.first_unwritten(lane); first < a.bytes)
    uninitialized(*a.instruction, lane, name_of(a.at(first), cta));
}

// --- what was written

uint64_t Access::first_unwritten(int lane) const {
  if (written) {
    const void* hole = std::memchr(written, 0, bytes);
    return hole ? static_cast<uint64_t>(static_cast<const uint8_t*>(hole) - written) : bytes;
  }
  if (init)
    return init->first_unset(offset, bytes) - offset;
  uint64_t i = 0;
  while (lanes_written && i < bytes && (lanes_written[i] >> lane & 1))
    ++i;
  return lanes_written ? i : bytes;
}

uint32_t Access::unwritten(int lane) const {
  if (init)
    return init->unset_among(offset, static_cast<uint32_t>(bytes));
  uint32_t mask = 0;
  for (uint32_t i = 0; i < bytes && (written || lanes_written); ++i) {
    const bool was = written ? written[i] != 0 : (lanes_written[i] >> lane & 1) != 0;
    mask |= static_cast<uint32_t>(!was) << i;
  }
  return mask;
}

bool Access::set_unwritten(uint32_t mask, int lane) const {
  if (init)
    init->unset(offset, mask);
  for_lanes(mask, [&](int i) {
    if (cta)
      cta->forget_written(offset + static_cast<uint64_t>(i), 1);
    else if (lanes_written)
      lanes_written[i] &= ~(LaneMask{1} << lane);
  });
  return cta || is_tracked();
}

std::string name_of(const MemoryPlace& place, const Cta* reader) {
  switch (place.space) {
  case StateSpace::shared:
    return fmt::format("shared memory at {:#x}{}", place.offset,
                       place.cta == reader ? "" : fmt::format(" of CTA rank {}", place.cta->rank));
  case StateSpace::local:
    return fmt::format("local memory at {:#x}", place.offset);
  default:
    return fmt::format("'{}' at byte {}", place.allocation->name, place.offset);
  }
}

} // namespace lemma::vgpu
