// What processes leave for `lemma exec`: written, read, cut off. include/lemma/process_reports.h.
#include "lemma/process_reports.h"

#include "lemma/findings.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace lemma {
namespace {

namespace fs = std::filesystem;

class Folder : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "process_reports_XXXXXX").string();
    ASSERT_TRUE(::mkdtemp(name.data()));
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  ProcessReporter reporter() { return *ProcessReporter::open(folder_); }
  ProcessReports read() { return *read_process_reports(folder_); }

  std::string folder_;
};

Finding whole_finding() {
  Finding f;
  f.id = "race.shared";
  f.message = "a read and a write that nothing orders";
  f.memory = "tile + 0x80";
  f.access.place = {.ptx_line = 12,
                    .instruction = "st.shared.u32 [%a], %t;",
                    .file = "/src/a.cuh",
                    .line = 7,
                    .function = "_Z1kPi",
                    .source_text = "x = 1;",
                    .inlined_at = {{"/src/a.cu", 9, "k", "f();"}},
                    .inlined_function = "f"};
  f.access.cta = {1, 2, 3};
  f.access.warp = 4;
  f.access.lane = -1;
  f.access.what = "writes 4 bytes";
  f.access.address = 0x1f0000000000;
  f.access.value = "0x00000001";
  f.earlier = f.access;
  f.earlier->address.reset();
  f.earlier->place.ptx_line = 10;
  f.fix = "a barrier (bar.sync) between them";
  f.barrier = Barrier::cta;
  f.repairs = {
      {.where = FindingRepair::Where::behind, .place = f.access.place, .edit = {12, 3, 0, "bar.sync 0;"}}};
  f.alternatives = {{{.where = FindingRepair::Where::instead,
                      .place = f.access.place,
                      .replaced = "96",
                      .edit = {12, 20, 2, "64"}}}};
  f.count = 5;
  f.kernel = "_Z1kPi";
  f.ptx = "<module 1>";
  f.rendered = "a text\nof lines\n";
  return f;
}

TEST_F(Folder, KeepsEverythingOfAFinding) {
  EXPECT_TRUE(reporter().add({whole_finding()}));
  const ProcessReports reports = read();
  ASSERT_EQ(reports.findings.size(), 1u);
  const Finding wanted = whole_finding(), got = reports.findings[0];
  EXPECT_EQ(got.id, wanted.id);
  EXPECT_EQ(got.message, wanted.message);
  EXPECT_EQ(got.memory, wanted.memory);
  EXPECT_EQ(got.access.place.inlined_at[0].line, 9u);
  EXPECT_EQ(got.access.place.inlined_function, "f");
  EXPECT_EQ(got.access.place.source_text, "x = 1;");
  EXPECT_EQ(got.barrier, Barrier::cta);
  ASSERT_EQ(got.repairs.size(), 1u);
  EXPECT_EQ(got.repairs[0].where, FindingRepair::Where::behind);
  EXPECT_EQ(got.repairs[0].place.ptx_line, 12u);
  EXPECT_EQ(got.repairs[0].edit.column, 3u);
  EXPECT_EQ(got.repairs[0].edit.text, "bar.sync 0;");
  ASSERT_EQ(got.alternatives.size(), 1u);
  ASSERT_EQ(got.alternatives[0].size(), 1u);
  EXPECT_EQ(got.alternatives[0][0].replaced, "96");
  EXPECT_EQ(got.alternatives[0][0].edit.text, "64");
  EXPECT_EQ(got.access.cta, wanted.access.cta);
  EXPECT_EQ(got.access.lane, -1);
  EXPECT_EQ(got.access.address, wanted.access.address);
  EXPECT_EQ(got.earlier->place.ptx_line, 10u);
  EXPECT_FALSE(got.earlier->address);
  EXPECT_EQ(got.fix, wanted.fix);
  EXPECT_EQ(got.count, 5u);
  EXPECT_EQ(got.kernel, wanted.kernel);
  EXPECT_EQ(got.ptx, wanted.ptx);
  EXPECT_EQ(got.rendered, wanted.rendered);
  EXPECT_EQ(reports.commands.size(), 1u);
}

