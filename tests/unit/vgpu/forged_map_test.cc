// Tensor copies by maps that nobody has encoded: seeded random bytes, right maps with a field or a byte
// changed, and edge values put in by tensormap.replace. Each launch ends in success or a fault that is not
// our own; that none touches memory that is not the program's is for the sanitizers to see.
#include "kernel.h"
#include "layout/tensor_map.h"
#include "numeric/hash.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lemma::vgpu {
namespace {

using Bytes = layout::TensorMapBytes;

constexpr uint64_t kEdges[] = {0,          1,
                               2,          3,
                               7,          8,
                               9,          15,
                               16,         31,
                               32,         64,
                               77,         255,
                               256,        257,
                               1024,       65535,
                               65536,      0x7fffffff,
                               0x80000000, 0xfffffff0,
                               0xffffffff, 1ull << 32,
                               1ull << 36, (1ull << 40) - 16,
                               1ull << 40, 1ull << 63,
                               ~0ull - 15, ~0ull};

// One thread copies by the map at %map; coordinates and im2col offsets are parameters.
std::string text_of(const std::string& instruction) {
  const bool of_sm_100 =
      instruction.find(".tile::") != instruction.npos || instruction.find(".im2col::") != instruction.npos;
  return std::string(of_sm_100 ? ".version 8.6\n.target sm_100a\n.address_size 64\n" : "") + R"(
.visible .entry k(.param .u64 map, .param .u64 x01, .param .u64 x23, .param .u64 x4, .param .u64 new, .param .u64 at) {
  .shared .align 8 .b64 bar;
  .shared .align 128 .b8 box[4096];
  .reg .b64 %map, %a, %new;
  .reg .b32 %x<6>, %v, %s;
  .reg .b16 %h<3>;
  ld.param.u64 %map, [map];
  ld.param.u64 %new, [new];
  ld.param.u32 %s, [at];
  mov.u32 %v, box;
  add.u32 %s, %s, %v;
  ld.param.v2.u32 {%x0, %x1}, [x01];
  ld.param.v2.u32 {%x2, %x3}, [x23];
  ld.param.v2.u32 {%x4, %x5}, [x4];
  mov.b32 {%h0, %h1}, %x5;
  mov.b16 %h2, %h0;
  cvt.u32.u64 %v, %new;
  mbarrier.init.shared.b64 [bar], 1;
)" + instruction +
         "  ret;\n}\n";
}

std::string coordinates(int rank) {
  std::string text = "{%x0";
  for (int i = 1; i < rank; ++i)
    text += ", %x" + std::to_string(i);
  return text + "}";
}

std::string load(int rank) {
  return "  cp.async.bulk.tensor." + std::to_string(rank) +
         "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%map, " + coordinates(rank) +
         "], [bar];\n";
}

struct Instruction {
  size_t rank;
  bool im2col;
  std::string text;
};

std::vector<Instruction> instructions() {
  std::vector<Instruction> all;
  for (int rank = 1; rank <= 5; ++rank) {
    const auto add = [&](bool im2col, const std::string& text) {
      all.push_back({static_cast<size_t>(rank), im2col, "  " + text + ";\n"});
    };
    const std::string d = std::to_string(rank) + "d", at = "[%map, " + coordinates(rank) + "]";
    all.push_back({static_cast<size_t>(rank), false, load(rank)});
    add(false, "cp.async.bulk.tensor." + d + ".global.shared::cta.tile.bulk_group " + at + ", [%s]");
    add(false,
        "cp.reduce.async.bulk.tensor." + d + ".global.shared::cta.add.tile.bulk_group " + at + ", [%s]");
    add(false, "cp.async.bulk.prefetch.tensor." + d + ".L2.global.tile " + at);
    if (rank < 3)
      continue;
    const char* const offsets[] = {"{%h0}", "{%h0, %h1}", "{%h0, %h1, %h2}"};
    add(true, "cp.async.bulk.tensor." + d + ".global.shared::cta.im2col_no_offs.bulk_group " + at + ", [%s]");
    add(true, "cp.reduce.async.bulk.tensor." + d + ".global.shared::cta.max.im2col_no_offs.bulk_group " + at +
                  ", [%s]");
    add(true, "cp.async.bulk.tensor." + d +
                  ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%s], " + at + ", [bar], " +
                  offsets[rank - 3]);
    for (const std::string mode : {"im2col::w", "im2col::w::128"})
      add(true, "cp.async.bulk.tensor." + d + ".shared::cluster.global." + mode +
                    ".mbarrier::complete_tx::bytes [%s], " + at + ", [bar], {%h0, %h1}");
    add(true, "cp.async.bulk.prefetch.tensor." + d + ".L2.global.im2col::w " + at + ", {%h0, %h1}");
  }
  const std::string rows = "[%map, " + coordinates(5) + "]";
  for (const std::string& by_row :
       {"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [%s], " +
            rows + ", [bar]",
        "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group " + rows + ", [%s]",
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 " + rows})
    all.push_back({2, false, "  " + by_row + ";\n"});
  return all;
}

class Forger {
public:
  Forger(const std::string& text, AsyncMode mode, uint64_t seed) : kernel_(text), random_(seed) {
    kernel_.config().block = {1, 1, 1};
    kernel_.config().async = mode;
    tensor_ = kernel_.buffer(std::vector<std::byte>(kTensorBytes), "tensor");
    at_ = kernel_.buffer(std::vector<std::byte>(layout::kTensorMapBytes), "map");
  }

  // A right map for the memory that there is.
  Bytes right(size_t rank, bool im2col) {
    TensorMap map{.type = static_cast<TensorType>(random_.below(13)), .address = tensor_};
    if (rank >= 3)
      map.interleave = static_cast<TensorInterleave>(random_.below(3));
    const uint32_t element = layout::element_bytes(map.type);
    uint64_t stride = 32 * (1 + random_.below(4));
    for (size_t i = 0; i < rank; ++i) {
      map.dims.push_back(i == 0 ? std::max<uint64_t>(1, stride / element - random_.below(3))
                                : 1 + random_.below(4));
      if (i > 0) {
        map.strides_bytes.push_back(stride);
        stride *= map.dims[i];
      }
      map.box.push_back(
          static_cast<uint32_t>(i == 0 ? 16 * (1 + random_.below(2)) / element : 1 + random_.below(4)));
      map.element_strides.push_back(static_cast<uint32_t>(1 + random_.below(2)));
    }
    map.swizzle = map.interleave == TensorInterleave::b32 ? TensorSwizzle::b32
                                                          : static_cast<TensorSwizzle>(random_.below(4));
    if (im2col) {
      map.box.clear();
      const auto corner = static_cast<int32_t>(random_.below(2));
      map.im2col = TensorIm2col{.lower = std::vector<int32_t>(rank - 2, -corner),
                                .upper = std::vector<int32_t>(rank - 2, -corner),
                                .channels_per_pixel = 16 / element,
                                .pixels_per_column = 1 + static_cast<uint32_t>(random_.below(8))};
    }
    EXPECT_EQ(layout::wrong_with(map), "");
    return layout::encode(map);
  }

  uint64_t edge() { return kEdges[random_.below(std::size(kEdges))]; }
  // A few coordinates near the tensor, a few far away.
  uint64_t coordinate() {
    const uint64_t kind = random_.below(8);
    return static_cast<uint32_t>(kind == 0   ? edge()
                                 : kind == 1 ? 0u - 16 * random_.below(3)
                                             : 16 * random_.below(3));
  }

  void run(const Bytes& map, uint64_t new_value = 0) {
    std::memcpy(kernel_.memory().find(at_)->host, map.data(), map.size());
    const auto pair = [&](uint64_t low, uint64_t high) { return low | high << 32; };
    const Report report =
        kernel_.run({at_, pair(coordinate(), coordinate()), pair(coordinate(), coordinate()),
                     pair(coordinate(), random_.below(2) ? random_.next() : 0), new_value,
                     random_.below(2) ? 4096 - 128 * (1 + random_.below(3)) : 0});
    EXPECT_NE(report.outcome, Outcome::internal) << fault_in(report).message;
    EXPECT_NE(fault_in(report).kind, FaultKind::unsupported) << fault_in(report).message;
    ++(report.ok() ? finished : faulted);
  }

  numeric::Random& random() { return random_; }
  uint64_t finished = 0, faulted = 0;

private:
  static constexpr size_t kTensorBytes = 1 << 18;
  Kernel kernel_;
  uint64_t tensor_ = 0, at_ = 0;
  numeric::Random random_;
};

// Of each instruction. LEMMA_FORGED_MAPS=20000 makes more than a million in all.
uint64_t forged_maps() {
  const char* count = std::getenv("LEMMA_FORGED_MAPS");
  return count ? std::strtoull(count, nullptr, 10) : 200;
}

class ForgedMaps : public testing::TestWithParam<AsyncMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, ForgedMaps, testing::Values(AsyncMode::eager, AsyncMode::late),
                         [](const auto& mode) { return mode.param == AsyncMode::eager ? "eager" : "late"; });

// Bytes as they come; right maps with some bytes, or one number, replaced.
TEST_P(ForgedMaps, EndInSuccessOrAFault) {
  uint64_t finished = 0, faulted = 0;
  uint64_t seed = 0;
  for (const Instruction& instruction : instructions()) {
    Forger forger(text_of(instruction.text), GetParam(), ++seed);
    numeric::Random& random = forger.random();
    for (uint64_t i = 0; i < forged_maps(); ++i) {
      Bytes bytes = forger.right(instruction.rank, instruction.im2col);
      const uint64_t kind = random.below(5);
      if (kind == 1)
        for (std::byte& byte : bytes)
          byte = static_cast<std::byte>(random.next());
      if (kind == 1 && random.below(2)) // far enough to be looked at
        layout::put(bytes, layout::map_field::rank, 0, instruction.rank);
      for (uint64_t left = kind == 2 ? 1 + random.below(3) : 0; left > 0; --left)
        bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
      if (kind == 3) {
        const uint64_t value = forger.edge(), size = uint64_t{1} << random.below(4);
        std::memcpy(bytes.data() + random.below(bytes.size() / size) * size, &value, size);
      }
      forger.run(bytes);
    }
    finished += forger.finished;
    faulted += forger.faulted;
  }
  EXPECT_GT(finished, 1000u);
  EXPECT_GT(faulted, 1000u);
}

TEST_P(ForgedMaps, ReplacedFieldsToo) {
  const struct {
    const char* field;
    int ordinals, bits;
  } fields[] = {{"global_address", 0, 64}, {"rank", 0, 32},          {"box_dim", 5, 32},
                {"global_dim", 5, 32},     {"global_stride", 5, 64}, {"element_stride", 5, 32}};
  uint64_t finished = 0, faulted = 0;
  for (const auto& f : fields)
    for (int ordinal = 0; ordinal < std::max(f.ordinals, 1); ++ordinal) {
      const int rank = 1 + ordinal;
      Forger forger(text_of(std::string("  tensormap.replace.tile.") + f.field + ".global.b1024.b" +
                            std::to_string(f.bits) + " [%map], " +
                            (f.ordinals ? std::to_string(ordinal) + ", " : "") +
                            (f.bits == 64 ? "%new" : "%v") + ";\n" + load(rank)),
                    GetParam(), static_cast<uint64_t>(ordinal));
      for (int i = 0; i < 100; ++i)
        forger.run(forger.right(static_cast<size_t>(rank), false), forger.edge());
      finished += forger.finished;
      faulted += forger.faulted;
    }
  EXPECT_GT(finished, 100u);
  EXPECT_GT(faulted, 500u);
}

} // namespace
} // namespace lemma::vgpu
