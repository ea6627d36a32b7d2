// Tensor maps from JSON. See tensor_map_file.h.
#include "tensor_map_file.h"

#include "files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace lemma::cli {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 16> kTypes = {
    "u8",  "u16",  "u32",     "s32",  "u64",      "s64",   "f16",       "f32",
    "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz", "b4x16", "b4x16_p64", "b6x16_p32"};
constexpr std::array<std::string_view, 3> kInterleaves = {"none", "16B", "32B"};
constexpr std::array<std::string_view, 7> kSwizzles = {
    "none", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B"};
constexpr std::array<std::string_view, 2> kFills = {"zeros", "nan"};
constexpr std::array<std::string_view, 4> kPromotions = {"none", "64B", "128B", "256B"};

constexpr size_t kDeepestJson = 16;

// Whether brackets, of objects and lists, stand within one another deeper than that. Before the parser sees
// them: it takes memory, and time to let go of it, for each. In strings they do not count.
bool nests_deeper(std::string_view text, size_t most) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\')
      ++i;
    else if (c == '"')
      in_string = !in_string;
    else if (!in_string && (c == '[' || c == '{') && ++depth > most)
      return true;
    else if (!in_string && (c == ']' || c == '}') && depth > 0)
      --depth;
  }
  return false;
}

// Reads the keys of one object; the first thing that is wrong is kept.
class Reader {
public:
  Reader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object())
      wrong_ = fmt::format("{}is no JSON object", where_);
  }

  template <class T>
  void integers(const char* key, std::vector<T>& out, bool required = true) {
    const Json* value = find(key, required);
    if (!value)
      return;
    if (!value->is_array())
      return complain(key, "is no list of integers");
    for (const Json& element : *value) {
      T number{};
      if (!to_integer(element, number))
        return complain(key, fmt::format("has {}, which is no integer of its range", element.dump()));
      out.push_back(number);
    }
  }

  template <class T>
  void integer(const char* key, T& out) {
    const Json* value = find(key, true);
    if (value && !to_integer(*value, out))
      complain(key, fmt::format("is {}, which is no integer of its range", value->dump()));
  }

  void integer_or_word(const char* key, uint64_t& number, std::string& word) {
    const Json* value = find(key, true);
    if (value && value->is_string() && !value->get_ref<const std::string&>().empty())
      word = value->get<std::string>();
    else if (value && !to_integer(*value, number))
      complain(key, fmt::format("is {}, which is no number of an --arg, and no label or file of one",
                                value->dump()));
  }

  template <class Enum, size_t count>
  void word(const char* key, const std::array<std::string_view, count>& words, Enum& out,
            bool required = false) {
    const Json* value = find(key, required);
    if (!value)
      return;
    const auto* found = value->is_string()
                            ? std::find(words.begin(), words.end(), value->get_ref<const std::string&>())
                            : words.end();
    if (found == words.end())
      return complain(key, fmt::format("is {}: legal are {}", value->dump(), fmt::join(words, ", ")));
    out = static_cast<Enum>(found - words.begin());
  }

  const Json* object(const char* key) { return find(key, false); }

  // What is wrong, keys that nobody asked for included; empty: nothing.
  std::string finish() {
    for (auto it = object_.begin(); wrong_.empty() && it != object_.end(); ++it)
      if (!known_.contains(it.key()))
        wrong_ =
            fmt::format("{}key \"{}\" is unknown: legal are {}", where_, it.key(), fmt::join(known_, ", "));
    return wrong_;
  }

private:
  const Json* find(const char* key, bool required) {
    known_.insert(key);
    if (!wrong_.empty())
      return nullptr;
    const auto found = object_.find(key);
    if (found != object_.end())
      return &*found;
    if (required)
      wrong_ = fmt::format("{}key \"{}\" is missing", where_, key);
    return nullptr;
  }

  void complain(const char* key, std::string_view what) {
    if (wrong_.empty())
      wrong_ = fmt::format("{}\"{}\" {}", where_, key, what);
  }

  template <class T>
  static bool to_integer(const Json& value, T& out) {
    if (value.is_number_unsigned()) {
      const auto number = value.get<uint64_t>();
      out = static_cast<T>(number);
      return out >= 0 && static_cast<uint64_t>(out) == number;
    }
    if (!value.is_number_integer())
      return false;
    const auto number = value.get<int64_t>();
    out = static_cast<T>(number);
    return std::is_signed_v<T> && static_cast<int64_t>(out) == number;
  }

  const Json& object_;
  std::string where_, wrong_;
  std::set<std::string, std::less<>> known_;
};

} // namespace

Result<TensorMapFile, std::string> read_tensor_map(const std::string& path) {
  const auto bytes = read_file(path, kMostJsonBytes);
  if (!bytes)
    return fail(bytes.error());
  const auto* text = reinterpret_cast<const char*>(bytes->data());
  if (nests_deeper({text, bytes->size()}, kDeepestJson))
    return fail(
        fmt::format("{} nests deeper than {} brackets: a tensor map has at most 3", path, kDeepestJson));
  const Json json = Json::parse(text, text + bytes->size(), nullptr, false);
  if (json.is_discarded())
    return fail(fmt::format("{} is no JSON", path));

  TensorMapFile file;
  TensorMap& map = file.map;
  Reader reader(json, path + ": ");
  reader.integer_or_word("arg", file.argument, file.name);
  reader.word("type", kTypes, map.type, true);
  reader.integers("dims", map.dims);
  reader.integers("strides_bytes", map.strides_bytes);
  reader.integers("element_strides", map.element_strides, false);
  reader.word("interleave", kInterleaves, map.interleave);
  reader.word("swizzle", kSwizzles, map.swizzle);
  reader.word("oob_fill", kFills, map.oob_fill);
  reader.word("l2_promotion", kPromotions, map.l2_promotion);
  const Json* im2col = reader.object("im2col");
  reader.integers("box", map.box, im2col == nullptr);
  if (std::string wrong = reader.finish(); !wrong.empty())
    return fail(std::move(wrong));
  if (im2col) {
    TensorIm2col& pixels = map.im2col.emplace();
    Reader inner(*im2col, path + ": im2col ");
    inner.integers("lower", pixels.lower);
    inner.integers("upper", pixels.upper);
    inner.integer("channels_per_pixel", pixels.channels_per_pixel);
    inner.integer("pixels_per_column", pixels.pixels_per_column);
    if (std::string wrong = inner.finish(); !wrong.empty())
      return fail(std::move(wrong));
  }
  return file;
}

} // namespace lemma::cli
