// From the words of an instruction to the forms that they fit, and the message when they fit none.
#include "isa/catalogue.h"
#include "isa/form.h"
#include "support/edit_distance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace lemma::isa {
namespace {

constexpr std::string_view kSee = "see";

// Types go to the type slots in order; an optional slot may be passed over.
bool bind_types(const Form& form, std::span<const Type> types, size_t slot, Binding& binding) {
  const auto& slots = form.slots;
  while (slot < slots.size() && !slots[slot].is_type())
    ++slot;
  if (slot == slots.size())
    return types.empty();
  if (!types.empty() && slots[slot].has(types[0])) {
    binding.value[slot] = static_cast<uint16_t>(types[0]);
    if (bind_types(form, types.subspan(1), slot + 1, binding))
      return true;
    binding.value[slot] = 0;
  }
  return slots[slot].optional && bind_types(form, types, slot + 1, binding);
}

// Qualifiers that the assembler takes twice as once. Measured on ptxas 13; the ISA does not say.
bool is_repeatable(Qual qual) {
  switch (qual) {
  case Qual::NaN:
  case Qual::approx:
  case Qual::cc:
  case Qual::relu:
  case Qual::sat:
  case Qual::satfinite:
  case Qual::shiftamt:
  case Qual::sync:
  case Qual::uni:
    return true;
  default:
    return false;
  }
}

bool holds(const Form& form, const Binding& binding, Qual qual) {
  if (qual == Qual::sync && to_string(form.opcode).ends_with(".sync"))
    return true;
  for (size_t s = 0; s < form.slots.size(); ++s)
    if (!form.slots[s].is_type() && binding.qual(static_cast<int>(s)) == qual)
      return true;
  return false;
}

// Qualifiers that keep their order among themselves, wherever they stand.
enum class Ordered : uint8_t {
  none,
  spaces,  // the first is that of the destination
  layouts, // the first is that of A
  bits,    // .and.popc; .b8x16.b4x16_p64
};
constexpr size_t kOrderedKinds = 4;

Ordered ordered(const Form& form, Qual qual) {
  switch (qual) {
  case Qual::row:
  case Qual::col:
    return Ordered::layouts;
  case Qual::and_:
  case Qual::or_:
  case Qual::xor_:
  case Qual::popc:
    return form.matrix ? Ordered::bits : Ordered::none;
  case Qual::b8x16:
  case Qual::b4x16_p64:
  case Qual::b6x16_p32:
    return Ordered::bits;
  default:
    return space_of(qual) ? Ordered::spaces : Ordered::none;
  }
}

// Each qualifier goes to the first free slot that has it and that the order leaves. Returns the index of the
// first qualifier without a place, or -1.
int bind_quals(const Form& form, std::span<const Qual> quals, Binding& binding) {
  std::array<size_t, kOrderedKinds> first = {};
  for (size_t q = 0; q < quals.size(); ++q) {
    const Ordered kind = ordered(form, quals[q]);
    size_t& from = first[static_cast<size_t>(kind)];
    bool placed = false;
    for (size_t s = from; s < form.slots.size() && !placed; ++s)
      if (binding.value[s] == 0 && form.slots[s].has(quals[q])) {
        binding.value[s] = static_cast<uint16_t>(quals[q]);
        placed = true;
        if (kind != Ordered::none)
          from = s + 1;
      }
    if (!placed && !(is_repeatable(quals[q]) && holds(form, binding, quals[q])))
      return static_cast<int>(q);
  }
  return -1;
}

// The first slot that must be filled and is not, or -1.
int missing_slot(const Form& form, const Binding& binding) {
  uint64_t started = 0; // groups with a filled slot
  for (size_t s = 0; s < form.slots.size(); ++s)
    if (binding.value[s] != 0)
      for (int8_t g = form.slots[s].group; g >= 0; g = form.group_parents[static_cast<size_t>(g)])
        started |= uint64_t{1} << g;
  for (size_t s = 0; s < form.slots.size(); ++s) {
    const int8_t g = form.slots[s].group;
    if (binding.value[s] == 0 && !form.slots[s].may_lack && (g < 0 || (started >> g & 1)))
      return static_cast<int>(s);
  }
  return -1;
}

std::vector<std::string_view> values_of(const Slot& slot) {
  std::vector<std::string_view> out;
  for (const Qual q : slot.quals)
    out.push_back(to_string(q));
  for (const Type t : slot.types)
    out.push_back(to_string(t));
  return out;
}

struct Parsed {
  Opcode opcode = Opcode::none;
  size_t opcode_words = 0;
  std::vector<Qual> quals;
  std::vector<Type> types;
};

// Longest opcode that the words begin with.
Parsed find_opcode(std::span<const Word> words) {
  Parsed parsed;
  std::string joined;
  for (size_t i = 0; i < words.size() && i < 6; ++i) {
    if (i)
      joined += '.';
    joined += words[i].text;
    if (const auto opcode = parse_opcode(joined)) {
      parsed.opcode = *opcode;
      parsed.opcode_words = i + 1;
    }
  }
  return parsed;
}

// Some opcodes are two words of which the assembler takes the second anywhere: shfl.down.sync. The words with
// the opcode's own brought to the front, or empty when that finds no longer opcode.
std::vector<Word> opcode_words_first(std::span<const Word> words) {
  for (size_t i = 2; i < words.size(); ++i)
    if (words[i].text == "sync") {
      std::vector<Word> moved(words.begin(), words.end());
      std::rotate(moved.begin() + 1, moved.begin() + static_cast<std::ptrdiff_t>(i),
                  moved.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      if (find_opcode(moved).opcode_words == 2)
        return moved;
    }
  return {};
}

Diagnostic unknown_opcode(std::span<const Word> words) {
  Diagnostic error;
  error.id = "unknown-opcode";
  error.message = fmt::format("no instruction is called '{}'", words[0].text);
  error.range = words[0].range;
  std::vector<std::string_view> candidates;
  for (int i = 1; i < kOpcodeCount; ++i)
    candidates.push_back(to_string(static_cast<Opcode>(i)));
  // A known first word with unknown further ones (cp.foo): what begins with it.
  std::vector<std::string> near;
  const std::string prefix = fmt::format("{}.", words[0].text);
  for (const std::string_view c : candidates)
    if (c.starts_with(prefix))
      near.emplace_back(c);
  if (!near.empty()) {
    const std::string_view second = words.size() > 1 ? words[1].text : std::string_view{};
    error.message = fmt::format("no instruction is called '{}.{}'", words[0].text, second);
    error.range.end = words[std::min<size_t>(1, words.size() - 1)].range.end;
    error.notes.push_back({"legal", fmt::format("{}", fmt::join(near, " "))});
    return error;
  }
  near = nearest(words[0].text, candidates);
  if (!near.empty())
    error.notes.push_back({"did you mean", fmt::format("{}", fmt::join(near, ", "))});
  return error;
}

constexpr size_t kNoWord = SIZE_MAX;

// How far words get in one form: which word has no place, or which slot stays empty.
struct Failure {
  const Form* form = nullptr;
  size_t unplaced = 0;    // words without a place
  size_t after = kNoWord; // the word before it that would have to stand behind it
  size_t word = 0;        // the first of them
  std::vector<int> empty; // mandatory slots left
  std::vector<int> open;  // optional slots left
};

Failure try_form(const Form& form, std::span<const Word> words) {
  Failure failure;
  failure.form = &form;
  Binding binding;
  size_t next_type = 0;
  struct Last {
    size_t slot_after = 0;
    size_t word = kNoWord;
  };
  std::array<Last, kOrderedKinds> last;
  for (size_t w = 0; w < words.size(); ++w) {
    const auto type = parse_type(words[w].text);
    const auto qual = parse_qual(words[w].text);
    const Ordered kind = qual ? ordered(form, *qual) : Ordered::none;
    Last& before = last[static_cast<size_t>(kind)];
    bool placed = false, passed = false;
    for (size_t s = 0; s < form.slots.size() && !placed; ++s) {
      const Slot& slot = form.slots[s];
      if (binding.value[s] != 0 || (slot.is_type() && s < next_type))
        continue;
      if (qual && kind != Ordered::none && s < before.slot_after) {
        passed |= slot.has(*qual);
        continue;
      }
      if (type && slot.has(*type)) {
        binding.value[s] = static_cast<uint16_t>(*type);
        next_type = s + 1;
        placed = true;
      } else if (qual && slot.has(*qual)) {
        binding.value[s] = static_cast<uint16_t>(*qual);
        placed = true;
        if (kind != Ordered::none)
          before = {s + 1, w};
      }
    }
    if (!placed && failure.unplaced++ == 0) {
      failure.word = w;
      failure.after = passed ? before.word : kNoWord;
    }
  }
  for (size_t s = 0; s < form.slots.size(); ++s)
    if (binding.value[s] == 0)
      (form.slots[s].optional ? failure.open : failure.empty).push_back(static_cast<int>(s));
  return failure;
}

// Of a shape, the two legal ones nearest in size; of another word, those nearest in spelling.
std::vector<std::string> nearest_words(std::string_view found, const std::vector<std::string_view>& legal) {
  const auto shape = matrix_shape(found);
  std::vector<std::pair<int, std::string_view>> ranked;
  if (shape)
    for (const std::string_view word : legal)
      if (const auto other = matrix_shape(word)) {
        int distance = 0;
        for (size_t i = 0; i < 3; ++i)
          distance += std::abs((*other)[i] - (*shape)[i]);
        ranked.emplace_back(distance, word);
      }
  if (ranked.empty())
    return nearest(found, legal);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  ranked.resize(std::min<size_t>(ranked.size(), 2));
  std::vector<std::string> words;
  for (const auto& [distance, word] : ranked)
    words.emplace_back(word);
  return words;
}

// "8..32 in steps of 8, 48..256 in steps of 16" of a sorted list.
std::string runs_of(const std::vector<int>& numbers) {
  std::string text;
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() &&
           numbers[last + 1] - numbers[last] == numbers[first + 1] - numbers[first])
      ++last;
    text += text.empty() ? "" : ", ";
    if (last < first + 2)
      text += fmt::format("{}", numbers[last = first]);
    else
      text += fmt::format("{}..{} in steps of {}", numbers[first], numbers[last],
                          numbers[first + 1] - numbers[first]);
    first = last + 1;
  }
  return text;
}