TEST_F(Folder, KeepsAFault) {
  Fault fault;
  fault.kind = FaultKind::out_of_bounds;
  fault.id = "memory.bounds";
  fault.message = "write of 4 bytes";
  fault.notes = {"one", "two"};
  fault.place.ptx_line = 3;
  fault.has_thread = true;
  fault.lane = 31;
  fault.address = 0;
  EXPECT_TRUE(reporter().add(KernelFault{fault, "k"}));
  const ProcessReports reports = read();
  ASSERT_EQ(reports.faults.size(), 1u);
  const Fault& got = reports.faults[0].fault;
  EXPECT_EQ(got.kind, FaultKind::out_of_bounds);
  EXPECT_EQ(got.id, "memory.bounds");
  EXPECT_EQ(got.notes, fault.notes);
  EXPECT_EQ(got.lane, 31);
  EXPECT_EQ(got.address, 0u);
  EXPECT_EQ(reports.faults[0].kernel, "k");
}

Report launch_of(uint64_t instructions) {
  Report report;
  report.stats.warp_instructions = instructions;
  report.stats.lane_instructions = 32 * instructions;
  report.stats.compiled_instructions = instructions - instructions / 10;
  report.stats.seconds = 0.5;
  return report;
}

TEST_F(Folder, CountsKernelsOfSeveralProcesses) {
  ProcessReporter one = reporter(), two = reporter();
  EXPECT_TRUE(one.count("a", launch_of(10)));
  EXPECT_TRUE(one.count("b", launch_of(1)));
  EXPECT_TRUE(two.count("a", launch_of(100)));
  Report fault = launch_of(0);
  fault.outcome = Outcome::fault;
  EXPECT_TRUE(one.count("a", fault));
  const ProcessReports reports = read();
  ASSERT_EQ(reports.kernels.size(), 2u);
  EXPECT_EQ(reports.kernels[0].kernel, "a");
  EXPECT_EQ(reports.kernels[0].launches, 3u);
  EXPECT_EQ(reports.kernels[0].faults, 1u);
  EXPECT_EQ(reports.kernels[0].warp_instructions, 110u);
  EXPECT_EQ(reports.kernels[0].lane_instructions, 32 * 110u);
  EXPECT_EQ(reports.kernels[0].compiled_instructions, 9u + 90u);
  EXPECT_DOUBLE_EQ(reports.kernels[0].seconds, 1.5);
  EXPECT_EQ(reports.kernels[1].launches, 1u);
  EXPECT_EQ(reports.commands.size(), 2u);
}

TEST_F(Folder, PutsADefectOfSeveralProcessesTogether) {
  Finding elsewhere = whole_finding();
  elsewhere.access.place.file = "/src/b.cuh";
  EXPECT_TRUE(reporter().add({whole_finding()}));
  EXPECT_TRUE(reporter().add({whole_finding(), elsewhere}));
  const ProcessReports reports = read();
  ASSERT_EQ(reports.findings.size(), 2u);
  EXPECT_EQ(reports.findings[0].count, 10u);
}

// A process may be killed while it writes: whatever is there is read up to the record that is not whole.
TEST_F(Folder, LeavesOutWhatIsNotWhole) {
  EXPECT_TRUE(reporter().add({whole_finding(), whole_finding()}));
  fs::path records;
  for (const auto& entry : fs::directory_iterator(folder_))
    if (entry.path().extension() == ".records")
      records = entry.path();
  const auto size = fs::file_size(records);
  for (auto left = size; left-- > 0;) {
    fs::resize_file(records, left);
    const ProcessReports reports = read();
    EXPECT_LE(reports.findings.size(), 1u) << left;
    for (const Finding& finding : reports.findings)
      EXPECT_EQ(finding.rendered, whole_finding().rendered);
  }
}

TEST_F(Folder, IsWrittenFromSeveralThreads) {
  ProcessReporter shared = reporter();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(shared.count(std::string(1, static_cast<char>('a' + t % 2)), launch_of(1)));
        EXPECT_TRUE(shared.add({whole_finding()}));
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  const ProcessReports reports = read();
  ASSERT_EQ(reports.kernels.size(), 2u);
  EXPECT_EQ(reports.kernels[0].launches, 100u);
  EXPECT_EQ(reports.kernels[1].launches, 100u);
  ASSERT_EQ(reports.findings.size(), 1u);
  EXPECT_EQ(reports.findings[0].count, 200u * 5);
}

