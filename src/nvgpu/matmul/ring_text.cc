// Text of what brings tiles of A and B to a CTA.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/ring_text.h"

#include "nvgpu/matmul/common_text.h"
#include "nvgpu/matmul/split_text.h"

#include <fmt/format.h>

namespace lemma::nvgpu {
namespace {

int64_t mask(int64_t count, int64_t step) {
  int64_t bits = 0;
  for (int64_t i = 0; i < count; ++i)
    bits |= int64_t{1} << (i * step);
  return bits;
}

Words with_prefix(Words words, const std::string& matrix) {
  for (const char* word : {"rank", "part", "part_bytes", "skip", "skip_bytes", "from", "to", "box"})
    words[fmt::format("x_{}", word)] = fmt::format("{}_{}", matrix, word);
  words["x_map_type"] = matrix + "_map";
  return words;
}

} // namespace

std::string multiplied(const MatmulOperand& operand) {
  return operand.element == "f32" ? "tf32" : operand.element;
}

RingText::RingText(const MatmulKernel& kernel, const MatmulKernel& stored, int64_t store_bytes,
                   TemplateText& text)
    : kernel_(kernel), stored_(stored), s_(kernel.schedule), text_(text) {
  put_common_words(kernel_, text_);
  const auto put = [&](const char* word, const auto& value) { text_.put(word, value); };
  put("a_any", kernel_.a.any_type);
  put("b_any", kernel_.b.any_type);
  put("stored_any", stored_.c.any_type);
  put("stored_type", stored_.c.type);
  put("stages", s_.stages);
  put("cluster_m", s_.cluster_m);
  put("cluster_n", s_.cluster_n);
  put("cluster", s_.cluster());
  put("arrivals", s_.consumers * (s_.cluster_m + s_.cluster_n - 1));
  put("most_clusters", kernel_.multiprocessors / s_.cluster());
  put("a_bytes", s_.tile_m * kLineBytes);
  put("stage_bytes", s_.stage_bytes());
  put("ring_bytes", s_.ring_bytes());
  put("shared_bytes", s_.ring_bytes() + store_bytes);
  put("a_box_rows", a_box_rows());
  put("b_box_rows", b_box_rows());
  put("a_box", fmt::format("{}x{}x{}", a_box_rows(), line(), multiplied(kernel_.a)));
  put("b_box", fmt::format("{}x{}x{}", b_box_rows(), line(), multiplied(kernel_.b)));
  put("cluster_scope", s_.cluster() > 1 ? " {cluster}" : "");
  put("splits", s_.splits);
}

// MN-major tiles are boxes of a line's columns side by side.
int64_t RingText::a_box_rows() const {
  return kernel_.a.transposed ? line() : s_.tile_m / s_.cluster_n;
}

int64_t RingText::b_box_rows() const {
  return kernel_.b.transposed ? s_.tile_n / s_.cluster_m : line();
}

void RingText::types() {
  add(R"(
!shared = memref<?xi8, #gpu.address_space<workgroup>>
!a_box = memref<$a_box, #gpu.address_space<workgroup>>
!b_box = memref<$b_box, #gpu.address_space<workgroup>>
!c_box = memref<$c_box, #gpu.address_space<workgroup>>
!a_map = !nvgpu.tensormap.descriptor<tensor = !a_box, swizzle = swizzle_128b, l2promo = l2promo_256b, oob = zero, interleave = none>
!b_map = !nvgpu.tensormap.descriptor<tensor = !b_box, swizzle = swizzle_128b, l2promo = l2promo_256b, oob = zero, interleave = none>
!c_map = !nvgpu.tensormap.descriptor<tensor = !c_box, swizzle = swizzle_128b, l2promo = l2promo_256b, oob = zero, interleave = none>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = $stages>
)");
}

void RingText::host() {
  add_sizes(text_);
  add(R"(  %a_any = memref.cast %a : $a_type to $a_any
  %b_any = memref.cast %b : $b_type to $b_any
  %a_box_rows = arith.constant $a_box_rows : index
  %b_box_rows = arith.constant $b_box_rows : index
  %a_map = nvgpu.tma.create.descriptor %a_any box[%a_box_rows, %tile_k] : $a_any -> !a_map
  %b_map = nvgpu.tma.create.descriptor %b_any box[%b_box_rows, %tile_k] : $b_any -> !b_map
)");
  add(R"(  // Tiles of C that a cluster makes at a time, and how many of those there are.
  %cluster_m = arith.constant $cluster_m : index
  %cluster_n = arith.constant $cluster_n : index
  %cluster = arith.constant $cluster : index
  %cluster_rows = arith.muli %tile_m, %cluster_m : index
  %cluster_columns = arith.muli %tile_n, %cluster_n : index
  %tiles_m = arith.ceildivui %m, %cluster_rows : index
  %tiles_n = arith.ceildivui %n, %cluster_columns : index
  %tiles = arith.muli %tiles_m, %tiles_n : index
  %all_steps = arith.ceildivui %k, %tile_k : index
  %tiles_m32 = arith.index_cast %tiles_m : index to i32
  %tiles_n32 = arith.index_cast %tiles_n : index to i32
  %tiles32 = arith.index_cast %tiles : index to i32
  // Of each tile as many parts as K has; what goes beyond K are zeros.
  %splits = arith.constant $splits : index
  %steps = arith.ceildivui %all_steps, %splits : index
  %parts = arith.muli %tiles, %splits : index
  %parts32 = arith.index_cast %parts : index to i32
  %most = arith.constant $most_clusters : index
  %clusters = arith.minui %parts, %most : index
  %ctas = arith.muli %clusters, %cluster : index
  %threads = arith.constant $threads : index
  %shared_bytes = arith.constant $shared_bytes : i32
)");
}

void RingText::host_of_store() {
  if (s_.splits > 1)
    add(parts_alloc_text());
  if (stored_.store == MatmulStore::tma)
    add(R"(  %stored_any = memref.cast %$stored : $stored_type to $stored_any
  %slice_rows = arith.constant 16 : index
  %slice_columns = arith.constant $slice_columns : index
  %c_map = nvgpu.tma.create.descriptor %stored_any box[%slice_rows, %slice_columns] : $stored_any -> !c_map
)",
        {{"stored", s_.splits > 1 ? "parts_of_c" : "c"}});
}

