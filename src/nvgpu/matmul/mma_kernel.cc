// Text of a product's function with mma.sync or fused multiply-adds.
//
// Why it is fast, as measured (docs/matmul.md): warps of 64 x 64 read the fewest bytes of shared memory for
// what 255 registers hold; the next k-step's fragments are on their way while one is multiplied, across
// stages, too; copies and reads meet no bank twice; where all sizes are multiples of the tile's, one
// predicate serves a stage's copies, and addresses are constants apart. Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/mma_kernel.h"

#include "nvgpu/matmul/common_text.h"
#include "nvgpu/matmul/mma_store.h"
#include "nvgpu/matmul/mma_tile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace lemma::nvgpu {
namespace {

std::string to_text(int64_t value) {
  return fmt::format("{}", value);
}

class MmaText {
public:
  explicit MmaText(const MatmulKernel& kernel)
      : kernel_(kernel), s_(kernel.schedule), bytes_(kernel.a.element_bytes), tile_k_(kLineBytes / bytes_),
        a_(kernel, text_, "a", 0), b_(kernel, text_, "b", s_.tile_m * kLineBytes / bytes_),
        store_(kernel, text_) {
    set_words();
  }

  std::string make() {
    add(R"(
!shared = memref<?xi8, #gpu.address_space<workgroup>>
!sum = vector<2x2x$sum_element>
func.func private @$name(%a: $a_type, %b: $b_type, %c: $c_type$operand_list) {
)");
    host();
    begin_kernel();
    a_.begin();
    b_.begin();
    fill_ring();
    s_.family == MatmulFamily::fma ? multiply_elements() : multiply_fragments();
    // Copies of nothing, past the end of K, may be on their way.
    add("      nvvm.cp.async.wait.group 0\n");
    store_.tile();
    add("      gpu.terminator\n  }\n  return\n}\n");
    return text_.take();
  }

private:
  void add(std::string_view text, const Words& more = {}) { text_.add(text, more); }

  int64_t row_fragments() const { return s_.tile_m / s_.warps_m / 16; }
  int64_t column_fragments() const { return s_.tile_n / s_.warps_n / 8; }
  int64_t k_steps() const { return kLineBytes / (bytes_ == 8 ? 64 : 32); }

  void set_words() {
    put_common_words(kernel_, text_);
    text_.put("c_element", kernel_.c.element);
    text_.put("warps_m", s_.warps_m);
    text_.put("warp_m", s_.tile_m / s_.warps_m);
    text_.put("warp_n", s_.tile_n / s_.warps_n);
    text_.put("stage_elems", s_.stage_bytes() / bytes_);
    text_.put("ring_elems", s_.ring_bytes() / bytes_);
    text_.put("ring_bytes", s_.ring_bytes());
    text_.put("ahead", s_.stages - 1);
    text_.put("pending", s_.stages - 2);
    text_.put("zero_sum", kernel_.sum == "i32" ? "0" : "0.0");
  }

  // Sizes and the grid.
  void host() {
    add_sizes(text_);
    add(R"(  %tiles_m = arith.ceildivui %m, %tile_m : index
  %tiles_n = arith.ceildivui %n, %tile_n : index
  %tiles = arith.muli %tiles_m, %tiles_n : index
  %steps = arith.ceildivui %k, %tile_k : index
  %tiles_m32 = arith.index_cast %tiles_m : index to i32
  %tiles_n32 = arith.index_cast %tiles_n : index to i32
  %k32 = arith.index_cast %k : index to i32
  %threads = arith.constant $threads : index
  %shared_bytes = arith.constant $ring_bytes : i32
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %tiles, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %threads, %nty = %c1, %ntz = %c1)
             dynamic_shared_memory_size %shared_bytes {
)");
  }

  // Who a thread is, and which tile of C the CTA has.
  void begin_kernel() {
    add(R"(      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %four = arith.constant 4 : i32
      %eight = arith.constant 8 : i32
      %sixteen = arith.constant 16 : i32
      %warp_threads = arith.constant 32 : i32
      %tile_m32 = arith.constant $tile_m : i32
      %tile_n32 = arith.constant $tile_n : i32
      %tile_k32 = arith.constant $tile_k : i32
      %stage_elems = arith.constant $stage_elems : i32
      %ring_elems = arith.constant $ring_elems : i32
      %thread = arith.index_cast %tx : index to i32
      %warp = arith.divui %thread, %warp_threads : i32
      %lane = arith.remui %thread, %warp_threads : i32
      %quad = arith.divui %lane, %four : i32
      %in_quad = arith.remui %lane, %four : i32
      %pair32 = arith.muli %in_quad, %two : i32
      // A lane's row, and which half of 32 bytes, of two rows of 8x8 matrices: one below the other first, or beside.
      %straight_line = arith.remui %lane, %sixteen : i32
      %straight_half = arith.divui %lane, %sixteen : i32
      %lane_in_eight = arith.remui %lane, %eight : i32
      %below = arith.muli %straight_half, %eight : i32
      %crossed_line = arith.addi %lane_in_eight, %below : i32
      %eights = arith.divui %lane, %eight : i32
      %crossed_half = arith.remui %eights, %two : i32
      %warps_m = arith.constant $warps_m : i32
      %warp_m = arith.constant $warp_m : i32
      %warp_n = arith.constant $warp_n : i32
      %warp_of_rows = arith.remui %warp, %warps_m : i32
      %warp_of_columns = arith.divui %warp, %warps_m : i32
      %warp_row = arith.muli %warp_of_rows, %warp_m : i32
      %warp_column = arith.muli %warp_of_columns, %warp_n : i32
      %shared = gpu.dynamic_shared_memory : !shared
      %tile = arith.index_cast %bx : index to i32
      %group = arith.constant $group : i32
      %group_tiles = arith.muli %group, %tiles_n32 : i32
)");
    add_tile_order(text_, "tile", "tile_row", "tile_column");
    add_tile_place(text_);
  }

  // The first stages, all but one.
  void fill_ring() {
    add(R"(      %ahead = arith.constant $ahead : index
      %filled:4 = scf.for %s = %c0 to %ahead step %c1
          iter_args(%s_a = $a_first, %s_b = $b_first, %s_left = %k32, %s_stage = %zero) -> (index, index, i32, i32) {
)",
        {{"a_first", a_.first()}, {"b_first", b_.first()}});
    a_.copy({.stage = "s_stage", .from = "s_a", .k_left = "s_left", .id = "s"}, 0, a_.copies());
    b_.copy({.stage = "s_stage", .from = "s_b", .k_left = "s_left", .id = "s"}, 0, b_.copies());
    add(R"(        nvvm.cp.async.commit.group
        %s_next_a = arith.addi %s_a, $a_advance : index
        %s_next_b = arith.addi %s_b, $b_advance : index
        %s_next_left = arith.subi %s_left, %tile_k32 : i32
        %s_next_stage = arith.addi %s_stage, %stage_elems : i32
        scf.yield %s_next_a, %s_next_b, %s_next_left, %s_next_stage : index, index, i32, i32
      }
      %no_sum = arith.constant dense<$zero_sum> : !sum
)",
        {{"a_advance", a_.advance()}, {"b_advance", b_.advance()}});
  }

