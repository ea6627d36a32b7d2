// Cases of tensor maps. See cases.h.
#include "cases.h"

#include "numeric/hash.h"

#include <algorithm>
#include <cstring>

namespace lemma::tensor_maps {
namespace {

constexpr int kEncodeCases = 7600;

class EncodeCases {
public:
  explicit EncodeCases(uint64_t seed) : random_(seed) {}

  TensorMap next() {
    TensorMap map = legal();
    // A quarter of them break a rule, or more, or look as if.
    if (below(4) == 0)
      for (uint64_t left = 1 + below(2); left > 0; --left)
        bend(map);
    return map;
  }

private:
  uint64_t below(uint64_t bound) { return random_.below(bound); }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

  static uint32_t bits(TensorType type) {
    constexpr uint32_t kBits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
    return kBits[static_cast<size_t>(type) % 16];
  }

  TensorMap legal() {
    TensorMap map;
    const bool im2col = below(3) == 0;
    map.type = static_cast<TensorType>(below(16) == 0 ? 13 + below(3) : below(13));
    const size_t rank = im2col ? 3 + below(3) : 1 + below(5);
    const bool padded = map.type > TensorType::b4x16;
    if (rank >= 3 && map.type < TensorType::b4x16)
      map.interleave =
          static_cast<TensorInterleave>(std::max<int64_t>(0, static_cast<int64_t>(below(6)) - 3));
    map.swizzle = map.interleave == TensorInterleave::b32 ? TensorSwizzle::b32
                  : padded                                ? one_of({TensorSwizzle::none, TensorSwizzle::b128})
                                                          : static_cast<TensorSwizzle>(below(4));
    map.l2_promotion = static_cast<TensorL2>(below(4));
    if (map.type >= TensorType::f16 && map.type < TensorType::b4x16)
      map.oob_fill = static_cast<TensorFill>(below(2));
    const uint64_t unit = map.interleave == TensorInterleave::b32 || padded ? 32 : 16;
    map.address = one_of<uint64_t>({0, 0x7f0000000000, 0x7ff58c000000}) +
                  unit * random_.bits(static_cast<int>(below(24)));
    for (size_t i = 0; i < rank; ++i) {
      uint64_t size = 1 + random_.bits(static_cast<int>(below(14)));
      if (below(16) == 0)
        size = 1 + random_.bits(32);
      if (i == 0 && padded)
        size = (size / 128 % 1024 + 1) * 128;
      if (i == 0 && map.type == TensorType::b4x16)
        size += size % 2;
      map.dims.push_back(size);
      map.element_strides.push_back(static_cast<uint32_t>(below(3) == 0 ? 1 + below(8) : 1));
    }
    uint64_t stride = map.dims[0] * bits(map.type) / 8;
    for (size_t i = 1; i < rank; ++i) {
      stride = (stride + unit - 1) / unit * unit +
               unit * (below(2) ? random_.bits(static_cast<int>(below(8))) : 0);
      if (stride >= uint64_t{1} << 40 || below(12) == 0)
        stride = unit * random_.bits(static_cast<int>(below(36))) % (uint64_t{1} << 40);
      map.strides_bytes.push_back(stride);
      stride *= map.dims[i];
    }
    // Most boxes fit into shared memory, most bounding boxes have pixels.
    for (int tries = 0; tries < 3; ++tries) {
      map.box.clear();
      map.im2col.reset();
      set_box(map, im2col);
      if (looks_fine(map))
        break;
    }
    return map;
  }

  static bool looks_fine(const TensorMap& map) {
    uint64_t bytes = bits(map.type);
    for (size_t i = 0; i < map.box.size(); ++i)
      bytes *= map.box[i] / map.element_strides[i];
    if (!map.im2col)
      return bytes / 8 <= 220000;
    for (size_t i = 0; i < map.im2col->lower.size(); ++i)
      if (static_cast<int64_t>(map.dims[i + (map.interleave == TensorInterleave::none)]) +
              map.im2col->upper[i] - map.im2col->lower[i] <=
          0)
        return false;
    return bytes * map.im2col->channels_per_pixel * map.im2col->pixels_per_column / 8 <= 220000;
  }