void RingText::launch(const std::string& variables) {
  if (s_.cluster() > 1)
    add("  gpu.launch clusters(%kx, %ky, %kz) in (%nkx = %cluster, %nky = %c1, %nkz = %c1)\n"
        "             blocks(%bx, %by, %bz) in (%nbx = %ctas, %nby = %c1, %nbz = %c1)\n");
  else
    add("  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %ctas, %nby = %c1, %nbz = %c1)\n");
  add("             threads(%tx, %ty, %tz) in (%ntx = %threads, %nty = %c1, %ntz = %c1)\n"
      "             dynamic_shared_memory_size %shared_bytes$variables {\n",
      {{"variables", variables.empty() ? "" : " " + variables}});
}

void RingText::begin() {
  add(R"(    %ticks = arith.constant 10000000 : index
    %false = arith.constant false
    %true = arith.constant true
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %warp_threads = arith.constant 32 : i32
    %stage_bytes = arith.constant $stage_bytes : index
    %a_bytes = arith.constant $a_bytes : index
    %stages = arith.constant $stages : index
    %cluster_m32 = arith.constant $cluster_m : i32
    %cluster_n32 = arith.constant $cluster_n : i32
    %cluster32 = arith.constant $cluster : i32
    %tile_m32 = arith.constant $tile_m : i32
    %tile_n32 = arith.constant $tile_n : i32
    %group = arith.constant $group : i32
    %thread = arith.index_cast %tx : index to i32
    %block = arith.index_cast %bx : index to i32
    %blocks = arith.index_cast %nbx : index to i32
    // The same in all lanes, and known to be so.
    %own_warp = arith.divui %thread, %warp_threads : i32
    %warp, %valid = gpu.shuffle idx %own_warp, %zero, %warp_threads : i32
    %lane = arith.remui %thread, %warp_threads : i32
    %is_first = arith.cmpi eq, %thread, %zero : i32
    %four = arith.constant 4 : i32
    %first_tile = arith.divui %block, %cluster32 : i32
    %tile_step = arith.divui %blocks, %cluster32 : i32
    %group_tiles = arith.muli %group, %tiles_n32 : i32
    nvgpu.tma.prefetch.descriptor %a_map, predicate = %is_first : !a_map
    nvgpu.tma.prefetch.descriptor %b_map, predicate = %is_first : !b_map
    %shared = gpu.dynamic_shared_memory : !shared
    %full = nvgpu.mbarrier.create -> !barriers
    %empty = nvgpu.mbarrier.create -> !barriers
)");
  if (s_.cluster() > 1)
    add(R"(    %rank_index = gpu.cluster_block_id x
    %rank = arith.index_cast %rank_index : index to i32
    %rank_m = arith.remui %rank, %cluster_m32 : i32
    %rank_n = arith.divui %rank, %cluster_m32 : i32
)");
  else
    add("    %rank_m = arith.constant 0 : i32\n    %rank_n = arith.constant 0 : i32\n");
}

