// Who holds what, as the hardware shows it: from the operands of group `layout` this test computes what D's
// registers must be with nothing but the fragments that `lemma layout` draws, and whole numbers; no virtual
// GPU, no model of the arithmetic. What the hardware stored has the same hash. With two elements of any
// fragment exchanged it has not.
//
// What products cannot show: a common renumbering of K in A and B, of rows in A and D, or of columns in B
// and D, is the same product. The cases that move fragments from and to memory show it.
#include "golden/groups.h"
#include "golden/layout.h"
#include "golden/record_file.h"
#include "layout/sparse.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

namespace lemma::golden {
namespace {

using isa::MatrixRow;
using isa::Qual;
using isa::Type;
using layout::Coord;
using layout::Fragment;
using layout::Matrix;

// A file of the virtual GPU's, say, instead of the recorded one.
std::string directory() {
  const char* other = std::getenv("LEMMA_LAYOUT_RECORD");
  return other ? other : LEMMA_RECORDED;
}

// --- Whole numbers of a type ---

struct Float {
  int mantissa_bits = 0; // 0: an integer
  int bias = 0;
};

Float float_of(Type type) {
  switch (type) {
  case Type::f64:
    return {52, 1023};
  case Type::f32:
  case Type::tf32:
    return {23, 127};
  case Type::f16:
    return {10, 15};
  case Type::bf16:
    return {7, 127};
  case Type::e4m3:
    return {3, 7};
  case Type::e5m2:
    return {2, 15};
  default:
    return {};
  }
}

// No sign, no fraction: the cases have none.
int64_t number_of(Float f, uint64_t bits) {
  if (f.mantissa_bits == 0 || bits == 0)
    return static_cast<int64_t>(bits);
  const uint64_t one = uint64_t{1} << f.mantissa_bits;
  return static_cast<int64_t>(
      std::ldexp(static_cast<double>(one | (bits & (one - 1))),
                 static_cast<int>(bits >> f.mantissa_bits) - f.bias - f.mantissa_bits));
}

uint64_t bits_of_number(Float f, int64_t number) {
  if (f.mantissa_bits == 0 || number == 0)
    return static_cast<uint64_t>(number);
  const int exponent = std::ilogb(static_cast<double>(number));
  const auto scaled =
      static_cast<uint64_t>(std::ldexp(static_cast<double>(number), f.mantissa_bits - exponent));
  return (static_cast<uint64_t>(exponent + f.bias) << f.mantissa_bits) +
         (scaled - (uint64_t{1} << f.mantissa_bits));
}

// --- Places ---

// A fragment as a list: element [register][lane][element] of the plane is that one of the matrix.
struct Held {
  int rows = 0, cols = 0;
  std::vector<Coord> at;
  size_t read = 0; // the first so many: the others are copies that no product reads
  Type type = Type::none;
  int bits = 0;
};

Held held(const Fragment& f, Type type) {
  Held h{.rows = f.rows, .cols = f.cols, .at = {}, .read = 0, .type = type, .bits = f.element_bits};
  for (int reg = 0; reg < f.registers(); ++reg)
    for (int lane = 0; lane < f.lanes(); ++lane)
      for (int elem = 0; elem < f.elems_per_register(); ++elem)
        h.at.push_back(f.at({lane, reg, elem}));
  h.read = h.at.size() / static_cast<size_t>(f.registers()) * static_cast<size_t>(f.distinct_registers());
  return h;
}

uint64_t load_bits(const std::byte* unit, size_t place, int bits) {
  uint64_t value = 0;
  if (bits >= 8) {
    std::memcpy(&value, unit + place * static_cast<size_t>(bits / 8), static_cast<size_t>(bits / 8));
    return value;
  }
  const size_t bit = place * static_cast<size_t>(bits);
  return static_cast<uint64_t>(unit[bit / 8]) >> (bit % 8) & ((1u << bits) - 1);
}

struct Numbers {
  int rows = 0, cols = 0;
  std::vector<int64_t> values = {};
  Numbers(int r, int c) : rows(r), cols(c), values(static_cast<size_t>(r * c)) {}
  int64_t& at(int row, int col) { return values[static_cast<size_t>(row * cols + col)]; }
};

Numbers gather(const Held& h, const std::byte* unit) {
  Numbers out(h.rows, h.cols);
  const Float f = float_of(h.type);
  for (size_t place = 0; place < h.read; ++place)
    if (const uint64_t bits = load_bits(unit, place, h.bits); bits != 0)
      out.at(h.at[place].row, h.at[place].col) = number_of(f, bits);
  return out;
}

const std::byte* unit_of(const Plane& plane, std::span<const std::byte> bytes, uint64_t unit) {
  return bytes.data() + plane.offset_bytes + unit * plane.unit_bytes();
}

// --- Products ---

layout::MajorOrder order_of(const std::string& spelling, Matrix matrix) {
  const size_t first = spelling.find_first_of('.', spelling.find(".m8n8k4") + 1) + 1;
  const std::string_view word = std::string_view(spelling).substr(first + (matrix == Matrix::b ? 4 : 0), 3);
  return word == "row" ? layout::MajorOrder::row : layout::MajorOrder::col;
}

class Product {
public:
  Product(const Case& c, const LayoutSubject& subject) : c_(c), row_(*subject.spelling.row) {
    const MatrixSpelling& s = subject.spelling;
    const auto make = [&](Matrix matrix, Type type) {
      const bool ordered = row_.fragments == isa::FragmentRule::mma_m8n8k4;
      return held(
          isa::fragment_of(row_, matrix, type, ordered ? order_of(s.text, matrix) : layout::MajorOrder::row),
          type);
    };
    fragments = {make(Matrix::a, s.a), make(Matrix::b, s.b), make(Matrix::c, s.c), make(Matrix::d, s.d)};
    if (subject.selector < 0)
      return;
    const Fragment f = isa::metadata_of(row_);
    Held metadata = held(f, Type::u4);
    metadata.read = metadata.at.size(); // its copies are the selector's
    const int lanes = layout::metadata_lanes(f);
    for (size_t place = 0; place < metadata.at.size(); ++place)
      if (static_cast<int>(place) / f.elems_per_register() % 4 / lanes != subject.selector)
        metadata.at[place].row = -1; // not read
    fragments.push_back(std::move(metadata));
  }

