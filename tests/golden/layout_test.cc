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
#include "isa/target.h"
#include "layout/sparse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <set>

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
  bool in_memory = false; // no fragment; group wgmma shows what is where
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
    if (const uint64_t bits = load_bits(unit, place, h.bits); bits != 0 && h.at[place].row >= 0)
      out.at(h.at[place].row, h.at[place].col) = number_of(f, bits);
  return out;
}

// What a case's outputs must be, by its fragments.
class Prediction {
public:
  explicit Prediction(const Case& c) : c_(c) {}
  Prediction(const Prediction&) = delete;
  virtual ~Prediction() = default;

  // The hash of a part's outputs.
  std::string hash(const Part& part, std::span<const std::byte> inputs) const {
    uint64_t size = 0;
    std::vector<uint64_t> begins;
    for (const Plane& plane : c_.outputs) {
      begins.push_back(size);
      size += plane.unit_bytes() * part.units;
    }
    std::vector<std::byte> outputs(size);
    const uint64_t step = c_.unit_name == "thread" ? 32 : 1; // of a warp
    for (uint64_t unit = 0; unit < part.units; unit += step) {
      std::vector<const std::byte*> in;
      std::vector<std::byte*> out;
      for (const Plane& plane : c_.inputs)
        in.push_back(inputs.data() + plane.offset_bytes + (part.first + unit) * plane.unit_bytes());
      for (size_t k = 0; k < begins.size(); ++k)
        out.push_back(outputs.data() + begins[k] + unit * c_.outputs[k].unit_bytes());
      run(in, out);
    }
    return numeric::to_string(numeric::hash128(outputs.data(), outputs.size()));
  }

  std::vector<Held> fragments;

protected:
  virtual void run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) const = 0;

  const Case& c_;
};

// --- Products ---

layout::MajorOrder order_of(const std::string& spelling, Matrix matrix) {
  const size_t first = spelling.find_first_of('.', spelling.find(".m8n8k4") + 1) + 1;
  const std::string_view word = std::string_view(spelling).substr(first + (matrix == Matrix::b ? 4 : 0), 3);
  return word == "row" ? layout::MajorOrder::row : layout::MajorOrder::col;
}

// B of wgmma in shared memory, K-major and without a swizzle: core matrices of 8 columns by 16 bytes of K,
// first along K.
Held core_matrices(const MatrixRow& row, Type type, uint64_t plane_bytes) {
  const auto bits = static_cast<size_t>(isa::bits_of(type));
  const auto row_bytes = static_cast<size_t>(row.shape.k) * bits / 8;
  Held h{.rows = row.shape.k,
         .cols = row.shape.n,
         .at = {},
         .read = 0,
         .type = type,
         .bits = static_cast<int>(bits)};
  h.at.resize(plane_bytes * 8 / bits, Coord{-1, -1});
  for (int col = 0; col < h.cols; ++col)
    for (int k = 0; k < h.rows; ++k) {
      const auto n = static_cast<size_t>(col), bit = static_cast<size_t>(k) * bits;
      const size_t byte = n / 8 * 8 * row_bytes + bit / 128 * 128 + n % 8 * 16 + bit % 128 / 8;
      h.at[(byte * 8 + bit % 8) / bits] = {k, col};
    }
  h.read = h.at.size();
  h.in_memory = true;
  return h;
}

// D = A * B + C, of a warp or a warpgroup.
class Product : public Prediction {
public:
  Product(const Case& c, const LayoutSubject& subject) : Prediction(c), row_(*subject.spelling.row) {
    const MatrixSpelling& s = subject.spelling;
    row_.shape.n = subject.columns;
    const bool warpgroup = row_.fragments == isa::FragmentRule::wgmma;
    const auto make = [&](Matrix matrix, Type type) {
      const bool ordered = row_.fragments == isa::FragmentRule::mma_m8n8k4;
      return held(
          isa::fragment_of(row_, matrix, type, ordered ? order_of(s.text, matrix) : layout::MajorOrder::row),
          type);
    };
    fragments = {make(Matrix::a, s.a),
                 warpgroup ? core_matrices(row_, s.b, c.inputs[1].unit_bytes()) : make(Matrix::b, s.b),
                 make(Matrix::c, warpgroup ? s.d : s.c), make(Matrix::d, s.d)};
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

  void run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) const override {
    Numbers a = gather(fragments[0], inputs[0]), b = gather(fragments[1], inputs[1]),
            d = gather(fragments[2], inputs[2]);
    if (fragments.size() == 5)
      a = spread(std::move(a), inputs[3]);
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
      std::memcpy(outputs[0] + place * static_cast<size_t>(h.bits / 8), &bits,
                  static_cast<size_t>(h.bits / 8));
    }
  }

  MatrixRow row_; // with the spelling's N
};