void RingText::init(const std::string& more) {
  add(R"(    scf.if %is_first {
      // Consumers of all CTAs that a tile goes to say that it is empty.
      %arrivals = arith.constant $arrivals : index
      scf.for %stage = %c0 to %stages step %c1 {
        nvgpu.mbarrier.init %full[%stage], %c1 : !barriers
        nvgpu.mbarrier.init %empty[%stage], %arrivals : !barriers
      }
$more      nvvm.fence.mbarrier.init
    }
)",
      {{"more", more}});
}

void RingText::place(const std::string& part) {
  if (s_.splits > 1)
    add(R"(        %split = arith.divui %$part, %tiles32 : i32
        %tile = arith.remui %$part, %tiles32 : i32
        %split_index = arith.index_cast %split : i32 to index
        %first_step = arith.muli %split_index, %steps : index
        %part_row = arith.muli %split_index, %rows_of_part : index
)",
        {{"part", part}});
  add_tile_order(text_, s_.splits > 1 ? "tile" : part, "cluster_row", "cluster_column");
  add(R"(        %row_of_cluster = arith.muli %cluster_row, %cluster_m32 : i32
        %tile_row = arith.addi %row_of_cluster, %rank_m : i32
        %column_of_cluster = arith.muli %cluster_column, %cluster_n32 : i32
        %tile_column = arith.addi %column_of_cluster, %rank_n : i32
)");
  add_tile_place(text_);
}

void RingText::first_depth() {
  add(s_.splits > 1 ? "        %first_depth = arith.muli %first_step, %tile_k : index\n"
                    : "        %first_depth = arith.constant 0 : index\n");
}

void RingText::advance(const char* stage, const char* parity, const char* next) {
  add(R"(          %$next_raw = arith.addi %$stage, %c1 : index
          %$next_wraps = arith.cmpi eq, %$next_raw, %stages : index
          %$next_stage = arith.select %$next_wraps, %c0, %$next_raw : index
          %$next_parity = arith.xori %$parity, %$next_wraps : i1
)",
      {{"stage", stage},
       {"parity", parity},
       {"next", next},
       {"next_raw", std::string(next) + "_raw"},
       {"next_wraps", std::string(next) + "_wraps"},
       {"next_stage", std::string(next) + "_stage"},
       {"next_parity", std::string(next) + "_parity"}});
}

void RingText::bring() {
  masks();
  add(R"(        %ended:2 = scf.for %part = %first_tile to %parts32 step %tile_step
            iter_args(%tile_stage = %c0, %tile_parity = %true) -> (index, i1) : i32 {
)");
  place("part");
  first_depth();
  add(R"(        %brought:2 = scf.for %step = %c0 to %steps step %c1
            iter_args(%stage = %tile_stage, %parity = %tile_parity) -> (index, i1) {
          nvgpu.mbarrier.try_wait.parity %empty[%stage], %parity, %ticks$cluster_scope : !barriers
          nvgpu.mbarrier.arrive.expect_tx %full[%stage], %stage_bytes : !barriers
          %own_depth = arith.muli %step, %tile_k : index
          %depth = arith.addi %first_depth, %own_depth : index
          %at_a = arith.muli %stage, %stage_bytes : index
          %at_b = arith.addi %at_a, %a_bytes : index
)");
  load("a", kernel_.a.transposed, s_.tile_m, s_.cluster_n);
  load("b", is_mn_major_b(), s_.tile_n, s_.cluster_m);
  advance("stage", "parity", "next");
  add(R"(          scf.yield %next_stage, %next_parity : index, i1
        }
        scf.yield %brought#0, %brought#1 : index, i1
        }
)");
}

