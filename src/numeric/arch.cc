// The names, from archs.def, which the enumeration itself is made of.
#include "numeric/arch.h"

namespace lemma::numeric {

std::string_view to_string(Arch arch) {
  constexpr std::string_view names[] = {
#define ARCH(name) #name,
#include "numeric/archs.def"
#undef ARCH
  };
  return names[static_cast<size_t>(arch)];
}

std::string_view to_string(Evidence evidence) {
  constexpr std::string_view names[] = {"measured", "published", "assumed"};
  return names[static_cast<size_t>(evidence)];
}

} // namespace lemma::numeric
