// Records what a driver says: every section in a process of its own, the lines in their order.
//
//   record                         writes the table of the libcuda.so.1 that it finds
//   record --compare TABLE EXCEPTIONS
//                                  compares with a recorded one. EXCEPTIONS are the lines that are otherwise
//                                  here, each behind a comment that says why; one that is as recorded has to
//                                  go.
//   record SECTION...              these sections alone
//
// TABLE: `[section]`, then lines `statement = result`. "crash" is a statement that killed the process, "hang"
// one that had not ended after a minute: whatever is done there is right.
#include "record.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

namespace record {
namespace {

// Of a child: the statements that are not run, and where it says what it does.
std::set<int> left_out;
int number = 0;
std::string turn;

void say_to_parent(const std::string& text) {
  const std::string line = text + "\n";
  if (write(1, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    _exit(3);
}

} // namespace

std::string name_of(CUresult status) {
  const char* name = nullptr;
  return cuGetErrorName(status, &name) == CUDA_SUCCESS && name ? name
                                                               : std::to_string(static_cast<int>(status));
}

Turn::Turn(const std::string& text) {
  turn = text + ": ";
}
Turn::~Turn() {
  turn.clear();
}

void statement(const char* text, Run run) {
  say_to_parent("?" + turn + text);
  alarm(60); // a launch may take seconds of all cores, which others may have
  say_to_parent("=" + (left_out.contains(number) ? "crash" : run()));
  alarm(0);
  ++number;
}

CUcontext begin() {
  CUcontext context = nullptr;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  return context;
}

std::string file(const std::string& name) {
  std::ifstream in(FOLDER + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

namespace {
CUmodule module_of(const std::string& name) {
  CUmodule module = nullptr;
  if (cuModuleLoadData(&module, file(name).c_str()) != CUDA_SUCCESS)
    say_to_parent("?" + name + "\n=does not load");
  return module;
}
} // namespace

CUmodule kernels() {
  return module_of("../kernels.ptx");
}
CUmodule faulty() {
  return module_of("faults.ptx");
}
CUfunction function(CUmodule module, const char* name) {
  CUfunction found = nullptr;
  if (cuModuleGetFunction(&found, module, name) != CUDA_SUCCESS)
    say_to_parent(std::string("?") + name + "\n=is not there");
  return found;
}
CUdeviceptr device_bytes(size_t bytes) {
  CUdeviceptr address = 0;
  cuMemAlloc_v2(&address, bytes);
  return address;
}

namespace {

std::vector<Section> all_sections() {
  std::vector<Section> sections;
  for (const auto& part :
       {device_sections(), context_sections(), without_context_sections(), memory_sections(),
        pointer_sections(), pool_sections(), module_sections(), launch_sections(), fault_sections(),
        stream_sections(), capture_sections(), graph_sections()})
    sections.insert(sections.end(), part.begin(), part.end());
  return sections;
}

struct Line {
  std::string statement, result;
};

// What a child that runs the section says; whether it came to the end.
bool run_child(const Section& section, std::vector<Line>& lines) {
  std::string without;
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i].result == "crash" || lines[i].result == "hang")
      without += std::to_string(i) + ",";
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    std::abort();
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    if (!std::getenv("RECORD_VERBOSE"))
      dup2(open("/dev/null", O_WRONLY), 2);
    execl("/proc/self/exe", "record", "--section", section.name.c_str(), without.c_str(), nullptr);
    _exit(4);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  std::vector<Line> said;
  std::istringstream in(text);
  bool ended = false;
  for (std::string line; std::getline(in, line);)
    if (line == "end")
      ended = true;
    else if (line[0] == '?')
      said.push_back({line.substr(1), ""});
    else if (!said.empty())
      said.back().result = line.substr(1);
  for (size_t i = 0; i < lines.size() && i < said.size(); ++i)
    if (lines[i].result == "hang")
      said[i].result = "hang";
  if (!ended && !said.empty())
    said.back().result = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hang" : "crash";
  lines = std::move(said);
  return ended || lines.empty();
}

// Statements that kill it are left out, one after the other.
std::vector<Line> run(const Section& section) {
  std::vector<Line> lines;
  for (int turns = 0; turns < 30; ++turns)
    if (run_child(section, lines))
      break;
  std::map<std::string, int> times;
  for (Line& line : lines)
    if (const int nth = ++times[line.statement]; nth > 1)
      line.statement += " (" + std::to_string(nth) + ")";
  return lines;
}

using Table = std::vector<std::pair<std::string, std::vector<Line>>>;

Table run_all(const std::vector<Section>& sections) {
  Table table(sections.size());
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  const char* jobs = std::getenv("RECORD_JOBS");
  for (int i = 0; i < (jobs ? std::atoi(jobs) : 2); ++i)
    threads.emplace_back([&] {
      for (size_t mine = next++; mine < sections.size(); mine = next++)
        table[mine] = {sections[mine].name, run(sections[mine])};
    });
  for (std::thread& thread : threads)
    thread.join();
  return table;
}

// {section, statement}: result. Comments and empty lines are none.
std::map<std::pair<std::string, std::string>, std::string> read_table(const char* path) {
  std::map<std::pair<std::string, std::string>, std::string> lines;
  std::ifstream in(path);
  std::string section;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    if (line[0] == '[') {
      section = line.substr(1, line.size() - 2);
      continue;
    }
    const size_t at = line.rfind(" = ");
    lines[{section, line.substr(0, at)}] = at == line.npos ? "" : line.substr(at + 3);
  }
  return lines;
}

int compare(const Table& table, const char* recorded_path, const char* exceptions_path) {
  auto recorded = read_table(recorded_path), exceptions = read_table(exceptions_path);
  int compared = 0, wrong = 0;
  const auto complain = [&](const std::string& section, const std::string& text) {
    std::printf("[%s] %s\n", section.c_str(), text.c_str());
    ++wrong;
  };
  for (const auto& [section, lines] : table)
    for (const Line& line : lines) {
      const std::pair key{section, line.statement};
      const auto wanted = recorded.find(key), exception = exceptions.find(key);
      if (wanted == recorded.end()) {
        complain(section, line.statement + " = " + line.result + ", and nothing is recorded");
        continue;
      }
      ++compared;
      const bool as_recorded = line.result == wanted->second;
      const bool free = wanted->second == "crash" || wanted->second == "hang";
      if (exception != exceptions.end()) {
        if (as_recorded)
          complain(section, line.statement + " is as recorded: its exception can go");
        else if (line.result != exception->second)
          complain(section,
                   line.statement + " = " + line.result + ", its exception says " + exception->second);
        exceptions.erase(exception);
      } else if (!as_recorded && !(free && line.result != "crash" && line.result != "hang")) {
        complain(section, line.statement + " = " + line.result + ", recorded is " + wanted->second);
      }
      recorded.erase(wanted);
    }
  for (const auto& [key, result] : recorded)
    complain(key.first, key.second + " is recorded, and was not said");
  for (const auto& [key, result] : exceptions)
    complain(key.first, key.second + " is an exception from nothing");
  std::printf("%d statements compared, %d wrong\n", compared, wrong);
  return wrong || !compared ? 1 : 0;
}

int run_section(const char* name, const char* without) {
  std::istringstream numbers(without);
  for (std::string one; std::getline(numbers, one, ',');)
    left_out.insert(std::stoi(one));
  for (const Section& section : all_sections())
    if (section.name == name)
      section.run();
  say_to_parent("end");
  _exit(0); // not by the driver's own end: a fault may keep it
}

} // namespace
} // namespace record

int main(int argc, char** argv) {
  using namespace record;
  if (argc == 4 && std::strcmp(argv[1], "--section") == 0)
    return run_section(argv[2], argv[3]);
  std::vector<Section> sections = all_sections();
  const bool comparing = argc == 4 && std::strcmp(argv[1], "--compare") == 0;
  if (argc > 1 && !comparing)
    std::erase_if(sections, [&](const Section& each) {
      return std::none_of(argv + 1, argv + argc, [&](const char* name) { return each.name == name; });
    });
  const Table table = run_all(sections);
  if (comparing)
    return compare(table, argv[2], argv[3]);
  for (const auto& [section, lines] : table) {
    std::printf("[%s]\n", section.c_str());
    for (const Line& line : lines)
      std::printf("%s = %s\n", line.statement.c_str(), line.result.c_str());
  }
  return 0;
}