  // The hash of a part's outputs.
  std::string hash(const Part& part, std::span<const std::byte> inputs) const {
    std::vector<std::byte> outputs(c_.outputs[0].unit_bytes() * part.units);
    for (uint64_t unit = 0; unit < part.units; ++unit)
      run(part.first + unit, inputs, outputs.data() + unit * c_.outputs[0].unit_bytes());
    return numeric::to_string(numeric::hash128(outputs.data(), outputs.size()));
  }

  std::vector<Held> fragments; // A B C D, metadata

private:
  // A with all its columns.
  Numbers spread(Numbers a, const std::byte* metadata) const {
    const Held& h = fragments[4];
    const layout::SparseChunk chunk = layout::sparse_chunk(fragments[0].bits);
    Numbers out(a.rows, a.cols * 2);
    for (size_t place = 0; place < h.at.size(); ++place) {
      const auto [row, field] = h.at[place];
      if (row < 0)
        continue;
      const int bits = static_cast<int>(load_bits(metadata, place, layout::kMetadataBits));
      const int indices[] = {bits & 3, bits >> 2}, pair = chunk.stored / 2;
      for (int i = 0; i < chunk.stored; ++i) {
        const int column = chunk.stored == 1 ? bits == 0b1110 : indices[i / pair] * pair + i % pair;
        out.at(row, field * chunk.columns + column) = a.at(row, field * chunk.stored + i);
      }
    }
    return out;
  }

  static void add_sums(Numbers& a, Numbers& b, Numbers& d) {
    std::vector<int64_t> of_column(static_cast<size_t>(b.cols));
    for (int k = 0; k < b.rows; ++k)
      for (int col = 0; col < b.cols; ++col)
        of_column[static_cast<size_t>(col)] += b.at(k, col);
    for (int row = 0; row < a.rows; ++row) {
      int64_t of_row = 0;
      for (int k = 0; k < a.cols; ++k)
        of_row += a.at(row, k);
      for (int col = 0; col < b.cols; ++col)
        d.at(row, col) += of_row + of_column[static_cast<size_t>(col)];
    }
  }

