// Source text and positions in it. A position is a byte offset, so that tokens stay small; line and column
// are worked out when a message is printed.
//
// Tests: tests/unit/support/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lemma {

// Half-open range of byte offsets in one SourceText.
struct SourceRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  friend bool operator==(const SourceRange&, const SourceRange&) = default;
};

// 1-based line and column; the column counts bytes.
struct LineColumn {
  uint32_t line = 0;
  uint32_t column = 0;
};

// A file's name and text. At most 4 GiB of text; a longer file must be refused by whoever reads it.
class SourceText {
public:
  SourceText(std::string name, std::string text);

  const std::string& name() const { return name_; }
  // What text and line table take.
  uint64_t memory_bytes() const { return memory_bytes(text_, line_begins_.size()); }
  static uint64_t memory_bytes(std::string_view text, uint64_t lines) {
    return text.size() + lines * sizeof(uint32_t);
  }
  std::string_view text() const { return text_; }
  std::string_view slice(SourceRange range) const;

  // Works for any offset up to and including the end of the text.
  LineColumn line_column(uint32_t offset) const;
  // The text of a 1-based line, without its newline; empty when there is no such line.
  std::string_view line(uint32_t line) const;

private:
  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_begins_;
};

} // namespace lemma
