// Text of a product's function, piece by piece; `$word` stands for a value that the kernel's description has.
//
// Why it is fast, as measured on H200s (docs/matmul.md): wgmma of 64x256 reads the fewest bytes of shared
// memory for a product; two consumers share each tile of B; one product is always pending, so that the tensor
// cores never wait for an mbarrier; the accumulators' registers come from the producer's warpgroup
// (setmaxnreg), and what they have left keeps results, which are stored among the next tile's products; the
// consumers take turns at a tile's last stages, so that one multiplies while the other puts its results
// aside; multicast halves what a cluster reads from the L2; each warp stores its own rows, so that the
// epilogue needs no barrier of more than a warp. Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/kernel.h"

#include "nvgpu/matmul/common_text.h"
#include "nvgpu/matmul/split_text.h"
#include "nvgpu/matmul/store_text.h"
#include "nvgpu/matmul/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::nvgpu {
namespace {

// What is in shared memory: tensor copies round f32 to tf32.
std::string multiplied(const MatmulOperand& operand) {
  return operand.element == "f32" ? "tf32" : operand.element;
}

class Text {
public:
  explicit Text(const MatmulKernel& kernel)
      : kernel_(kernel), stored_(kernel.schedule.splits > 1 ? parts_of(kernel) : kernel),
        s_(kernel.schedule) {
    set_words();
  }

  std::string make() {
    add(R"(
!shared = memref<?xi8, #gpu.address_space<workgroup>>
!a_box = memref<$a_box, #gpu.address_space<workgroup>>
!b_box = memref<$b_box, #gpu.address_space<workgroup>>
!a_tile = memref<$a_tile, #gpu.address_space<workgroup>>
!b_tile = memref<$b_tile, #gpu.address_space<workgroup>>
!c_box = memref<$c_box, #gpu.address_space<workgroup>>
!a_map = !nvgpu.tensormap.descriptor<tensor = !a_box, swizzle = swizzle_128b, l2promo = l2promo_256b, oob = zero, interleave = none>
!b_map = !nvgpu.tensormap.descriptor<tensor = !b_box, swizzle = swizzle_128b, l2promo = l2promo_256b, oob = zero, interleave = none>
!c_map = !nvgpu.tensormap.descriptor<tensor = !c_box, swizzle = swizzle_128b, l2promo = l2promo_256b, oob = zero, interleave = none>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = $stages>
!a_descriptor = !nvgpu.warpgroup.descriptor<tensor = memref<$a_operand, #gpu.address_space<workgroup>>>
!b_descriptor = !nvgpu.warpgroup.descriptor<tensor = memref<$b_operand, #gpu.address_space<workgroup>>>
!sum = !nvgpu.warpgroup.accumulator<fragmented = vector<$sum_shape>>
)");
    add("func.func private @$name(%a: $a_type, %b: $b_type, %c: $c_type$operand_list) {\n");
    host();
    launch();
    if (s_.splits > 1)
      add_sum_of_parts(kernel_, text_);
    add("  return\n}\n");
    return text_.take();
  }

private:
  // Which dimension of the memrefs is which: of a batch's the first is the batch.
  void set_words() {
    const auto put = [&](const char* word, const auto& value) { text_.put(word, value); };
    const int64_t bytes = kernel_.a.element_bytes, tile_k = kLineBytes / bytes;
    put_common_words(kernel_, text_);
    put("a_any", kernel_.a.any_type);
    put("b_any", kernel_.b.any_type);
    put("stored_any", stored_.c.any_type);
    put("stored_type", stored_.c.type);
    put("stages", s_.stages);
    put("cluster_m", s_.cluster_m);
    put("cluster_n", s_.cluster_n);
    put("cluster", s_.cluster());
    put("rows_of_consumer", s_.rows_of_consumer());
    put("sum_shape", fmt::format("{}x{}x{}", s_.rows_of_consumer(), s_.tile_n, kernel_.sum));
    put("arrivals", s_.consumers * (s_.cluster_m + s_.cluster_n - 1));
    put("most_clusters", kMultiprocessors / s_.cluster());
    put("producer_registers", s_.producer_registers);
    put("consumer_registers", s_.consumer_registers);

    a_bytes_ = s_.tile_m * kLineBytes;
    b_bytes_ = s_.tile_n * kLineBytes;
    put("a_bytes", a_bytes_);
    put("stage_bytes", a_bytes_ + b_bytes_);
    put("ring_bytes", s_.stages * (a_bytes_ + b_bytes_));
    put("shared_bytes", s_.stages * (a_bytes_ + b_bytes_) + store_.shared_bytes());

    // Rows of a box: what one copy brings. MN-major tiles are boxes of a line's columns side by side.
    a_box_rows_ = kernel_.a.transposed ? tile_k : s_.tile_m / s_.cluster_n;
    b_box_rows_ = kernel_.b.transposed ? s_.tile_n / s_.cluster_m : tile_k;
    put("a_box_rows", a_box_rows_);
    put("b_box_rows", b_box_rows_);
    put("a_box", fmt::format("{}x{}x{}", a_box_rows_, tile_k, multiplied(kernel_.a)));
    put("b_box", fmt::format("{}x{}x{}", b_box_rows_, tile_k, multiplied(kernel_.b)));
    const auto tile = [](bool swapped, int64_t rows, int64_t columns, const std::string& element) {
      return fmt::format("{}x{}x{}", swapped ? columns : rows, swapped ? rows : columns, element);
    };
    put("a_tile", tile(kernel_.a.transposed, s_.rows_of_consumer(), tile_k, multiplied(kernel_.a)));
    put("b_tile", tile(kernel_.b.transposed, tile_k, s_.tile_n, multiplied(kernel_.b)));
    // As the instruction takes them.
    const std::string sign = kernel_.a.is_unsigned ? "u" : "";
    put("a_operand", tile(kernel_.a.transposed, s_.rows_of_consumer(), tile_k, sign + multiplied(kernel_.a)));
    put("b_operand", tile(kernel_.b.transposed, tile_k, s_.tile_n, sign + multiplied(kernel_.b)));
    transposes_ = std::string(kernel_.a.transposed ? "transposeA, " : "") + (kernel_.b.transposed ? ""
                                                                             : kernel_.b.element_bytes == 2
                                                                                 ? "transposeB, "
                                                                                 : "");
    put("cluster_scope", s_.cluster() > 1 ? " {cluster}" : "");
    put("splits", s_.splits);
  }

