// A stack of entries, and two hash maps from a name to its newest entry: `exact_` for names, `ranges_` for
// the prefixes of `%r<100>`. An entry remembers the one that it hides; closing a scope pops entries and puts
// those back. A name like %r12 is looked up under each prefix that it may have, but only if a prefix that
// ends in a digit was ever declared; otherwise there is one.
#include "ptx/names.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace lemma::ptx {
namespace {

constexpr size_t kLongestNumber = 9; // digits of the largest count

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Splits "%r12" at `digits` from its end into a prefix and a number without leading zeros.
bool split(std::string_view name, size_t digits, std::string_view& prefix, uint32_t& number) {
  prefix = name.substr(0, name.size() - digits);
  const std::string_view tail = name.substr(prefix.size());
  if (prefix.empty() || (tail[0] == '0' && digits > 1))
    return false;
  number = 0;
  for (const char c : tail)
    number = number * 10 + static_cast<uint32_t>(c - '0');
  return true;
}

size_t trailing_digits(std::string_view name) {
  size_t digits = 0;
  while (digits < name.size() && digits < kLongestNumber && is_digit(name[name.size() - 1 - digits]))
    ++digits;
  return digits;
}

} // namespace

uint32_t ScopedNames::Index::hash_of(std::string_view name) {
  return static_cast<uint32_t>(std::hash<std::string_view>()(name));
}

size_t ScopedNames::Index::place_of(std::string_view name, uint32_t hash,
                                    const std::vector<Entry>& entries) const {
  for (size_t at = hash;; ++at) {
    at &= slots_.size() - 1;
    const Slot& slot = slots_[at];
    if (slot.entry == 0 ||
        (slot.hash == hash && slot.entry != kRemoved && entries[slot.entry - 1].name == name))
      return at;
  }
}

// Registers are looked up here too, and seldom begin as anything else does: %r, .L, $L.
uint32_t ScopedNames::Index::find(std::string_view name, const std::vector<Entry>& entries) const {
  if (slots_.empty() || (name.size() > 1 && !begins_[static_cast<uint8_t>(name[1])]))
    return 0;
  return slots_[place_of(name, hash_of(name), entries)].entry;
}

void ScopedNames::Index::set(std::string_view name, uint32_t entry, const std::vector<Entry>& entries) {
  if (2 * used_ >= slots_.size())
    grow();
  if (name.size() > 1)
    begins_[static_cast<uint8_t>(name[1])] = true;
  const uint32_t hash = hash_of(name);
  Slot& slot = slots_[place_of(name, hash, entries)];
  used_ += slot.entry == 0;
  slot = {hash, entry == 0 ? kRemoved : entry};
}

// Twice the names that there are, at least; those that were taken out go.
void ScopedNames::Index::grow() {
  constexpr size_t kSmallest = 32;
  const auto names = static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.entry != 0 && slot.entry != kRemoved;
  }));
  std::vector<Slot> old(std::max(kSmallest, 4 * std::bit_ceil(names)));
  old.swap(slots_);
  used_ = names;
  for (const Slot& slot : old)
    if (slot.entry != 0 && slot.entry != kRemoved) {
      size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].entry != 0)
        at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
}

void ScopedNames::open_scope(uint32_t scope) {
  marks_.push_back({scope, static_cast<uint32_t>(entries_.size())});
}

void ScopedNames::close_scope() {
  const uint32_t first = marks_.back().first_entry;
  for (size_t i = entries_.size(); i-- > first;) {
    Index& index = entry_is_range_[i] ? ranges_ : exact_;
    index.set(entries_[i].name, entries_[i].outer, entries_);
  }
  entries_.resize(first);
  entry_is_range_.resize(first);
  marks_.pop_back();
}

void ScopedNames::push(Index& index, Entry entry) {
  entry.outer = index.find(entry.name, entries_);
  entries_.push_back(entry);
  entry_is_range_.push_back(&index == &ranges_);
  index.set(entry.name, static_cast<uint32_t>(entries_.size()), entries_);
}