// The words, each with its dot. Of many shapes that differ in N alone: ".m64nNk16 with N = 8..256 in steps of
// 8".
std::vector<std::string> listed(const std::vector<std::string_view>& legal) {
  constexpr size_t kMany = 6;
  std::map<std::pair<int, int>, std::set<int>> columns; // of M and K
  for (const std::string_view word : legal)
    if (const auto shape = matrix_shape(word))
      columns[{(*shape)[0], (*shape)[2]}].insert((*shape)[1]);
  std::vector<std::string> words;
  for (const std::string_view word : legal) {
    const auto shape = matrix_shape(word);
    const std::set<int>* family = shape ? &columns[{(*shape)[0], (*shape)[2]}] : nullptr;
    if (!shape || family->size() < kMany) {
      words.push_back(fmt::format(".{}", word));
    } else if ((*shape)[1] == *family->begin()) {
      const std::vector<int> numbers(family->begin(), family->end());
      words.push_back(fmt::format(".m{}nNk{} with N = {}", (*shape)[0], (*shape)[2], runs_of(numbers)));
    }
  }
  return words;
}

void add_legal(Diagnostic& error, const std::vector<std::string_view>& legal, std::string_view found) {
  constexpr size_t kShown = 24;
  const std::vector<std::string> words = listed(legal);
  std::string text;
  for (size_t i = 0; i < std::min(words.size(), kShown); ++i)
    text += (i ? " " : "") + words[i];
  if (words.size() > kShown)
    text += fmt::format(" and {} more", words.size() - kShown);
  if (!text.empty())
    error.notes.push_back({"legal", text});
  std::string near;
  for (const std::string& n : nearest_words(found, legal))
    near += fmt::format("{}.{}", near.empty() ? "" : ", ", n);
  if (!near.empty())
    error.notes.push_back({"did you mean", near});
}

