// Rows of both tables are brought together by the section and the address that they are for. See
// cubin_lines.h.
#include "image/cubin_lines.h"

#include "image/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace lemma::image {
namespace {

// Numbers and texts of bytes, one after the other; `ok` is false once there were too few.
class Reader {
public:
  Reader(Bytes bytes, size_t at) : bytes_(bytes), at_(std::min(at, bytes.size())) {}

  bool ok = true;
  size_t at() const { return at_; }
  bool is_at_end() const { return !ok || at_ == bytes_.size(); }
  void go_to(size_t at) {
    ok &= at <= bytes_.size();
    at_ = std::min(at, bytes_.size());
  }
  template <class T>
  T number() {
    const std::optional<T> value = read_at<T>(bytes_, at_);
    ok &= value.has_value();
    at_ = value ? at_ + sizeof(T) : bytes_.size();
    return value.value_or(T{});
  }
  uint64_t unsigned_leb() { return leb().first; }
  int64_t signed_leb() {
    const auto [value, bits] = leb();
    return bits < 64 && bits > 0 && (value >> (bits - 1) & 1) != 0
               ? static_cast<int64_t>(value | ~uint64_t{0} << bits)
               : static_cast<int64_t>(value);
  }
  std::string text() {
    std::string text;
    for (char c = number<char>(); ok && c != '\0'; c = number<char>())
      text += c;
    return text;
  }

private:
  std::pair<uint64_t, unsigned> leb() {
    uint64_t value = 0;
    unsigned bits = 0;
    for (uint8_t byte = 0x80; ok && (byte & 0x80) != 0 && bits < 64; bits += 7) {
      byte = number<uint8_t>();
      value |= uint64_t{byte & 0x7fu} << bits;
    }
    return {value, bits};
  }

  Bytes bytes_;
  size_t at_;
};

// A place in the machine code: what the address of a table is relative to, and where there.
using Code = std::pair<uint64_t, uint64_t>; // section, offset

struct Row {
  uint64_t address = 0;
  uint64_t file = 1, line = 1;
};
struct LineTable {
  std::vector<std::string> files; // the first is file 1
  std::map<Code, std::vector<Row>> sequences;
};

// What the addresses of a table's section are: by their offsets there.
std::map<uint64_t, Code> relocations_of(const Elf& elf, const std::string& section) {
  struct Relocation {
    uint64_t offset, info;
    int64_t addend;
  };
  struct Symbol {
    uint32_t name;
    uint8_t info, other;
    uint16_t section;
    uint64_t value, size;
  };
  std::map<uint64_t, Code> all;
  const Bytes bytes = elf.section(".rela" + section), symbols = elf.section(".symtab");
  for (size_t at = 0; at < bytes.size(); at += sizeof(Relocation)) {
    const auto relocation = read_at<Relocation>(bytes, at);
    if (!relocation || relocation->info >> 32 >= symbols.size() / sizeof(Symbol))
      break;
    if (const auto symbol = read_at<Symbol>(symbols, (relocation->info >> 32) * sizeof(Symbol)))
      all[relocation->offset] = {symbol->section, symbol->value + static_cast<uint64_t>(relocation->addend)};
  }
  return all;
}

struct Header {
  uint8_t least_instruction = 1, line_range = 1, opcode_base = 1;
  int8_t line_base = 0;
  std::vector<uint8_t> operands; // of standard opcodes, from 1 on
};

// Opcodes of a line number program.
enum : uint8_t {
  extended,
  copy,
  advance_pc,
  advance_line,
  set_file,
  set_column,
  negate_stmt,
  set_basic_block,
  const_add_pc,
  fixed_advance_pc
};
enum : uint8_t { end_sequence = 1, set_address = 2 };

class Unit {
public:
  Unit(Reader& in, size_t end, const std::map<uint64_t, Code>& relocations, LineTable& table)
      : in_(in), end_(end), relocations_(relocations), table_(table) {}