RunningLaunch running_launch(uint64_t id) {
  RunningLaunch running{.id = id,
                        .kernel = "_Z5scalePji",
                        .seconds = 2.5,
                        .warp_instructions = 1000,
                        .ctas = 4,
                        .ctas_done = 1};
  running.warps.push_back({.place = whole_finding().access.place, .count = 7});
  return running;
}

TEST_F(Folder, KnowsWhatRanWhenAProcessEnded) {
  {
    ProcessReporter one = reporter(), two = reporter();
    EXPECT_TRUE(one.note(running_launch(1)));
    EXPECT_TRUE(one.note(running_launch(2)));
    EXPECT_TRUE(one.note({.id = 1, .kernel = "_Z5scalePji", .has_ended = true}));
    EXPECT_TRUE(two.note(running_launch(1)));
    EXPECT_TRUE(two.note({.id = 1, .kernel = "_Z5scalePji", .has_ended = true}));
  }
  const ProcessReports reports = read();
  ASSERT_EQ(reports.running.size(), 1u);
  const RunningLaunch& running = reports.running[0];
  EXPECT_EQ(running.id, 2u);
  EXPECT_EQ(running.seconds, 2.5);
  EXPECT_EQ(running.warps[0].place.line, 7u);
  EXPECT_EQ(text_of(running), "scale(unsigned int*, int) had run for 2.5 s: 1 of 4 CTAs done, 1000 warp "
                              "instructions\n  7 warps at /src/a.cuh:7: x = 1;\n");
}

// A limit of a file's size is as good as a full disk.
class FullDisk : public Folder {
protected:
  void SetUp() override {
    Folder::SetUp();
    ASSERT_TRUE(expect_process_reports(folder_));
    EXPECT_TRUE(read().are_complete);
    std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
  }
  void TearDown() override {
    have_room();
    Folder::TearDown();
  }
  void have_room(rlim_t bytes = RLIM_INFINITY) const {
    const struct rlimit now{.rlim_cur = std::min(bytes, before_.rlim_max), .rlim_max = before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &now), 0);
  }
  struct rlimit before_{};
};

TEST_F(FullDisk, IsToldAndSpoilsNothing) {
  ProcessReporter one = reporter();
  ASSERT_TRUE(one.add({whole_finding()}));
  uint64_t size = 0;
  for (const auto& entry : fs::directory_iterator(folder_))
    size = std::max<uint64_t>(size, entry.file_size());
  have_room(size + 40); // for a part of the next one
  const Result<void, Error> refused = one.add({whole_finding()});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find(folder_), std::string::npos);
  EXPECT_FALSE(read().are_complete);
  have_room();
  EXPECT_TRUE(one.add({whole_finding()}));
  EXPECT_EQ(read().findings.at(0).count, 2u * 5); // the first and the last
  EXPECT_FALSE(read().are_complete);
}

TEST_F(FullDisk, IsToldWhereNothingFitsAtAll) {
  have_room(4);
  EXPECT_FALSE(ProcessReporter::open(folder_));
  EXPECT_FALSE(read().are_complete);
}

TEST_F(FullDisk, IsToldByCountsAndByWhatRuns) {
  ProcessReporter one = reporter();
  have_room(4);
  EXPECT_FALSE(one.count("k", launch_of(1)));
  EXPECT_FALSE(read().are_complete);
  EXPECT_FALSE(one.note(running_launch(1)));
  have_room();
  EXPECT_TRUE(one.count("k", launch_of(1)));
  EXPECT_TRUE(one.note(running_launch(1)));
  EXPECT_EQ(read().kernels.at(0).launches, 1u);
  EXPECT_EQ(read().running.size(), 1u);
}

TEST_F(Folder, ThatIsGoneIsToldByTheReader) {
  ASSERT_TRUE(expect_process_reports(folder_));
  EXPECT_FALSE(expect_process_reports(folder_)); // twice
  ProcessReporter one = reporter();
  fs::remove_all(folder_);
  EXPECT_FALSE(read_process_reports(folder_));
  EXPECT_FALSE(ProcessReporter::open(folder_));
}

TEST(ProcessReports, SayWhichFolderIsNone) {
  const auto opened = ProcessReporter::open("/no/such/folder");
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().text.find("/no/such/folder"), std::string::npos);
  EXPECT_FALSE(read_process_reports("/no/such/folder"));
}

} // namespace
} // namespace lemma
