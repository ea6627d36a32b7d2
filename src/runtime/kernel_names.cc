// A name is compared in forms, from the whole to a part; the first form that any kernel fits decides, so that
// what names one kernel exactly is never ambiguous. What is cut off a demangled name is found by counting
// brackets: template arguments hold parentheses and blanks too.
#include "runtime/kernel_names.h"

#include "lemma/nearest.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <memory>

namespace lemma::runtime {
namespace {

constexpr size_t kMostListed = 20, kMostCompared = 1000;
constexpr size_t kLongestBrief = 80;
// Each reference of a mangled name to a part of itself may double the demangled one.
constexpr size_t kLongestDemangled = 4096, kMostReferences = 24;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// How often a mangled name says "S0_" or "T_", or might: identifiers are not told from the rest.
size_t references(std::string_view mangled) {
  size_t count = 0;
  for (size_t i = 0; i < mangled.size(); ++i) {
    if (mangled[i] != 'S' && mangled[i] != 'T')
      continue;
    size_t end = i + 1;
    while (end < mangled.size() && (is_digit(mangled[end]) || (mangled[end] >= 'A' && mangled[end] <= 'Z')))
      ++end;
    count += end < mangled.size() && mangled[end] == '_';
  }
  return count;
}

// "_ZN7cutlass13device_kernelINS_4gemm...": "cutlass::device_kernel<...>".
std::string outline(const std::string& mangled) {
  std::string name;
  size_t at = mangled.starts_with("_ZNK") ? 4 : mangled.starts_with("_ZN") ? 3 : 2; // K: const
  while (at < mangled.size() && is_digit(mangled[at])) {
    size_t length = 0;
    for (; at < mangled.size() && is_digit(mangled[at]); ++at)
      length = std::min<size_t>(10 * length + static_cast<size_t>(mangled[at] - '0'), mangled.size());
    if (length > mangled.size() - at)
      return mangled;
    name += (name.empty() ? "" : "::") + mangled.substr(at, length);
    at += length;
  }
  if (name.empty() || at >= mangled.size())
    return mangled;
  return name + (mangled[at] == 'I' ? "<...>" : "");
}

bool opens(char c) {
  return c == '(' || c == '<' || c == '[' || c == '{';
}
bool closes(char c) {
  return c == ')' || c == '>' || c == ']' || c == '}';
}

// Where the bracket is that the last character closes; npos: it closes none.
size_t opening_of_last(std::string_view text) {
  int depth = 0;
  for (size_t i = text.size(); i-- > 0;) {
    depth += closes(text[i]) ? 1 : opens(text[i]) ? -1 : 0;
    if (depth == 0)
      return closes(text.back()) ? i : text.npos;
  }
  return text.npos;
}

// The last place outside brackets where `what` stands; npos: nowhere.
size_t last_outside_brackets(std::string_view text, std::string_view what) {
  int depth = 0;
  for (size_t i = text.size(); i-- > 0;) {
    depth += closes(text[i]) ? 1 : opens(text[i]) ? -1 : 0;
    if (depth == 0 && text.substr(i).starts_with(what))
      return i;
  }
  return text.npos;
}

// "void ns::k<4>(int)" -> "ns::k<4>", "int f::g(int) const" -> "f::g"
std::string_view without_parameters(std::string_view name) {
  if (name.ends_with(") const"))
    name.remove_suffix(std::string_view(" const").size());
  if (name.ends_with(')'))
    name = name.substr(0, opening_of_last(name));
  const size_t result = last_outside_brackets(name, " ");
  return result == name.npos ? name : name.substr(result + 1);
}

// "ns::k<4>" -> "ns::k"
std::string_view without_template_arguments(std::string_view name) {
  const size_t open = name.ends_with('>') ? opening_of_last(name) : name.npos;
  return name.substr(0, open);
}

// "ns::k" -> "k"
std::string_view without_namespaces(std::string_view name) {
  const size_t colons = last_outside_brackets(name, "::");
  return colons == name.npos ? name : name.substr(colons + 2);
}

// Where a function's parameters end that begin here and that a part of the function follows, "(int) const::";
// 0: none do.
size_t end_of_parameters(std::string_view name, size_t begin) {
  if (name[begin] != '(' || begin == 0 || name[begin - 1] == ':') // "(anonymous namespace)::"
    return 0;
  size_t end = begin;
  for (int depth = 0; end < name.size(); ++end) {
    depth += opens(name[end]) ? 1 : closes(name[end]) ? -1 : 0;
    if (depth == 0)
      break;
  }
  end = std::min(end + 1, name.size());
  if (constexpr std::string_view kConst = " const"; name.substr(end).starts_with(kConst))
    end += kConst.size();
  return name.substr(end).starts_with("::") ? end : 0;
}

// "f(int, S const&)::tile" -> "f::tile"
std::string without_inner_parameters(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (const size_t end = end_of_parameters(name, i))
      i = end;
    out += name[i];
  }
  return out;
}

std::string without_blanks(std::string_view text) {
  std::string out(text);
  std::erase(out, ' ');
  return out;
}

// "_INTERNAL_9752fa3f_4_a_cu_k::f" -> "f", "cub::CUB_300001_SM_900::Sum" -> "cub::Sum"
std::string without_made_up_namespaces(std::string_view name) {
  std::string out(name);
  for (const std::string_view begin : {"_INTERNAL_", "CUB_"})
    for (size_t at = out.find(begin); at != out.npos; at = out.find(begin, at + 1)) {
      const size_t end = out.find("::", at);
      const size_t after = at + begin.size();
      if (end != out.npos && after < end && std::isxdigit(static_cast<unsigned char>(out[after])))
        out.erase(at, end + 2 - at);
    }
  return out;
}

// As short as still tells them apart.
std::vector<std::string> shown_names(std::span<const KernelInfo> kernels) {
  std::vector<std::string> whole, brief;
  for (const KernelInfo& kernel : kernels) {
    whole.push_back(demangled(kernel.name));
    brief.emplace_back(without_parameters(whole.back()));
  }
  std::vector<std::string> sorted = brief;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() ? brief : whole;
}

// The kernels whose name fits in the first form in which any does.
std::vector<size_t> fitting(std::span<const KernelInfo> kernels, std::string_view name) {
  const std::string wanted = without_blanks(name);
  using Form = std::function<bool(const std::string& mangled, const std::string& whole)>;
  const Form forms[] = {
      [&](const std::string& mangled, const std::string&) { return mangled == name; },
      [&](const std::string&, const std::string& whole) { return without_blanks(whole) == wanted; },
      [&](const std::string&, const std::string& whole) {
        const std::string_view called = without_parameters(whole);
        return without_blanks(called) == wanted || without_template_arguments(called) == wanted;
      },
      [&](const std::string&, const std::string& whole) {
        const std::string_view called = without_parameters(whole);
        return without_blanks(without_namespaces(called)) == wanted ||
               without_namespaces(without_template_arguments(called)) == wanted;
      },
      [&](const std::string& mangled, const std::string& whole) {
        return mangled.find(name) != mangled.npos || without_blanks(whole).find(wanted) != whole.npos;
      }};
  std::vector<size_t> found;
  for (const Form& fits : forms) {
    for (size_t i = 0; i < kernels.size(); ++i)
      if (fits(kernels[i].name, demangled(kernels[i].name)))
        found.push_back(i);
    if (!found.empty())
      break;
  }
  return found;
}

} // namespace

