// One kernel for the tests of tcgen05: CTAs of 128 threads find shared memory and tensor memory as the test
// has made them, the first thread of the first one issues what the test says, and all of tensor memory comes
// back.
//
// Tests: tensor_pair_test.cc, tensor_ws_test.cc, tensor_sparse_test.cc,
// tensor_shift_test.cc, tensor_k96_test.cc, tensor_chain_test.cc.
#pragma once

#include "kernel.h"
#include "vgpu/handlers/tensor/tensor_chain.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::vgpu {

struct TensorRun {
  // Of one CTA.
  struct Memory {
    std::vector<std::byte> shared;
    std::vector<uint32_t> tensor; // [lane][column] of the columns that are filled
  };
  std::vector<Memory> ctas;
  uint32_t cta_group = 1;
  uint32_t columns = 256;        // allocated
  uint32_t filled_columns = 256; // a multiple of 8
  uint32_t dumped_columns = 256; // a multiple of 32
  std::string_view head = ".version 8.8\n.target sm_100a\n";
  // Registers: %d, the address of tensor memory; %sm, that of shared memory by 16 bytes, as descriptors have
  // it; %x0 to %x9 and %y0 to %y9 of 64 and 32 bits; %p, true; %np, false; %bar, %r0 to %r40.
  std::string issue;
  uint32_t issuer = 0;     // the CTA's rank
  int unwritten_rank = -1; // the shared memory of this CTA stays as it is
  AsyncMode async = AsyncMode::eager;
  uint64_t schedule = 0;
  Observer* observer = nullptr;

  std::string fault;
  Report report;
  size_t may_leave = 0;                   // instructions that may leave their product for the next one
  std::vector<std::vector<uint32_t>> out; // by CTA: [lane][column] of what is dumped
  uint32_t cell(uint32_t cta, uint32_t lane, uint32_t column) const {
    return out[cta][size_t{lane} * dumped_columns + column];
  }

  void run();

private:
  std::string text() const;
};