Diagnostic no_form(Opcode opcode, std::span<const Word> opcode_words, std::span<const Word> words) {
  std::vector<Failure> failures;
  for (const Form* form : forms_of(opcode))
    failures.push_back(try_form(*form, words));
  Diagnostic error;
  error.id = "qualifier";
  error.range = {opcode_words.front().range.begin, opcode_words.back().range.end};
  if (failures.empty()) {
    error.severity = Severity::internal;
    error.message = fmt::format("no form of '{}' is known", to_string(opcode));
    return error;
  }
  // Words in another order than they should be are nearer than words that are wrong.
  const auto cost = [](const Failure& f) {
    const size_t order = f.unplaced == 1 && f.empty.size() == 1 && f.after != kNoWord ? 0 : 1;
    return std::tuple(order, f.unplaced + f.empty.size(), f.unplaced);
  };
  const Failure best =
      *std::min_element(failures.begin(), failures.end(),
                        [&](const Failure& a, const Failure& b) { return cost(a) < cost(b); });
  std::vector<std::string_view> legal;
  const auto add = [&](const Form& form, const std::vector<int>& slots) {
    for (const int s : slots)
      for (const std::string_view v : values_of(form.slots[static_cast<size_t>(s)]))
        if (std::find(legal.begin(), legal.end(), v) == legal.end())
          legal.push_back(v);
  };
  for (const Failure& f : failures)
    if (cost(f) == cost(best) && (f.unplaced == 0 || f.word == best.word))
      add(*f.form, f.empty.empty() ? f.open : f.empty);
  std::string_view found;
  if (best.unplaced) {
    const Word& word = words[best.word];
    found = word.text;
    error.range = word.range;
    if (!parse_qual(found) && !parse_type(found))
      error.id = "unknown-qualifier";
    const bool repeated = std::any_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(best.word),
                                      [&](const Word& w) { return w.text == found; });
    error.message = repeated ? fmt::format("{} takes .{} once", to_string(opcode), found)
                             : fmt::format("{} has no .{} here", to_string(opcode), found);
    if (error.id == "unknown-qualifier")
      error.message = fmt::format("no qualifier is called '.{}'", found);
    if (best.after != kNoWord) {
      error.id = "qualifier-order";
      error.message =
          fmt::format("{} takes .{} before .{}", to_string(opcode), found, words[best.after].text);
      const bool of_layouts = found == "row" || found == "col";
      error.notes.push_back({"legal", fmt::format(".{}.{}{}", found, words[best.after].text,
                                                  of_layouts ? ": the first layout is A's" : "")});
      error.notes.push_back({std::string(kSee), citation(*best.form)});
      return error;
    }
  } else {
    error.message = fmt::format("{} lacks a qualifier", to_string(opcode));
    error.id = "missing-qualifier";
  }
  add_legal(error, legal, found);
  error.notes.push_back({std::string(kSee), citation(*best.form)});
  return error;
}

