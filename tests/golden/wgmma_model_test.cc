// The arithmetic of wgmma and wgmma.sp and their matrix descriptors against the recorded bits alone, without
// the virtual GPU: the models of sm_90 and layout/smem_descriptor.h give every output looked at, and with one
// number or one address bit changed they do not.
#include "golden/groups.h"
#include "golden/matrix.h"
#include "golden/record_file.h"
#include "layout/fragment.h"
#include "layout/smem_descriptor.h"
#include "numeric/dot.h"
#include "sparse_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace lemma::golden {
namespace {

using layout::Fragment;
using layout::Matrix;
using layout::SmemDescriptor;
using layout::Swizzle;
using numeric::DotModel;
using numeric::FloatFormat;

struct Recorded {
  explicit Recorded(std::string_view called)
      : name(called), group(make_group(called)), record(read_record(LEMMA_RECORDED, called)) {}

  std::string_view name;
  Group group;
  Result<GroupRecord, std::string> record;

  std::vector<std::string> hashes(const Case& c) const {
    std::vector<std::string> all;
    for (const auto& [part, hash] : record->cases.at(c.name).parts)
      all.push_back(hash);
    return all;
  }
  std::vector<std::byte> inputs(const Case& c) const { return make_inputs(c, name, record->stamp.seed); }
};
const Recorded& dense() {
  static const Recorded instance("wgmma");
  return instance;
}
const Recorded& sparse() {
  static const Recorded instance("wgmma_sp");
  return instance;
}

std::vector<std::string> hashes_of(const Case& c, std::span<const std::byte> outputs) {
  std::vector<std::string> hashes;
  for (const Part& part : c.parts) {
    const std::vector<std::byte> bytes = part_bytes(c, part, outputs);
    hashes.push_back(numeric::to_string(numeric::hash128(bytes.data(), bytes.size())));
  }
  return hashes;
}

// --- The arithmetic: cases with A in registers, B K-major ---

// "m64n24k16.f32.bf16.bf16.a-reg.b-64.neg-a.no-c", taken apart; that of a sparse A has its selector too.
struct Product {
  layout::Shape shape;
  FloatFormat d = FloatFormat::f32, a = FloatFormat::f16, b = FloatFormat::f16;
  Swizzle swizzle = Swizzle::none;
  bool negate_a = false, negate_b = false, accumulates = true;
  std::optional<int> selector; // of a sparse A's metadata

