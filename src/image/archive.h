// The members of an archive (`ar`: lib.a), of any bytes: objects of the host with fatbins, cubins, PTX.
//
// Not here: the table of symbols; thin archives, whose members are files of their own.
//
// The format is as GNU's ar writes it, names too; those of BSD's are read as well. Tests:
// tests/unit/image/archive_test.cc.
#pragma once

#include "image/bytes.h"
#include "lemma/result.h"

#include <string>
#include <vector>

namespace lemma::image {

// Thin ones too.
bool is_archive(Bytes bytes);

struct ArchiveMember {
  std::string name;
  Bytes bytes;
};

// What it refers to is the bytes'. Error: what is wrong with them.
Result<std::vector<ArchiveMember>, std::string> read_archive(Bytes bytes);

} // namespace lemma::image
