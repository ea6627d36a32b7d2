// A section's text becomes bytes, in which labels are zeros that are remembered by their place. Then the
// entries (DIEs) are read from the first to the last; an entry refers to others by their offset in the unit.
#include "ptx/debug_info.h"

#include "ptx/debug_strings.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace lemma::ptx {
namespace {

// What a compiler's output stays below: a hostile text would take a while, or memory.
constexpr size_t kMostUnits = 64, kMostAbbreviations = 1024, kMostAttributes = 256,
                 kMostEntries = size_t{1} << 18, kLongestName = 256;

// --- bytes

struct Bytes {
  std::string data;
  std::map<size_t, std::string> labels; // that stand in the data
};

std::string_view next_word(std::string_view& text) {
  constexpr std::string_view kBlanks = " \t\r\n,";
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    const std::string_view end = text.starts_with("//") ? "\n" : text.starts_with("/*") ? "*/" : "";
    if (end.empty())
      break;
    const size_t at = text.find(end, 2);
    text.remove_prefix(at == text.npos ? text.size() : at + end.size());
  }
  const size_t size = std::min(text.find_first_of(kBlanks), text.size());
  const std::string_view word = text.substr(0, size);
  text.remove_prefix(size);
  return word;
}

// As PTX writes integers; the parser has seen to it that it is one.
uint64_t number(std::string_view word) {
  const bool negative = word.starts_with('-');
  if (negative)
    word.remove_prefix(1);
  int base = 10;
  if (word.starts_with("0x") || word.starts_with("0X"))
    base = 16;
  else if (word.starts_with("0b") || word.starts_with("0B"))
    base = 2;
  else if (word.size() > 1 && word.starts_with('0'))
    base = 8;
  if (base == 16 || base == 2)
    word.remove_prefix(2);
  uint64_t value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value, base);
  return negative ? -value : value;
}

// The first section of that name.
Bytes bytes_of(const Module& module, std::string_view name) {
  Bytes bytes;
  const auto section = std::find_if(module.sections.begin(), module.sections.end(),
                                    [&](const DebugSection& s) { return s.name == name; });
  if (section == module.sections.end())
    return bytes;
  size_t size = 0;
  std::string_view text = section->text;
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) {
    if (word == ".b8" || word == ".b16" || word == ".b32" || word == ".b64") {
      size = number(word.substr(2)) / 8;
    } else if (word.front() == '-' || (word.front() >= '0' && word.front() <= '9')) {
      const uint64_t value = number(word);
      for (size_t i = 0; i < size; ++i)
        bytes.data += static_cast<char>(value >> (8 * i));
    } else if (!word.ends_with(':') && word.front() != '+') { // a label that is declared, an offset
      bytes.labels.emplace(bytes.data.size(), word);
      bytes.data.append(size, '\0');
    }
  }
  return bytes;
}

// Reads beyond the end give zeros and make it bad.
class Cursor {
public:
  Cursor(std::string_view data, size_t at) : data_(data), at_(at), ok_(at <= data.size()) {}

  bool ok() const { return ok_; }
  size_t at() const { return at_; }
  bool at_end() const { return !ok_ || at_ >= data_.size(); }
  void skip(uint64_t bytes) {
    ok_ = ok_ && bytes <= data_.size() - at_;
    at_ += ok_ ? bytes : 0;
  }
  uint64_t fixed(size_t bytes) {
    const size_t begin = at_;
    skip(bytes);
    uint64_t value = 0;
    for (size_t i = 0; ok_ && i < bytes; ++i)
      value |= uint64_t{static_cast<unsigned char>(data_[begin + i])} << (8 * i);
    return value;
  }
  uint64_t uleb() {
    uint64_t value = 0;
    for (int shift = 0; ok_; shift += 7) {
      const uint64_t byte = fixed(1);
      if (shift < 64)
        value |= (byte & 0x7f) << shift;
      if (!(byte & 0x80))
        break;
    }
    return value;
  }
  std::string_view string() {
    const size_t end = ok_ ? data_.find('\0', at_) : data_.npos;
    const std::string_view text = end == data_.npos ? "" : data_.substr(at_, end - at_);
    skip(end == data_.npos ? data_.size() : end + 1 - at_);
    return text;
  }

private:
  std::string_view data_;
  size_t at_ = 0;
  bool ok_ = true;
};

// --- entries. DWARF 4, figures 18 to 21

enum Tag : uint64_t { kFormalParameter = 0x05, kSubprogram = 0x2e };
enum Attribute : uint64_t { kName = 0x03, kLowPc = 0x11, kAbstractOrigin = 0x31, kSpecification = 0x47 };

struct Abbreviation {
  uint64_t tag = 0;
  bool has_children = false;
  std::vector<std::pair<uint64_t, uint64_t>> attributes; // and their forms
};

using Abbreviations = std::map<uint64_t, Abbreviation>;

Abbreviations read_abbreviations(std::string_view data, size_t at) {
  Abbreviations all;
  Cursor in(data, at);
  while (const uint64_t code = all.size() < kMostAbbreviations ? in.uleb() : 0) {
    Abbreviation& one = all[code];
    one = {.tag = in.uleb(), .has_children = in.fixed(1) != 0, .attributes = {}};
    while (in.ok() && one.attributes.size() < kMostAttributes) {
      const uint64_t attribute = in.uleb(), form = in.uleb();
      if (attribute == 0 && form == 0)
        break;
      one.attributes.emplace_back(attribute, form);
    }
  }
  return all;
}

struct Entry {
  uint64_t tag = 0;
  size_t parent = 0;       // of a formal parameter its subprogram; 0: none
  std::string name, label; // label: of the low PC
  uint64_t origin = 0;     // where the name is, if not here
};