  int stored() const { return selector ? shape.k / 2 : shape.k; } // columns of A
  size_t size_of(FloatFormat format) const {
    return static_cast<size_t>(numeric::traits(format).storage_bits) / 8;
  }
};

std::optional<Product> read_name(const std::string& name) {
  static const std::map<std::string, FloatFormat> formats = {
      {"f32", FloatFormat::f32},   {"f16", FloatFormat::f16},   {"bf16", FloatFormat::bf16},
      {"tf32", FloatFormat::tf32}, {"e4m3", FloatFormat::e4m3}, {"e5m2", FloatFormat::e5m2}};
  static const std::map<std::string, Swizzle> swizzles = {
      {"b-0", Swizzle::none}, {"b-32", Swizzle::b32}, {"b-64", Swizzle::b64}, {"b-128", Swizzle::b128}};
  std::vector<std::string> words;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('.', at), name.size());
    words.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  Product p;
  if (std::sscanf(words[0].c_str(), "m%dn%dk%d", &p.shape.m, &p.shape.n, &p.shape.k) != 3 ||
      words.size() < 6 || words[4] != "a-reg" || !formats.contains(words[1]) || !swizzles.contains(words[5]))
    return std::nullopt;
  p.d = formats.at(words[1]);
  p.a = formats.at(words[2]);
  p.b = formats.at(words[3]);
  p.swizzle = swizzles.at(words[5]);
  const auto has = [&](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  p.negate_a = has("neg-a");
  p.negate_b = has("neg-b");
  p.accumulates = !has("no-c");
  for (int selector = 0; selector < 4; ++selector)
    if (has(("selector" + std::to_string(selector)).c_str()))
      p.selector = selector;
  return p;
}

void flip_signs(std::vector<std::byte>& tile, size_t size) {
  for (size_t i = size - 1; i < tile.size(); i += size)
    tile[i] ^= std::byte{0x80};
}

// f(byte offset in the unit's registers, byte offset in the dense row-major tile) for every element.
void each(const Fragment& fragment, size_t size, const std::function<void(size_t, size_t)>& f) {
  for (int reg = 0; reg < fragment.registers(); ++reg)
    for (int lane = 0; lane < fragment.lanes(); ++lane)
      for (int elem = 0; elem < fragment.elems_per_register(); ++elem) {
        const layout::Coord at = fragment.at({lane, reg, elem});
        f(static_cast<size_t>(reg * fragment.lanes() + lane) * 4 + static_cast<size_t>(elem) * size,
          static_cast<size_t>(at.row * fragment.cols + at.col) * size);
      }
}

void run_unit(const Case& c, const Product& p, std::span<const std::byte> inputs, const DotModel& model,
              uint64_t unit, std::vector<std::byte>& outputs) {
  const auto plane = [&](size_t index) {
    return inputs.data() + c.inputs[index].offset_bytes + unit * c.inputs[index].unit_bytes();
  };
  const size_t d_size = p.size_of(p.d), a_size = p.size_of(p.a);
  const auto stored = static_cast<size_t>(p.stored());
  const size_t b_row_bytes = static_cast<size_t>(p.shape.k) * p.size_of(p.b);
  std::vector<std::byte> a(static_cast<size_t>(p.shape.m) * stored * a_size),
      b(static_cast<size_t>(p.shape.n) * b_row_bytes), d(static_cast<size_t>(p.shape.m * p.shape.n) * d_size);
  each(wgmma_fragment(Matrix::a, {p.shape.m, p.shape.n, p.stored()}, static_cast<int>(a_size) * 8), a_size,
       [&](size_t reg, size_t at) { std::memcpy(&a[at], plane(0) + reg, a_size); });
  const auto line =
      static_cast<uint32_t>(8 * (p.swizzle == Swizzle::none ? b_row_bytes : line_bytes(p.swizzle)));
  const SmemDescriptor descriptor{.leading = 128, .stride = line, .swizzle = p.swizzle};
  for (uint32_t n = 0; n < static_cast<uint32_t>(p.shape.n); ++n)
    for (uint32_t chunk = 0; chunk < b_row_bytes / layout::kChunkBytes; ++chunk)
      std::memcpy(&b[n * b_row_bytes + chunk * layout::kChunkBytes],
                  plane(1) + descriptor.k_major_chunk(n, chunk), layout::kChunkBytes);
  if (p.negate_a)
    flip_signs(a, a_size);
  if (p.negate_b)
    flip_signs(b, p.size_of(p.b));
  const Fragment of_d = wgmma_fragment(Matrix::d, p.shape, static_cast<int>(d_size) * 8);
  each(of_d, d_size, [&](size_t reg, size_t at) { std::memcpy(&d[at], plane(2) + reg, d_size); });
  std::vector<uint8_t> columns;
  if (p.selector) {
    const int bits = static_cast<int>(a_size) * 8;
    columns =
        sparse_columns(layout::metadata_fragment(p.shape.m, p.shape.k, bits), bits, *p.selector, plane(3));
  }
  numeric::DotScratch scratch;
  numeric::dot(numeric::DotPlan(model, {p.shape.m, p.shape.n, p.stored(), p.shape.k}),
               {.a = a.data(),
                .b = b.data(),
                .c = p.accumulates ? d.data() : nullptr,
                .d = d.data(),
                .a_index = p.selector ? columns.data() : nullptr},
               scratch);
  std::byte* out = outputs.data() + c.outputs[0].offset_bytes + unit * c.outputs[0].unit_bytes();
  each(of_d, d_size, [&](size_t reg, size_t at) { std::memcpy(out + reg, &d[at], d_size); });
}

// What holds whatever N is needs no wide cases, which take most of the time; the replay has them all.
constexpr int kWidest = 64;

// f(case, equal to the record) for every such case of the group, computed by `change(model)`; false: not this
// one.
void with_model(const Recorded& recorded, const std::function<bool(DotModel&)>& change,
                const std::function<void(const Case&, bool)>& f) {
  ASSERT_TRUE(recorded.record.ok()) << recorded.record.error();
  for (const Case& c : recorded.group.cases) {
    const std::optional<Product> p = read_name(c.name);
    if (!p || p->shape.n > kWidest)
      continue;
    const auto model_of = p->selector ? numeric::dot_model_sparse : numeric::dot_model;
    DotModel model =
        *model_of(numeric::Arch::sm_90, numeric::DotUnit::wgmma, p->a, p->b, p->d, p->d, p->shape.k);
    if (!change(model))
      continue;
    const std::vector<std::byte> inputs = recorded.inputs(c);
    std::vector<std::byte> outputs(c.output_bytes());
    for (uint64_t unit = 0; unit < c.units; ++unit)
      run_unit(c, *p, inputs, model, unit, outputs);
    f(c, hashes_of(c, outputs) == recorded.hashes(c));
  }
}

// ".f32.bf16.bf16", of every case looked at: d's, a's and b's types.
using Types = std::set<std::string>;

void expect_recorded(const Recorded& recorded, size_t types) {
  Types met;
  with_model(
      recorded, [](DotModel&) { return true; },
      [&](const Case& c, bool equal) {
        EXPECT_TRUE(equal) << c.name;
        met.insert(c.family);
      });
  EXPECT_EQ(met.size(), types);
}

// No case of such a type, with its model changed so, is as recorded.
void expect_found(const Recorded& recorded, size_t types, const std::function<bool(DotModel&)>& change) {
  Types met;
  with_model(recorded, change, [&](const Case& c, bool equal) {
    EXPECT_FALSE(equal) << c.name;
    met.insert(c.family);
  });
  EXPECT_EQ(met.size(), types);
}

class WgmmaModel : public testing::TestWithParam<const Recorded& (*)()> {
protected:
  // f16 to f32 and to f16, bf16, tf32, four pairs of e4m3 and e5m2 to f32 and to f16.
  static constexpr size_t kTypes = 12, kWideToF32 = 3, kNarrowToF32 = 4, kToF16 = 5;
};

TEST_P(WgmmaModel, GivesTheRecordedBits) {
  expect_recorded(GetParam()(), kTypes);
}

TEST_P(WgmmaModel, OtherFractionBitsAreFound) {
  expect_found(GetParam()(), kTypes, [](DotModel& m) { return m.fraction_bits-- > 0; });
  expect_found(GetParam()(), kTypes, [](DotModel& m) { return m.fraction_bits++ > 0; });
}

// But of e4m3 and e5m2 to f32: the 13 bits that are kept are exact.
TEST_P(WgmmaModel, OtherRoundingIsFound) {
  expect_found(GetParam()(), kWideToF32 + kToF16, [](DotModel& m) {
    m.rounding = m.rounding == numeric::Rounding::rz ? numeric::Rounding::rn : numeric::Rounding::rz;
    return m.kept_fraction_bits == 23 || m.d == FloatFormat::f16;
  });
}

// An f16 result has no bits that could be dropped.
TEST_P(WgmmaModel, OtherKeptBitsAreFound) {
  expect_found(GetParam()(), kWideToF32 + kNarrowToF32,
               [](DotModel& m) { return m.d == FloatFormat::f32 && m.kept_fraction_bits-- > 0; });
  expect_found(GetParam()(), kNarrowToF32,
               [](DotModel& m) { return m.d == FloatFormat::f32 && m.kept_fraction_bits++ < 23; });
}

TEST_P(WgmmaModel, StepsOfHalfTheProductsAreFound) {
  expect_found(GetParam()(), kTypes, [](DotModel& m) {
    m.max_fused_k = m.a == FloatFormat::tf32 ? 4 : 8;
    return true;
  });
}

INSTANTIATE_TEST_SUITE_P(Groups, WgmmaModel, testing::Values(&dense, &sparse),
                         [](const auto& group) { return std::string(group.param().name); });

// Another selector, or columns from the wrong lane, would be other products.
TEST(WgmmaModelSparse, EverySelectorOccurs) {
  std::set<std::pair<FloatFormat, int>> met;
  for (const Case& c : sparse().group.cases)
    if (const std::optional<Product> p = read_name(c.name); p && p->shape.n <= kWidest)
      met.insert({p->a, *p->selector});
  for (const FloatFormat two : {FloatFormat::f16, FloatFormat::bf16, FloatFormat::tf32})
    for (const int selector : {0, 1})
      EXPECT_TRUE(met.contains({two, selector})) << static_cast<int>(two) << ", selector " << selector;
}

// --- Addresses: what the cases that tell addresses stored ---

constexpr uint32_t kSharedBase = 1024; // of dynamic shared memory on sm_90
constexpr int kLowBits = 9;            // of an element's index, in the first pass

using Change = std::function<void(SmemDescriptor&)>;

std::vector<std::string> addresses(const Case& c, bool at_a, bool mn_major, const Change& change) {
  const std::vector<std::byte> inputs = dense().inputs(c);
  std::vector<std::byte> outputs(c.output_bytes());
  const layout::Shape shape{64, at_a ? 16 : 64, 16};
  const Fragment fragment = layout::mma_c(16, shape.n, 32);
  for (uint64_t unit = 0; unit < c.units; ++unit) {
    uint64_t bits = 0;
    std::memcpy(&bits, inputs.data() + c.inputs[0].offset_bytes + (unit * 2 + !at_a) * sizeof bits,
                sizeof bits);
    SmemDescriptor descriptor = SmemDescriptor::decode(bits + kSharedBase / 16);
    change(descriptor);
    for (int warp = 0; warp < 4; ++warp)
      for (int reg = 0; reg < fragment.registers(); ++reg)
        for (int lane = 0; lane < 32; ++lane) {
          const layout::Coord at = fragment.at({lane, reg, 0});
          // A: rows are rows of A. B: rows are K, the same in every warp, and columns are rows of B.
          const auto mn = static_cast<uint32_t>(at_a ? warp * 16 + at.row : at.col);
          const auto k = static_cast<uint32_t>(at_a ? at.col : at.row);
          const uint32_t address = mn_major ? descriptor.mn_major_chunk(mn / 8, k) + mn % 8 * 2
                                            : descriptor.k_major_chunk(mn, k / 8) + k % 8 * 2;
          const uint32_t index = (address - kSharedBase) / 2;
          const float values[] = {static_cast<float>(index & ((1u << kLowBits) - 1)),
                                  static_cast<float>(index >> kLowBits)};
          for (size_t pass = 0; pass < 2; ++pass)
            std::memcpy(outputs.data() + c.outputs[pass].offset_bytes + unit * c.outputs[pass].unit_bytes() +
                            static_cast<size_t>((warp * fragment.registers() + reg) * 32 + lane) * 4,
                        &values[pass], 4);
        }
  }
  return hashes_of(c, outputs);
}

// f(case, at_a, mn_major, the recorded hashes) for the four cases.
void each_look(const std::function<void(const Case&, bool, bool, const std::vector<std::string>&)>& f) {
  ASSERT_TRUE(dense().record.ok()) << dense().record.error();
  size_t count = 0;
  for (const Case& c : dense().group.cases)
    if (c.name.starts_with("descriptors of ")) {
      f(c, c.name.find(" of A") != std::string::npos, c.name.find("MN-major") != std::string::npos,
        dense().hashes(c));
      ++count;
    }
  EXPECT_EQ(count, 4u);
}

TEST(WgmmaDescriptors, LeadWhereTheRecordSays) {
  each_look([](const Case& c, bool at_a, bool mn_major, const std::vector<std::string>& hashes) {
    EXPECT_EQ(addresses(c, at_a, mn_major, [](SmemDescriptor&) {}), hashes) << c.name;
  });
}

TEST(WgmmaDescriptors, OneWrongFieldIsFound) {
  const Change changes[] = {
      [](SmemDescriptor& d) { d.start += 16; }, [](SmemDescriptor& d) { d.stride += 16; },
      [](SmemDescriptor& d) { d.swizzle = d.swizzle == Swizzle::b128 ? Swizzle::b64 : Swizzle::b128; }};
  each_look([&](const Case& c, bool at_a, bool mn_major, const std::vector<std::string>& hashes) {
    for (const Change& change : changes) {
      const std::vector<std::string> changed = addresses(c, at_a, mn_major, change);
      for (size_t part = 0; part < hashes.size(); ++part)
        EXPECT_NE(changed[part], hashes[part]) << c.name << " " << c.parts[part].name;
    }
    // These matter to some swizzles only.
    EXPECT_NE(addresses(c, at_a, mn_major, [](SmemDescriptor& d) { d.leading += 16; }), hashes) << c.name;
    EXPECT_NE(addresses(c, at_a, mn_major, [](SmemDescriptor& d) { d.base_offset = 0; }), hashes) << c.name;
  });
}

} // namespace
} // namespace lemma::golden
