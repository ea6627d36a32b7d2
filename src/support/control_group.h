// The control groups that this process lies in (Linux, cgroups(7)): what a container or a service manager
// lets it use of the machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lemma {

// The first line of a file of every group of version 2, from the process's own to the outermost, where there
// is such a file: "memory.max".
std::vector<std::string> control_group_lines(std::string_view file);
// The first line of a file of the process's group of version 1, as a container sees it; empty if there is
// none: "memory/memory.limit_in_bytes".
std::string old_control_group_line(std::string_view file);

} // namespace lemma
