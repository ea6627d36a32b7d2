// The defaults of every opcode, and what qualifiers say otherwise. See memory_order.h.
#include "vgpu/memory_order.h"

#include "ptx/module.h"

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;

// Without qualifiers.
MemoryOrder default_order(Opcode opcode) {
  switch (opcode) {
  case Opcode::atom:
  case Opcode::red:
    return {Semantics::relaxed, MemoryScope::gpu};
  case Opcode::red_async:
    return {Semantics::relaxed, MemoryScope::cluster};
  case Opcode::fence:
    return {Semantics::acq_rel, MemoryScope::gpu};
  case Opcode::membar:
    return {Semantics::sc, MemoryScope::gpu};
  case Opcode::mbarrier_arrive:
  case Opcode::mbarrier_arrive_drop:
    return {Semantics::release, MemoryScope::cta};
  case Opcode::mbarrier_test_wait:
  case Opcode::mbarrier_try_wait:
    return {Semantics::acquire, MemoryScope::cta};
  case Opcode::mbarrier_expect_tx:
  case Opcode::mbarrier_complete_tx:
    return {Semantics::relaxed, MemoryScope::cta};
  case Opcode::fence_mbarrier_init:
  case Opcode::barrier_cluster_arrive:
    return {Semantics::release, MemoryScope::cluster};
  case Opcode::barrier_cluster_wait:
    return {Semantics::acquire, MemoryScope::cluster};
  case Opcode::bar:
  case Opcode::barrier:
  case Opcode::bar_warp_sync:
    return {Semantics::acq_rel, MemoryScope::cta};
  default:
    return {};
  }
}

bool says_order(Opcode opcode) {
  switch (opcode) {
  case Opcode::ld:
  case Opcode::st:
  case Opcode::st_async:
  case Opcode::fence_proxy:
  case Opcode::tensormap_cp_fenceproxy:
    return true;
  default:
    return default_order(opcode) != MemoryOrder{};
  }
}

} // namespace

MemoryOrder order_of(const ptx::Instruction& instruction) {
  MemoryOrder order = default_order(instruction.opcode);
  if (!says_order(instruction.opcode))
    return order;
  for (const Qual qual : instruction.quals())
    switch (qual) {
    case Qual::weak:
      order.semantics = Semantics::weak;
      break;
    case Qual::relaxed:
      order.semantics = Semantics::relaxed;
      break;
    case Qual::acquire:
      order.semantics = Semantics::acquire;
      break;
    case Qual::release:
      order.semantics = Semantics::release;
      break;
    case Qual::acq_rel:
      order.semantics = Semantics::acq_rel;
      break;
    case Qual::sc:
      order.semantics = Semantics::sc;
      break;
    case Qual::volatile_: // as .relaxed.sys
      order = {Semantics::volatile_, MemoryScope::sys};
      break;
    case Qual::mmio:
      order = {Semantics::mmio, MemoryScope::sys};
      break;
    case Qual::cta:
      order.scope = MemoryScope::cta;
      break;
    case Qual::cluster:
      order.scope = MemoryScope::cluster;
      break;
    case Qual::gpu:
    case Qual::gl:
      order.scope = MemoryScope::gpu;
      break;
    case Qual::sys:
      order.scope = MemoryScope::sys;
      break;
    default:
      break;
    }
  return order;
}

const char* to_string(Semantics semantics) {
  constexpr const char* kNames[] = {"weak",    "relaxed", "acquire",  "release",
                                    "acq_rel", "sc",      "volatile", "mmio"};
  return kNames[static_cast<int>(semantics)];
}

const char* to_string(MemoryScope scope) {
  constexpr const char* kNames[] = {"none", "cta", "cluster", "gpu", "sys"};
  return kNames[static_cast<int>(scope)];
}

} // namespace lemma::vgpu
