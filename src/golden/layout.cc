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

// The words of a spelling that change who holds what.
std::string orders_of(const std::string& spelling) {
  std::string words;
  for (size_t at = 0; at < spelling.size();) {
    const size_t end = std::min(spelling.find('.', at), spelling.size());
    const std::string word = spelling.substr(at, end - at);
    if (word == "row" || word == "col")
      words += "." + word;
    at = end + 1;
  }
  return words;
}

bool is_product(const MatrixRow& row) {
  return row.opcode == Opcode::mma || row.opcode == Opcode::wmma_mma;
}

} // namespace

std::string LayoutSubject::name() const {
  return selector < 0 ? spelling.text : fmt::format("{}.selector{}", spelling.text, selector);
}

std::vector<LayoutSubject> layout_subjects() {
  std::vector<LayoutSubject> subjects;
  for (const MatrixRow& row : isa::matrix_rows()) {
    if (!is_product(row) || group_of(row).empty())
      continue;
    std::set<std::string> known;
    for (MatrixSpelling& s : matrix_spellings(row)) {
      if (!known.insert(orders_of(s.text)).second)
        continue;
      const int selectors = row.sparse == Qual::none ? 0 : layout::selectors(isa::metadata_of(row));
      for (int selector = selectors == 0 ? -1 : 0; selector < selectors; ++selector)
        subjects.push_back({s, selector});
    }
  }
  return subjects;
}

std::vector<Case> layout_cases(std::string_view) {
  std::vector<Case> cases;
  for (const LayoutSubject& subject : layout_subjects())
    cases.push_back(make_product(subject));
  return cases;
}

} // namespace lemma::golden
