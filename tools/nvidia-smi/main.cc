// nvidia-smi of the virtual GPU: the words of the command line, and what is printed. Statuses are
// nvidia-smi's: 2 a word or a field that there is not, 3 what cannot be done here, 6 no such GPU, 9 no
// driver.
//
// Tests: tests/nvml/nvml_test.py.
#include "fields.h"

#include <cstdio>
#include <optional>
#include <vector>

namespace lemma::smi {
namespace {

enum Status { ok = 0, wrong_word = 2, not_supported = 3, no_such_gpu = 6, no_driver = 9 };

struct Words {
  std::optional<std::string_view> fields, apps, id;
  bool has_header = true, has_units = true, is_csv = false;
  bool list = false, help = false, changes = false;
  std::string_view unknown; // the first that is
};

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    std::string_view part = list.substr(begin, end - begin);
    while (part.starts_with(' '))
      part.remove_prefix(1);
    parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

void read_format(Words& words, std::string_view format) {
  for (const std::string_view part : split(format)) {
    words.is_csv |= part == "csv";
    words.has_header &= part != "noheader";
    words.has_units &= part != "nounits";
  }
}

// The word that stands behind `name`, or in the place of the next one: "--id=0", "-i 0".
std::optional<std::string_view> value_behind(std::string_view name, int& at, int count, char** words) {
  const std::string_view word = words[at];
  if (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=')
    return word.substr(name.size() + 1);
  if (word != name || at + 1 >= count)
    return std::nullopt;
  return words[++at];
}

Words read(int count, char** given) {
  Words words;
  for (int at = 1; at < count; ++at) {
    const std::string_view word = given[at];
    if (word == "-L" || word == "--list-gpus")
      words.list = true;
    else if (word == "-h" || word == "--help")
      words.help = true;
    else if (const auto fields = value_behind("--query-gpu", at, count, given))
      words.fields = fields;
    else if (const auto apps = value_behind("--query-compute-apps", at, count, given))
      words.apps = apps;
    else if (const auto format = value_behind("--format", at, count, given))
      read_format(words, *format);
    else if (const auto id = value_behind("--id", at, count, given))
      words.id = id;
    else if (const auto short_id = value_behind("-i", at, count, given))
      words.id = short_id;
    else if (word.starts_with("-pm") || word.starts_with("-pl") || word.starts_with("-ac") ||
             word.starts_with("-lgc") || word.starts_with("-rgc") || word.starts_with("-lmc") ||
             word.starts_with("-rmc") || word.starts_with("--lock-") || word.starts_with("--reset-") ||
             word.starts_with("--persistence-mode") || word.starts_with("--power-limit") ||
             word.starts_with("--applications-clocks"))
      words.changes = true;
    else if (words.unknown.empty() && !words.changes)
      words.unknown = word;
  }
  return words;
}

// By index, UUID or bus.
std::optional<nvmlDevice_t> find_device(std::string_view id) {
  const std::string text(id);
  nvmlDevice_t device = nullptr;
  if (text.find_first_not_of("0123456789") == text.npos) {
    if (nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(std::stoul("0" + text.substr(0, 8))), &device) ==
        NVML_SUCCESS)
      return device;
  } else if (nvmlDeviceGetHandleByUUID(text.c_str(), &device) == NVML_SUCCESS ||
             nvmlDeviceGetHandleByPciBusId_v2(text.c_str(), &device) == NVML_SUCCESS) {
    return device;
  }
  return std::nullopt;
}

// A line, its parts apart by ", ".
template <class Part>
void print_line(const std::vector<std::string_view>& fields, Part&& part) {
  for (size_t i = 0; i < fields.size(); ++i)
    std::printf("%s%s", i > 0 ? ", " : "", std::string(part(fields[i])).c_str());
  std::printf("\n");
}

Status query(const Words& words, nvmlDevice_t device) {
  const std::vector<std::string_view> fields = split(*words.fields);
  for (const std::string_view field : fields)
    if (!find_field(field)) {
      std::printf("Field \"%s\" is not a valid field to query.\n", std::string(field).c_str());
      return wrong_word;
    }
  if (!words.is_csv) {
    std::printf("\"--format=\" with \"csv\" is needed to query.\n");
    return wrong_word;
  }
  const auto with_unit = [](std::string text, std::string_view before, std::string_view unit,
                            std::string_view after) {
    return unit.empty() ? text : text.append(before).append(unit).append(after);
  };
  if (words.has_header)
    print_line(fields, [&](std::string_view name) {
      return with_unit(std::string(name), " [", find_field(name)->unit, "]");
    });
  print_line(fields, [&](std::string_view name) {
    const std::string value = value_of(name, device);
    return words.has_units && value != "[N/A]" ? with_unit(value, " ", find_field(name)->unit, "") : value;
  });
  return ok;
}

void print_table(nvmlDevice_t device) {
  int cuda = 0;
  (void)nvmlSystemGetCudaDriverVersion(&cuda);
  const auto field = [&](std::string_view name) { return value_of(name, device); };
  const std::string driver = field("driver_version"), edge = "+" + std::string(77, '-') + "+\n";
  const std::string version = std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
  const std::string use =
      field("memory.used") + "MiB / " + field("memory.total") + "MiB " + field("utilization.gpu") + "%";
  std::printf("%s| NVIDIA-SMI %-12s Driver Version: %-12s CUDA Version: %-9s|\n%s", edge.c_str(),
              driver.c_str(), driver.c_str(), version.c_str(), edge.c_str());
  std::printf("| GPU  %-24s Bus-Id           | %26s |\n", "Name", "Memory-Usage GPU-Util");
  std::printf("| %3s  %-24s %-16s | %26s |\n%s", field("index").c_str(), field("name").c_str(),
              field("pci.bus_id").c_str(), use.c_str(), edge.c_str());
  std::printf("| %-75s |\n%s", "Processes: none but this one, which has a virtual GPU of its own",
              edge.c_str());
}

constexpr char kHelp[] = R"(nvidia-smi of Lemma's virtual GPU (docs/exec.md)
  nvidia-smi                                            the GPU, in a table
  nvidia-smi -L                                         its name and UUID
  nvidia-smi --query-gpu=FIELD,... --format=csv[,noheader][,nounits]
  -i ID, --id=ID                                        the GPU, by index, UUID or bus
)";

Status run(const Words& words) {
  if (words.help) {
    std::fputs(kHelp, stdout);
    return ok;
  }
  if (words.changes) {
    std::printf("Nothing of a virtual GPU can be changed.\n");
    return not_supported;
  }
  if (!words.unknown.empty()) {
    std::printf("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n(not known "
                "here: %s)\n",
                std::string(words.unknown).c_str());
    return wrong_word;
  }
  const std::optional<nvmlDevice_t> device = find_device(words.id.value_or("0"));
  if (!device) {
    std::printf("No devices were found\n");
    return no_such_gpu;
  }
  if (words.list)
    std::printf("GPU %s: %s (UUID: %s)\n", value_of("index", *device).c_str(),
                value_of("name", *device).c_str(), value_of("uuid", *device).c_str());
  else if (words.fields)
    return query(words, *device);
  else if (words.apps) { // there is none
    if (words.has_header)
      print_line(split(*words.apps), [](std::string_view name) { return name; });
  } else
    print_table(*device);
  return ok;
}

} // namespace
} // namespace lemma::smi

int main(int count, char** words) {
  if (const nvmlReturn_t error = nvmlInit_v2(); error != NVML_SUCCESS) {
    std::printf("NVIDIA-SMI has failed: %s\n", nvmlErrorString(error));
    return lemma::smi::no_driver;
  }
  const int status = lemma::smi::run(lemma::smi::read(count, words));
  (void)nvmlShutdown();
  return status;
}
