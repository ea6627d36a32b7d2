// `lemma link A.ptx B.ptx`: relocatable PTX (nvcc -rdc=true -ptx) as one text, for `lemma run`, ptxas or the
// CUDA driver; of object files and programs, the PTX that is in them.
//
// Exit status 0 if they link, 1 if a text is rejected or they do not fit together, 2 if the command line is
// wrong or a file cannot be read or written.
//
// Tests: tests/cli/link_cli_test.py.
#include "command.h"
#include "files.h"
#include "ptx_file.h"
#include "say.h"
#include "terminal.h"

#include "lemma/link.h"

#include <iterator>
#include <memory>
#include <utility>

namespace lemma::cli {
namespace {

constexpr const char* kLinkFooter = R"(What a name stands for that several files have:
  .extern   what another file defines
  .visible  the one definition
  .weak     the first definition, unless a file has a .visible one
  .common   one variable, as large as the largest
  (none)    the file's own; renamed to NAME$1 where two files have it
Examples:
  nvcc -rdc=true -ptx -arch=sm_90 main.cu helper.cu
  lemma link main.ptx helper.ptx -o program.ptx
  lemma link a.out -o program.ptx           the PTX in a program
Exit status: 0 success; 1 a file is rejected, or they do not fit; 2 wrong command line or unreadable file.)";

struct LinkOptions {
  std::vector<std::string> files;
  std::string output;
};

int run_link(const LinkOptions& options) {
  if (const auto writable = check_text_output(options.output); !writable) {
    say(writable.error());
    return kUsage;
  }
  std::vector<PtxText> texts;
  for (const std::string& file : options.files) {
    auto read = read_ptx_texts(file, false);
    if (!read) {
      for (const Message& message : read.error().messages)
        print_messages(stderr, message.rendered);
      if (read.error().messages.empty())
        say(read.error().text);
      return read.error().kind == ErrorKind::invalid_argument ? kUsage : kFailed;
    }
    std::move(read->begin(), read->end(), std::back_inserter(texts));
  }
  const auto linked = link_ptx(texts);
  for (const Message& message : linked ? linked->messages : linked.error().messages)
    print_messages(stderr, message.rendered);
  if (!linked)
    return kFailed;
  if (const auto written = write_text(options.output, linked->text); !written) {
    say(written.error());
    return kUsage;
  }
  return kSuccess;
}

} // namespace

Command add_link(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("link", "link several PTX texts into one");
  const auto o = std::make_shared<LinkOptions>();
  app->add_option("FILE", o->files,
                  "PTX texts, or fatbins, cubins, object files, archives and executables with PTX; - is "
                  "standard input")
      ->required();
  app->add_option("-o,--output", o->output, "where the text goes (default: standard output)")
      ->type_name("FILE");
  app->footer(kLinkFooter);
  return {app, [o] { return run_link(*o); }};
}

} // namespace lemma::cli
