// The arithmetic of the matrix instructions against the recorded bits alone, without the virtual GPU: the
// model of sm_90 gives every recorded output, and a model that differs from it in one number does not. So the
// record is sharp enough to tell them apart.
//
// The integer rows and m8n8k4 have no such numbers; their replay is golden.mma and golden.mma_narrow.
#include "golden/groups.h"
#include "golden/matrix.h"
#include "golden/record_file.h"
#include "numeric/dot.h"
#include "sparse_columns.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace lemma::golden {
namespace {

using isa::Type;
using layout::Matrix;
using numeric::DotModel;
using numeric::DotScheme;

struct Recorded {
  Group group;
  Result<GroupRecord, std::string> record;
};
const Recorded& recorded(std::string_view group) {
  static std::map<std::string_view, Recorded> all;
  const auto known = all.find(group);
  return known != all.end()
             ? known->second
             : all.emplace(group, Recorded{make_group(group), read_record(LEMMA_RECORDED, group)})
                   .first->second;
}

numeric::FloatFormat format_of(Type type) {
  return type == Type::tf32 ? numeric::FloatFormat::tf32 : values_of(type).floating;
}

// One spelling's matrices between registers and dense tiles.
class Spelled {
public:
  explicit Spelled(const MatrixSpelling& s) : s_(s) {
    const layout::Shape& shape = s.row->shape;
    const auto model_of = sparse() ? numeric::dot_model_sparse : numeric::dot_model;
    model = *model_of(numeric::Arch::sm_90, numeric::DotUnit::mma, format_of(s.a), format_of(s.b),
                      format_of(s.c), format_of(s.d), shape.k);
    if (s.row->step_k != 0)
      model.max_fused_k = s.row->step_k;
  }

  // Every part's hash of the outputs that `changed` gives.
  std::vector<std::string> hashes(const Case& c, std::span<const std::byte> inputs,
                                  const DotModel& changed) const {
    std::vector<std::byte> outputs(c.output_bytes());
    for (uint64_t warp = 0; warp < c.units; ++warp)
      run_warp(c, inputs, changed, warp, outputs);
    std::vector<std::string> all;
    for (const Part& part : c.parts) {
      const std::vector<std::byte> bytes = part_bytes(c, part, outputs);
      all.push_back(numeric::to_string(numeric::hash128(bytes.data(), bytes.size())));
    }
    return all;
  }

  DotModel model;

private:
  bool sparse() const { return s_.row->sparse != isa::Qual::none; }

  // Calls f(byte offset in the warp's registers, coordinate) for every element of a fragment.
  template <class F>
  void each(Matrix matrix, Type type, F f) const {
    const layout::Fragment fragment = isa::fragment_of(*s_.row, matrix, type);
    const int elems = fragment.elems_per_register(), bytes = fragment.register_bits / 8;
    for (int reg = 0; reg < fragment.registers(); ++reg)
      for (int lane = 0; lane < 32; ++lane)
        for (int elem = 0; elem < elems; ++elem)
          f(static_cast<size_t>((reg * 32 + lane) * bytes + elem * (fragment.element_bits / 8)),
            fragment.at({lane, reg, elem}));
  }

  std::vector<std::byte> tile(const Plane& plane, Matrix matrix, Type type, std::span<const std::byte> inputs,
                              uint64_t warp, int pitch, bool transpose) const {
    const std::byte* registers = inputs.data() + plane.offset_bytes + warp * plane.unit_bytes();
    const size_t size = plane.element_bytes;
    std::vector<std::byte> out(plane.unit_bytes());
    each(matrix, type, [&](size_t offset, layout::Coord at) {
      const int row = transpose ? at.col : at.row, col = transpose ? at.row : at.col;
      std::memcpy(out.data() + static_cast<size_t>(row * pitch + col) * size, registers + offset, size);
    });
    return out;
  }

  void run_warp(const Case& c, std::span<const std::byte> inputs, const DotModel& changed, uint64_t warp,
                std::vector<std::byte>& outputs) const {
    const layout::Shape& shape = s_.row->shape;
    const int stored = sparse() ? shape.k / 2 : shape.k;
    const std::vector<std::byte> a = tile(c.inputs[0], Matrix::a, s_.a, inputs, warp, stored, false);
    const std::vector<std::byte> b = tile(c.inputs[1], Matrix::b, s_.b, inputs, warp, shape.k, true);
    const std::vector<std::byte> addend = tile(c.inputs[2], Matrix::c, s_.c, inputs, warp, shape.n, false);
    const size_t size = c.outputs[0].element_bytes;
    std::vector<std::byte> sum(static_cast<size_t>(shape.m * shape.n) * size);
    numeric::DotTile dot_tile;
    std::vector<uint8_t> columns;
    if (sparse()) {
      columns = sparse_columns(isa::metadata_of(*s_.row), isa::bits_of(s_.a), 0,
                               inputs.data() + c.inputs[3].offset_bytes + warp * c.inputs[3].unit_bytes());
      dot_tile.a_index = columns.data();
    }
    dot_tile.a = a.data();
    dot_tile.b = b.data();
    dot_tile.c = addend.data();
    dot_tile.d = sum.data();
    numeric::DotScratch scratch;
    numeric::dot(numeric::DotPlan(changed, {shape.m, shape.n, stored, shape.k}), dot_tile, scratch);
    std::byte* registers = outputs.data() + c.outputs[0].offset_bytes + warp * c.outputs[0].unit_bytes();
    each(Matrix::d, s_.d, [&](size_t offset, layout::Coord at) {
      std::memcpy(registers + offset, sum.data() + static_cast<size_t>(at.row * shape.n + at.col) * size,
                  size);
    });
  }

