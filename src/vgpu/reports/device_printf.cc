// A specification is parsed, its arguments are read, and C's own snprintf prints one value: so widths and
// rounding are the host's. Nothing of the format reaches snprintf but flags, numbers with a limit and a
// letter from a fixed list, since a kernel may have written it.
#include "vgpu/reports/device_printf.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace lemma::vgpu {
namespace {

constexpr int kMaxField = 1 << 16;
constexpr size_t kMaxArguments = 32; // CUDA's limit; further specifications stay as they are written

// One conversion specification: %[flags][width][.precision][size]type
struct Specification {
  std::string flags;
  bool width_from_argument = false;
  bool precision_from_argument = false;
  std::optional<int> width;
  std::optional<int> precision;
  int longs = 0; // l or ll
  char type = 0;
  size_t length = 0; // in the format, from the % on; 0: none
};

class Scanner {
public:
  explicit Scanner(std::string_view text) : text_(text) {}
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char next() { return at_ < text_.size() ? text_[at_++] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ >= text_.size())
      return false;
    ++at_;
    return true;
  }
  int number() {
    int value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_)
      value = std::min(value * 10 + (peek() - '0'), kMaxField);
    return value;
  }
  size_t position() const { return at_; }

private:
  std::string_view text_;
  size_t at_ = 0;
};

// `text` starts with the %.
Specification parse(std::string_view text) {
  Specification spec;
  Scanner in(text);
  in.next();
  while (in.peek() != '\0' && std::string_view("-+ #0").find(in.peek()) != std::string_view::npos) {
    const char flag = in.next();
    if (spec.flags.find(flag) == std::string::npos)
      spec.flags += flag;
  }
  if (in.take('*'))
    spec.width_from_argument = true;
  else if (in.peek() >= '1' && in.peek() <= '9')
    spec.width = in.number();
  if (in.take('.')) {
    if (in.take('*'))
      spec.precision_from_argument = true;
    else
      spec.precision = in.number();
  }
  while (in.peek() == 'h') // char and short come as int, and print as what they were
    spec.longs -= in.take('h');
  while (in.peek() == 'l' || in.peek() == 'j' || in.peek() == 'z' || in.peek() == 't' || in.peek() == 'L') {
    in.next();
    ++spec.longs;
  }
  spec.type = in.next();
  if (spec.type != '\0' && std::string_view("cdiouxXpeEfFgGaAs%").find(spec.type) != std::string_view::npos)
    spec.length = in.position();
  return spec;
}

template <class T>
std::string print(const std::string& directive, T value) {
  const int length = std::snprintf(nullptr, 0, directive.c_str(), value);
  if (length <= 0)
    return {};
  std::string text(static_cast<size_t>(length) + 1, '\0');
  std::snprintf(text.data(), text.size(), directive.c_str(), value);
  text.pop_back();
  return text;
}

// Reads the arguments of the specifications in turn.
class Formatter {
public:
  explicit Formatter(PrintfArguments& arguments) : arguments_(arguments) {}

  // False: an argument cannot be read.
  bool convert(Specification spec, std::string& out) {
    if (spec.width_from_argument && !take_field(spec.width))
      return false;
    if (spec.precision_from_argument && !take_field(spec.precision))
      return false;
    if (spec.width && *spec.width < 0) {
      spec.flags += '-';
      spec.width = -*spec.width;
    }
    if (spec.precision && *spec.precision < 0)
      spec.precision.reset();
    const bool wide =
        spec.longs > 0 || std::string_view("peEfFgGaAs").find(spec.type) != std::string_view::npos;
    const std::optional<uint64_t> bits = take(wide ? 8 : 4);
    if (!bits)
      return false;
    return print_value(spec, *bits, out);
  }

  int count() const { return count_; }

private:
  std::optional<uint64_t> take(int bytes) {
    offset_ = (offset_ + bytes - 1) / bytes * bytes;
    const std::optional<uint64_t> bits = arguments_.read(offset_, bytes);
    offset_ += bytes;
    ++count_;
    return bits;
  }

  bool take_field(std::optional<int>& field) {
    const std::optional<uint64_t> bits = take(4);
    if (bits)
      field = std::clamp(static_cast<int32_t>(*bits), -kMaxField, kMaxField);
    return bits.has_value();
  }

  bool print_value(const Specification& spec, uint64_t bits, std::string& out) {
    std::string directive = "%" + spec.flags;
    if (spec.width)
      directive += std::to_string(*spec.width);
    if (spec.precision)
      directive += "." + std::to_string(*spec.precision);
    switch (spec.type) {
    case 'd':
    case 'i': {
      const auto value = static_cast<int64_t>(bits);
      out += print(directive + "lld", static_cast<long long>(spec.longs > 0     ? value
                                                             : spec.longs == 0  ? static_cast<int32_t>(bits)
                                                             : spec.longs == -1 ? static_cast<int16_t>(bits)
                                                                                : static_cast<int8_t>(bits)));
      return true;
    }
    case 'o':
    case 'u':
    case 'x':
    case 'X':
      out += print(directive + "ll" + spec.type,
                   static_cast<unsigned long long>(spec.longs > 0     ? bits
                                                   : spec.longs == 0  ? static_cast<uint32_t>(bits)
                                                   : spec.longs == -1 ? static_cast<uint16_t>(bits)
                                                                      : static_cast<uint8_t>(bits)));
      return true;
    case 'c':
      out += print(directive + "c", static_cast<int>(static_cast<unsigned char>(bits)));
      return true;
    case 'p':
      out += print(directive + "p", reinterpret_cast<void*>(bits));
      return true;
    case 's': {
      const std::optional<std::string> text = bits == 0 ? "(null)" : arguments_.read_string(bits);
      if (text)
        out += print(directive + "s", text->c_str());
      return text.has_value();
    }
    default:
      out += print(directive + spec.type, std::bit_cast<double>(bits));
      return true;
    }
  }

  PrintfArguments& arguments_;
  uint64_t offset_ = 0;
  int count_ = 0;
};

} // namespace

std::optional<PrintfResult> format_device_printf(std::string_view format, PrintfArguments& arguments) {
  PrintfResult result;
  Formatter formatter(arguments);
  while (!format.empty()) {
    const size_t percent = std::min(format.find('%'), format.size());
    result.text += format.substr(0, percent);
    format.remove_prefix(percent);
    if (format.empty())
      break;
    const Specification spec = parse(format);
    if (spec.length == 0) {
      result.text += '%';
      format.remove_prefix(1);
      continue;
    }
    if (spec.type == '%') {
      result.text += '%';
    } else if (formatter.count() >= static_cast<int>(kMaxArguments)) {
      result.text += format.substr(0, spec.length);
    } else if (!formatter.convert(spec, result.text)) {
      return std::nullopt;
    }
    format.remove_prefix(spec.length);
    if (result.text.size() > kMaxPrintfBytes)
      break;
  }
  result.text.resize(std::min(result.text.size(), kMaxPrintfBytes));
  result.arguments = formatter.count();
  return result;
}

} // namespace lemma::vgpu
