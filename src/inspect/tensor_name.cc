// Families are made of the words that a form could have, and those that some form takes are there. A name is
// cut where its shape begins: before it are PTX's words, behind it types.
#include "inspect/tensor_name.h"

#include "inspect/matrix_name.h"
#include "isa/machine.h"
#include "layout/tensor_instruction_fields.h"
#include "layout/tensor_memory.h"
#include "layout/tensor_operands.h"
#include "support/diagnostic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>

namespace lemma::inspect {
namespace {

using layout::ScaleFormat;
using layout::TensorFormat;
using layout::TensorKind;

constexpr TensorKind kKinds[] = {TensorKind::f16,      TensorKind::tf32, TensorKind::f8f6f4,  TensorKind::i8,
                                 TensorKind::mxf8f6f4, TensorKind::mxf4, TensorKind::mxf4nvf4};

constexpr uint32_t kK96 = 96;

// The binding of words that some form takes in the ISA's order; `error` says what is wrong with others.
std::optional<isa::Binding> bound(std::string_view words, std::string* error = nullptr) {
  isa::MatchCache cache;
  Diagnostic problem;
  if (const isa::Match* match = cache.find(words, 0, problem)) {
    isa::Binding binding = match->bindings.front();
    binding.match = nullptr; // which goes with the cache
    return binding;
  }
  if (error) {
    *error = problem.message;
    for (const Diagnostic::Note& note : problem.notes)
      *error += fmt::format("\n  {}: {}", note.label, note.text);
  }
  return std::nullopt;
}

std::optional<TensorFamily> family_of(std::string words, isa::Binding binding) {
  const auto meaning = isa::tensor_words(binding.form->opcode, binding.quals);
  if (!meaning)
    return std::nullopt;
  return TensorFamily{.words = std::move(words), .binding = std::move(binding), .meaning = *meaning};
}

std::vector<TensorFamily> make_families() {
  std::vector<TensorFamily> all;
  for (const isa::Opcode opcode : isa::tensor_products())
    for (const int group : {1, 2})
      for (const TensorKind kind : kKinds)
        for (const std::string_view scaling :
             {"", ".block_scale.scale_vec::1X", ".block_scale.scale_vec::2X", ".block_scale.scale_vec::4X"}) {
          std::string words = fmt::format("{}.cta_group::{}{}{}", isa::to_string(opcode), group,
                                          layout::to_string(kind), scaling);
          if (auto binding = bound(words))
            if (auto family = family_of(std::move(words), *std::move(binding)))
              all.push_back(*std::move(family));
        }
  return all;
}

const std::vector<TensorFormat>& formats() {
  static const std::vector<TensorFormat> all = [] {
    std::vector<TensorFormat> made;
    for (auto f = TensorFormat::f16; f <= TensorFormat::s32; f = static_cast<TensorFormat>(int(f) + 1))
      made.push_back(f);
    return made;
  }();
  return all;
}

std::optional<TensorFormat> tensor_format(std::string_view word) {
  const auto found =
      std::ranges::find_if(formats(), [&](TensorFormat format) { return layout::to_string(format) == word; });
  return found == formats().end() ? std::nullopt : std::optional(*found);
}

// The types of the kind, without the codes between that are none.
std::vector<TensorFormat> types_in(std::span<const TensorFormat> codes) {
  std::vector<TensorFormat> types;
  std::ranges::copy_if(codes, std::back_inserter(types),
                       [](TensorFormat format) { return format != TensorFormat::none; });
  return types;
}

// What is wrong with a product of these; none: nothing. The bits are made of the fields.
std::optional<std::string> problem_of(const TensorFamily& family,
                                      layout::TensorInstructionDescriptor descriptor) {
  descriptor.bits = descriptor.encode();
  return layout::wrong(descriptor, family.meaning.instruction);
}

// One that has first types, and no M and N yet. f32 comes first as the type of D: what kernels use.
layout::TensorInstructionDescriptor first_of(const TensorFamily& family) {
  const TensorChoices types = choices_of(family);
  return {.kind = family.meaning.kind,
          .a = types.a.front(),
          .b = types.b.front(),
          .d = types.d.front(),
          .sparse = family.meaning.instruction.sp,
          .scale = types.scales.empty() ? ScaleFormat::ue4m3 : types.scales.front()};
}

template <class T>
std::string words_of(const std::vector<T>& values) {
  std::vector<std::string_view> words;
  for (const T value : values)
    words.push_back(layout::to_string(value));
  return words.size() == 1 ? std::string(words[0]) : fmt::format("{{{}}}", fmt::join(words, ","));
}

// Takes a type from the front of `rest`; one that is left out stays as it is.
template <class T, class Find>
std::optional<std::string> take_type(std::string_view& rest, std::string_view whose,
                                     const std::vector<T>& legal, Find find, T& type) {
  if (rest.empty())
    return std::nullopt;
  const std::string_view word = rest.substr(0, rest.find('.'));
  rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  const std::optional<T> found = find(word);
  if (!found || std::ranges::find(legal, *found) == legal.end()) {
    std::vector<std::string_view> words;
    for (const T each : legal)
      words.push_back(layout::to_string(each));
    return fmt::format("the type of {} is {}; legal: {}", whose, word, fmt::join(words, ", "));
  }
  type = *found;
  return std::nullopt;
}

std::optional<ScaleFormat> scale_format(std::string_view word) {
  for (const ScaleFormat format : {ScaleFormat::ue4m3, ScaleFormat::ue8m0})
    if (layout::to_string(format) == word)
      return format;
  return std::nullopt;
}

// The types after the shape.
std::optional<std::string> take_types(std::string_view rest, const TensorFamily& family,
                                      layout::TensorInstructionDescriptor& d) {
  const TensorChoices legal = choices_of(family);
  auto problem = take_type(rest, "D", legal.d, tensor_format, d.d);
  if (!problem)
    problem = take_type(rest, "A", legal.a, tensor_format, d.a);
  if (!problem)
    problem = take_type(rest, "B", legal.b, tensor_format, d.b);
  if (!problem && !legal.scales.empty())
    problem = take_type(rest, "the scale factors", legal.scales, scale_format, d.scale);
  if (!problem && !rest.empty())
    problem = fmt::format("{} is more than the types of D, A, B{}", rest,
                          legal.scales.empty() ? "" : " and the scale factors");
  return problem;
}

struct CutName {
  std::string_view words, types; // before the shape and after it
  std::optional<std::array<int, 3>> shape;
};
CutName cut(std::string_view name) {
  for (size_t at = name.find('.'); at != name.npos; at = name.find('.', at + 1)) {
    const std::string_view word = name.substr(at + 1, name.find('.', at + 1) - at - 1);
    if (const auto shape = isa::matrix_shape(word)) {
      const size_t after = std::min(at + 1 + word.size() + 1, name.size());
      return {name.substr(0, at), name.substr(after), shape};
    }
  }
  return {name, {}, std::nullopt};
}

// Of each family.
const std::vector<std::vector<std::string>>& all_spellings() {
  static const std::vector<std::vector<std::string>> all = [] {
    std::vector<std::vector<std::string>> made;
    for (const TensorFamily& family : tensor_families())
      made.push_back(spellings_of(family));
    return made;
  }();
  return all;
}

} // namespace

const std::vector<TensorFamily>& tensor_families() {
  static const std::vector<TensorFamily> all = make_families();
  return all;
}

TensorChoices choices_of(const TensorFamily& family) {
  const TensorKind kind = family.meaning.kind;
  TensorChoices choices{.m = {},
                        .k = {},
                        .d = types_in(layout::instruction_fields::d_types(kind)),
                        .a = types_in(layout::instruction_fields::operand_types(kind)),
                        .b = types_in(layout::instruction_fields::operand_types(kind)),
                        .scales = {}};
  std::ranges::reverse(choices.d); // f32 before f16
  layout::TensorInstructionDescriptor tried{.kind = kind,
                                            .n = 64,
                                            .a = choices.a.front(),
                                            .b = choices.b.front(),
                                            .d = choices.d.front(),
                                            .sparse = family.meaning.instruction.sp};
  choices.k.push_back(tried.k());
  if (layout::instruction_fields::is_f4(kind) && !tried.sparse)
    choices.k.push_back(kK96);
  for (const uint32_t m : {32u, 64u, 128u, 256u})
    for (const ScaleFormat scale : {ScaleFormat::ue4m3, ScaleFormat::ue8m0}) {
      tried.m = m;
      tried.scale = layout::is_block_scaled(kind) ? scale : ScaleFormat::ue4m3;
      if (problem_of(family, tried))
        continue;
      if (std::ranges::find(choices.m, m) == choices.m.end())
        choices.m.push_back(m);
      if (layout::is_block_scaled(kind) && std::ranges::find(choices.scales, scale) == choices.scales.end())
        choices.scales.push_back(scale);
    }
  return choices;
}

std::vector<uint32_t> columns_of(const TensorFamily& family, uint32_t m, uint32_t k) {
  layout::TensorInstructionDescriptor tried = first_of(family);
  tried.m = m;
  tried.k96 = k == kK96 && tried.k() != kK96;
  std::vector<uint32_t> columns;
  for (tried.n = 8; tried.n <= 256; tried.n += 8)
    if (!problem_of(family, tried))
      columns.push_back(tried.n);
  return columns;
}

uint32_t TensorName::scales() const {
  return layout::scales_of(descriptor, instruction().scale_vec);
}

std::string spelling_of(const TensorName& name) {
  const layout::TensorInstructionDescriptor& d = name.descriptor;
  std::string text = fmt::format("{}.m{}n{}k{}.{}.{}.{}", name.family.words, d.m, d.n, d.k(),
                                 layout::to_string(d.d), layout::to_string(d.a), layout::to_string(d.b));
  if (layout::is_block_scaled(d.kind))
    text += fmt::format(".{}", layout::to_string(d.scale));
  return text;
}

std::vector<std::string> spellings_of(const TensorFamily& family) {
  const TensorChoices choices = choices_of(family);
  std::vector<std::string> all;
  TensorName name{.family = family, .descriptor = first_of(family)};
  layout::TensorInstructionDescriptor& d = name.descriptor;
  std::vector<ScaleFormat> scales = choices.scales;
  if (scales.empty())
    scales.push_back(d.scale);
  for (const uint32_t k : choices.k)
    for (const uint32_t m : choices.m)
      for (const uint32_t n : columns_of(family, m, k)) {
        d.m = m;
        d.n = n;
        d.k96 = k != choices.k.front();
        for (const TensorFormat type_d : choices.d)
          for (const TensorFormat a : choices.a)
            for (const TensorFormat b : choices.b)
              for (const ScaleFormat scale : scales) {
                d.d = type_d;
                d.a = a;
                d.b = b;
                d.scale = scale;
                if (!problem_of(family, d))
                  all.push_back(spelling_of(name));
              }
      }
  return all;
}

std::string pattern_of(const TensorFamily& family) {
  const TensorChoices choices = choices_of(family);
  const std::string scales = choices.scales.empty() ? "" : "." + words_of(choices.scales);
  const auto numbers = [](const std::vector<uint32_t>& of) {
    return of.size() == 1 ? fmt::format("{}", of.front()) : fmt::format("{{{}}}", fmt::join(of, ","));
  };
  return fmt::format("{}.m{}nNk{}.{}.{}.{}{}", family.words, numbers(choices.m), numbers(choices.k),
                     words_of(choices.d), words_of(choices.a), words_of(choices.b), scales);
}

Result<TensorFamily, std::string> find_tensor_family(std::string_view words) {
  std::string error;
  if (auto binding = bound(words, &error)) {
    if (auto family = family_of(std::string(words), *std::move(binding)))
      return *std::move(family);
    error = fmt::format("{} is no product whose instruction descriptor is known", words);
  }
  std::vector<const TensorFamily*> begin_so;
  for (const TensorFamily& family : tensor_families())
    if (family.words.starts_with(words))
      begin_so.push_back(&family);
  if (begin_so.size() == 1)
    return *begin_so[0];
  if (begin_so.empty())
    return fail(
        fmt::format("no matrix instruction is called {}: {}\n  all: lemma isa tcgen05", words, error));
  constexpr size_t kShown = 8;
  std::string text = fmt::format("{} begins the names of {} instructions; which?", words, begin_so.size());
  for (size_t i = 0; i < std::min(kShown, begin_so.size()); ++i)
    text += fmt::format("\n  {}", begin_so[i]->words);
  if (begin_so.size() > kShown)
    text += fmt::format("\n  ... all: lemma isa {}", words);
  return fail(text);
}

Result<TensorName, std::string> find_tensor(std::string_view name) {
  const CutName parts = cut(name);
  auto family = find_tensor_family(parts.words);
  if (!family)
    return fail(std::move(family).error());
  TensorName found{.family = *std::move(family), .descriptor = {}};
  layout::TensorInstructionDescriptor& d = found.descriptor;
  d = first_of(found.family);
  d.m = parts.shape ? static_cast<uint32_t>((*parts.shape)[0]) : choices_of(found.family).m.front();
  const std::vector<uint32_t> legal_k = choices_of(found.family).k;
  const uint32_t k = parts.shape ? static_cast<uint32_t>((*parts.shape)[2]) : legal_k.front();
  d.n = parts.shape ? static_cast<uint32_t>((*parts.shape)[1]) : columns_of(found.family, d.m, k).front();
  d.k96 = k == kK96 && legal_k.back() == k;
  std::optional<std::string> problem = take_types(parts.types, found.family, d);
  if (!problem && k != d.k())
    problem = fmt::format("K is {}; legal: {}", k, fmt::join(legal_k, ", "));
  if (!problem && (d.m % 16 != 0 || d.m > 256 || d.n % 8 != 0 || d.n > 256 || d.m == 0 || d.n == 0))
    problem = fmt::format("no instruction descriptor has M = {} and N = {}; legal: M of {}, N in steps of 8",
                          d.m, d.n, fmt::join(choices_of(found.family).m, ", "));
  if (!problem)
    problem = problem_of(found.family, d);
  if (problem)
    return fail(fmt::format("{}: {}", name, *problem));
  d.bits = d.encode();
  return found;
}

std::optional<isa::Binding> find_tensor_move(std::string_view words) {
  auto binding = bound(words);
  if (!binding || !words.starts_with(kTensorPrefix))
    return std::nullopt;
  bool has_shape = false;
  for (const isa::Qual qual : binding->quals) {
    const std::string word = fmt::format(".{}", isa::to_string(qual));
    has_shape = has_shape || layout::tensor_shape(word) || layout::copy_shape(word);
    if (word == ".sp::2:4") // it stores fewer registers than it loads
      return std::nullopt;
  }
  return has_shape ? std::move(binding) : std::nullopt;
}

bool contains(const TensorFamily& family, isa::Target target) {
  return family.form().targets.contains(target) &&
         std::ranges::all_of(family.binding.quals, [&](isa::Qual qual) {
           const isa::Need* need = isa::need_of(qual);
           return !need || need->targets.any_of.empty() || need->targets.contains(target);
         });
}

bool is_in(const TensorName& name, isa::Target target) {
  return (!name.descriptor.k96 || target.sm == isa::kSmWithK96) &&
         std::ranges::any_of(isa::target_words(), [&](std::string_view word) {
           const isa::Target known = *isa::parse_target(word);
           return known.sm == target.sm && contains(name.family, known);
         });
}

std::vector<const TensorFamily*> tensor_families_like(const std::vector<std::string>& words) {
  std::vector<const TensorFamily*> found;
  for (size_t f = 0; f < tensor_families().size(); ++f) {
    const TensorFamily& family = tensor_families()[f];
    const auto fits = [&](const std::string& word) {
      if (const auto target = isa::parse_target(word))
        return contains(family, *target);
      const bool from_the_start = begins_matrix_name(word);
      return std::ranges::any_of(all_spellings()[f], [&](const std::string& spelling) {
        if (word.find('*') != std::string::npos)
          return fnmatch(word.c_str(), spelling.c_str(), 0) == 0;
        return from_the_start ? spelling.starts_with(word) : spelling.find(word) != std::string::npos;
      });
    };
    if (std::ranges::all_of(words, fits))
      found.push_back(&family);
  }
  return found;
}

bool begins_tensor_name(std::string_view word) {
  return std::ranges::any_of(all_spellings(), [&](const std::vector<std::string>& spellings) {
    return std::ranges::any_of(spellings,
                               [&](const std::string& spelling) { return spelling.starts_with(word); });
  });
}

std::optional<numeric::DotModel> model_of(const TensorName& name, numeric::Arch arch) {
  const auto& known = isa::target_words();
  const bool there = std::ranges::any_of(known, [&](std::string_view word) {
    const isa::Target target = *isa::parse_target(word);
    return isa::arithmetic_of(target.sm) == arch && is_in(name, target);
  });
  if (!there)
    return std::nullopt;
  return isa::tensor_model(name.descriptor, name.scales(), arch);
}

} // namespace lemma::inspect
