// Text of a product's function with tcgen05.mma.
//
// The schedule is that of published kernels for Blackwell - CUTLASS's persistent warp-specialized GEMM for
// sm_100, DeepGEMM's: a warp that copies, a warp that multiplies, a warpgroup that stores, and two
// accumulators in turns. Nobody has timed this one on a GPU. Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/tcgen05_kernel.h"

#include "layout/tensor_instruction_descriptor.h"
#include "layout/tensor_smem_descriptor.h"
#include "nvgpu/matmul/ring_text.h"
#include "nvgpu/matmul/split_text.h"
#include "nvgpu/matmul/store_text.h"

#include <fmt/format.h>

namespace lemma::nvgpu {
namespace {

using layout::TensorFormat;
using layout::TensorKind;

constexpr int64_t kAccumulators = 2;
constexpr int64_t kProductBytes = 32; // of K, that an instruction multiplies
constexpr int64_t kEightRowsBytes = 8 * kLineBytes;

struct Kind {
  TensorKind kind;
  TensorFormat format; // of A and B
  const char* word;    // as nvvm calls it
};

Kind kind_of(const MatmulOperand& operand) {
  const std::string element = multiplied(operand);
  if (element == "f16")
    return {TensorKind::f16, TensorFormat::f16, "f16"};
  if (element == "bf16")
    return {TensorKind::f16, TensorFormat::bf16, "f16"};
  if (element == "tf32")
    return {TensorKind::tf32, TensorFormat::tf32, "tf32"};
  if (element == "f8E4M3FN")
    return {TensorKind::f8f6f4, TensorFormat::e4m3, "f8f6f4"};
  if (element == "f8E5M2")
    return {TensorKind::f8f6f4, TensorFormat::e5m2, "f8f6f4"};
  return {TensorKind::i8, operand.is_unsigned ? TensorFormat::u8 : TensorFormat::s8, "i8"};
}

class Tcgen05Text {
public:
  explicit Tcgen05Text(const MatmulKernel& kernel)
      : kernel_(kernel), stored_(kernel.schedule.splits > 1 ? parts_of(kernel) : kernel),
        s_(kernel.schedule) {
    text_.put("accumulators", kAccumulators);
    text_.put("columns", kAccumulators * s_.tile_n); // a power of two, as an allocation is
    text_.put("kind", kind_of(kernel_.a).word);
  }

  std::string make() {
    ring_.types();
    add(R"(!accumulators = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = $accumulators>
!slot = memref<1xi32, #gpu.address_space<workgroup>>
func.func private @$name(%a: $a_type, %b: $b_type, %c: $c_type$operand_list) {
)");
    ring_.host();
    ring_.host_of_store();
    ring_.launch("workgroup(%slot : !slot)");
    begin_kernel();
    add("    scf.if %stores {\n");
    store();
    add("    }\n    scf.if %is_producer {\n      %brings = nvvm.elect.sync -> i1\n      scf.if %brings {\n");
    ring_.bring();
    add("      }\n    }\n    scf.if %is_multiplier {\n      %multiplies = nvvm.elect.sync -> i1\n"
        "      scf.if %multiplies {\n");
    multiply();
    add("      }\n    }\n");
    end_kernel();
    if (s_.splits > 1)
      add_sum_of_parts(kernel_, text_);
    add("  return\n}\n");
    return text_.take();
  }

private:
  void add(std::string_view text, const Words& more = {}) { text_.add(text, more); }

  // Who a thread is, the mbarriers, and the tensor memory.
  void begin_kernel() {
    ring_.begin();
    add(R"(    %whole_warp = arith.constant -1 : i32
    %store_warps = arith.constant 4 : i32
    %multiplier = arith.constant 5 : i32
    %stores = arith.cmpi ult, %warp, %store_warps : i32
    %is_producer = arith.cmpi eq, %warp, %store_warps : i32
    %is_multiplier = arith.cmpi eq, %warp, %multiplier : i32
    // For each accumulator, that a tile's sums are there, and that they have been read.
    %made = nvgpu.mbarrier.create -> !accumulators
    %drained = nvgpu.mbarrier.create -> !accumulators
)");
    ring_.init(R"(      %accumulators = arith.constant 2 : index
      %readers = arith.constant 128 : index
      scf.for %accumulator = %c0 to %accumulators step %c1 {
        nvgpu.mbarrier.init %made[%accumulator], %c1 : !accumulators
        nvgpu.mbarrier.init %drained[%accumulator], %readers : !accumulators
      }
)");
    add(R"(    %columns = arith.constant $columns : i32
    scf.if %is_multiplier {
      %slot_index = memref.extract_aligned_pointer_as_index %slot : !slot -> index
      %slot_address = arith.index_cast %slot_index : index to i64
      %slot_pointer = llvm.inttoptr %slot_address : i64 to !llvm.ptr<3>
      nvvm.tcgen05.alloc %slot_pointer, %columns : !llvm.ptr<3>, i32
      nvvm.tcgen05.relinquish_alloc_permit
    }
    nvvm.tcgen05.fence <before>
    gpu.barrier
    nvvm.tcgen05.fence <after>
    %tensor = memref.load %slot[%c0] : !slot
)");
  }

  // All sums have been read: the multiplier's warp gives the tensor memory back.
  void end_kernel() {
    add(R"(    nvvm.bar.warp.sync %whole_warp : i32
    nvvm.tcgen05.fence <before>
    gpu.barrier
    scf.if %is_multiplier {
      nvvm.tcgen05.fence <after>
      %tensor_pointer = llvm.inttoptr %tensor : i32 to !llvm.ptr<6>
      nvvm.tcgen05.dealloc %tensor_pointer, %columns : !llvm.ptr<6>, i32
    }
    gpu.terminator
  }
)");
  }