// --- From and to memory ---

void copy_bits(const std::byte* from, size_t from_place, std::byte* to, size_t to_place, int bits) {
  const uint64_t value = load_bits(from, from_place, bits);
  if (bits >= 8) {
    std::memcpy(to + to_place * static_cast<size_t>(bits / 8), &value, static_cast<size_t>(bits / 8));
    return;
  }
  const size_t bit = to_place * static_cast<size_t>(bits);
  to[bit / 8] |= static_cast<std::byte>(value << (bit % 8));
}

// wmma.load and wmma.store: a tile in lines, rows or columns, dense and with 16 bytes between them.
class Tile : public Prediction {
public:
  Tile(const Case& c, const LayoutSubject& subject)
      : Prediction(c), load_(subject.spelling.row->opcode == isa::Opcode::wmma_load),
        row_major_((subject.spelling.text + ".").find(".row.") != std::string::npos) {
    const MatrixSpelling& s = subject.spelling;
    const Matrix matrix = s.row->matrix;
    const Type type = matrix == Matrix::a ? s.a : matrix == Matrix::b ? s.b : matrix == Matrix::c ? s.c : s.d;
    fragments = {held(isa::fragment_of(*s.row, matrix, type), type)};
  }

private:
  void run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) const override {
    const Held& h = fragments[0];
    const int length = row_major_ ? h.cols : h.rows;
    for (size_t strided = 0; strided < 2; ++strided) {
      const int stride = length + (strided == 0 ? 0 : 128 / h.bits);
      for (size_t place = 0; place < h.at.size(); ++place) {
        const auto [row, col] = h.at[place];
        const auto element = static_cast<size_t>(row_major_ ? row * stride + col : col * stride + row);
        if (load_)
          copy_bits(inputs[0], element, outputs[strided], place, h.bits);
        else
          copy_bits(inputs[0], place, outputs[strided], element, h.bits);
      }
    }
  }

  bool load_, row_major_;
};

// ldmatrix, stmatrix, movmatrix.
class Moved : public Prediction {
public:
  Moved(const Case& c, const LayoutSubject& subject) : Prediction(c), row_(*subject.spelling.row) {
    const std::string& text = subject.spelling.text;
    const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
    const int num = has(".x4") ? 4 : has(".x2") ? 2 : 1;
    fragments = {held(isa::memory_fragment(row_, num, has(".trans")), Type::b16)};
    if (row_.opcode == isa::Opcode::movmatrix) // d, in the coordinates of a
      fragments.push_back(held(isa::memory_fragment(row_, 1, false), Type::b16));
  }

private:
  void run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) const override {
    const Held& h = fragments[0];
    for (size_t place = 0; place < h.at.size(); ++place) {
      if (fragments.size() == 2) {
        const std::vector<Coord>& source = fragments[1].at;
        const auto from = std::find(source.begin(), source.end(), h.at[place]);
        copy_bits(inputs[0], static_cast<size_t>(from - source.begin()), outputs[0], place, 16);
        continue;
      }
      uint32_t row = 0; // that lane h.at[place].row names
      std::memcpy(&row, inputs[1] + static_cast<size_t>(h.at[place].row) * 4, 4);
      const size_t element = row / 2 + static_cast<size_t>(h.at[place].col);
      if (row_.opcode == isa::Opcode::ldmatrix)
        copy_bits(inputs[0], element, outputs[0], place, 16);
      else
        copy_bits(inputs[0], place, outputs[0], element, 16);
    }
  }

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

