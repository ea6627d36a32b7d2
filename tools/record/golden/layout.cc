// Group `layout`: which lane, register and element holds which element of a matrix. See layout.h.
//
// mma and wmma.mma: a unit is a warp. The smaller multiplicand is one at one place and zero elsewhere, a unit
// each place; in the other one every place tells its number, digit by digit (layout_codes.h). So D shows
// which places of the two meet, and where in D. In part "c" the multiplicands are zero and C tells its
// places.
//
// Sparse: the same with metadata that chooses the first half of every chunk, and the second. Then A is one
// everywhere, and each field of four bits chooses the second half where a bit of its number (lane * 8 +
// field) is set, so that D shows which field chose, and that the lanes left out by the selector did not.
#include "golden/layout.h"

#include "golden/fragment_text.h"
#include "golden/layout_codes.h"
#include "layout/sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <set>

namespace lemma::golden {
namespace {

using isa::MatrixRow;
using isa::Opcode;
using isa::Qual;
using isa::Type;

constexpr uint64_t kWarpsOfC = 4;
// Both are legal for every type, their indices rise: columns 0 and 1 of four, 2 and 3. Of 32 bits: the first
// of two, the second.
constexpr uint64_t kFirstHalf = 0x4, kSecondHalf = 0xe;
constexpr uint64_t kFields = 32 * (32 / layout::kMetadataBits); // of a warp
constexpr int kFieldBits = 8;                                   // of the number of a field
static_assert(kFields == 1u << kFieldBits);

// What the units of a part hold.
struct Probe {
  enum class Kind : uint8_t { digit, metadata_bit, c };
  Kind kind = Kind::digit;
  int index = 0; // digit or bit
  uint64_t fields = 0;
};

std::vector<Probe> probes_of(bool sparse, Type coded, uint64_t coded_places, std::vector<Part>& parts,
                             uint64_t one_places) {
  std::vector<Probe> probes;
  uint64_t first = 0;
  const auto add = [&](std::string name, uint64_t units, Probe probe) {
    parts.push_back({std::move(name), first, units});
    probes.push_back(probe);
    first += units;
  };
  const int digits = digits_of(coded, coded_places);
  if (!sparse)
    for (int digit = 0; digit < digits; ++digit)
      add(fmt::format("digit{}", digit), one_places, {Probe::Kind::digit, digit, 0});
  else
    for (const uint64_t fields : {kFirstHalf, kSecondHalf})
      for (int digit = 0; digit < digits; ++digit)
        add(fmt::format("fields{:x}.digit{}", fields, digit), one_places,
            {Probe::Kind::digit, digit, fields});
  for (int bit = 0; sparse && bit < kFieldBits; ++bit)
    add(fmt::format("metadata.bit{}", bit), one_places, {Probe::Kind::metadata_bit, bit, 0});
  add("c", kWarpsOfC, {Probe::Kind::c, 0, kFirstHalf});
  return probes;
}

Case make_product(const LayoutSubject& subject) {
  const MatrixSpelling& s = subject.spelling;
  const bool sparse = subject.selector >= 0;
  const uint64_t a_places = fragment_registers(*s.row, layout::Matrix::a, s.a).per_warp(),
                 b_places = fragment_registers(*s.row, layout::Matrix::b, s.b).per_warp();
  const bool one_in_b = sparse || b_places <= a_places;
  const Type one_type = one_in_b ? s.b : s.a, coded_type = one_in_b ? s.a : s.b;
  const size_t one_plane = one_in_b ? 1 : 0, coded_plane = one_in_b ? 0 : 1;
  std::vector<Part> parts;
  const std::vector<Probe> probes =
      probes_of(sparse, coded_type, one_in_b ? a_places : b_places, parts, one_in_b ? b_places : a_places);
  Case out = product_case(s, subject.selector, subject.name(), std::move(parts));
  out.fill = [=, c_type = s.c, planes = out.inputs,
              first_unit = out.parts](const Part& part, numeric::Random&, Inputs& inputs) {
    const auto at = std::find_if(first_unit.begin(), first_unit.end(),
                                 [&](const Part& p) { return p.first == part.first; });
    const Probe& probe = probes[static_cast<size_t>(at - first_unit.begin())];
    PlaneUnit one(planes[one_plane], isa::bits_of(one_type)),
        coded(planes[coded_plane], isa::bits_of(coded_type)), c(planes[2], isa::bits_of(c_type));
    for (uint64_t place = 0; place < coded.places(); ++place)
      if (probe.kind == Probe::Kind::digit)
        coded.set(place, place_digit(coded_type, place, probe.index));
      else if (probe.kind == Probe::Kind::metadata_bit)
        coded.set(place, number_bits(coded_type, 1));
    for (uint64_t unit = 0; unit < part.units; ++unit) {
      const uint64_t warp = part.first + unit;
      one.clear();
      if (probe.kind != Probe::Kind::c)
        one.set(unit, number_bits(one_type, 1));
      for (uint64_t place = 0; probe.kind == Probe::Kind::c && place < c.places(); ++place)
        c.set(place, number_bits(c_type, place + 1 + unit));
      one.write(inputs, one_plane, warp);
      coded.write(inputs, coded_plane, warp);
      c.write(inputs, 2, warp);
      if (!sparse)
        continue;
      PlaneUnit metadata(planes[3], layout::kMetadataBits);
      for (uint64_t field = 0; field < kFields; ++field)
        metadata.set(field, probe.kind != Probe::Kind::metadata_bit ? probe.fields
                            : (field >> probe.index & 1) != 0       ? kSecondHalf
                                                                    : kFirstHalf);
      metadata.write(inputs, 3, warp);
    }
  };
  return out;
}

// --- wgmma ---

constexpr int kThreads = 128;
constexpr int kThreadFieldBits = 10; // of the number of a field
static_assert(kThreads * 32 / layout::kMetadataBits == 1 << kThreadFieldBits);

// Where wgmma_case() has byte `byte` of K of column `col`.
uint64_t core_matrix_byte(uint64_t col, uint64_t byte, uint64_t row_bytes) {
  return col / 8 * 8 * row_bytes + byte / 16 * 128 + col % 8 * 16 + byte % 16;
}

struct WarpgroupProbe {
  enum class Kind : uint8_t { digit, metadata_bit, columns, c };
  Kind kind = Kind::digit;
  int index = 0;
  uint64_t fields = kFirstHalf;
};

class WarpgroupParts {
public:
  std::vector<Part> parts;
  std::vector<WarpgroupProbe> probes;