std::string_view word_of(const Binding& binding, size_t slot) {
  const int s = static_cast<int>(slot);
  return binding.form->slots[slot].is_type() ? to_string(binding.type(s)) : to_string(binding.qual(s));
}

// The words in the ISA's order.
std::vector<std::string_view> canonical(const Binding& binding) {
  std::vector<std::string_view> out;
  for (size_t s = 0; s < binding.form->slots.size(); ++s)
    if (binding.value[s])
      out.push_back(word_of(binding, s));
  return out;
}

void warn_about_order(Match& match, std::span<const Word> all, size_t opcode_words) {
  const auto order = canonical(match.bindings.front());
  const auto words = all.subspan(opcode_words);
  for (size_t i = 0; i < words.size(); ++i) { // at least as many as in `order`; more when one is repeated
    const Word& word = words[i];
    if (i < order.size() && order[i] == word.text)
      continue;
    Diagnostic warning;
    warning.severity = Severity::warning;
    warning.id = "qualifier-order";
    warning.message = words.size() > order.size()
                          ? fmt::format("a qualifier of {} is repeated", to_string(match.opcode))
                          : fmt::format(".{} is not where the ISA has it", word.text);
    warning.range = word.range;
    match.warnings.push_back(std::move(warning));
    return;
  }
}

// Words that the assembler takes only right after the opcode: mul.wide, shf.l, bar.red.
bool fixed_words_stand(const Binding& binding, std::span<const Word> words) {
  const std::vector<Slot>& slots = binding.form->slots;
  size_t next = 0;
  for (size_t s = 0; s < slots.size() && slots[s].fixed; ++s)
    if (binding.value[s] && (next >= words.size() || words[next++].text != word_of(binding, s)))
      return false;
  return true;
}