bool ScopedNames::declare(std::string_view name, Binding::Kind kind, uint32_t index) {
  const uint32_t scope = marks_.back().scope;
  Binding taken;
  if (find(name, taken) && taken.scope == scope)
    return false;
  push(exact_, {{kind, index, scope}, name, 0, 0});
  return true;
}

// Whether the current scope has one of prefix0 .. prefix<count - 1>. Costs the smaller of the count and the
// scope's size, unless a prefix ends in a digit, which real code does not do.
bool ScopedNames::range_clashes(std::string_view prefix, uint32_t count, bool digits) const {
  const uint32_t first = marks_.back().first_entry;
  if (!digits && entries_.size() - first < count) {
    for (size_t i = first; i < entries_.size(); ++i) {
      const std::string_view name = entries_[i].name;
      std::string_view stem;
      uint32_t number = 0;
      if (!entry_is_range_[i] && name.size() > prefix.size() && name.starts_with(prefix) &&
          trailing_digits(name) == name.size() - prefix.size() &&
          split(name, name.size() - prefix.size(), stem, number) && number < count)
        return true;
    }
    return false;
  }
  std::string name(prefix);
  Binding taken;
  for (uint32_t i = 0; i < count; ++i) {
    name.resize(prefix.size());
    name += std::to_string(i);
    if (digits ? find(name, taken) && taken.scope == marks_.back().scope : find_here(name) != nullptr)
      return true;
  }
  return false;
}

bool ScopedNames::declare_range(std::string_view prefix, uint32_t count, uint32_t first) {
  const uint32_t scope = marks_.back().scope;
  if (const uint32_t at = ranges_.find(prefix, entries_); at && entries_[at - 1].binding.scope == scope)
    return false;
  const bool digits = is_digit(prefix.back());
  if (range_clashes(prefix, count, digits || digit_prefixes_))
    return false;
  digit_prefixes_ |= digits;
  push(ranges_, {{Binding::Kind::reg, first, scope}, prefix, count, 0});
  return true;
}

bool ScopedNames::find_in_ranges(std::string_view name, Binding& out) const {
  const size_t digits = trailing_digits(name);
  bool found = false;
  uint32_t best = 0;
  for (size_t n = digits; n > 0; --n) {
    std::string_view prefix;
    uint32_t number = 0;
    if (split(name, n, prefix, number)) {
      for (uint32_t at = ranges_.find(prefix, entries_); at != 0; at = entries_[at - 1].outer) {
        const Entry& entry = entries_[at - 1];
        if (number < entry.count) {
          if (!found || at > best) {
            best = at;
            out = entry.binding;
            out.index += number;
            found = true;
          }
          break;
        }
      }
    }
    if (!digit_prefixes_)
      break;
  }
  return found;
}

bool ScopedNames::find(std::string_view name, Binding& out) const {
  const bool in_range = find_in_ranges(name, out);
  const uint32_t at = exact_.find(name, entries_);
  if (at == 0)
    return in_range;
  const Binding& exact = entries_[at - 1].binding;
  if (!in_range || exact.scope >= out.scope) // inner scopes have higher numbers
    out = exact;
  return true;
}

const Binding* ScopedNames::find_here(std::string_view name) const {
  const uint32_t at = exact_.find(name, entries_);
  if (at == 0 || entries_[at - 1].binding.scope != marks_.back().scope)
    return nullptr;
  return &entries_[at - 1].binding;
}

std::vector<std::string_view> ScopedNames::some_names(size_t at_most) const {
  std::vector<std::string_view> names;
  for (size_t i = entries_.size(); i-- > 0 && names.size() < at_most;)
    if (!entry_is_range_[i])
      names.push_back(entries_[i].name);
  return names;
}

std::string ScopedNames::range_like(std::string_view name) const {
  const size_t digits = trailing_digits(name);
  const uint32_t at = ranges_.find(name.substr(0, name.size() - digits), entries_);
  if (digits == 0 || at == 0 || entries_[at - 1].count == 0)
    return {};
  const Entry& entry = entries_[at - 1];
  return std::string(entry.name) + "0 .. " + std::string(entry.name) + std::to_string(entry.count - 1);
}

} // namespace lemma::ptx