std::unique_ptr<Prediction> predict(const Case& c, const LayoutSubject& subject) {
  switch (subject.spelling.row->opcode) {
  case isa::Opcode::mma:
  case isa::Opcode::wmma_mma:
  case isa::Opcode::wgmma_mma_async:
    return std::make_unique<Product>(c, subject);
  case isa::Opcode::wmma_load:
  case isa::Opcode::wmma_store:
    return std::make_unique<Tile>(c, subject);
  default:
    return std::make_unique<Moved>(c, subject);
  }
}

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

// The last part of a case whose hash is not the recorded one; null: none. The last parts are the short ones.
const Part* differing(const Prediction& prediction, const Case& c, std::span<const std::byte> inputs,
                      const Parts& expected) {
  for (size_t k = expected.size(); k-- > 0;)
    if (expected[k].first != c.parts[k].name || prediction.hash(c.parts[k], inputs) != expected[k].second)
      return &c.parts[k];
  return nullptr;
}

// f(case, subject, its number, inputs, recorded hashes) for every case.
template <class F>
void each_case(F f) {
  const auto& [group, record, subjects] = recorded();
  ASSERT_TRUE(record.ok()) << record.error();
  for (size_t i = 0; i < subjects.size(); ++i) {
    const std::string name = subjects[i].name();
    const Case* c = recorded().find(name);
    const auto known = record->cases.find(name);
    ASSERT_TRUE(c) << name;
    ASSERT_NE(known, record->cases.end()) << name << " is not in the record";
    ASSERT_EQ(known->second.parts.size(), c->parts.size()) << name;
    f(*c, subjects[i], i, make_inputs(*c, "layout", record->stamp.seed), known->second.parts);
  }
  EXPECT_GT(subjects.size(), 300u);
}

TEST(Layout, HardwareHoldsWhatTheFragmentsSay) {
  each_case([](const Case& c, const LayoutSubject& subject, size_t, std::span<const std::byte> inputs,
               const Parts& expected) {
    const Part* part = differing(*predict(c, subject), c, inputs, expected);
    EXPECT_FALSE(part) << c.name << " [" << part->name
                       << "]: the registers are not those that the fragments say";
  });
}

TEST(Layout, TwoExchangedElementsAreFound) {
  each_case([](const Case& c, const LayoutSubject& subject, size_t turn, std::span<const std::byte> inputs,
               const Parts& expected) {
    const std::unique_ptr<Prediction> prediction = predict(c, subject);
    for (size_t f = 0; f < prediction->fragments.size(); ++f) {
      if (prediction->fragments[f].in_memory)
        continue;
      const Held right = prediction->fragments[f];
      ASSERT_TRUE(exchange(prediction->fragments[f], turn)) << c.name;
      EXPECT_TRUE(differing(*prediction, c, inputs, expected))
          << c.name << ": two exchanged elements of fragment " << f << " go unseen";
      prediction->fragments[f] = right;
    }
  });
}

bool has_target(const MatrixRow& row) {
  return isa::parse_targets(row.targets)->contains(*isa::parse_target(kTarget));
}

// Every row with fragments that the target has is in a case; the others are not of the target, and are named.
TEST(Layout, EveryRowOfTheTargetIsThere) {
  std::set<const MatrixRow*> shown;
  for (const LayoutSubject& subject : recorded().subjects)
    shown.insert(subject.spelling.row);
  size_t others = 0;
  for (const MatrixRow& row : isa::matrix_rows()) {
    if (shown.contains(&row))
      continue;
    ++others;
    std::cout << "no " << kTarget << " has " << isa::syntax_of(row) << ": only " << row.targets << "\n";
    EXPECT_FALSE(has_target(row)) << isa::syntax_of(row) << " is in no case of group layout";
  }
  EXPECT_GT(shown.size(), 150u);
  EXPECT_EQ(shown.size() + others, isa::matrix_rows().size());
}

} // namespace
} // namespace lemma::golden