  // Copies of part `part` of `parts` of the stage that is brought while another is multiplied.
  void copy_part(int64_t part, int64_t parts) {
    for (MmaTile* tile : {&a_, &b_}) {
      const std::string x = tile == &a_ ? "a" : "b";
      tile->copy({.stage = "write", .from = x + "_next", .k_left = "left", .id = "m"},
                 tile->copies() * part / parts, tile->copies() * (part + 1) / parts);
    }
  }

  // The stage after %`stage`, as %`next`.
  void step_on(const char* stage, const char* next) {
    add(R"(        %$next_raw = arith.addi %$stage, %stage_elems : i32
        %$next_wraps = arith.cmpi eq, %$next_raw, %ring_elems : i32
        %$next = arith.select %$next_wraps, %zero, %$next_raw : i32
)",
        {{"stage", stage},
         {"next", next},
         {"next_raw", std::string(next) + "_raw"},
         {"next_wraps", std::string(next) + "_wraps"}});
  }

  // The places of the loop over K that both units have: what is read, what is written, what is copied next.
  static constexpr const char* kPlaces = "%read = %zero, %write = %filled#3, %a_next = %filled#0, %b_next = "
                                         "%filled#1, %left = %filled#2";
  static constexpr const char* kPlaceTypes = "i32, i32, index, index, i32";

  void advance_places() {
    step_on("write", "write_on");
    add(R"(        %a_on = arith.addi %a_next, $a_advance : index
        %b_on = arith.addi %b_next, $b_advance : index
        %left_on = arith.subi %left, %tile_k32 : i32
)",
        {{"a_advance", a_.advance()}, {"b_advance", b_.advance()}});
  }

  // NAME_I_J for each of the sums.
  std::vector<std::string> sums(const std::string& name) const {
    std::vector<std::string> all;
    for (int64_t i = 0; i < row_fragments(); ++i)
      for (int64_t j = 0; j < column_fragments(); ++j)
        all.push_back(fmt::format("%{}_{}_{}", name, i, j));
    return all;
  }

  static void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
    list.insert(list.end(), more.begin(), more.end());
  }

  static std::vector<std::string> repeat(const std::string& what, size_t times) {
    return std::vector<std::string>(times, what);
  }

  void begin_loop(const std::vector<std::string>& values, const std::vector<std::string>& begins,
                  const std::vector<std::string>& types, const char* more_values, const char* more_types) {
    std::vector<std::string> arguments;
    for (size_t i = 0; i < values.size(); ++i)
      arguments.push_back(values[i] + " = " + begins[i]);
    add("      %products:$count = scf.for %step = %c0 to %steps step %c1\n"
        "          iter_args($arguments, $more_values) -> ($types, $more_types) {\n",
        {{"count", to_text(static_cast<int64_t>(values.size()) + 5)},
         {"arguments", fmt::format("{}", fmt::join(arguments, ", "))},
         {"types", fmt::format("{}", fmt::join(types, ", "))},
         {"more_values", more_values},
         {"more_types", more_types}});
  }

  void end_loop(const std::vector<std::string>& values, const std::vector<std::string>& types) {
    add("        scf.yield $values, %read_on, %write_on, %a_on, %b_on, %left_on : $types, $more\n      }\n",
        {{"values", fmt::format("{}", fmt::join(values, ", "))},
         {"types", fmt::format("{}", fmt::join(types, ", "))},
         {"more", kPlaceTypes}});
    const std::vector<std::string> totals = sums("total");
    for (size_t i = 0; i < totals.size(); ++i)
      add("      $total = vector.shape_cast %products#$i : !sum to !sum\n",
          {{"total", totals[i]}, {"i", to_text(static_cast<int64_t>(i))}});
  }

  // mma.sync. The fragments of a stage's first k-step are there when the stage begins; the last k-step reads
  // those of the next stage, after the barrier that says that all copies of it have come, and that nobody
  // reads this stage any more.
  void multiply_fragments() {
    const int64_t a_count = a_.fragments(), b_count = b_.fragments();
    if (bytes_ == 4 && !kernel_.rounds_tf32)
      add(R"(      %tf32_dropped = arith.constant dense<13> : vector<4x1xi32>
      %tf32_one = arith.constant dense<1> : vector<4x1xi32>
      %tf32_below_half = arith.constant dense<0xFFF> : vector<4x1xi32>
      %tf32_nan = arith.constant dense<0x7FFFFFFF> : vector<4x1xf32>
)");
    add("      nvvm.cp.async.wait.group $pending\n      gpu.barrier\n");
    a_.load("zero", 0, "fa_first");
    b_.load("zero", 0, "fb_first");
    std::vector<std::string> values = sums("sum0"), begins = repeat("%no_sum", values.size()),
                             types = repeat("!sum", values.size());
    const auto fragments = [](const std::string& prefix, int64_t count) {
      std::vector<std::string> all;
      for (int64_t f = 0; f < count; ++f)
        all.push_back(fmt::format("%{}{}", prefix, f));
      return all;
    };
    append(values, fragments("fa0_", a_count));
    append(values, fragments("fb0_", b_count));
    append(begins, fragments("fa_first", a_count));
    append(begins, fragments("fb_first", b_count));
    append(types, repeat(a_.fragment_type(), static_cast<size_t>(a_count)));
    append(types, repeat(b_.fragment_type(), static_cast<size_t>(b_count)));
    begin_loop(values, begins, types, kPlaces, kPlaceTypes);
    const int64_t steps = k_steps();
    for (int64_t step = 0; step < steps; ++step) {
      const bool is_last = step + 1 == steps;
      if (is_last) {
        add("        nvvm.cp.async.commit.group\n"
            "        nvvm.cp.async.wait.group $pending\n        gpu.barrier\n");
        step_on("read", "read_on");
      }
      const char* stage = is_last ? "read_on" : "read";
      a_.load(stage, (step + 1) % steps, fmt::format("fa{}_", step + 1));
      b_.load(stage, (step + 1) % steps, fmt::format("fb{}_", step + 1));
      if (!is_last)
        copy_part(step, steps - 1);
      products(step);
    }
    advance_places();
    std::vector<std::string> results = sums(fmt::format("sum{}", steps));
    append(results, fragments(fmt::format("fa{}_", steps), a_count));
    append(results, fragments(fmt::format("fb{}_", steps), b_count));
    end_loop(results, types);
  }

  // Of the fragment %`from`, f32, the tf32 nearest to each element, of two the even one: mma.sync itself
  // takes the bits above the last 13. Here and not where fragments are read: nothing waits for what comes
  // next.
  void round_to_tf32(const std::string& from, const std::string& to) {
    const Words words{{"from", from},
                      {"to", to},
                      {"bits", to + "_bits"},
                      {"last", to + "_last"},
                      {"last_bit", to + "_last_bit"},
                      {"half", to + "_half"},
                      {"up", to + "_up"},
                      {"sum", to + "_sum"},
                      {"is_nan", to + "_is_nan"}};
    if (kernel_.rounds_tf32) {
      std::vector<std::string> rounded;
      for (int64_t i = 0; i < 4; ++i) {
        rounded.push_back(fmt::format("%{}_{}", to, i));
        add(R"(        %$element = vector.extract %$from[$i, 0] : f32 from vector<4x1xf32>
        %$word = nvvm.convert.float.to.tf32 %$element {rnd = #nvvm.fp_rnd_mode<rn>}
        %$rounded = arith.bitcast %$word : i32 to f32
)",
            {{"from", from},
             {"i", to_text(i)},
             {"element", fmt::format("{}_{}_f32", to, i)},
             {"word", fmt::format("{}_{}_tf32", to, i)},
             {"rounded", rounded.back().substr(1)}});
      }
      add("        %$to = vector.from_elements $rounded : vector<4x1xf32>\n",
          {{"to", to}, {"rounded", fmt::format("{}", fmt::join(rounded, ", "))}});
      return;
    }
    add(R"(        %$bits = vector.bitcast %$from : vector<4x1xf32> to vector<4x1xi32>
        %$last = arith.shrui %$bits, %tf32_dropped : vector<4x1xi32>
        %$last_bit = arith.andi %$last, %tf32_one : vector<4x1xi32>
        %$half = arith.addi %$last_bit, %tf32_below_half : vector<4x1xi32>
        %$sum = arith.addi %$bits, %$half : vector<4x1xi32>
        %$up = vector.bitcast %$sum : vector<4x1xi32> to vector<4x1xf32>
        %$is_nan = arith.cmpf uno, %$from, %$from : vector<4x1xf32>
        %$to = arith.select %$is_nan, %tf32_nan, %$up : vector<4x1xi1>, vector<4x1xf32>
)",
        words);
  }

  // The fragments of a k-step as they are multiplied: what comes before their number.
  std::string multiplied(const std::string& matrix, int64_t step, int64_t count) {
    const std::string read = fmt::format("f{}{}_", matrix, step);
    if (bytes_ != 4)
      return read;
    for (int64_t i = 0; i < count; ++i)
      round_to_tf32(fmt::format("{}{}", read, i), fmt::format("tf32_{}{}", read, i));
    return "tf32_" + read;
  }

  // One k-step's, column by column, up and down: what one has read of A the next has, too.
  void products(int64_t step) {
    a_read_ = multiplied("a", step, a_.fragments());
    b_read_ = multiplied("b", step, b_.fragments());
    for (int64_t j = 0; j < column_fragments(); ++j) {
      if (bytes_ != 8 || kernel_.has_wide_f64)
        half_of_b(step, j);
      for (int64_t turn = 0; turn < row_fragments(); ++turn) {
        const int64_t i = j % 2 ? row_fragments() - 1 - turn : turn;
        if (bytes_ != 8 || kernel_.has_wide_f64)
          product(step, i, j);
        else
          small_products(step, i, j);
      }
    }
  }

  std::string half_type() const {
    std::string type = b_.fragment_type();
    return type.replace(type.find('4'), 1, "2");
  }

  void half_of_b(int64_t step, int64_t j) {
    add("        %$half = vector.extract_strided_slice %$fragment {offsets = [$row, 0], sizes = [2, $width], "
        "strides = [1, 1]} : $whole_type to $half_type\n",
        {{"half", fmt::format("b{}_{}", step, j)},
         {"fragment", fmt::format("{}{}", b_read_, j / 2)},
         {"row", to_text(j % 2 * 2)},
         {"width", to_text(bytes_ == 8 ? 1 : 4 / bytes_)},
         {"whole_type", b_.fragment_type()},
         {"half_type", half_type()}});
  }

  void product(int64_t step, int64_t i, int64_t j) {
    add("        %$new = nvgpu.mma.sync (%$a, %$b, %$old) {mmaShape = [16, 8, $k]$tf32} : ($a_fragment, "
        "$b_half, !sum) -> !sum\n",
        {{"new", fmt::format("sum{}_{}_{}", step + 1, i, j)},
         {"old", fmt::format("sum{}_{}_{}", step, i, j)},
         {"a", fmt::format("{}{}", a_read_, i)},
         {"b", fmt::format("b{}_{}", step, j)},
         {"k", to_text(tile_k_ / k_steps())},
         {"tf32", bytes_ == 4 ? ", tf32Enabled" : ""},
         {"a_fragment", a_.fragment_type()},
         {"b_half", half_type()}});
  }

  // The same of f64 by m8n8k4, the one shape that targets before sm_90 have: k ascending.
  void small_products(int64_t step, int64_t i, int64_t j) {
    const std::string name = fmt::format("sum{}_{}_{}", step + 1, i, j);
    std::string old = fmt::format("sum{}_{}_{}", step, i, j);
    for (int64_t half = 0; half < 2; ++half) {
      const std::string id = fmt::format("{}_{}", name, half);
      const Words words{{"id", id}, {"old", old}, {"half", to_text(half)}};
      std::string sum = id + "_in";
      add("        %$sum = vector.extract_strided_slice %$old {offsets = [$half, 0], sizes = [1, 2], strides "
          "= [1, 1]} : !sum to vector<1x2xf64>\n",
          {{"sum", sum}, {"old", old}, {"half", to_text(half)}});
      for (int64_t k = 0; k < 2; ++k) {
        const std::string next = fmt::format("{}_k{}", id, k);
        add(R"(        %$a_part = vector.extract_strided_slice %$a {offsets = [$a_row, 0], sizes = [1, 1], strides = [1, 1]} : vector<4x1xf64> to vector<1x1xf64>
        %$b_part = vector.extract_strided_slice %$b {offsets = [$b_row, 0], sizes = [1, 1], strides = [1, 1]} : vector<4x1xf64> to vector<1x1xf64>
        %$next = nvgpu.mma.sync (%$a_part, %$b_part, %$sum) {mmaShape = [8, 8, 4]} : (vector<1x1xf64>, vector<1x1xf64>, vector<1x2xf64>) -> vector<1x2xf64>
)",
            {{"a_part", next + "_a"},
             {"b_part", next + "_b"},
             {"a", fmt::format("{}{}", a_read_, i)},
             {"b", fmt::format("{}{}", b_read_, j / 2)},
             {"a_row", to_text(2 * k + half)},
             {"b_row", to_text(j % 2 * 2 + k)},
             {"next", next},
             {"sum", sum}});
        sum = next;
      }
      const std::string result = half == 0 ? id + "_out" : name;
      add("        %$result = vector.insert_strided_slice %$sum, %$old {offsets = [$half, 0], strides = [1, "
          "1]} : vector<1x2xf64> into !sum\n",
          {{"result", result}, {"sum", sum}, {"old", old}, {"half", to_text(half)}});
      old = result;
    }
  }

  // Fused multiply-adds: four k's at a time. Where K ends within four, one at a time: not even a zero is
  // added that K has not got, which would make +0.0 of a sum of -0.0.
  void multiply_elements() {
    const std::vector<std::string> types = repeat("!sum", sums("").size());
    begin_loop(sums("sum0"), repeat("%no_sum", types.size()), types, kPlaces, kPlaceTypes);
    add("        nvvm.cp.async.wait.group $pending\n        gpu.barrier\n");
    copy_part(0, 1);
    const bool is_whole = kernel_.k > 0 && kernel_.k % tile_k_ == 0;
    add(R"(        nvvm.cp.async.commit.group
        %ahead_k = arith.constant $ahead_k : i32
        %here_left0 = arith.addi %left, %ahead_k : i32
        %here_left = arith.minsi %here_left0, %tile_k32 : i32
        %here_chunks = arith.divui $here, %four : i32
        %chunks_end = arith.index_cast %here_chunks : i32 to index
)",
        {{"ahead_k", to_text((s_.stages - 1) * tile_k_)}, {"here", is_whole ? "%tile_k32" : "%here_left"}});
    begin_inner("chunks", "%c0 to %chunks_end", "sum0", "sum1");
    add("        %chunk = arith.index_cast %chunks_k : index to i32\n");
    a_.load_chunk("read", "chunk", "ea");
    b_.load_chunk("read", "chunk", "eb");
    for (int64_t k = 0; k < 4; ++k)
      fuse(k, k == 0 ? "sum1" : fmt::format("sum1k{}", k), fmt::format("sum1k{}", k + 1));
    end_inner("chunks", "sum1k4", "sum2");
    std::string last = "sum2";
    if (!is_whole) {
      add(R"(        %rest_begin32 = arith.muli %here_chunks, %four : i32
        %rest_begin = arith.index_cast %rest_begin32 : i32 to index
        %rest_end = arith.index_cast %here_left : i32 to index
)");
      begin_inner("rest", "%rest_begin to %rest_end", "sum2", "sum3");
      add("        %rest_k32 = arith.index_cast %rest_k : index to i32\n");
      a_.load_one("read", "rest_k32", "ra");
      b_.load_one("read", "rest_k32", "rb");
      fuse(0, "sum3", "sum3k1", "r");
      end_inner("rest", "sum3k1", "sum4");
      last = "sum4";
    }
    step_on("read", "read_on");
    advance_places();
    end_loop(sums(last), types);
  }

  void begin_inner(const char* name, const char* range, const char* from, const char* to) {
    std::vector<std::string> arguments = sums(to);
    const std::vector<std::string> begins = sums(from);
    for (size_t i = 0; i < arguments.size(); ++i)
      arguments[i] += " = " + begins[i];
    add("        %$name:$count = scf.for %$name_k = $range step %c1 iter_args($arguments) -> ($types) {\n",
        {{"name", name},
         {"name_k", std::string(name) + "_k"},
         {"count", to_text(static_cast<int64_t>(begins.size()))},
         {"range", range},
         {"arguments", fmt::format("{}", fmt::join(arguments, ", "))},
         {"types", fmt::format("{}", fmt::join(repeat("!sum", begins.size()), ", "))}});
  }

  void end_inner(const char* name, const char* from, const char* to) {
    const std::vector<std::string> results = sums(to);
    add("        scf.yield $values : $types\n        }\n",
        {{"values", fmt::format("{}", fmt::join(sums(from), ", "))},
         {"types", fmt::format("{}", fmt::join(repeat("!sum", results.size()), ", "))}});
    for (size_t i = 0; i < results.size(); ++i)
      add("        $result = vector.shape_cast %$name#$i : !sum to !sum\n",
          {{"result", results[i]}, {"name", name}, {"i", to_text(static_cast<int64_t>(i))}});
  }

  // One k: each row's element with each column's.
  void fuse(int64_t k, const std::string& from, const std::string& to, const std::string& prefix = "e") {
    const auto vector = [&](const std::string& id, const std::string& x, int64_t first, int64_t second,
                            bool is_row) {
      const auto element = [&](int64_t line) { return fmt::format("%{}{}{}_{}", prefix, x, line, k); };
      const std::string a = element(first), b = element(second);
      add("        %$id = vector.from_elements $elements : !sum\n",
          {{"id", id},
           {"elements",
            is_row ? fmt::format("{}, {}, {}, {}", a, a, b, b) : fmt::format("{}, {}, {}, {}", a, b, a, b)}});
    };
    for (int64_t i = 0; i < row_fragments(); ++i)
      vector(fmt::format("{}_rows{}", to, i), "a", 2 * i, 2 * i + 1, true);
    for (int64_t j = 0; j < column_fragments(); ++j)
      vector(fmt::format("{}_columns{}", to, j), "b", 2 * j, 2 * j + 1, false);
    for (int64_t i = 0; i < row_fragments(); ++i)
      for (int64_t j = 0; j < column_fragments(); ++j)
        add("        %$new = math.fma %$a, %$b, %$old : !sum\n",
            {{"new", fmt::format("{}_{}_{}", to, i, j)},
             {"old", fmt::format("{}_{}_{}", from, i, j)},
             {"a", fmt::format("{}_rows{}", to, i)},
             {"b", fmt::format("{}_columns{}", to, j)}});
  }

  const MatmulKernel& kernel_;
  const Schedule& s_;
  TemplateText text_;
  int64_t bytes_, tile_k_;
  std::string a_read_, b_read_; // fragments of the k-step that is multiplied
  MmaTile a_, b_;
  MmaStore store_;
};

} // namespace

std::string mma_text(const MatmulKernel& kernel) {
  return MmaText(kernel).make();
}

} // namespace lemma::nvgpu
