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

#include "nvgpu/matmul/ring_text.h"
#include "nvgpu/matmul/split_text.h"
#include "nvgpu/matmul/store_text.h"
#include "nvgpu/matmul/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::nvgpu {
namespace {

class Text {
public:
  explicit Text(const MatmulKernel& kernel)
      : kernel_(kernel), stored_(kernel.schedule.splits > 1 ? parts_of(kernel) : kernel),
        s_(kernel.schedule) {
    set_words();
  }

  std::string make() {
    ring_.types();
    add(R"(!a_tile = memref<$a_tile, #gpu.address_space<workgroup>>
!b_tile = memref<$b_tile, #gpu.address_space<workgroup>>
!a_descriptor = !nvgpu.warpgroup.descriptor<tensor = memref<$a_operand, #gpu.address_space<workgroup>>>
!b_descriptor = !nvgpu.warpgroup.descriptor<tensor = memref<$b_operand, #gpu.address_space<workgroup>>>
!sum = !nvgpu.warpgroup.accumulator<fragmented = vector<$sum_shape>>
)");
    add("func.func private @$name(%a: $a_type, %b: $b_type, %c: $c_type$operand_list) {\n");
    ring_.host();
    if (held() > 0)
      shares();
    ring_.host_of_store();
    launch();
    if (s_.splits > 1)
      add_sum_of_parts(kernel_, text_);
    add("  return\n}\n");
    return text_.take();
  }

private:
  void set_words() {
    const auto put = [&](const char* word, const auto& value) { text_.put(word, value); };
    put("sum_shape", fmt::format("{}x{}x{}", s_.rows_of_consumer(), s_.tile_n, kernel_.sum));
    put("producer_registers", s_.producer_registers);
    put("consumer_registers", s_.consumer_registers);
    const auto tile = [](bool swapped, int64_t rows, int64_t columns, const std::string& element) {
      return fmt::format("{}x{}x{}", swapped ? columns : rows, swapped ? rows : columns, element);
    };
    const int64_t tile_k = ring_.line();
    put("a_tile", tile(kernel_.a.transposed, s_.rows_of_consumer(), tile_k, multiplied(kernel_.a)));
    put("b_tile", tile(kernel_.b.transposed, tile_k, s_.tile_n, multiplied(kernel_.b)));
    // As the instruction takes them.
    const std::string sign = kernel_.a.is_unsigned ? "u" : "";
    put("a_operand", tile(kernel_.a.transposed, s_.rows_of_consumer(), tile_k, sign + multiplied(kernel_.a)));
    put("b_operand", tile(kernel_.b.transposed, tile_k, s_.tile_n, sign + multiplied(kernel_.b)));
    transposes_ = std::string(kernel_.a.transposed ? "transposeA, " : "") +
                  (ring_.is_mn_major_b() ? "transposeB, " : "");
  }

  void add(std::string_view text, const Words& more = {}) { text_.add(text, more); }

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
    ring_.launch("");
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

  void begin_kernel() {
    ring_.begin();
    add(R"(    %warpgroup = arith.divui %warp, %four : i32
    %is_producer = arith.cmpi eq, %warpgroup, %zero : i32
)");
    prefetch();
    ring_.init("");
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
    ring_.place("first_tile");
    ring_.first_depth();
    add("        scf.if %lines_of_a {\n");
    prefetch_line("a", "tx", kernel_.a.transposed);
    add("        } else {\n          %line_of_b = arith.subi %tx, %tile_m : index\n");
    prefetch_line("b", "line_of_b", ring_.is_mn_major_b());
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
                {"line", std::to_string(ring_.line())},
                {"lines", std::to_string((is_a ? s_.tile_m : s_.tile_n) / ring_.line())},
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

  void produce() {
    add(R"(      nvvm.setmaxregister decrease $producer_registers
      scf.if %is_first {
)");
    ring_.bring();
    add("      }\n");
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
        {{"consumer_bytes", std::to_string(kernel_.a.transposed ? s_.rows_of_consumer() / ring_.line() *
                                                                      ring_.a_box_rows() * kLineBytes
                                                                : s_.rows_of_consumer() * kLineBytes)}});
    releaser();
    store_.before_tiles();
    if (held() > 0)
      begin_turns();
    begin_tiles();
    // The first product of a tile needs no zeros to add to.
    add("        %no_sum = nvgpu.warpgroup.mma.init.accumulator -> !sum\n");
    product("tile_stage", "tile_parity", "first", "no_sum", "scaleD = false, ");
    ring_.advance("tile_stage", "tile_parity", "second");
    // While that one runs: divisions take their time.
    ring_.place("part");
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
    ring_.advance("stage", "parity", "next");
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
  const MatmulKernel& kernel_;
  const MatmulKernel stored_; // what the kernel stores: C, or sums of parts
  const Schedule& s_;
  TemplateText text_;
  StoreText store_{stored_, text_};
  RingText ring_{kernel_, stored_, store_.shared_bytes(), text_};
  std::string transposes_;
};

} // namespace

std::string matmul_text(const MatmulKernel& kernel) {
  return Text(kernel).make();
}

} // namespace lemma::nvgpu