std::optional<Match> match_forms(const Parsed& parsed, std::span<const Word> words) {
  Match match;
  match.opcode = parsed.opcode;
  match.bindings.reserve(4);
  for (const Form* form : forms_of(parsed.opcode))
    if (auto binding = isa::bind(*form, parsed.quals, parsed.types);
        binding && fixed_words_stand(*binding, words.subspan(parsed.opcode_words)))
      match.bindings.push_back(std::move(*binding));
  if (match.bindings.empty())
    return std::nullopt;
  warn_about_order(match, words, parsed.opcode_words);
  return match;
}

// wmma.mma of floating types had .satfinite, which no form has any more.
std::optional<Match> match_without_old_word(const Parsed& parsed, std::span<const Word> words) {
  if (parsed.opcode != Opcode::wmma_mma || parsed.quals.empty() || parsed.quals.back() != Qual::satfinite ||
      words.back().text != to_string(Qual::satfinite))
    return std::nullopt;
  Parsed rest = parsed;
  rest.quals.pop_back();
  auto match = match_forms(rest, words.first(words.size() - 1));
  if (!match || match->bindings.front().form->matrix->numeric != Numeric::floating)
    return std::nullopt;
  match->gone = Qual::satfinite;
  match->gone_after = {6, 4};
  for (Binding& binding : match->bindings)
    binding.has_needs = true;
  return match;
}

// Words that the assembler passes over, as ptxas 13 does: the layouts of wgmma; of mma a bit operation with
// 4-bit integers, and a last type more than it has, of those that came with sm_75 and sm_80, where A has
// another.
std::vector<size_t> idle_words(const Parsed& parsed, std::span<const Word> words) {
  const auto is_one_of = [](std::string_view word, std::initializer_list<std::string_view> words_of) {
    return std::find(words_of.begin(), words_of.end(), word) != words_of.end();
  };
  constexpr size_t kLayouts = 2, kTypes = 4, kA = 1;
  const std::vector<Type>& types = parsed.types;
  const auto a = [&](std::initializer_list<std::string_view> any_of) {
    return types.size() > kA && is_one_of(to_string(types[kA]), any_of);
  };
  const bool one_type_more = types.size() == kTypes + 1 && !a({"bf16", "tf32", "b1"});
  std::vector<size_t> idle;
  for (size_t w = 0; w < words.size(); ++w) {
    const auto is = [&](std::initializer_list<std::string_view> any_of) {
      return is_one_of(words[w].text, any_of);
    };
    const bool is_idle = parsed.opcode == Opcode::wgmma_mma_async
                             ? is({"row", "col"}) && idle.size() < kLayouts
                         : parsed.opcode != Opcode::mma ? false
                         : is({"and", "or", "xor"})
                             ? a({"u4", "s4"})
                             : one_type_more && w + 1 == words.size() && is({"bf16", "tf32", "u4", "b1"});
    if (is_idle)
      idle.push_back(w);
  }
  return idle;
}

std::optional<Match> match_without_idle_words(const Parsed& parsed, std::span<const Word> words) {
  const std::vector<size_t> idle = idle_words(parsed, words.subspan(parsed.opcode_words));
  if (idle.empty())
    return std::nullopt;
  std::vector<Word> rest(words.begin(), words.end());
  for (size_t i = idle.size(); i-- > 0;)
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(parsed.opcode_words + idle[i]));
  Parsed less = parsed;
  less.quals.clear();
  less.types.clear();
  for (const Word& word : std::span(rest).subspan(parsed.opcode_words))
    if (const auto type = parse_type(word.text))
      less.types.push_back(*type);
    else if (const auto qual = parse_qual(word.text))
      less.quals.push_back(*qual);
  auto match = match_forms(less, rest);
  if (!match)
    return std::nullopt;
  const Word& word = words[parsed.opcode_words + idle.front()];
  Diagnostic warning;
  warning.severity = Severity::warning;
  warning.id = "qualifier";
  warning.message =
      fmt::format("{} has no .{}; the assembler passes over it", to_string(parsed.opcode), word.text);
  warning.range = word.range;
  warning.notes.push_back({"legal", spelling_of(match->bindings.front())});
  warning.notes.push_back({std::string(kSee), citation(*match->bindings.front().form)});
  match->warnings = {std::move(warning)};
  return match;
}