  // The descriptor of a tile at address 0. Rows of K: eight of them are the pattern of the swizzle. Columns
  // of MN: boxes of a line's columns, whose rows are K's, side by side.
  int64_t descriptor(bool mn_major) const {
    const int64_t leading = mn_major ? ring_.line() * kLineBytes : 16;
    const layout::TensorSmemDescriptor tile{.leading = static_cast<uint32_t>(leading),
                                            .stride = static_cast<uint32_t>(kEightRowsBytes),
                                            .swizzle = layout::SmemSwizzle::b128};
    return static_cast<int64_t>(tile.encode());
  }

  // What a descriptor has more for the next product's K: the next 32 bytes of a row, or the next 16 rows.
  static int64_t step_of(bool mn_major) { return (mn_major ? 16 * kLineBytes : kProductBytes) / 16; }

  int64_t instruction() const {
    const Kind kind = kind_of(kernel_.a);
    const layout::TensorInstructionDescriptor shape{.kind = kind.kind,
                                                    .m = static_cast<uint32_t>(s_.tile_m),
                                                    .n = static_cast<uint32_t>(s_.tile_n),
                                                    .a = kind.format,
                                                    .b = kind.format,
                                                    .d = kernel_.sum == "i32" ? TensorFormat::s32
                                                                              : TensorFormat::f32,
                                                    .transpose_a = kernel_.a.transposed,
                                                    .transpose_b = ring_.is_mn_major_b()};
    return shape.encode();
  }

  // One thread's: for each tile, as soon as an accumulator is free, the products of its stages.
  void multiply() {
    add(R"(        %shape = arith.constant $shape : i32
        %a_tile = arith.constant $a_tile : i64
        %b_tile = arith.constant $b_tile : i64
        %shared_index = memref.extract_aligned_pointer_as_index %shared : !shared -> index
        %shared_address = arith.index_cast %shared_index : index to i64
        %sixteens = arith.constant 4 : i64
        %ring_at = arith.shrui %shared_address, %sixteens : i64
        %b_in_stage = arith.constant $b_in_stage : i64
        %stage_units = arith.constant $stage_units : i64
        %a_at_ring = arith.addi %ring_at, %a_tile : i64
        %b_at_stage = arith.addi %ring_at, %b_in_stage : i64
        %b_at_ring = arith.addi %b_at_stage, %b_tile : i64
        %multiplied:4 = scf.for %part = %first_tile to %parts32 step %tile_step
            iter_args(%tile_stage = %c0, %tile_parity = %false, %turn = %false, %free_parity = %true)
            -> (index, i1, i1, i1) : i32 {
          %skip_accumulator = arith.select %turn, %tile_n32, %zero : i32
          %accumulator = arith.select %turn, %c1, %c0 : index
          %sums_at = arith.addi %tensor, %skip_accumulator : i32
          %sums = llvm.inttoptr %sums_at : i32 to !llvm.ptr<6>
          nvgpu.mbarrier.try_wait.parity %drained[%accumulator], %free_parity, %ticks : !accumulators
          nvvm.tcgen05.fence <after>
          %stages_of_tile:2 = scf.for %step = %c0 to %steps step %c1
              iter_args(%stage = %tile_stage, %parity = %tile_parity) -> (index, i1) {
          nvgpu.mbarrier.try_wait.parity %full[%stage], %parity, %ticks : !barriers
          %stage64 = arith.index_cast %stage : index to i64
          %skip_stages = arith.muli %stage64, %stage_units : i64
          %a0 = arith.addi %a_at_ring, %skip_stages : i64
          %b0 = arith.addi %b_at_ring, %skip_stages : i64
          // A tile's first product begins the sums.
          %adds0 = arith.cmpi ne, %step, %c0 : index
)",
        {{"shape", std::to_string(instruction())},
         {"a_tile", std::to_string(descriptor(kernel_.a.transposed))},
         {"b_tile", std::to_string(descriptor(ring_.is_mn_major_b()))},
         {"b_in_stage", std::to_string(s_.tile_m * kLineBytes / 16)},
         {"stage_units", std::to_string(s_.stage_bytes() / 16)}});
    for (int64_t i = 0; i < kLineBytes / kProductBytes; ++i)
      product(i);
    commit("empty", "stage", "!barriers");
    ring_.advance("stage", "parity", "next");
    add(R"(          scf.yield %next_stage, %next_parity : index, i1
          }
)");
    commit("made", "accumulator", "!accumulators");
    add(R"(          %next_turn = arith.xori %turn, %true : i1
          %next_free_parity = arith.xori %free_parity, %turn : i1
          scf.yield %stages_of_tile#0, %stages_of_tile#1, %next_turn, %next_free_parity : index, i1, i1, i1
        }
)");
  }