  void add(std::string name, uint64_t units, WarpgroupProbe probe) {
    const uint64_t first = parts.empty() ? 0 : parts.back().first + parts.back().units;
    parts.push_back({std::move(name), first, units});
    probes.push_back(probe);
  }
};

WarpgroupParts warpgroup_parts(const LayoutSubject& subject, int n) {
  using Kind = WarpgroupProbe::Kind;
  const MatrixSpelling& s = subject.spelling;
  const bool sparse = subject.selector >= 0;
  const auto units = static_cast<uint64_t>((s.row->shape.k + n - 1) / n);
  const uint64_t a_places = kThreads * isa::registers_of(*s.row, layout::Matrix::a, s.a).count * 32 /
                            static_cast<uint64_t>(isa::bits_of(s.a)),
                 d_places = static_cast<uint64_t>(s.row->shape.m) * static_cast<uint64_t>(n);
  WarpgroupParts out;
  for (const uint64_t fields : {kFirstHalf, kSecondHalf})
    for (int digit = 0; digit < digits_of(s.a, a_places) && (fields == kFirstHalf || sparse); ++digit)
      out.add(sparse ? fmt::format("fields{:x}.digit{}", fields, digit) : fmt::format("digit{}", digit),
              units, {Kind::digit, digit, fields});
  for (int bit = 0; bit < kThreadFieldBits && sparse; ++bit)
    out.add(fmt::format("metadata.bit{}", bit), units, {Kind::metadata_bit, bit});
  for (int digit = 0; digit < digits_of(s.b, static_cast<uint64_t>(n)); ++digit)
    out.add(fmt::format("columns.digit{}", digit), 1, {Kind::columns, digit});
  for (int digit = 0; digit < digits_of(s.d, d_places); ++digit)
    out.add(fmt::format("c.digit{}", digit), 1, {Kind::c, digit});
  return out;
}

// The units of one part of a wgmma.
class WarpgroupFill {
public:
  WarpgroupFill(const Case& c, const MatrixSpelling& s, int n, std::vector<WarpgroupProbe> probes)
      : planes_(c.inputs), parts_(c.parts), probes_(std::move(probes)), a_type_(s.a), b_type_(s.b),
        c_type_(s.d), k_(s.row->shape.k), n_(n) {}