// A unit's entries, by offset.
class Unit {
public:
  Unit(const Module& module, const Bytes& info, size_t begin) : module_(module), info_(info), begin_(begin) {}

  // From the unit's head; stops at what it does not know.
  void read(Cursor& in, std::string_view abbreviations) {
    const uint64_t length = in.fixed(4);
    const size_t end = in.at() + static_cast<size_t>(std::min<uint64_t>(length, info_.data.size()));
    const uint64_t version = in.fixed(2);
    const auto table = read_abbreviations(abbreviations, in.fixed(4));
    address_bytes_ = in.fixed(1);
    if (version >= 2 && version <= 4)
      read_entries(in, end, table);
    in.skip(end > in.at() ? end - in.at() : 0);
  }

  const std::map<size_t, Entry>& entries() const { return entries_; }

  const std::string& name_of(const Entry& entry) const {
    constexpr int kMostReferences = 8;
    const Entry* at = &entry;
    for (int i = 0; i < kMostReferences && at->name.empty() && at->origin != 0; ++i) {
      const auto origin = entries_.find(begin_ + at->origin);
      if (origin == entries_.end())
        break;
      at = &origin->second;
    }
    return at->name;
  }

private:
  void read_entries(Cursor& in, size_t end, const Abbreviations& table) {
    std::vector<size_t> parents = {0};
    while (in.ok() && in.at() < end && !parents.empty() && entries_.size() < kMostEntries) {
      const size_t offset = in.at();
      const uint64_t code = in.uleb();
      if (code == 0) {
        parents.pop_back();
        continue;
      }
      const auto abbreviation = table.find(code);
      if (abbreviation == table.end())
        return;
      Entry entry{.tag = abbreviation->second.tag, .parent = parents.back(), .name = {}, .label = {}};
      for (const auto& [attribute, form] : abbreviation->second.attributes)
        if (!read_attribute(in, attribute, form, entry))
          return;
      if (abbreviation->second.has_children)
        parents.push_back(offset);
      if (entry.tag == kSubprogram || entry.tag == kFormalParameter)
        entries_.emplace(offset, std::move(entry));
    }
  }

  bool read_attribute(Cursor& in, uint64_t attribute, uint64_t form, Entry& entry) {
    const size_t at = in.at();
    std::optional<uint64_t> reference;
    switch (form) {
    case 0x01: // addr
      in.skip(address_bytes_);
      if (const auto label = info_.labels.find(at); attribute == kLowPc && label != info_.labels.end())
        entry.label = label->second;
      break;
    case 0x03: // block2
      in.skip(in.fixed(2));
      break;
    case 0x04: // block4
      in.skip(in.fixed(4));
      break;
    case 0x05: // data2
      in.skip(2);
      break;
    case 0x06: // data4
    case 0x10: // ref_addr
    case 0x17: // sec_offset
      in.skip(4);
      break;
    case 0x07: // data8
    case 0x20: // ref_sig8
      in.skip(8);
      break;
    case 0x08: // string
      if (const std::string_view text = in.string(); attribute == kName)
        entry.name = text.substr(0, kLongestName);
      break;
    case 0x09: // block
    case 0x18: // exprloc
      in.skip(in.uleb());
      break;
    case 0x0a: // block1
      in.skip(in.fixed(1));
      break;
    case 0x0b: // data1
    case 0x0c: // flag
      in.skip(1);
      break;
    case 0x0d: // sdata
    case 0x0f: // udata
      in.uleb();
      break;
    case 0x0e: // strp
      in.skip(4);
      if (const auto label = info_.labels.find(at); attribute == kName && label != info_.labels.end())
        entry.name = debug_string(module_, label->second).substr(0, kLongestName);
      break;
    case 0x11: // ref1, ref2, ref4, ref8
    case 0x12:
    case 0x13:
    case 0x14:
      reference = in.fixed(size_t{1} << (form - 0x11));
      break;
    case 0x15: // ref_udata
      reference = in.uleb();
      break;
    case 0x19: // flag_present
      break;
    default:
      return false;
    }
    if (reference && (attribute == kAbstractOrigin || attribute == kSpecification))
      entry.origin = *reference;
    return in.ok();
  }

  const Module& module_;
  const Bytes& info_;
  size_t begin_ = 0;
  uint64_t address_bytes_ = 8;
  std::map<size_t, Entry> entries_;
};

} // namespace

std::map<size_t, std::vector<std::string>> source_parameters(const Module& module) {
  std::map<size_t, std::vector<std::string>> names;
  const Bytes info = bytes_of(module, ".debug_info"), abbreviations = bytes_of(module, ".debug_abbrev");
  if (info.data.empty())
    return names;
  std::map<std::string_view, size_t> function_of; // by its labels
  for (size_t f = 0; f < module.functions.size(); ++f)
    for (const Label& label : module.functions[f].labels)
      function_of.emplace(label.name, f);
  Cursor in(info.data, 0);
  for (size_t units = 0; !in.at_end() && units < kMostUnits; ++units) {
    Unit unit(module, info, in.at());
    unit.read(in, abbreviations.data);
    for (const auto& [offset, entry] : unit.entries()) {
      const auto parent = unit.entries().find(entry.parent);
      if (entry.tag != kFormalParameter || parent == unit.entries().end() ||
          parent->second.tag != kSubprogram)
        continue;
      if (const auto function = function_of.find(parent->second.label); function != function_of.end())
        names[function->second].push_back(unit.name_of(entry));
    }
  }
  return names;
}

} // namespace lemma::ptx