  // Elements of a row: what the swizzle's span holds, in whole chunks of 16 bytes.
  uint32_t row(const TensorMap& map) {
    if (map.type > TensorType::b4x16)
      return 128;
    const uint32_t chunk = std::max(1u, 128 / bits(map.type));
    uint32_t chunks = 256 / chunk;
    if (map.interleave == TensorInterleave::none && map.swizzle != TensorSwizzle::none)
      chunks = std::min(chunks, 1u << static_cast<int>(map.swizzle));
    return chunk * static_cast<uint32_t>(1 + below(chunks));
  }

  void set_box(TensorMap& map, bool im2col) {
    const size_t rank = map.dims.size();
    if (!im2col) {
      for (size_t i = 0; i < rank; ++i)
        map.box.push_back(i == 0 ? row(map)
                                 : static_cast<uint32_t>(1 + random_.bits(static_cast<int>(below(9)))));
      return;
    }
    TensorIm2col box;
    const int32_t reach = rank == 3 ? 32768 : rank == 4 ? 128 : 16;
    for (size_t i = 0; i + 2 < rank; ++i) {
      const int32_t within = below(2) ? 4 : reach;
      box.lower.push_back(static_cast<int32_t>(below(static_cast<uint64_t>(2 * within))) - within);
      box.upper.push_back(static_cast<int32_t>(below(static_cast<uint64_t>(2 * within))) - within);
    }
    box.channels_per_pixel = row(map);
    box.pixels_per_column = static_cast<uint32_t>(1 + random_.bits(static_cast<int>(below(11))));
    map.im2col = box;
  }

  void bend(TensorMap& map) {
    const size_t rank = map.dims.size();
    if (rank == 0)
      return;
    const size_t i = below(rank);
    switch (below(20)) {
    case 0:
      map.type = static_cast<TensorType>(below(18));
      break;
    case 1:
      resize(map, below(7));
      break;
    case 2:
      map.address = one_of<uint64_t>({0x1008, 0x1010, 0x1001, uint64_t{1} << 40, uint64_t{1} << 47,
                                      uint64_t{1} << 48, (uint64_t{1} << 49) - 16, uint64_t{1} << 56,
                                      (uint64_t{1} << 57) - 32, uint64_t{1} << 57, ~uint64_t{31}});
      break;
    case 3:
      map.dims[i] = one_of<uint64_t>({0, 1, 2, 127, 128, 255, uint64_t{1} << 31, (uint64_t{1} << 32) - 1,
                                      uint64_t{1} << 32, (uint64_t{1} << 32) + 1, ~uint64_t{0}});
      break;
    case 4:
    case 5:
      if (rank > 1)
        map.strides_bytes[below(rank - 1)] =
            one_of<uint64_t>({0, 1, 8, 16, 24, 32, 48, 64, uint64_t{1} << 36, (uint64_t{1} << 40) - 16,
                              (uint64_t{1} << 40) - 32, uint64_t{1} << 40, uint64_t{1} << 44, ~uint64_t{31}});
      break;
    case 6:
    case 7:
      if (!map.im2col)
        map.box[i] =
            one_of<uint32_t>({0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 48, 64, 96, 128, 255, 256, 257, 512, 65536});
      break;
    case 8:
      map.element_strides[i] = one_of<uint32_t>({0, 1, 7, 8, 9, 16, 256, 257});
      break;
    case 9:
      map.interleave = static_cast<TensorInterleave>(below(4));
      break;
    case 10:
    case 11:
      map.swizzle = static_cast<TensorSwizzle>(below(8));
      break;
    case 12:
      map.l2_promotion = static_cast<TensorL2>(below(5));
      break;
    case 13:
      map.oob_fill = static_cast<TensorFill>(below(3));
      break;
    case 14:
    case 15:
      if (map.im2col && !map.im2col->lower.empty()) {
        auto& corner = below(2) ? map.im2col->lower : map.im2col->upper;
        corner[below(corner.size())] = one_of<int32_t>({-32769, -32768, -129, -128, -17, -16, -1, 0, 1, 15,
                                                        16, 127, 128, 32767, 32768, INT32_MIN, INT32_MAX});
      }
      break;
    case 16:
    case 17:
      if (map.im2col)
        map.im2col->channels_per_pixel =
            one_of<uint32_t>({0, 1, 3, 4, 8, 12, 16, 32, 64, 96, 128, 255, 256, 257, 1024});
      break;
    case 18:
      if (map.im2col)
        map.im2col->pixels_per_column = one_of<uint32_t>({0, 1, 3, 1023, 1024, 1025, 2048, 65536});
      break;
    case 19: // more memory than a CTA has, or an image smaller than its bounding box
      if (rank == 3 && !map.im2col && below(2)) { // just, or just not
        map.type = TensorType::u8;
        map.swizzle = TensorSwizzle::none;
        map.interleave = TensorInterleave::none;
        map.box = below(2) ? std::vector<uint32_t>{256, 57, 16} : std::vector<uint32_t>{16, 139, 105};
        break;
      }
      for (uint32_t& size : map.box)
        size = &size == map.box.data() ? size : 256;
      for (size_t d = 1; map.im2col && d < rank; ++d)
        map.dims[d] = 1 + below(4);
      break;
    }
  }