  void add(std::string_view text, const Words& more = {}) { text_.add(text, more); }

  // Sizes, tensor maps and the grid.
  void host() {
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
    if (held() > 0)
      shares();
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

  // Steps of K before the consumers take turns, and of those, but for the first, how many there are between
  // two slices of the tile before, and after the last one. Tiles that the ring has room for have no turns: a
  // consumer could arrive for the next one before the other has waited for this one's.
  void shares() {
    add(R"(  %stages_of_ring = arith.constant $stages : index
  %has_turns = arith.cmpi ugt, %steps, %stages_of_ring : index
  %turns = arith.constant $turns : index
  %turn_steps = arith.select %has_turns, %turns, %c0 : index
  %side_by_side = arith.subi %steps, %turn_steps : index
  %share_count = arith.constant $share_count : index
  %last_part = arith.addi %share_count, %c1 : index
  %part_count = arith.addi %last_part, %c1 : index
  %more_steps = arith.subi %side_by_side, %c1 : index
  %share = arith.divui %more_steps, %share_count : index
  %rest = arith.remui %more_steps, %share_count : index
)",
        {{"turns", std::to_string(s_.turns)}, {"share_count", std::to_string(share_count())}});
  }

  void launch() {
    if (s_.cluster() > 1)
      add("  gpu.launch clusters(%kx, %ky, %kz) in (%nkx = %cluster, %nky = %c1, %nkz = %c1)\n"
          "             blocks(%bx, %by, %bz) in (%nbx = %ctas, %nby = %c1, %nbz = %c1)\n");
    else
      add("  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %ctas, %nby = %c1, %nbz = %c1)\n");
    add("             threads(%tx, %ty, %tz) in (%ntx = %threads, %nty = %c1, %ntz = %c1)\n"
        "             dynamic_shared_memory_size %shared_bytes {\n");
    begin_kernel();
    add("    scf.if %is_producer {\n");
    produce();
    add("    } else {\n");
    consume();
    add("    }\n");
    // A CTA's mbarriers must be there as long as others arrive at them.
    if (s_.cluster() > 1)
      add("    nvvm.cluster.arrive\n    nvvm.cluster.wait\n");
    add("    gpu.terminator\n  }\n");
  }

