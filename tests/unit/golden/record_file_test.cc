// Files of recorded bits: what is written is read back, and what is wrong with a file is said.
#include "golden/record_file.h"

#include <gtest/gtest.h>

#include <fstream>

namespace lemma::golden {
namespace {

namespace fs = std::filesystem;

Result<void, std::string> write(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
  return {};
}

class RecordFile : public testing::Test {
protected:
  RecordFile() {
    fs::remove_all(directory);
    c.name = "odd \"name\"";
    c.units = 8;
    c.parts = {{"one", 0, 6}, {"two", 6, 2}};
    c.outputs.resize(2);
    c.outputs[0].name = "d";
    c.outputs[1].name = "p";
    c.outputs[1].element_bytes = 1;
    c.outputs[1].per_unit = 2;
    outputs.resize(lay_out(c.outputs, c.units));
    for (size_t i = 0; i < outputs.size(); ++i)
      outputs[i] = static_cast<std::byte>(i * 37 + i / 11);
    record.stamp = {"GPU", "13.0", "sm_90a", "0.1.0", 7, "lemma record", "2026-01-01T00:00:00Z"};
  }
  ~RecordFile() override { fs::remove_all(directory); }

  // Its own: tests run side by side.
  const fs::path directory =
      fs::path(testing::TempDir()) /
      (std::string("record_file_test.") + testing::UnitTest::GetInstance()->current_test_info()->name());
  Case c;
  std::vector<std::byte> outputs;
  GroupRecord record;
};

TEST_F(RecordFile, ReadsWhatItWrote) {
  add_case(record, c, outputs, 4);
  ASSERT_TRUE(write_record(directory, "g", record, write).ok());
  const auto read = read_record(directory, "g");
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(read->stamp.gpu, "GPU");
  EXPECT_EQ(read->stamp.seed, 7u);
  ASSERT_EQ(read->cases.size(), 1u);
  const RecordedCase& back = read->cases.at(c.name);
  EXPECT_EQ(back.parts, record.cases.at(c.name).parts);
  EXPECT_EQ(back.kept_units, 4u);
  EXPECT_EQ(read->kept, record.kept);
  // Of the second part there are but two units.
  EXPECT_EQ(read->kept_bytes(c, c.parts[0]).size(), 4u * 6);
  EXPECT_EQ(read->kept_bytes(c, c.parts[1]).size(), 2u * 6);
  const std::vector<std::byte> expected = part_bytes(c, c.parts[1], outputs);
  EXPECT_TRUE(std::ranges::equal(read->kept_bytes(c, c.parts[1]), expected));
}

TEST_F(RecordFile, CopiesWithFewerUnits) {
  add_case(record, c, outputs, 8);
  GroupRecord small, direct;
  copy_case(record, c, 3, small);
  add_case(direct, c, outputs, 3);
  EXPECT_EQ(small.kept, direct.kept);
  EXPECT_EQ(small.cases.at(c.name).kept_units, 3u);
  GroupRecord hashes;
  copy_case(record, c, 0, hashes);
  EXPECT_TRUE(hashes.kept.empty());
}

TEST_F(RecordFile, KeepsNothingWhenNotAsked) {
  add_case(record, c, outputs, 0);
  ASSERT_TRUE(write_record(directory, "g", record, write).ok());
  EXPECT_FALSE(fs::exists(directory / "g.bin.zst"));
  const auto read = read_record(directory, "g");
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->kept_bytes(c, c.parts[0]).empty());
}

TEST_F(RecordFile, SaysWhatIsWrong) {
  EXPECT_NE(read_record(directory, "g").error().find("cannot read"), std::string::npos);
  add_case(record, c, outputs, 4);
  ASSERT_TRUE(write_record(directory, "g", record, write).ok());
  std::ofstream(directory / "g.bin.zst") << "no zstd";
  EXPECT_NE(read_record(directory, "g").error().find("g.bin.zst"), std::string::npos);
  std::ofstream(directory / "g.json") << "{\"cases\": {}}";
  EXPECT_NE(read_record(directory, "g").error().find("no record of hardware bits"), std::string::npos);
  std::ofstream(directory / "g.json") << "no json";
  EXPECT_NE(read_record(directory, "g").error().find("g.json"), std::string::npos);
}

} // namespace
} // namespace lemma::golden