  void operator()(const Part& part, numeric::Random&, Inputs& inputs) const {
    const auto at =
        std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) { return p.first == part.first; });
    const WarpgroupProbe& probe = probes_[static_cast<size_t>(at - parts_.begin())];
    for (uint64_t unit = 0; unit < part.units; ++unit)
      fill(probe, unit, part.first + unit, inputs);
  }

private:
  using Kind = WarpgroupProbe::Kind;

  void fill(const WarpgroupProbe& probe, uint64_t unit, uint64_t warpgroup, Inputs& inputs) const {
    PlaneUnit a(planes_[0], isa::bits_of(a_type_)), b(planes_[1], isa::bits_of(b_type_)),
        c(planes_[2], isa::bits_of(c_type_));
    for (uint64_t place = 0; place < a.places() && probe.kind != Kind::c; ++place)
      a.set(place,
            probe.kind == Kind::digit ? place_digit(a_type_, place, probe.index) : number_bits(a_type_, 1));
    const auto columns = static_cast<uint64_t>(n_), rows = static_cast<uint64_t>(k_);
    for (uint64_t col = 0; col < columns; ++col) {
      if (probe.kind == Kind::columns)
        b.set(place_in_b(col, 0), place_digit(b_type_, col, probe.index));
      else
        b.set(place_in_b(col, (columns * unit + col) % rows), number_bits(b_type_, 1));
    }
    for (uint64_t place = 0; place < c.places() && probe.kind == Kind::c; ++place)
      c.set(place, place_digit(c_type_, place, probe.index));
    a.write(inputs, 0, warpgroup);
    b.write(inputs, 1, warpgroup);
    c.write(inputs, 2, warpgroup);
    if (planes_.size() < 4)
      return;
    PlaneUnit metadata(planes_[3], layout::kMetadataBits);
    for (uint64_t field = 0; field < metadata.places(); ++field)
      metadata.set(field, probe.kind != Kind::metadata_bit  ? probe.fields
                          : (field >> probe.index & 1) != 0 ? kSecondHalf
                                                            : kFirstHalf);
    metadata.write(inputs, 3, warpgroup);
  }

  uint64_t place_in_b(uint64_t col, uint64_t k) const {
    const auto bits = static_cast<uint64_t>(isa::bits_of(b_type_));
    const uint64_t bit = k * bits, row_bytes = static_cast<uint64_t>(k_) * bits / 8;
    return (core_matrix_byte(col, bit / 8, row_bytes) * 8 + bit % 8) / bits;
  }

  std::vector<Plane> planes_;
  std::vector<Part> parts_;
  std::vector<WarpgroupProbe> probes_;
  Type a_type_, b_type_, c_type_;
  int k_, n_;
};

Case make_warpgroup(const LayoutSubject& subject) {
  const int n = subject.columns;
  WarpgroupParts made = warpgroup_parts(subject, n);
  Case out = wgmma_case(subject.spelling, n, subject.selector, subject.name(), std::move(made.parts));
  out.fill = WarpgroupFill(out, subject.spelling, n, std::move(made.probes));
  return out;
}

// --- From and to memory ---

Case make_tile(const LayoutSubject& subject) {
  const MatrixSpelling& s = subject.spelling;
  const MatrixRow& row = *s.row;
  const Type type = row.matrix == layout::Matrix::a   ? s.a
                    : row.matrix == layout::Matrix::b ? s.b
                    : row.matrix == layout::Matrix::c ? s.c
                                                      : s.d;
  Case out = wmma_transfer_case(s, subject.name(), {{"digit0", 0, 1}});
  const uint64_t places = out.inputs[0].unit_bytes() * 8 / static_cast<uint64_t>(isa::bits_of(type));
  std::vector<Part> parts;
  for (uint64_t digit = 0; digit < static_cast<uint64_t>(digits_of(type, places)); ++digit)
    parts.push_back({fmt::format("digit{}", digit), digit, 1});
  out = wmma_transfer_case(s, subject.name(), std::move(parts));
  out.fill = [plane = out.inputs[0], type](const Part& part, numeric::Random&, Inputs& inputs) {
    PlaneUnit unit(plane, isa::bits_of(type));
    for (uint64_t place = 0; place < unit.places(); ++place)
      unit.set(place, place_digit(type, place, static_cast<int>(part.first)));
    unit.write(inputs, 0, part.first);
  };
  return out;
}