  void read() {
    const auto version = in_.number<uint16_t>();
    const auto bytes = in_.number<uint32_t>();
    const size_t program = in_.at() + bytes;
    if (version < 2 || version > 4)
      return in_.go_to(end_);
    header_.least_instruction = in_.number<uint8_t>();
    if (version == 4)
      in_.number<uint8_t>(); // operations of an instruction
    in_.number<uint8_t>();   // whether a row begins a statement
    header_.line_base = in_.number<int8_t>();
    header_.line_range = std::max<uint8_t>(in_.number<uint8_t>(), 1);
    header_.opcode_base = in_.number<uint8_t>();
    for (int i = 1; i < header_.opcode_base; ++i)
      header_.operands.push_back(in_.number<uint8_t>());
    read_files();
    in_.go_to(program);
    while (in_.ok && in_.at() < end_)
      step();
  }

private:
  void read_files() {
    std::vector<std::string> folders{""};
    for (std::string folder = in_.text(); in_.ok && !folder.empty(); folder = in_.text())
      folders.push_back(folder);
    first_file_ = table_.files.size();
    for (std::string name = in_.text(); in_.ok && !name.empty(); name = in_.text()) {
      const uint64_t folder = in_.unsigned_leb();
      in_.unsigned_leb(); // when it was changed
      in_.unsigned_leb(); // its size
      const bool alone = folder == 0 || folder >= folders.size() || name.starts_with('/');
      table_.files.push_back(alone ? name : folders[folder] + "/" + name);
    }
  }
  void add_row() { rows_.push_back({address_, first_file_ + file_, static_cast<uint64_t>(line_)}); }
  void advance(uint64_t instructions) { address_ += instructions * header_.least_instruction; }
  void special(uint8_t opcode) {
    const auto adjusted = static_cast<uint8_t>(opcode - header_.opcode_base);
    advance(adjusted / header_.line_range);
    line_ += header_.line_base + adjusted % header_.line_range;
    add_row();
  }
  void step() {
    const auto opcode = in_.number<uint8_t>();
    if (opcode >= header_.opcode_base && opcode != extended)
      return special(opcode);
    switch (opcode) {
    case extended:
      return step_extended();
    case copy:
      return add_row();
    case advance_pc:
      return advance(in_.unsigned_leb());
    case advance_line:
      line_ += in_.signed_leb();
      return;
    case set_file:
      file_ = in_.unsigned_leb();
      return;
    case const_add_pc:
      return advance(static_cast<uint8_t>(255 - header_.opcode_base) / header_.line_range);
    case fixed_advance_pc:
      address_ += in_.number<uint16_t>();
      return;
    default:
      for (int i = 0; i < header_.operands[opcode - 1u]; ++i)
        in_.unsigned_leb();
    }
  }
  void step_extended() {
    const uint64_t bytes = in_.unsigned_leb();
    const size_t begin = in_.at();
    if (bytes == 0 || bytes > end_ - std::min(begin, end_))
      return in_.go_to(end_);
    const auto opcode = in_.number<uint8_t>();
    if (opcode == end_sequence) {
      auto& sequence = table_.sequences[code_];
      sequence.insert(sequence.end(), rows_.begin(), rows_.end());
      rows_.clear();
      address_ = 0;
      file_ = 1;
      line_ = 1;
      code_ = {};
    } else if (opcode == set_address) {
      const auto found = relocations_.find(in_.at());
      address_ = found != relocations_.end() ? 0 : in_.number<uint64_t>();
      code_ = found != relocations_.end() ? found->second : Code{};
    }
    in_.go_to(begin + bytes);
  }

  Reader& in_;
  size_t end_;
  const std::map<uint64_t, Code>& relocations_;
  LineTable& table_;
  Header header_;
  size_t first_file_ = 0; // of this unit, in the table's
  Code code_{};
  uint64_t address_ = 0, file_ = 1;
  int64_t line_ = 1;
  std::vector<Row> rows_;
};

LineTable read_lines(const Elf& elf, const std::string& section) {
  LineTable table;
  const Bytes bytes = elf.section(section);
  const auto relocations = relocations_of(elf, section);
  for (Reader in(bytes, 0); !in.is_at_end();) {
    const auto size = in.number<uint32_t>();
    const size_t end = in.at() + size;
    if (!in.ok || end > bytes.size())
      break;
    Unit(in, end, relocations, table).read();
    in.go_to(end);
  }
  for (auto& [code, rows] : table.sequences)
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.address < b.address; });
  return table;
}

// By line of the PTX: where in the source.
std::map<uint64_t, Row> lines_of_ptx(const LineTable& source, const LineTable& ptx) {
  std::map<uint64_t, Row> lines;
  for (const auto& [code, rows] : ptx.sequences) {
    const auto found = source.sequences.find(code);
    if (found == source.sequences.end())
      continue;
    for (const Row& row : rows) {
      const auto after =
          std::upper_bound(found->second.begin(), found->second.end(), row.address,
                           [](uint64_t address, const Row& each) { return address < each.address; });
      if (after == found->second.begin())
        continue;
      const Row& place = *std::prev(after);
      if (place.line > 0 && place.line <= UINT32_MAX && place.file > 0 && place.file <= source.files.size())
        lines.try_emplace(row.line, place);
    }
  }
  return lines;
}

// Whether a statement may begin behind such a line.
bool ends_statement(std::string_view line) {
  const size_t last = line.find_last_not_of(" \t\r");
  return last != line.npos && std::string_view(";{}:").find(line[last]) != std::string_view::npos;
}

} // namespace

std::string with_source_lines(const Elf& elf, std::string ptx) {
  const LineTable source = read_lines(elf, ".debug_line");
  const std::map<uint64_t, Row> lines = lines_of_ptx(source, read_lines(elf, ".nv_debug_line_sass"));
  if (lines.empty() || ptx.find("\n\t.loc") != ptx.npos)
    return ptx;
  std::string text;
  Row current{.address = 0, .file = 0, .line = 0};
  bool begins = false;
  uint64_t number = 0;
  for (size_t begin = 0; begin < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', begin), ptx.size());
    const std::string_view line = std::string_view(ptx).substr(begin, end - begin);
    const auto found = lines.find(++number);
    if (found != lines.end() && begins &&
        (found->second.file != current.file || found->second.line != current.line)) {
      current = found->second;
      text += fmt::format(".loc {} {} 0\n", current.file, current.line);
    }
    (text += line) += '\n';
    if (line.find_first_not_of(" \t\r") != line.npos)
      begins = ends_statement(line);
    begin = end + 1;
  }
  for (size_t i = 0; i < source.files.size(); ++i)
    if (source.files[i].find_first_of("\"\\\n") == std::string::npos)
      text += fmt::format(".file {} \"{}\"\n", i + 1, source.files[i]);
  return text;
}

} // namespace lemma::image