  void run(uint64_t unit, std::span<const std::byte> inputs, std::byte* output) const {
    const auto plane = [&](size_t k) { return unit_of(c_.inputs[k], inputs, unit); };
    Numbers a = gather(fragments[0], plane(0)), b = gather(fragments[1], plane(1)),
            d = gather(fragments[2], plane(2));
    if (fragments.size() == 5)
      a = spread(std::move(a), plane(3));
    // xor: of a sum of a + b - 2ab.
    const bool is_xor = row_.op == Qual::xor_;
    const int rows = row_.shape.m, cols = row_.shape.n, of_product = is_xor ? -2 : 1;
    // Of m8n8k4 there are four products: rows 8i of A and D with columns 8i of B.
    for (int k = 0; k < b.rows; ++k)
      for (int col = 0; col < b.cols; ++col)
        if (const int64_t factor = of_product * b.at(k, col); factor != 0)
          for (int row = col / cols * rows; row < (col / cols + 1) * rows; ++row)
            d.at(row, col % cols) += a.at(row, k) * factor;
    if (is_xor)
      add_sums(a, b, d);
    const Held& h = fragments[3];
    const Float f = float_of(h.type);
    for (size_t place = 0; place < h.at.size(); ++place) {
      const uint64_t bits = bits_of_number(f, d.at(h.at[place].row, h.at[place].col));
      std::memcpy(output + place * static_cast<size_t>(h.bits / 8), &bits, static_cast<size_t>(h.bits / 8));
    }
  }

  const Case& c_;
  const MatrixRow& row_;
};

// --- The record ---

struct Recorded {
  Group group = make_group("layout");
  Result<GroupRecord, std::string> record = read_record(directory(), "layout");
  std::vector<LayoutSubject> subjects = layout_subjects();

  const Case* find(const std::string& name) const {
    for (const Case& c : group.cases)
      if (c.name == name)
        return &c;
    return nullptr;
  }
};

const Recorded& recorded() {
  static const Recorded all;
  return all;
}

using Parts = std::vector<std::pair<std::string, std::string>>;

// Two places that hold different elements, another two for each case; of metadata, the other may be one that
// is not read.
bool exchange(Held& h, size_t turn) {
  for (size_t i = 0; i < h.read; ++i) {
    Coord& one = h.at[(turn * 7 + i) % h.read];
    for (size_t k = 1; k < h.read && one.row >= 0; ++k) {
      Coord& other = h.at[(turn * 13 + i + k) % h.read];
      if (one == other)
        continue;
      std::swap(one, other);
      return true;
    }
  }
  return false;
}

TEST(Layout, HardwareHoldsWhatTheFragmentsSay) {
  const auto& [group, record, subjects] = recorded();
  ASSERT_TRUE(record.ok()) << record.error();
  size_t exchanges = 0;
  for (size_t i = 0; i < subjects.size(); ++i) {
    const std::string name = subjects[i].name();
    const Case* c = recorded().find(name);
    const auto known = record->cases.find(name);
    ASSERT_TRUE(c) << name;
    ASSERT_NE(known, record->cases.end()) << name << " is not in the record";
    const Parts& expected = known->second.parts;
    ASSERT_EQ(expected.size(), c->parts.size()) << name;
    const std::vector<std::byte> inputs = make_inputs(*c, "layout", record->stamp.seed);
    const Product product(*c, subjects[i]);
    for (size_t k = 0; k < expected.size(); ++k)
      EXPECT_EQ(product.hash(c->parts[k], inputs), expected[k].second)
          << name << " [" << c->parts[k].name << "]: the registers are not those that the fragments say";
    for (size_t f = 0; f < product.fragments.size(); ++f) {
      Product wrong = product;
      ASSERT_TRUE(exchange(wrong.fragments[f], i)) << name;
      ++exchanges;
      const bool found = [&] {
        for (size_t k = c->parts.size(); k-- > 0;)
          if (wrong.hash(c->parts[k], inputs) != expected[k].second)
            return true;
        return false;
      }();
      EXPECT_TRUE(found) << name << ": two exchanged elements of fragment " << "abcde"[f] << " go unseen";
    }
  }
  EXPECT_GE(exchanges, 4 * subjects.size());
}

} // namespace
} // namespace lemma::golden