  // The product `i` of a stage, of 32 bytes of K.
  void product(int64_t i) {
    if (i > 0)
      for (const char* x : {"a", "b"})
        add(R"(          %skip_$x$i = arith.constant $skip : i64
          %$x$i = arith.addi %$x0, %skip_$x$i : i64
)",
            {{"x", x},
             {"i", std::to_string(i)},
             {"x0", std::string(x) + "0"},
             {"skip",
              std::to_string(i * step_of(*x == 'a' ? kernel_.a.transposed : ring_.is_mn_major_b()))}});
    add("          nvvm.tcgen05.mma %sums, %a$i, %b$i, %shape, %$adds {kind = #nvvm.tcgen05_mma_kind<$kind>, "
        "ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1)\n",
        {{"i", std::to_string(i)}, {"adds", i == 0 ? "adds0" : "true"}});
  }

  // The mbarrier gets an arrival once the products so far are done.
  void commit(const std::string& barriers, const std::string& number, const std::string& type) {
    add(R"(          %$barriers_address = nvgpu.mbarrier.get %$barriers[%$number] : $type -> i64
          %$barriers_pointer = llvm.inttoptr %$barriers_address : i64 to !llvm.ptr<3>
          nvvm.tcgen05.commit %$barriers_pointer : !llvm.ptr<3>
)",
        {{"barriers", barriers},
         {"barriers_address", barriers + "_address"},
         {"barriers_pointer", barriers + "_pointer"},
         {"number", number},
         {"type", type}});
  }

  // Four warps': each tile's sums from tensor memory, of which a warp reaches 32 lanes, to C.
  void store() {
    add("      %consumer_index = arith.constant 0 : index\n");
    store_.before_tiles();
    add(R"(      %lanes_of_warp = arith.constant 21 : i32
      %at_lanes = arith.shli %warp, %lanes_of_warp : i32
      %own_tensor = arith.addi %tensor, %at_lanes : i32
      %stored:2 = scf.for %part = %first_tile to %parts32 step %tile_step
          iter_args(%turn = %false, %made_parity = %false) -> (i1, i1) : i32 {
        %skip_accumulator = arith.select %turn, %tile_n32, %zero : i32
        %accumulator = arith.select %turn, %c1, %c0 : index
        %sums_at = arith.addi %own_tensor, %skip_accumulator : i32
)");
    ring_.place("part");
    if (s_.splits > 1)
      add("        %stored_row = arith.addi %row, %part_row : index\n");
    add(R"(        nvgpu.mbarrier.try_wait.parity %made[%accumulator], %made_parity, %ticks : !accumulators
        nvvm.tcgen05.fence <after>
)");
    if (stored_.store == MatmulStore::tma) {
      store_slices();
    } else {
      store_.tile();
      release();
    }
    add(R"(        %next_turn = arith.xori %turn, %true : i1
        %next_made_parity = arith.xori %made_parity, %turn : i1
        scf.yield %next_turn, %next_made_parity : i1, i1
      }
)");
    store_.end();
  }

  // The accumulator is free as soon as the last slice is in registers.
  void store_slices() {
    const StoreText::Place place{s_.splits > 1 ? "stored_row" : "row", "column"};
    for (int64_t i = 0; i < store_.slices(); ++i) {
      const std::vector<std::string> results = store_.results(i);
      if (i + 1 == store_.slices())
        release();
      store_.put(i, results, 0);
      store_.send(i, i + 1, place);
    }
  }

  void release() {
    add(R"(        nvvm.tcgen05.fence <before>
        %read = nvgpu.mbarrier.arrive %drained[%accumulator] : !accumulators -> !nvgpu.mbarrier.token
)");
  }

  const MatmulKernel& kernel_;
  const MatmulKernel stored_; // what the kernel stores: C, or sums of parts
  const Schedule& s_;
  TemplateText text_;
  StoreText store_{stored_, text_};
  RingText ring_{kernel_, stored_, store_.shared_bytes(), text_};
};

} // namespace

std::string tcgen05_text(const MatmulKernel& kernel) {
  return Tcgen05Text(kernel).make();
}

} // namespace lemma::nvgpu