std::string list_of(std::span<const std::string> names) {
  const size_t shown = std::min(names.size(), kMostListed);
  return fmt::format("{}{}", fmt::join(names.first(shown), ", "),
                     names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "");
}

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z"))
    return name;
  if (name.size() > kLongestDemangled || references(name) > kMostReferences)
    return outline(name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

std::string brief_name(const std::string& name) {
  const std::string whole = without_inner_parameters(demangled(name));
  const std::string called = without_made_up_namespaces(without_parameters(whole));
  if (called.size() <= kLongestBrief)
    return called;
  std::string brief;
  int depth = 0;
  for (const char c : called) {
    if (c == '<' && depth++ == 0)
      brief += "<...>";
    if (depth == 0)
      brief += c;
    if (c == '>' && depth > 0)
      --depth;
  }
  return brief;
}

std::string with_brief_names(std::string_view text) {
  const auto in_a_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
  };
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && in_a_name(text[end]))
      ++end;
    const std::string_view word = text.substr(i, std::max(end, i + 1) - i);
    out += word.starts_with("_Z") ? brief_name(std::string(word)) : word;
    i += word.size();
  }
  return out;
}

std::vector<std::string> parameter_types(std::string_view function) {
  std::vector<std::string> types;
  if (!function.ends_with(')'))
    return types;
  const size_t open = opening_of_last(function);
  if (open == function.npos)
    return types;
  std::string_view rest = function.substr(open + 1, function.size() - open - 2);
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= rest.size(); ++i) {
    if (i == rest.size() || (depth == 0 && rest[i] == ',')) {
      if (i > begin)
        types.emplace_back(rest.substr(begin, i - begin));
      begin = i + 2; // ", "
    } else {
      depth += opens(rest[i]) ? 1 : closes(rest[i]) ? -1 : 0;
    }
  }
  return types;
}

std::vector<std::string> parameter_labels(const std::string& kernel, std::span<const std::string> names,
                                          std::span<const std::string> source_names) {
  const std::vector<std::string> types = parameter_types(demangled(kernel));
  std::vector<std::string> labels;
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] != fmt::format("{}_param_{}", kernel, i))
      labels.push_back(names[i]);
    else if (source_names.size() == names.size() && !source_names[i].empty())
      labels.push_back(source_names[i]);
    else
      labels.push_back(types.size() == names.size() ? types[i] : fmt::format("parameter {}", i));
  return labels;
}

Result<size_t, Error> find_kernel(std::span<const KernelInfo> kernels, std::string_view name) {
  const auto wrong = [](std::string text) { return failure(ErrorKind::invalid_argument, std::move(text)); };
  if (kernels.empty())
    return wrong("the module has no kernel (.entry)");
  if (name.empty() && kernels.size() == 1)
    return size_t{0};
  const std::vector<std::string> shown = shown_names(kernels);
  if (name.empty())
    return wrong(fmt::format("the module has {} kernels, name one: {}", kernels.size(), list_of(shown)));
  const std::vector<size_t> found = fitting(kernels, name);
  if (found.size() == 1)
    return found[0];
  if (!found.empty()) {
    std::vector<std::string> names;
    for (const size_t i : found)
      names.push_back(shown[i]);
    return wrong(fmt::format("'{}' may be {} kernels of the module: {}", name, found.size(), list_of(names)));
  }
  const std::vector<std::string_view> compared(
      shown.begin(), shown.begin() + static_cast<ptrdiff_t>(std::min(shown.size(), kMostCompared)));
  return wrong(fmt::format("the module has no kernel '{}'{}; it has: {}", name, did_you_mean(name, compared),
                           list_of(shown)));
}

} // namespace lemma::runtime