  const MatrixSpelling s_;
};

// "m16n8k16.row...", "sp.m16n8k16.row....selector0".
bool is_first_case_of(std::string name, const std::string& spelling) {
  if (const size_t selector = name.find(".selector0"); selector != std::string::npos)
    name.erase(selector);
  const size_t variant = name.starts_with("sp") ? name.find('.') + 1 : 0;
  return "mma." + name.substr(0, variant) + "sync.aligned." + name.substr(variant) == spelling;
}

// f(spelled, case, inputs, recorded hashes) for every floating-point spelling without a rounding modifier.
using Visit = std::function<void(const Spelled&, const Case&, std::span<const std::byte>,
                                 const std::vector<std::string>&)>;
size_t visit(const Visit& f) {
  size_t count = 0;
  for (const isa::MatrixRow& row : isa::matrix_rows()) {
    const std::string_view name = group_of(row);
    if ((name != "mma" && name != "mma_narrow" && name != "mma_sp") ||
        row.numeric != isa::Numeric::floating || row.fragments != isa::FragmentRule::mma)
      continue;
    const MatrixSpelling s = matrix_spellings(row).front();
    const auto& [group, record] = recorded(name);
    EXPECT_TRUE(record.ok()) << record.error();
    if (!record.ok())
      return count;
    const auto c = std::find_if(group.cases.begin(), group.cases.end(),
                                [&](const Case& k) { return is_first_case_of(k.name, s.text); });
    EXPECT_NE(c, group.cases.end()) << s.text;
    std::vector<std::string> hashes;
    for (const auto& [part, hash] : record->cases.at(c->name).parts)
      hashes.push_back(hash);
    f(Spelled(s), *c, make_inputs(*c, name, record->stamp.seed), hashes);
    ++count;
  }
  return count;
}

TEST(Model, GivesTheRecordedBits) {
  const size_t count = visit([](const Spelled& s, const Case& c, std::span<const std::byte> inputs,
                                const std::vector<std::string>& hashes) {
    EXPECT_EQ(s.hashes(c, inputs, s.model), hashes) << c.name;
  });
  EXPECT_GE(count, 34u);
}

bool has_fraction(const DotModel& m) {
  return m.scheme == DotScheme::fused || m.scheme == DotScheme::split_quad;
}

void expect_found(const char* what, const std::function<bool(DotModel&)>& change) {
  size_t changed_models = 0;
  visit([&](const Spelled& s, const Case& c, std::span<const std::byte> inputs,
            const std::vector<std::string>& hashes) {
    DotModel changed = s.model;
    if (!change(changed))
      return;
    ++changed_models;
    EXPECT_NE(s.hashes(c, inputs, changed), hashes) << c.name << " is the same with " << what;
  });
  EXPECT_GE(changed_models, 4u) << what;
}

TEST(Model, OneFractionBitLessIsFound) {
  expect_found("one fraction bit less", [](DotModel& m) { return has_fraction(m) && m.fraction_bits-- > 0; });
}

TEST(Model, OneFractionBitMoreIsFound) {
  expect_found("one fraction bit more", [](DotModel& m) { return has_fraction(m) && m.fraction_bits++ > 0; });
}

// fp8 as one fused sum.
TEST(Model, OneStepInsteadOfTwoIsFound) {
  expect_found("one fused step", [](DotModel& m) {
    const bool split = m.scheme == DotScheme::split_quad;
    m.scheme = DotScheme::fused;
    return split;
  });
}

TEST(Model, StepsOfTwoProductsAreFound) {
  expect_found("steps of two products", [](DotModel& m) {
    m.max_fused_k = 2;
    return m.scheme == DotScheme::fused;
  });
}

TEST(Model, OtherRoundingIsFound) {
  expect_found("the other rounding", [](DotModel& m) {
    m.rounding = m.rounding == numeric::Rounding::rz ? numeric::Rounding::rn : numeric::Rounding::rz;
    return true;
  });
}

} // namespace
} // namespace lemma::golden
