// The row of the opcode has the defaults; here is what qualifiers say otherwise. See memory_order.h.
#include "vgpu/code/memory_order.h"

#include "ptx/module.h"

namespace lemma::vgpu {

using isa::Qual;

MemoryOrder order_of(const ptx::Instruction& instruction) {
  const isa::Effects effects = isa::effects_of(instruction.opcode);
  MemoryOrder order{effects.semantics(), effects.scope()};
  if (!effects.has(isa::effect::ordered))
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
