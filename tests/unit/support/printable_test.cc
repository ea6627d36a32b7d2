// Escaping of what could move a terminal's cursor or turn its text around, and that it is done once.
#include "support/printable.h"

#include "support/diagnostic.h"

#include <gtest/gtest.h>

namespace lemma {
namespace {

using namespace std::string_literals;

TEST(Printable, LeavesTextAlone) {
  for (const std::string text : {"", "gemm.ptx", "a b~!",
                                 "Gr\xc3\xbc\xc3\x9f"
                                 "e",
                                 "\xf0\x9f\x98\x80", "\\x1b"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, EscapesControls) {
  EXPECT_EQ(printable("\x1b[31mred\r\n"), "\\x1b[31mred\\x0d\\x0a");
  EXPECT_EQ(printable("a\0b\x7f"s), "a\\x00b\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\u{9b}2J"); // CSI of 8 bits, in UTF-8
  EXPECT_EQ(printable_lines("a\tb\nc\vd"), "a\tb\nc\\x0bd");
}

TEST(Printable, EscapesWhatTurnsTheOrder) {
  EXPECT_EQ(printable("\xe2\x80\xaexcod.ptx"), "\\u{202e}xcod.ptx");
  EXPECT_EQ(printable("\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8f\xd8\x9c\xe2\x80\xa8\xef\xbb\xbf"),
            "\\u{2066}\\u{2069}\\u{200f}\\u{61c}\\u{2028}\\u{feff}");
}

TEST(Printable, EscapesWhatIsNoUtf8) {
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b2J");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                   // cut
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");          // overlong
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf"); // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80"); // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xe2\x80\xae\xe2\x80"), "\\u{202e}\\xe2\\x80");
}

TEST(Printable, IsDoneOnce) {
  std::string all;
  for (int c = 0; c < 256; ++c)
    all += static_cast<char>(c);
  EXPECT_EQ(printable(printable(all)), printable(all));
}

// A message takes its file's name, its words and the source line from outside; the caret stays under its
// text.
TEST(Printable, InDiagnostics) {
  const SourceText source("a\x1b[2J.ptx", "bad \x1b\xc3\xbc here\n");
  const Diagnostic diagnostic{.severity = Severity::error,
                              .id = "shape",
                              .message = "no \x07 here",
                              .range = {8, 12},
                              .notes = {{"legal", "\x1b]0;title\x07"}}};
  EXPECT_EQ(render(diagnostic, source), "a\\x1b[2J.ptx:1:9: error[shape]: no \\x07 here\n"
                                        " 1 | bad \\x1b\xc3\xbc here\n"
                                        "   |           ^~~~\n"
                                        "  legal: \\x1b]0;title\\x07\n");
}

} // namespace
} // namespace lemma
