// NumPy's format versions 1 to 3: magic, header length, a Python dictionary, then the data. The header comes
// from outside, so it is read by a small parser that knows three keys, and every size is checked against the
// file's before memory is taken.
//
// Format: numpy.lib.format. Tests: tests/unit/runtime/npy_test.cc.
#include "lemma/npy.h"

#include "runtime/device_impl.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace lemma::npy {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kDataAlign = 64; // where the data begins: NumPy pads the header so

Unexpected<Error> rejected(std::string why) {
  return runtime::failure(ErrorKind::rejected, "not a .npy file that can be read: " + std::move(why));
}

// Reader of the header, a Python dictionary literal with the keys descr, fortran_order and shape.
class HeaderReader {
public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  // Whatever names are there; false with `error` set.
  bool read() {
    if (!take('{'))
      return stop("the header is not a dictionary");
    while (!take('}')) {
      const std::optional<std::string> key = string();
      if (!key || !take(':'))
        return stop("the header is not a dictionary of names");
      if (!value(*key))
        return false;
      if (!take(',') && peek() != '}')
        return stop("the header's dictionary does not end");
    }
    return true;
  }

  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<uint64_t>> shape;
  std::string error;

private:
  bool value(const std::string& key) {
    if (key == "descr") {
      descr = string();
      return descr || stop("structured element types are not read");
    }
    if (key == "fortran_order") {
      if (word("True"))
        fortran_order = true;
      else if (word("False"))
        fortran_order = false;
      return fortran_order || stop("fortran_order is neither True nor False");
    }
    if (key == "shape") {
      shape = tuple();
      return shape || stop("the shape is not a tuple of sizes");
    }
    return stop(fmt::format("the header has an unknown key '{}'", key));
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) { return peek() == c && c != '\0' && ++at_; }
  bool word(std::string_view w) {
    peek();
    if (!text_.substr(at_).starts_with(w))
      return false;
    at_ += w.size();
    return true;
  }
  std::optional<std::string> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"')
      return std::nullopt;
    const size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos)
      return std::nullopt;
    std::string s(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return s;
  }
  std::optional<std::vector<uint64_t>> tuple() {
    std::vector<uint64_t> dims;
    if (!take('('))
      return std::nullopt;
    while (!take(')')) {
      peek();
      uint64_t dim = 0;
      const auto [end, bad] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), dim);
      if (bad != std::errc{})
        return std::nullopt;
      at_ = static_cast<size_t>(end - text_.data());
      dims.push_back(dim);
      if (!take(',') && peek() != ')')
        return std::nullopt;
    }
    return dims;
  }
  bool stop(std::string why) {
    error = std::move(why);
    return false;
  }

  std::string_view text_;
  size_t at_ = 0;
};

uint64_t little_endian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    value |= uint64_t{std::to_integer<uint8_t>(bytes[i])} << (8 * i);
  return value;
}

} // namespace

uint64_t element_bytes(std::string_view dtype) {
  if (dtype.size() < 3)
    return 0;
  const char order = dtype[0], kind = dtype[1];
  uint64_t bytes = 0;
  const auto [end, bad] = std::from_chars(dtype.data() + 2, dtype.data() + dtype.size(), bytes);
  if (bad != std::errc{} || end != dtype.data() + dtype.size())
    return 0;
  const bool ordered = order == '<' || (order == '|' && bytes == 1);
  switch (kind) {
  case 'b':
    return order == '|' && bytes == 1 ? bytes : 0;
  case 'u':
  case 'i':
    return ordered && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) ? bytes : 0;
  case 'f':
    return order == '<' && (bytes == 2 || bytes == 4 || bytes == 8) ? bytes : 0;
  case 'c':
    return order == '<' && (bytes == 8 || bytes == 16) ? bytes : 0;
  case 'V': // NumPy writes bfloat16 of ml_dtypes as |V2, and as <V2 in some versions
    return (order == '|' || order == '<') && bytes > 0 && bytes <= 4096 ? bytes : 0;
  default:
    return 0;
  }
}

uint64_t element_count(std::span<const uint64_t> shape) {
  uint64_t count = 1;
  bool overflow = false;
  for (const uint64_t dim : shape) {
    if (dim == 0)
      return 0;
    overflow |= __builtin_mul_overflow(count, dim, &count);
  }
  return overflow ? UINT64_MAX : count;
}

Result<Array, Error> parse(std::span<const std::byte> file) {
  if (file.size() < 10 || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0)
    return rejected("it does not begin with \\x93NUMPY");
  const auto major = std::to_integer<int>(file[6]);
  if (major < 1 || major > 3)
    return rejected(fmt::format("format version {} is unknown", major));
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t begin = 8 + length_bytes;
  if (file.size() < begin)
    return rejected("it ends inside the header");
  const uint64_t header_bytes = little_endian(file.subspan(8, length_bytes));
  if (header_bytes > file.size() - begin)
    return rejected("it ends inside the header");

  HeaderReader header({reinterpret_cast<const char*>(file.data()) + begin, header_bytes});
  if (!header.read())
    return rejected(header.error);
  if (!header.descr || !header.fortran_order || !header.shape)
    return rejected("the header lacks descr, fortran_order or shape");
  Array array{.dtype = *header.descr, .shape = *header.shape, .data = {}};
  const uint64_t element = element_bytes(array.dtype);
  if (element == 0)
    return rejected(
        fmt::format("element type '{}' is not read (little-endian numbers and |V bytes are)", array.dtype));
  const auto long_dims =
      std::count_if(array.shape.begin(), array.shape.end(), [](uint64_t d) { return d > 1; });
  if (*header.fortran_order && long_dims > 1)
    return rejected("it is in Fortran order; save numpy.ascontiguousarray(x) instead");
  const std::span<const std::byte> data = file.subspan(begin + header_bytes);
  const uint64_t count = element_count(array.shape);
  uint64_t bytes = 0;
  if (count == UINT64_MAX || __builtin_mul_overflow(count, element, &bytes))
    return rejected("its shape has too many elements");
  if (data.size() != bytes)
    return rejected(fmt::format("it has {} bytes of data where dtype and shape say {}", data.size(), bytes));
  array.data.assign(data.begin(), data.end());
  return array;
}

std::vector<std::byte> serialize(const Array& array) {
  std::string shape;
  for (size_t i = 0; i < array.shape.size(); ++i)
    shape += fmt::format("{}{}", i ? ", " : "", array.shape[i]);
  if (array.shape.size() == 1)
    shape += ",";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", array.dtype, shape);

  const auto padded = [&](size_t prefix) {
    const size_t total = (prefix + header.size() + 1 + kDataAlign - 1) / kDataAlign * kDataAlign;
    return total - prefix;
  };
  const int major = padded(10) <= UINT16_MAX ? 1 : 2;
  const size_t prefix = major == 1 ? 10 : 12;
  const size_t header_bytes = padded(prefix);
  header.resize(header_bytes - 1, ' ');
  header += '\n';

  std::vector<std::byte> file;
  file.reserve(prefix + header_bytes + array.data.size());
  for (const char c : kMagic)
    file.push_back(static_cast<std::byte>(c));
  file.push_back(static_cast<std::byte>(major));
  file.push_back(std::byte{0});
  for (size_t i = 0; i < prefix - 8; ++i)
    file.push_back(static_cast<std::byte>(header_bytes >> (8 * i)));
  for (const char c : header)
    file.push_back(static_cast<std::byte>(c));
  file.insert(file.end(), array.data.begin(), array.data.end());
  return file;
}

} // namespace lemma::npy