inline std::string TensorRun::text() const {
  std::string registers, fill, dump;
  for (uint32_t i = 0; i < 32; ++i)
    registers += fmt::format("{}%r{}", i == 0 ? "" : ", ", i);
  for (uint32_t i = 0; i < 32; i += 4)
    dump += fmt::format("st.global.v4.b32 [%to+{}], {{%r{}, %r{}, %r{}, %r{}}};\n", 4 * i, i, i + 1, i + 2,
                        i + 3);
  if (filled_columns != 0)
    fill = fmt::format(R"(
  mov.u32 %i, 0;
FILL:
  ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%from];
  ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%from+16];
  add.u32 %y0, %own, %i;
  tcgen05.st.sync.aligned.32x32b.x8.b32 [%y0], {{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}};
  add.s64 %from, %from, 32;
  add.u32 %i, %i, 8;
  setp.lt.u32 %p, %i, {};
  @%p bra FILL;
  tcgen05.wait::st.sync.aligned;)",
                       filled_columns);
  const uint32_t group = cta_group, bytes = static_cast<uint32_t>(ctas[0].shared.size());
  return fmt::format(R"({}.address_size 64
.visible .entry k(.param .u64 out, .param .u64 shared, .param .u64 tensor) {{
  .reg .b32 %r<41>, %y<10>, %t, %w, %rank, %d, %own, %at, %i, %bar, %tiles;
  .reg .b64 %x<10>, %sm, %to, %from, %rd;
  .reg .b16 %h;
  .reg .pred %p, %np, %q, %first;
  .shared .align 1024 .b8 tiles[{}];
  .shared .align 8 .b64 bar;
  .shared .align 4 .b32 slot;
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  shr.u32 %w, %t, 5;
  mov.u32 %bar, bar;
  mov.u32 %tiles, tiles;
  setp.ne.u32 %q, %t, 0;
  @!%q mbarrier.init.shared::cta.b64 [%bar], 1;
  setp.ne.u32 %first, %w, 0;
  @%first bra ALLOCATED;
  mov.u32 %at, slot;
  tcgen05.alloc.cta_group::{}.sync.aligned.shared::cta.b32 [%at], {};
ALLOCATED:
  ld.param.u64 %from, [shared];
  mul.wide.u32 %rd, %rank, {};
  add.s64 %from, %from, %rd;
  mov.u32 %i, %t;
  setp.eq.s32 %p, %rank, {};
  @%p bra COPIED;
COPY:
  mul.wide.u32 %rd, %i, 16;
  add.s64 %rd, %from, %rd;
  ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%rd];
  mad.lo.u32 %r4, %i, 16, %tiles;
  st.shared.v4.b32 [%r4], {{%r0, %r1, %r2, %r3}};
  add.u32 %i, %i, 128;
  setp.lt.u32 %p, %i, {};
  @%p bra COPY;
COPIED:
  fence.proxy.async;
  bar.sync 0;
  mov.u32 %at, slot;
  ld.shared.b32 %d, [%at];
  shl.b32 %own, %w, 21;
  add.u32 %own, %own, %d;
  ld.param.u64 %from, [tensor];
  mad.lo.u32 %i, %rank, 128, %t;
  mul.wide.u32 %rd, %i, {};
  add.s64 %from, %from, %rd;
  {}
  tcgen05.fence::before_thread_sync;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  tcgen05.fence::after_thread_sync;
  @%q bra WAIT;
  setp.ne.u32 %p, %rank, {};
  @%p bra WAIT;
  shr.u32 %r0, %tiles, 4;
  cvt.u64.u32 %sm, %r0;
  setp.eq.u32 %p, 0, 0;
  setp.ne.u32 %np, 0, 0;
  {}
  mov.u16 %h, {};
  tcgen05.commit.cta_group::{}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %h;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%bar], 0;
  @!%p bra WAIT;
  tcgen05.fence::after_thread_sync;
  ld.param.u64 %to, [out];
  mad.lo.u32 %i, %rank, 128, %t;
  mul.wide.u32 %rd, %i, {};
  add.s64 %to, %to, %rd;
  mov.u32 %i, 0;
DUMP:
  add.u32 %y0, %own, %i;
  tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{}}}, [%y0];
  tcgen05.wait::ld.sync.aligned;
  {}
  add.s64 %to, %to, 128;
  add.u32 %i, %i, 32;
  setp.lt.u32 %p, %i, {};
  @%p bra DUMP;
  tcgen05.fence::before_thread_sync;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%first bra END;
  tcgen05.dealloc.cta_group::{}.sync.aligned.b32 %d, {};
END:
  ret;
}})",
                     head, bytes, group, columns, bytes, unwritten_rank, bytes / 16, 4 * filled_columns, fill,
                     issuer, issue, (1u << ctas.size()) - 1, group, 4 * dumped_columns, registers, dump,
                     dumped_columns, group, columns);
}

inline void TensorRun::run() {
  Kernel kernel(text());
  const auto count = static_cast<uint32_t>(ctas.size());
  kernel.config().grid = kernel.config().cluster = {count, 1, 1};
  kernel.config().block = {128, 1, 1};
  kernel.config().async = async;
  kernel.config().schedule = schedule;
  if (observer)
    kernel.watch(*observer);
  may_leave = static_cast<size_t>(std::ranges::count_if(
      kernel.code().insts, [&](const DecodedInst& in) { return may_leave_product(kernel.code(), in); }));
  std::vector<std::byte> shared;
  std::vector<uint32_t> tensor;
  for (const Memory& cta : ctas) {
    shared.insert(shared.end(), cta.shared.begin(), cta.shared.end());
    tensor.insert(tensor.end(), cta.tensor.begin(), cta.tensor.end());
    tensor.resize((static_cast<size_t>(&cta - ctas.data()) + 1) * 128 * filled_columns);
  }
  tensor.resize(tensor.size() + 1); // where nothing is filled
  const size_t words = size_t{128} * dumped_columns;
  const uint64_t to = kernel.buffer(std::vector<uint32_t>(count * words));
  report = kernel.run({to, kernel.buffer(shared), kernel.buffer(tensor)});
  fault = fault_text(report);
  const auto all = kernel.read<uint32_t>(to, count * words);
  out.clear();
  for (auto cta = all.begin(); cta != all.end(); cta += static_cast<ptrdiff_t>(words))
    out.emplace_back(cta, cta + static_cast<ptrdiff_t>(words));
}

} // namespace lemma::vgpu