// The words would fit but that one stands in the wrong place: mul.u32.wide.
std::optional<Diagnostic> misplaced_word(const Parsed& parsed, std::span<const Word> words) {
  for (const Form* form : forms_of(parsed.opcode)) {
    const auto binding = isa::bind(*form, parsed.quals, parsed.types);
    if (!binding)
      continue;
    const auto order = canonical(*binding);
    for (const Word& word : words.subspan(parsed.opcode_words))
      for (const Slot& slot : form->slots)
        if (slot.fixed && slot.has(parse_qual(word.text).value_or(Qual::none))) {
          Diagnostic error;
          error.id = "qualifier-place";
          error.message =
              fmt::format(".{} of {} must stand right after the opcode", word.text, to_string(form->opcode));
          error.range = word.range;
          error.notes.push_back(
              {"legal", fmt::format("{}.{}", to_string(form->opcode), fmt::join(order, "."))});
          error.notes.push_back({std::string(kSee), citation(*form)});
          return error;
        }
  }
  return std::nullopt;
}

// Of an opcode's own words one edit for two letters, of all others one for three: .frob is not .row.
constexpr size_t kLettersPerEditOfOwn = 2;
constexpr size_t kLettersPerEdit = 3;

std::string_view first_word(Opcode opcode) {
  const std::string_view text = to_string(opcode);
  return text.substr(0, text.find('.'));
}

// All words but one are those of an opcode, and that one is nearly. A word that begins an opcode is that
// word: cp is not rcp misspelt.
bool is_misspelt_opcode(std::span<const Word> words) {
  bool begins = false;
  for (int i = 1; i < kOpcodeCount; ++i)
    begins |= first_word(static_cast<Opcode>(i)) == words.front().text;
  for (int i = 1; i < kOpcodeCount; ++i) {
    if (begins && first_word(static_cast<Opcode>(i)) != words.front().text)
      continue;
    std::string_view rest = to_string(static_cast<Opcode>(i));
    size_t other = 0;
    bool misspelt = false;
    for (size_t w = 0; !rest.empty() && other < 2; ++w) {
      const std::string_view known = rest.substr(0, rest.find('.'));
      rest.remove_prefix(std::min(known.size() + 1, rest.size()));
      const std::string_view word = w < words.size() ? words[w].text : std::string_view();
      if (word == known)
        continue;
      ++other;
      misspelt = w < words.size() && is_misspelt(word, known, kLettersPerEditOfOwn);
    }
    if (other == 1 && misspelt)
      return true;
  }
  return false;
}

bool is_misspelt_word(std::string_view word, Opcode opcode) {
  for (const Form* form : forms_of(opcode))
    for (const Slot& slot : form->slots)
      for (const std::string_view own : values_of(slot))
        if (is_misspelt(word, own, kLettersPerEditOfOwn))
          return true;
  for (int q = 1; q < kQualCount; ++q)
    if (is_misspelt(word, to_string(static_cast<Qual>(q)), kLettersPerEdit))
      return true;
  for (int t = 1; t < kTypeCount; ++t)
    if (is_misspelt(word, to_string(static_cast<Type>(t)), kLettersPerEdit))
      return true;
  return false;
}

Result<Match, Diagnostic> match_from(Parsed parsed, std::span<const Word> words) {
  const auto rest = words.subspan(parsed.opcode_words);
  bool known = true;
  for (const Word& word : rest) {
    if (const auto type = parse_type(word.text))
      parsed.types.push_back(*type);
    else if (const auto qual = parse_qual(word.text))
      parsed.quals.push_back(*qual);
    else
      known = false;
  }
  if (known) {
    if (auto match = match_forms(parsed, words))
      return std::move(*match);
    if (auto match = match_without_old_word(parsed, words))
      return std::move(*match);
    if (auto match = match_without_idle_words(parsed, words))
      return std::move(*match);
    if (auto error = misplaced_word(parsed, words))
      return fail(std::move(*error));
  }
  return fail(no_form(parsed.opcode, words.first(parsed.opcode_words), rest));
}

} // namespace

std::string citation(const Form& form) {
  return fmt::format("PTX ISA, {} (since PTX {}.{}, {})", to_string(form.opcode), form.since.major,
                     form.since.minor,
                     form.targets.any_of.empty() ? std::string("all targets") : to_string(form.targets));
}