// Which CTAs a tile goes to: those of the same rows (A), of the same columns (B).
void RingText::masks() {
  if (s_.cluster_n > 1)
    add(R"(        %a_ranks = arith.constant $every_row_mask : i32
        %a_mask32 = arith.shli %a_ranks, %rank_m : i32
        %a_mask = arith.trunci %a_mask32 : i32 to i16
)",
        {{"every_row_mask", std::to_string(mask(s_.cluster_n, s_.cluster_m))}});
  if (s_.cluster_m > 1)
    add(R"(        %b_ranks = arith.constant $column_mask : i32
        %b_shift = arith.muli %rank_n, %cluster_m32 : i32
        %b_mask32 = arith.shli %b_ranks, %b_shift : i32
        %b_mask = arith.trunci %b_mask32 : i32 to i16
)",
        {{"column_mask", std::to_string(mask(s_.cluster_m, 1))}});
}

// This CTA's part of the tile of A or B, of `extent` rows of A or columns of B; `sharing` CTAs bring a part
// each, and every part goes to all of them.
void RingText::load(const char* matrix, bool mn_major, int64_t extent, int64_t sharing) {
  const bool is_a = *matrix == 'a';
  const int64_t part = extent / sharing;
  const int64_t boxes = mn_major ? part / line() : 1, step = mn_major ? line() : part;
  Words words{{"x", matrix},
              {"x_map", fmt::format("%{}_map", matrix)},
              {"x_at", fmt::format("at_{}", matrix)},
              {"base", is_a ? "row" : "column"},
              {"rank", is_a ? "rank_n" : "rank_m"},
              {"part", std::to_string(part)},
              {"part_bytes", std::to_string(part * kLineBytes)},
              {"part_n", fmt::format("{}_part", matrix)},
              {"to_mask", sharing > 1 ? fmt::format(" multicast_mask = %{}_mask", matrix) : ""}};
  if (sharing > 1)
    add(R"(          %$x_rank = arith.index_cast %$rank : i32 to index
          %$x_part = arith.constant $part : index
          %$x_part_bytes = arith.constant $part_bytes : index
          %$x_skip = arith.muli %$x_rank, %$x_part : index
          %$x_skip_bytes = arith.muli %$x_rank, %$x_part_bytes : index
          %$x_from = arith.addi %$base, %$x_skip : index
          %$x_to = arith.addi %$x_at, %$x_skip_bytes : index
)",
        with_prefix(words, matrix));
  for (int64_t box = 0; box < boxes; ++box) {
    Words here = with_prefix(words, matrix);
    const std::string n = fmt::format("{}{}", matrix, box);
    here["n"] = n;
    here["n_at"] = n + "_at";
    here["n_from"] = n + "_from";
    here["n_offset"] = n + "_offset";
    here["n_skip"] = n + "_skip";
    here["start"] = sharing > 1 ? fmt::format("{}_from", matrix) : is_a ? "row" : "column";
    here["place"] = sharing > 1 ? fmt::format("{}_to", matrix) : fmt::format("at_{}", matrix);
    here["skip"] = std::to_string(box * step);
    here["offset"] = std::to_string(box * line() * kLineBytes);
    here["coordinates"] = mn_major ? fmt::format("%{}_from, %depth", n) : fmt::format("%depth, %{}_from", n);
    add(R"(          %$n_skip = arith.constant $skip : index
          %$n_offset = arith.constant $offset : index
          %$n_from = arith.addi %$start, %$n_skip : index
          %$n_at = arith.addi %$place, %$n_offset : index
          %$n = memref.view %shared[%$n_at][] : !shared to !$x_box
          nvgpu.tma.async.load $x_map[$coordinates], %full[%stage] to %$n$to_mask : !$x_map_type, !barriers -> !$x_box
)",
        here);
  }
}

} // namespace lemma::nvgpu