// The rows that the lanes name, no two the same, in no order that anything else has.
constexpr uint64_t row_offset_of(uint64_t lane) {
  return (29 * lane + 7) % 64 * 16;
}

Case make_moved(const LayoutSubject& subject) {
  Case out = moved_rows_case(subject.spelling, 1);
  assert(out.name == subject.name());
  out.fill = [planes = out.inputs, units = out.units](const Part&, numeric::Random&, Inputs& inputs) {
    for (uint64_t i = 0; i < planes[0].per_unit * units; ++i) {
      const uint64_t wide = planes[0].element_bytes / 2; // movmatrix has words
      uint64_t bits = 0;
      for (uint64_t k = 0; k < wide; ++k)
        bits |= (i * wide + k + 1) << (16 * k);
      inputs.set(0, i, bits);
    }
    for (uint64_t lane = 0; lane < 32 && planes.size() > 1; ++lane)
      inputs.set(1, lane, row_offset_of(lane));
  };
  return out;
}

Case make(const LayoutSubject& subject) {
  switch (subject.spelling.row->opcode) {
  case Opcode::mma:
  case Opcode::wmma_mma:
    return make_product(subject);
  case Opcode::wgmma_mma_async:
    return make_warpgroup(subject);
  case Opcode::wmma_load:
  case Opcode::wmma_store:
    return make_tile(subject);
  default:
    return make_moved(subject);
  }
}

// --- Which cases there are ---

// The words of a spelling that change who holds what.
std::string orders_of(const std::string& spelling) {
  std::string words;
  for (size_t at = 0; at < spelling.size();) {
    const size_t end = std::min(spelling.find('.', at), spelling.size());
    const std::string word = spelling.substr(at, end - at);
    if (word == "row" || word == "col" || word == "trans" || word == "x2" || word == "x4")
      words += "." + word;
    at = end + 1;
  }
  return words;
}

std::vector<int> some_columns(const MatrixRow& row) {
  if (row.opcode == Opcode::wgmma_mma_async)
    return {8, 24, row.shape.n};
  return {row.shape.n};
}

void add_subjects(const MatrixRow& row, std::vector<LayoutSubject>& subjects) {
  const std::vector<MatrixSpelling> spellings = matrix_spellings(row);
  const int selectors = row.sparse == Qual::none ? 0 : layout::selectors(isa::metadata_of(row));
  for (const int n : some_columns(row)) {
    std::set<std::string> known;
    const std::string shape = fmt::format(".m{}n{}", row.shape.m, n);
    for (const MatrixSpelling& s : spellings) {
      if (s.text.find(shape + "k") == std::string::npos && s.text.find(shape + ".") == std::string::npos)
        continue;
      if (!known.insert(orders_of(s.text)).second)
        continue;
      const bool wide = n != some_columns(row).front();
      for (int selector = selectors == 0 ? -1 : 0; selector < (wide ? std::min(selectors, 1) : selectors);
           ++selector)
        subjects.push_back({s, selector, n});
    }
  }
}

} // namespace

std::string LayoutSubject::name() const {
  return selector < 0 ? spelling.text : fmt::format("{}.selector{}", spelling.text, selector);
}

std::vector<LayoutSubject> layout_subjects() {
  std::vector<LayoutSubject> subjects;
  for (const MatrixRow& row : isa::matrix_rows())
    if (!group_of(row).empty())
      add_subjects(row, subjects);
  return subjects;
}

std::vector<Case> layout_cases(std::string_view) {
  std::vector<Case> cases;
  for (const LayoutSubject& subject : layout_subjects())
    cases.push_back(make(subject));
  return cases;
}

} // namespace lemma::golden