bool lacks_a_word(const Binding& binding) {
  for (size_t s = 0; s < binding.form->slots.size(); ++s)
    if (binding.form->slots[s].may_lack && binding.value[s] == 0)
      return true;
  return false;
}

std::optional<Binding> bind(const Form& form, std::span<const Qual> quals, std::span<const Type> types) {
  Binding binding;
  if (!bind_types(form, types, 0, binding) || bind_quals(form, quals, binding) >= 0 ||
      missing_slot(form, binding) >= 0)
    return std::nullopt;
  binding.form = &form;
  binding.types.assign(types.begin(), types.end());
  std::array<Qual, kMaxSlots> in_order;
  size_t count = 0;
  for (size_t s = 0; s < form.slots.size(); ++s)
    if (!form.slots[s].is_type() && binding.value[s])
      in_order[count++] = binding.qual(static_cast<int>(s));
  binding.quals.assign(in_order.begin(), in_order.begin() + count);
  const auto has_need = [](auto word) { return need_of(word) != nullptr; };
  binding.has_needs = !form.needs.empty() || lacks_a_word(binding) ||
                      std::any_of(binding.quals.begin(), binding.quals.end(), has_need) ||
                      std::any_of(types.begin(), types.end(), has_need);
  return binding;
}

std::string spelling_of(const Binding& binding) {
  if (!binding.form)
    return {};
  std::string text(to_string(binding.form->opcode));
  for (const std::string_view word : canonical(binding)) {
    text += '.';
    text += word;
  }
  if (binding.match && binding.match->gone != Qual::none)
    text += fmt::format(".{}", to_string(binding.match->gone));
  return text;
}

Result<Match, Diagnostic> match(std::span<const Word> words) {
  if (words.empty())
    return fail(Diagnostic{Severity::internal, "unknown-opcode", "an instruction without an opcode", {}, {}});
  const Parsed parsed = find_opcode(words);
  const std::vector<Word> moved = opcode_words_first(words);
  if (!moved.empty())
    if (auto match = match_from(find_opcode(moved), moved))
      return match;
  if (parsed.opcode == Opcode::none)
    return fail(unknown_opcode(words));
  return match_from(parsed, words);
}

bool may_come_later(std::span<const Word> words, const Diagnostic& refusal) {
  const Parsed parsed = find_opcode(words);
  if (parsed.opcode == Opcode::none)
    return !is_misspelt_opcode(words);
  bool all_known = true;
  for (const Word& word : words.subspan(parsed.opcode_words)) {
    if (parse_qual(word.text) || parse_type(word.text))
      continue;
    if (matrix_shape(word.text) || is_misspelt_word(word.text, parsed.opcode))
      return false;
    all_known = false;
  }
  if (!all_known)
    return true;
  if (refusal.id != "qualifier")
    return false;
  // A known word that the instruction has not: it may get it, but for a type or shape. One that it has twice,
  // it has.
  const auto refused = std::find_if(words.begin(), words.end(), [&](const Word& word) {
    return word.range.begin == refusal.range.begin && word.range.end == refusal.range.end;
  });
  return refused != words.end() && !parse_type(refused->text) && !matrix_shape(refused->text) &&
         std::count_if(words.begin(), words.end(), [&](const Word& w) { return w.text == refused->text; }) ==
             1;
}

const Match* MatchCache::find(std::string_view dotted, uint32_t begin, Diagnostic& error, bool* later) {
  if (const auto it = known_.find(dotted); it != known_.end())
    return it->second.get();
  std::vector<Word> words;
  for (size_t at = 0; at <= dotted.size();) {
    const size_t end = std::min(dotted.find('.', at), dotted.size());
    words.push_back({dotted.substr(at, end - at), {static_cast<uint32_t>(at), static_cast<uint32_t>(end)}});
    at = end + 1;
  }
  auto result = match(words);
  if (!result) {
    error = std::move(result.error());
    if (later)
      *later = may_come_later(words, error);
    error.range.begin += begin;
    error.range.end += begin;
    return nullptr;
  }
  auto match = std::make_unique<Match>(std::move(*result));
  for (Binding& binding : match->bindings)
    binding.match = match.get();
  return known_.emplace(dotted, std::move(match)).first->second.get();
}

} // namespace lemma::isa