  // Who a thread is, and the mbarriers.
  void begin_kernel() {
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
    %warpgroup = arith.divui %warp, %four : i32
    %is_producer = arith.cmpi eq, %warpgroup, %zero : i32
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
    prefetch();
    add(R"(    scf.if %is_first {
      // Consumers of all CTAs that a tile goes to say that it is empty.
      %arrivals = arith.constant $arrivals : index
      scf.for %stage = %c0 to %stages step %c1 {
        nvgpu.mbarrier.init %full[%stage], %c1 : !barriers
        nvgpu.mbarrier.init %empty[%stage], %arrivals : !barriers
      }
      nvvm.fence.mbarrier.init
    }
)");
    add(s_.cluster() > 1 ? "    nvvm.cluster.arrive\n    nvvm.cluster.wait\n" : "    gpu.barrier\n");
  }

  // Into the L2 what the first stage brings, a line a thread: it comes from memory while the tensor maps do.
  // What lies beyond A and B the copies look after alone.
  void prefetch() {
    add(R"(    %lines_of_a = arith.cmpi ult, %tx, %tile_m : index
    %lines_of_both = arith.addi %tile_m, %tile_n : index
    %has_line = arith.cmpi ult, %tx, %lines_of_both : index
    scf.if %has_line {
)");
    place("first_tile");
    first_depth();
    add("        scf.if %lines_of_a {\n");
    prefetch_line("a", "tx", kernel_.a.transposed);
    add("        } else {\n          %line_of_b = arith.subi %tx, %tile_m : index\n");
    prefetch_line("b", "line_of_b", is_mn_major_b());
    add("        }\n    }\n");
  }

  // Line `number` of a tile of A or B.
  void prefetch_line(const std::string& matrix, const char* number, bool mn_major) {
    const bool is_a = matrix == "a";
    Words words{{"x", matrix},
                {"number", number},
                {"base", is_a ? "row" : "column"},
                {"extent", is_a ? "m" : "n"},
                {"x_type", is_a ? kernel_.a.type : kernel_.b.type},
                {"line", std::to_string(line())},
                {"lines", std::to_string((is_a ? s_.tile_m : s_.tile_n) / line())},
                {"own", mn_major ? "own" : number},
                {"depth", mn_major ? "depth" : "first_depth"},
                {"at", mn_major ? "%depth, %at" : "%at, %first_depth"}};
    if (mn_major)
      add(R"(          %line = arith.constant $line : index
          %lines = arith.constant $lines : index
          %own_depth = arith.divui %$number, %lines : index
          %own_line = arith.remui %$number, %lines : index
          %own = arith.muli %own_line, %line : index
          %depth = arith.addi %first_depth, %own_depth : index
)",
          words);
    add(R"(          %at = arith.addi %$base, %$own : index
          %has_row = arith.cmpi ult, %at, %$extent : index
          %has_depth = arith.cmpi ult, %$depth, %k : index
          %is_there = arith.andi %has_row, %has_depth : i1
          scf.if %is_there {
            memref.prefetch %$x[$at], read, locality<2>, data : $x_type
          }
)",
        words);
  }

  // Row and column of C where the part `part` of a tile begins, and the first of its steps along K: groups
  // of `group` rows of clusters, column by column.
  void place(const std::string& part) {
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

  // Where along K a tile's part begins.
  void first_depth() {
    add(s_.splits > 1 ? "        %first_depth = arith.muli %first_step, %tile_k : index\n"
                      : "        %first_depth = arith.constant 0 : index\n");
  }

  // The stage after `stage`, and the parity of its phase.
  void advance(const char* stage, const char* parity, const char* next) {
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

  void produce() {
    add(R"(      nvvm.setmaxregister decrease $producer_registers
      scf.if %is_first {
)");
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
      }
)");
  }

  // Which CTAs a tile goes to: those of the same rows (A), of the same columns (B).
  void masks() {
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

  static int64_t mask(int64_t count, int64_t step) {
    int64_t bits = 0;
    for (int64_t i = 0; i < count; ++i)
      bits |= int64_t{1} << (i * step);
    return bits;
  }

  // This CTA's part of the tile of A or B, of `extent` rows of A or columns of B; `sharing` CTAs bring a part
  // each, and every part goes to all of them.
  void load(const char* matrix, bool mn_major, int64_t extent, int64_t sharing) {
    const bool is_a = *matrix == 'a';
    const int64_t line = kLineBytes / kernel_.a.element_bytes, part = extent / sharing;
    const int64_t boxes = mn_major ? part / line : 1, step = mn_major ? line : part;
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
      here["offset"] = std::to_string(box * line * kLineBytes);
      here["coordinates"] =
          mn_major ? fmt::format("%{}_from, %depth", n) : fmt::format("%depth, %{}_from", n);
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

  static Words with_prefix(Words words, const std::string& matrix) {
    for (const char* word : {"rank", "part", "part_bytes", "skip", "skip_bytes", "from", "to", "box"})
      words[fmt::format("x_{}", word)] = fmt::format("{}_{}", matrix, word);
    words["x_map_type"] = matrix + "_map";
    return words;
  }

  void consume() {
    add(R"(      nvvm.setmaxregister increase $consumer_registers
      %consumer = arith.subi %warpgroup, %one : i32
      %consumer_index = arith.index_cast %consumer : i32 to index
      %consumer_bytes = arith.constant $consumer_bytes : index
      %at_rows = arith.muli %consumer_index, %consumer_bytes : index
      %warpgroup_threads = arith.constant 128 : i32
      %in_warpgroup = arith.remui %thread, %warpgroup_threads : i32
)",
        {{"consumer_bytes",
          std::to_string(kernel_.a.transposed ? s_.rows_of_consumer() / line() * a_box_rows_ * kLineBytes
                                              : s_.rows_of_consumer() * kLineBytes)}});
    releaser();
    store_.before_tiles();
    if (held() > 0)
      begin_turns();
    begin_tiles();
    // The first product of a tile needs no zeros to add to.
    add("        %no_sum = nvgpu.warpgroup.mma.init.accumulator -> !sum\n");
    product("tile_stage", "tile_parity", "first", "no_sum", "scaleD = false, ");
    advance("tile_stage", "tile_parity", "second");
    // While that one runs: divisions take their time.
    place("part");
    if (s_.splits > 1)
      add("        %stored_row = arith.addi %row, %part_row : index\n");
    Products products{"first_sum", "second_stage", "second_parity", "tile_stage"};
    if (held() == 0) {
      products = add_products("products", "c1", "steps", products);
    } else {
      products = add_parts(products);
      give_turn();
    }
    add("        %total = nvgpu.warpgroup.mma.wait %$sum : !sum\n", {{"sum", products.sum}});
    release(products.before);
    end_tile(products);
    store_.end();
  }

  // What goes from stage to stage: names of the sum, of the next stage, its parity, and of the stage before
  // it.
  struct Products {
    std::string sum, stage, parity, before;
  };

  // A tile's last stages: the consumers multiply them one after the other, so that the tensor cores have work
  // while one puts its results where the next tile leaves them alone, or, of a CTA's last tile, stores them.
  //
  // By a barrier that the consumer before arrives at once it has started its last product, and this one waits
  // at. Smaller numbers are barriers of a warpgroup alone.
  void begin_turns() {
    add(R"(      %turn_threads = arith.constant 256 : i32
      %consumers = arith.constant $consumers : i32
      %own_turn = arith.addi %consumer, %consumers : i32
      %next_turn = arith.addi %own_turn, %one : i32
      %last_consumer = arith.subi %consumers, %one : i32
      %is_not_first = arith.cmpi ne, %consumer, %zero : i32
      %is_not_last = arith.cmpi ne, %consumer, %last_consumer : i32
      %takes_turns = arith.andi %has_turns, %is_not_first : i1
      %gives_turns = arith.andi %has_turns, %is_not_last : i1
)",
        {{"consumers", std::to_string(s_.consumers)}});
  }

  void give_turn() {
    add(R"(        scf.if %gives_turns {
          nvvm.barrier.arrive id = %next_turn number_of_threads = %turn_threads
        }
)");
  }

  // The products of a tile but for the first, in parts: before each but the last one something is done for
  // the results of the tile before, if there is one, and before the last one the consumer waits for its turn.
  // A slice is sent on its way some products after it was put into shared memory, and no product waits until
  // it is there.
  //
  // A loop over the parts, and not one copy of the products for each: they are most of what there is to
  // compile.
  Products add_parts(Products products) {
    add(R"(        // Of a CTA's first tile there is nothing to be stored yet, and no shares.
        %has_old = arith.cmpi ne, %part, %first_tile : i32
        %old_row = arith.index_cast %old_row32 : i32 to index
        %old_column = arith.index_cast %old_column32 : i32 to index
        %own_share = arith.select %has_old, %shared_steps, %nothing_index : index
        %own_rest = arith.select %has_old, %rest, %more_steps : index
        %parts_of_tile:4 = scf.for %number = %c0 to %part_count step %c1
            iter_args(%part_sum = %$sum, %part_stage = %$stage, %part_parity = %$parity, %part_before = %$before)
            -> (!sum, index, i1, index) {
        %is_share = arith.cmpi ult, %number, %share_count : index
        %is_last_part = arith.cmpi eq, %number, %last_part : index
        %rest_or_turn = arith.select %is_last_part, %turn_steps, %own_rest : index
        %part_steps = arith.select %is_share, %own_share, %rest_or_turn : index
        %has_work = arith.ori %has_old, %is_last_part : i1
        %work = arith.select %has_work, %number, %part_count : index
        scf.index_switch %work
)",
        {{"sum", products.sum},
         {"stage", products.stage},
         {"parity", products.parity},
         {"before", products.before}});
    int64_t number = 0;
    const auto before_part = [&](const auto& what) {
      add(fmt::format("        case {} {{\n", number++));
      what();
      add("        scf.yield\n        }\n");
    };
    const StoreText::Place place{"old_row", "old_column"};
    const int64_t first = first_held(), end = store_.slices();
    if (first > 0) // slices that end_tile() has put there: the next ones need what they take
      before_part([&] { store_.send(0, first, place); });
    for (int64_t i = first; i < end; ++i)
      before_part([&] {
        if (i > first)
          store_.send(i - 1, i, place);
        store_.put(i, held_values(i), 0);
      });
    before_part([&] { store_.send(end - 1, end, place); });
    before_part([&] {
      add(R"(        scf.if %takes_turns {
          nvvm.barrier id = %own_turn number_of_threads = %turn_threads
        }
)");
    });
    add("        default {\n        }\n");
    products = add_products("products", "c0", "part_steps",
                            {"part_sum", "part_stage", "part_parity", "part_before"});
    add("        scf.yield %$sum, %$stage, %$parity, %$before : !sum, index, i1, index\n        }\n",
        {{"sum", products.sum},
         {"stage", products.stage},
         {"parity", products.parity},
         {"before", products.before}});
    return {"parts_of_tile#0", "parts_of_tile#1", "parts_of_tile#2", "parts_of_tile#3"};
  }

  // Those of the steps of K from `from` to `to`.
  Products add_products(const std::string& name, const std::string& from, const std::string& to,
                        const Products& begun) {
    add(R"(        %$name:4 = scf.for %step = %$from to %$to step %c1
            iter_args(%sum = %$sum, %stage = %$stage, %parity = %$parity, %before = %$before)
            -> (!sum, index, i1, index) {
)",
        {{"name", name},
         {"from", from},
         {"to", to},
         {"sum", begun.sum},
         {"stage", begun.stage},
         {"parity", begun.parity},
         {"before", begun.before}});
    product("stage", "parity", "next", "sum", "");
    release("before");
    advance("stage", "parity", "next");
    add(R"(          scf.yield %next_sum, %next_stage, %next_parity, %stage : !sum, index, i1, index
        }
)");
    return {name + "#0", name + "#1", name + "#2", name + "#3"};
  }

  // A loop over tiles, with the place of the tile before and `held` slices of its results: their stores,
  // spread over the products of a tile, meet neither each other's nor those of all other CTAs, which are at
  // the same point of their tiles, and no product waits for memory that takes them.
  void begin_tiles() {
    if (held() == 0)
      return add(R"(      %last:2 = scf.for %part = %first_tile to %parts32 step %tile_step
          iter_args(%tile_stage = %c0, %tile_parity = %false) -> (index, i1) : i32 {
)");
    std::string none, types;
    for (int64_t i = 0; i < held_count(); ++i) {
      none += fmt::format(", %held{} = %no_result", i);
      types += ", " + store_.result_type();
    }
    add(R"(      // Zero: the grid is one CTA high.
      %nothing32 = nvvm.read.ptx.sreg.ctaid.y : i32
      %nothing_index = arith.index_cast %nothing32 : i32 to index
      // LLVM does not know this number either. Of one that it knows it makes other loops, between which the sums
      // of a product that runs would be moved from register to register.
      %shared_steps = arith.addi %share, %nothing_index : index
      %nothing = vector.broadcast %nothing32 : i32 to vector<4x2xi32>
      %no_result = arith.constant dense<$zero> : $result_type
      %last:$count = scf.for %part = %first_tile to %parts32 step %tile_step
          iter_args(%tile_stage = %c0, %tile_parity = %false, %old_row32 = %zero, %old_column32 = %zero$none)
          -> (index, i1, i32, i32$types) : i32 {
)",
        {{"zero", stored_.c.element.starts_with('i') ? "0" : "0.0"},
         {"result_type", store_.result_type()},
         {"count", std::to_string(4 + held_count())},
         {"none", none},
         {"types", types}});
  }

  // Results of slice `number` of the tile before.
  std::vector<std::string> held_values(int64_t number) const {
    std::vector<std::string> values;
    const int64_t first = (number - first_held()) * store_.results_of_slice();
    for (int64_t at = first; at < first + store_.results_of_slice(); ++at)
      values.push_back(fmt::format("%held{}", at));
    return values;
  }

  // A result of an accumulator's width in registers that are not the accumulator's, which the next products
  // take. ptxas sees through a copy and then finds no registers for them, but does not know that this is one.
  std::string kept(const std::string& result) {
    if (stored_.c.element_bytes <= 2)
      return result;
    const std::string name = "kept_" + result.substr(1);
    add(R"(        %$bits = vector.bitcast $result : $result_type to vector<4x2xi32>
        %$copy = arith.ori %$bits, %nothing : vector<4x2xi32>
        %$name = vector.bitcast %$copy : vector<4x2xi32> to $result_type
)",
        {{"name", name},
         {"bits", name + "_bits"},
         {"copy", name + "_copy"},
         {"result", result},
         {"result_type", store_.result_type()}});
    return "%" + name;
  }

  void end_tile(const Products& products) {
    const StoreText::Place place{s_.splits > 1 ? "stored_row" : "row", "column"};
    const Words words{{"stage", products.stage}, {"parity", products.parity}, {"row", place.row}};
    if (held() == 0) {
      store_.tile();
      return add("        scf.yield %$stage, %$parity : index, i1\n      }\n", words);
    }
    const auto list = [&](const auto& value) {
      std::string all;
      for (int64_t i = 0; i < held_count(); ++i)
        all += (i ? ", " : "") + std::string(value(i));
      return all;
    };
    const std::string types = list([&](int64_t) { return store_.result_type(); });
    add(R"(        %next_part = arith.addi %part, %tile_step : i32
        %is_last = arith.cmpi sge, %next_part, %parts32 : i32
        %kept:$count = scf.if %is_last -> ($types) {
)",
        {{"count", std::to_string(held_count())}, {"types", types}});
    store_.last_tile(place);
    add("        scf.yield $none : $types\n        } else {\n",
        {{"none", list([](int64_t) { return "%no_result"; })}, {"types", types}});
    for (int64_t i = 0; i < first_held(); ++i)
      store_.put(i, store_.results(i), i);
    std::vector<std::string> results;
    for (int64_t i = first_held(); i < store_.slices(); ++i)
      for (const std::string& result : store_.results(i))
        results.push_back(kept(result));
    add("        scf.yield $results : $types\n        }\n",
        {{"results", list([&](int64_t i) { return results[static_cast<size_t>(i)]; })}, {"types", types}});
    // Places in 32 bits: registers are few.
    Words last = words;
    last["kept"] = list([](int64_t i) { return fmt::format("%kept#{}", i); });
    last["types"] = types;
    add(R"(        %done_row32 = arith.index_cast %$row : index to i32
        scf.yield %$stage, %$parity, %done_row32, %column32, $kept : index, i1, i32, i32, $types
      }
)",
        last);
  }

  // Threads that tell the CTAs of this row and this column of the cluster that a stage is empty: one for
  // each.
  void releaser() {
    if (s_.cluster() == 1) {
      add("      %releases = arith.cmpi eq, %in_warpgroup, %zero : i32\n");
      return;
    }
    add(R"(      %told = arith.constant $told : i32
      %releases = arith.cmpi ult, %in_warpgroup, %told : i32
      // Thread i tells rank i of its column first, then the others of its row.
      %column_rank0 = arith.muli %rank_n, %cluster_m32 : i32
      %peer_in_column = arith.addi %column_rank0, %in_warpgroup : i32
      %other = arith.subi %in_warpgroup, %cluster_m32 : i32
      %is_past = arith.cmpi uge, %other, %rank_n : i32
      %past = arith.extui %is_past : i1 to i32
      %peer_n = arith.addi %other, %past : i32
      %peer_row0 = arith.muli %peer_n, %cluster_m32 : i32
      %peer_in_row = arith.addi %peer_row0, %rank_m : i32
      %is_in_column = arith.cmpi ult, %in_warpgroup, %cluster_m32 : i32
      %peer32 = arith.select %is_in_column, %peer_in_column, %peer_in_row : i32
      %own_or_peer = arith.select %releases, %peer32, %zero : i32
      %peer = arith.index_cast %own_or_peer : i32 to index
)",
        {{"told", std::to_string(s_.cluster_m + s_.cluster_n - 1)}});
  }

  void release(const std::string& stage) {
    if (s_.cluster() > 1)
      add("          nvgpu.mbarrier.arrive.cluster %empty[%$stage], %peer, predicate = %releases : "
          "!barriers\n",
          {{"stage", stage}});
    else
      add(R"(          scf.if %releases {
            %token = nvgpu.mbarrier.arrive %empty[%$stage] : !barriers -> !nvgpu.mbarrier.token
          }
)",
          {{"stage", stage}});
  }

  // One stage's product, which stays pending.
  void product(const char* stage, const char* parity, const char* name, const char* sum,
               const char* attributes) {
    Words words{{"stage", stage},
                {"parity", parity},
                {"sum", sum},
                {"options", transposes_ + attributes + "waitGroup = 1 : i64"}};
    for (const char* word : {"at_a0", "at_a", "at_b", "a", "b", "da", "db", "sum"})
      words[fmt::format("n_{}", word)] = fmt::format("{}_{}", name, word);
    add(R"(          nvgpu.mbarrier.try_wait.parity %full[%$stage], %$parity, %ticks : !barriers
          %$n_at_a0 = arith.muli %$stage, %stage_bytes : index
          %$n_at_a = arith.addi %$n_at_a0, %at_rows : index
          %$n_at_b = arith.addi %$n_at_a0, %a_bytes : index
          %$n_a = memref.view %shared[%$n_at_a][] : !shared to !a_tile
          %$n_b = memref.view %shared[%$n_at_b][] : !shared to !b_tile
          %$n_da = nvgpu.warpgroup.generate.descriptor %$n_a, %a_map : !a_tile, !a_map -> !a_descriptor
          %$n_db = nvgpu.warpgroup.generate.descriptor %$n_b, %b_map : !b_tile, !b_map -> !b_descriptor
          %$n_sum = nvgpu.warpgroup.mma %$n_da, %$n_db, %$sum {$options} : !a_descriptor, !b_descriptor, !sum -> !sum
)",
        words);
  }

  // Slices that wait for the next tile's products.
  int64_t held() const { return stored_.store == MatmulStore::tma ? std::min(s_.held, store_.slices()) : 0; }
  int64_t held_count() const { return held() * store_.results_of_slice(); }
  // The others are put into shared memory at once.
  int64_t first_held() const { return store_.slices() - held(); }
  // Of products: they come before, between and after what is done for the tile before.
  int64_t share_count() const { return held() + (first_held() > 0 ? 1 : 0); }
  // Does a line of B lie along N? Of elements of other widths B is N x K, or was made so.
  bool is_mn_major_b() const { return !kernel_.b.transposed && kernel_.b.element_bytes == 2; }
  int64_t line() const { return kLineBytes / kernel_.a.element_bytes; }

  const MatmulKernel& kernel_;
  const MatmulKernel stored_; // what the kernel stores: C, or sums of parts
  const Schedule& s_;
  TemplateText text_;
  StoreText store_{stored_, text_};
  std::string transposes_;
  int64_t a_bytes_ = 0, b_bytes_ = 0, a_box_rows_ = 0, b_box_rows_ = 0;
};

} // namespace

std::string matmul_text(const MatmulKernel& kernel) {
  return Text(kernel).make();
}

} // namespace lemma::nvgpu
