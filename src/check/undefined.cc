// What each kind of instruction does with undefined values. See undefined.h.
#include "check/undefined.h"

#include "vgpu/place.h"

#include <algorithm>

namespace lemma::check {

using isa::Opcode;
using vgpu::DecodedInst;
using vgpu::Exec;

namespace {

constexpr size_t kMostOrigins = 4096; // of a cluster

enum class Deed : uint8_t { computes, moves, selects, shuffles, decides, accesses, forgets };

Deed deed_of(Opcode opcode) {
  switch (opcode) {
  case Opcode::mov:
    return Deed::moves;
  case Opcode::selp:
    return Deed::selects;
  case Opcode::shfl_sync:
  case Opcode::shfl:
    return Deed::shuffles;
  case Opcode::bra:
  case Opcode::brx_idx:
  case Opcode::exit:
  case Opcode::ret:
    return Deed::decides;
  case Opcode::ld:
  case Opcode::st:
  case Opcode::atom:
  case Opcode::red:
    return Deed::accesses;
  case Opcode::mma:
  case Opcode::wmma_mma:
  case Opcode::wmma_load:
  case Opcode::ldmatrix:
  case Opcode::call:
    return Deed::forgets;
  default:
    return Deed::computes;
  }
}

} // namespace

void UndefinedValues::add(Value& to, const Value& value, LaneMask lanes) {
  if ((value.lanes & lanes) == 0)
    return;
  if (to.lanes == 0)
    to.origin = value.origin;
  to.lanes |= value.lanes & lanes;
  to.computed |= value.computed & lanes;
}

UndefinedValues::Value UndefinedValues::value_of(const Exec& x, const vgpu::Slot& slot) const {
  if (slot.base != 0)
    return {};
  const auto found = values_.find({x.bases[0], slot.offset});
  return found == values_.end() ? Value{} : found->second;
}

UndefinedValues::Value UndefinedValues::sources_of(const Exec& x, const DecodedInst& in, int first,
                                                   int last) const {
  Value all;
  for (int i = first; i < last; ++i)
    add(all, value_of(x, x.src_slot(in, i)), x.active);
  return all;
}

void UndefinedValues::find(const Exec& x, const DecodedInst& in, int lane, const std::string& what) {
  if (&in != &x.code->insts[x.pc]) // it moves what another has found
    return;
  const auto same = std::find_if(memory_->origins.begin(), memory_->origins.end(),
                                 [&](const UndefinedOrigin& origin) { return origin.instruction == &in; });
  if (same == memory_->origins.end() && memory_->origins.size() >= kMostOrigins)
    return;
  Value found{.lanes = lane < 0 ? x.active : LaneMask{1} << lane,
              .computed = 0,
              .origin = static_cast<uint32_t>(same - memory_->origins.begin())};
  if (same == memory_->origins.end())
    memory_->origins.push_back({vgpu::place_of(*x.code, in), x.cta->id, x.warp->index, lane, what, &in});
  add(found_, found, kAllLanes);
}

void UndefinedValues::begin(const Exec& x, const Report& report) {
  const DecodedInst& in = x.code->insts[x.pc];
  now_ = &in;
  frame_ = x.bases[0];
  made_ = given_ = {};
  if (values_.empty())
    return;
  const Opcode opcode = x.code->opcode_of(in);
  const Deed deed = in.source == ptx::kNone ? Deed::computes : deed_of(opcode);
  const int sources = in.op_count - in.dst_count;
  const auto use = [&](const Value& value, LaneMask lanes, std::string_view how) {
    if (const LaneMask used = value.lanes & lanes)
      report(memory_->origins[value.origin], how, std::countr_zero(used));
  };
  Value guard;
  if (in.guarded) {
    vgpu::Slot slot;
    slot.offset = in.guard_offset;
    guard = value_of(x, slot);
  }
  switch (deed) {
  case Deed::decides:
    use(guard, x.mask, "decides a branch");
    use(sources_of(x, in, 0, sources), x.active, "decides a branch");
    return;
  case Deed::accesses: {
    use(value_of(x, x.src_slot(in, 0)), x.active, "is an address");
    use(guard, x.mask, "decides whether memory is accessed");
    given_ = sources_of(x, in, 1, sources);
    return;
  }
  case Deed::moves:
    made_ = sources_of(x, in, 0, sources);
    break;
  case Deed::selects: {
    const LaneMask first = x.pred(in, 2);
    add(made_, value_of(x, x.src_slot(in, 0)), first & x.active);
    add(made_, value_of(x, x.src_slot(in, 1)), ~first & x.active);
    Value decides = value_of(x, x.src_slot(in, 2));
    decides.computed = decides.lanes;
    add(made_, decides, x.active);
    break;
  }
  case Deed::shuffles:
    given_ = value_of(x, x.src_slot(in, 0)); // until it is known who takes whose
    break;
  case Deed::forgets:
    break;
  case Deed::computes:
    made_ = sources_of(x, in, 0, sources);
    made_.computed = made_.lanes;
    break;
  }
  guard.computed = guard.lanes;
  add(made_, guard, x.mask);
}

void UndefinedValues::shuffle(const int* sources) {
  made_ = {};
  for (int lane = 0; lane < vgpu::kWarpSize; ++lane)
    if (given_.lanes >> sources[lane] & 1) {
      made_.origin = given_.origin;
      made_.lanes |= LaneMask{1} << lane;
      made_.computed |= (given_.computed >> sources[lane] & 1) << lane;
    }
}

void UndefinedValues::access(const Exec& x, const vgpu::WarpAccess& access, const Report& report) {
  const vgpu::Access& what = access.access;
  const bool writes = vgpu::writes(what.kind), is_atomic = what.kind == vgpu::AccessKind::atomic;
  const bool known = access.by_lane && what.instruction == &x.code->insts[x.pc];
  if (!what.is_shared()) {
    const LaneMask used = given_.lanes & given_.computed & access.pieces;
    if (known && writes && what.space == isa::StateSpace::global && used)
      report(memory_->origins[given_.origin], "is computed with, and stored", std::countr_zero(used));
    return;
  }
  auto& bytes = memory_->bytes;
  access.each([&](int piece, uint64_t offset) {
    const uint64_t begin = UndefinedMemory::key(what) - what.offset + offset;
    for (uint64_t byte = begin; byte < begin + access.piece_bytes; ++byte) {
      const auto at = bytes.find(byte);
      if (at != bytes.end() && known && (!writes || is_atomic))
        add(found_,
            {.lanes = LaneMask{1} << piece,
             .computed = LaneMask{at->second.computed} << piece,
             .origin = at->second.origin},
            kAllLanes);
      if (known && writes && (given_.lanes >> piece & 1) != 0)
        bytes[byte] = {given_.origin, is_atomic || (given_.computed >> piece & 1) != 0};
      else if (writes && !is_atomic && at != bytes.end())
        bytes.erase(at);
    }
    if (known && is_atomic)
      updated_[static_cast<size_t>(piece)] = begin;
  });
  updated_bytes_ = access.piece_bytes;
}

void UndefinedValues::end(const Exec& x, const DecodedInst& in) {
  Value made = now_ == &in ? made_ : Value{};
  add(made, found_, kAllLanes);
  if (found_.lanes) // what an atomic has found and updated
    vgpu::for_lanes(found_.lanes, [&](int lane) {
      if (const uint64_t begin = updated_[static_cast<size_t>(lane)])
        for (uint64_t byte = begin; byte < begin + updated_bytes_; ++byte)
          memory_->bytes[byte] = {found_.origin, true};
    });
  for (int i = 0; i < in.dst_count; ++i) {
    if (in.ops[i].base != 0)
      continue;
    const Key key{now_ == &in ? frame_ : x.bases[0], in.ops[i].offset};
    const auto at = values_.find(key);
    if (made.lanes == 0 && at == values_.end())
      continue;
    Value& value = at != values_.end() ? at->second : values_[key];
    value.lanes &= ~x.active;
    value.computed &= ~x.active;
    add(value, made, kAllLanes);
    if (!value.lanes)
      values_.erase(key);
  }
  made_ = given_ = found_ = {};
  updated_ = {};
  now_ = nullptr;
}

} // namespace lemma::check