  void resize(TensorMap& map, size_t rank) {
    map.dims.resize(rank, 4);
    map.strides_bytes.resize(rank == 0 ? 0 : rank - 1, 64);
    map.element_strides.resize(rank, 1);
    if (!map.im2col) {
      map.box.resize(rank, 1);
      return;
    }
    map.im2col->lower.resize(rank < 2 ? 0 : rank - 2, -1);
    map.im2col->upper.resize(rank < 2 ? 0 : rank - 2, -1);
    if (rank == 0)
      map.im2col.reset(), map.box.clear();
  }

  numeric::Random random_;
};

constexpr uint64_t kEdges[] = {0,
                               1,
                               2,
                               3,
                               4,
                               5,
                               6,
                               7,
                               8,
                               9,
                               15,
                               16,
                               17,
                               31,
                               32,
                               64,
                               127,
                               128,
                               255,
                               256,
                               257,
                               512,
                               1023,
                               1024,
                               65535,
                               65536,
                               0x7fffffff,
                               0x80000000,
                               0xffffffff,
                               uint64_t{1} << 32,
                               (uint64_t{1} << 36) - 16,
                               uint64_t{1} << 36,
                               uint64_t{1} << 37,
                               (uint64_t{1} << 40) - 16,
                               uint64_t{1} << 40,
                               (uint64_t{1} << 40) + 16,
                               uint64_t{1} << 47,
                               uint64_t{1} << 63,
                               ~uint64_t{15},
                               ~uint64_t{0}};

uint64_t value_for(const Replacement& replacement, numeric::Random& random) {
  if (replacement.is_immediate)
    return random.below(static_cast<uint64_t>(replacement.values));
  if (random.below(2))
    return kEdges[random.below(std::size(kEdges))];
  const uint64_t value = random.bits(static_cast<int>(1 + random.below(replacement.is_wide ? 64 : 32)));
  return replacement.is_wide && random.below(2) ? value & ~uint64_t{15} : value;
}

} // namespace

std::vector<TensorMap> encode_cases() {
  EncodeCases cases(20261128);
  std::vector<TensorMap> all;
  for (int i = 0; i < kEncodeCases; ++i)
    all.push_back(cases.next());
  return all;
}

std::string text_of(const Replacement& replacement, int value, bool shared) {
  std::string text = std::string("tensormap.replace.tile.") + replacement.field +
                     (shared ? ".shared::cta" : ".global") + ".b1024.b" +
                     (replacement.is_wide ? "64" : "32") + (shared ? " [copy], " : " [%map], ");
  if (replacement.ordinal >= 0)
    text += std::to_string(replacement.ordinal) + ", ";
  return text +
         (replacement.is_immediate ? std::to_string(value)
          : replacement.is_wide    ? std::string("%value")
                                   : std::string("%value32")) +
         ";";
}

// For each base all replacements in turn, in many an order; then maps made of zeros, edit after edit.
std::vector<Edit> edits() {
  constexpr size_t kCount = std::size(kReplacements);
  numeric::Random random(77);
  std::vector<Edit> all;
  const auto add = [&](Edit::Base base, uint64_t from, size_t replacement) {
    all.push_back(
        {base, from, replacement, value_for(kReplacements[replacement], random), random.below(2) != 0});
  };
  for (size_t i = 0; i < 30 * kCount; ++i)
    add(Edit::Base::encoded, random.below(kEncodeCases), i % kCount);
  for (size_t i = 0; i < 20 * kCount; ++i)
    add(Edit::Base::random, random.next(), i % kCount);
  for (size_t i = 0; i < 20 * kCount; ++i)
    add(Edit::Base::zeros, 0, i % kCount);
  for (int chain = 0; chain < 50; ++chain) {
    std::vector<size_t> order;
    for (size_t i = 0; i < kCount; ++i)
      order.push_back(i);
    for (size_t i = kCount; i > 1; --i)
      std::swap(order[i - 1], order[random.below(i)]);
    for (size_t i = 0; i < kCount; ++i)
      add(i == 0 ? chain % 2 ? Edit::Base::encoded : Edit::Base::zeros : Edit::Base::previous,
          i == 0 && chain % 2 ? random.below(kEncodeCases) : 0, order[i]);
  }
  return all;
}

Bytes random_map(uint64_t state) {
  Bytes bytes;
  for (size_t at = 0; at < bytes.size(); at += 8) {
    const uint64_t word = numeric::splitmix64(state);
    std::memcpy(bytes.data() + at, &word, 8);
  }
  return bytes;
}

std::vector<Load> loads() {
  std::vector<Load> all = {
      {"tile1", {.type = TensorType::u8, .dims = {4096}, .box = {128}}, {4000}},
      {"tile2",
       {.type = TensorType::f16,
        .dims = {256, 256},
        .strides_bytes = {512},
        .box = {64, 16},
        .swizzle = TensorSwizzle::b128},
       {224, 248}},
      {"tile5",
       {.type = TensorType::f32,
        .dims = {32, 16, 8, 4, 3},
        .strides_bytes = {128, 2048, 16384, 65536},
        .box = {8, 6, 3, 2, 2},
        .element_strides = {1, 2, 1, 1, 1},
        .swizzle = TensorSwizzle::b32,
        .oob_fill = TensorFill::nan},
       {28, 3, -1, 1, 2}},
      {"interleaved",
       {.type = TensorType::bf16,
        .dims = {40, 16, 8, 3},
        .strides_bytes = {1280, 20480, 163840},
        .box = {16, 4, 2, 2},
        .element_strides = {2, 1, 1, 1},
        .interleave = TensorInterleave::b32,
        .swizzle = TensorSwizzle::b32},
       {30, 14, 2, 1}},
      {"im2col",
       {.type = TensorType::f16,
        .dims = {64, 16, 12, 3},
        .strides_bytes = {128, 2048, 24576},
        .element_strides = {1, 2, 1, 1},
        .swizzle = TensorSwizzle::b64,
        .im2col =
            TensorIm2col{
                .lower = {-1, -1}, .upper = {-2, -1}, .channels_per_pixel = 32, .pixels_per_column = 40}},
       {32, 3, 4, 1}},
  };
  // Pixels in, at the ends of and outside the bounding box, which goes from -1 to 13 and to 10; outside of
  // the tensor.
  const std::pair<const char*, std::vector<int32_t>> starts[] = {
      {"im2col_w_first", {32, -1, 4, 1}},     {"im2col_w_before", {32, -2, 4, 1}},
      {"im2col_w_last", {32, 13, 4, 1}},      {"im2col_w_behind", {32, 14, 4, 1}},
      {"im2col_h_first", {32, 3, -1, 1}},     {"im2col_h_before", {32, 3, -2, 1}},
      {"im2col_h_last", {32, 3, 10, 1}},      {"im2col_h_behind", {32, 3, 11, 1}},
      {"im2col_far_before", {32, -99, 4, 1}}, {"im2col_far_behind", {32, 99, 4, 1}},
      {"im2col_n_before", {32, 3, 4, -1}},    {"im2col_n_behind", {32, 3, 4, 3}},
      {"im2col_c_before", {-8, 3, 4, 1}},     {"im2col_c_behind", {64, 3, 4, 1}},
      {"im2col_c_odd", {33, 3, 4, 1}}};
  for (const auto& [name, at] : starts)
    all.push_back({name, all[4].map, at});
  return all;
}

std::vector<uint32_t> load_memory() {
  std::vector<uint32_t> words(kLoadMemoryBytes / 4);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<uint32_t>(i) * 0x9e3779b9u;
  return words;
}

std::string text_of(const Load& load) {
  std::string at;
  for (const int32_t coordinate : load.at)
    at += (at.empty() ? "" : ", ") + std::to_string(coordinate);
  const bool im2col = load.map.im2col.has_value();
  const std::string bytes = std::to_string(kLoadSharedBytes);
  return std::string(".visible .entry ") + load.name + R"((.param .u64 map, .param .u64 out) {
  .shared .align 8 .b64 bar;
  .reg .pred %p;
  .reg .b16 %h;
  .reg .b32 %s, %i, %t, %w<4>;
  .reg .b64 %map, %out, %a;
  ld.param.u64 %map, [map];
  ld.param.u64 %out, [out];
  mov.u32 %s, box;
  mov.u32 %t, %tid.x;
  mov.u32 %w0, 0xa5a5a5a5;
  shl.b32 %i, %t, 4;
FILL:
  add.u32 %w1, %s, %i;
  st.shared.v4.b32 [%w1], {%w0, %w0, %w0, %w0};
  add.u32 %i, %i, 4096;
  setp.lt.u32 %p, %i, )" +
         bytes + R"(;
  @%p bra FILL;
  setp.ne.u32 %p, %t, 0;
  @%p bra ISSUED;
  mbarrier.init.shared.b64 [bar], 1;
ISSUED:
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p bra WAITED;
  mov.b16 %h, 0;
  cp.async.bulk.tensor.)" +
         std::to_string(load.at.size()) + "d.shared::cluster.global." + (im2col ? "im2col" : "tile") +
         ".mbarrier::complete_tx::bytes [%s], [%map, {" + at + "}], [bar]" + (im2col ? ", {%h, %h}" : "") +
         R"(;
  mov.u32 %i, 0;
WAIT:
  nanosleep.u32 2000;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, 20;
  @%p bra WAIT;
WAITED:
  bar.sync 0;
  shl.b32 %i, %t, 4;
COPY:
  add.u32 %w0, %s, %i;
  cvt.u64.u32 %a, %i;
  add.u64 %a, %a, %out;
  ld.shared.v4.b32 {%w0, %w1, %w2, %w3}, [%w0];
  st.global.v4.b32 [%a], {%w0, %w1, %w2, %w3};
  add.u32 %i, %i, 4096;
  setp.lt.u32 %p, %i, )" +
         bytes + R"(;
  @%p bra COPY;
  ret;
}
)";
}

} // namespace lemma::tensor_maps
