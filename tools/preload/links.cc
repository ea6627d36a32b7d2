// nvJitLink: a link gets -lineinfo as one option more, and the cubin that it makes keeps the PTX of what was
// linked.
//
// With one input -lineinfo is enough. Of several, as a kernel and NVIDIA's device runtime, the cubin has no
// PTX, or one input's. So what a link was given is remembered until its cubin is asked for: Lemma's driver
// finds the PTX in it, and attaches it to the cubin (cuLemmaKeepPtx in src/driver/api.h). LTO IR has none:
// such a cubin stays as it is.
//
// Tests: tests/exec/preload_test.py.
#include "functions.h"
#include "stands.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace lemma::preload {
namespace {

using KeepPtx = int (*)(const void* cubin, size_t bytes, unsigned count, const void* const* inputs,
                        const size_t* input_bytes, void** kept, size_t* kept_bytes);

// What a link has been given so far. Without memory for it, `lost` is set, and the cubin stays as it is.
struct Link {
  void* handle;
  unsigned count;
  void** inputs;
  size_t* bytes;
  bool lost;
  void* kept; // its cubin with PTX; null: as it is, or nobody has asked yet
  size_t kept_bytes;
  Link* next;
};

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
Link* links = nullptr;

class Locked {
public:
  Locked() { pthread_mutex_lock(&mutex); }
  ~Locked() { pthread_mutex_unlock(&mutex); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

Link* find(void* handle) {
  Link* link = links;
  while (link && link->handle != handle)
    link = link->next;
  return link;
}

void forget(void* handle) {
  for (Link** at = &links; *at; at = &(*at)->next)
    if ((*at)->handle == handle) {
      Link* link = *at;
      *at = link->next;
      for (unsigned i = 0; i < link->count; ++i)
        std::free(link->inputs[i]);
      std::free(link->inputs);
      std::free(link->bytes);
      std::free(link->kept);
      std::free(link);
      return;
    }
}

void remember(void* handle) {
  const Locked locked;
  forget(handle); // one that was destroyed by a name that is not known here
  auto* link = static_cast<Link*>(std::calloc(1, sizeof(Link)));
  if (!link)
    return;
  link->handle = handle;
  link->next = links;
  links = link;
}

// Takes memory of malloc's, or null, which is lost.
void add_input(void* handle, void* input, size_t bytes) {
  const Locked locked;
  Link* link = find(handle);
  if (!link) {
    std::free(input);
    return;
  }
  auto* inputs = static_cast<void**>(std::realloc(link->inputs, (link->count + 1) * sizeof(void*)));
  if (inputs)
    link->inputs = inputs;
  auto* sizes = static_cast<size_t*>(std::realloc(link->bytes, (link->count + 1) * sizeof(size_t)));
  if (sizes)
    link->bytes = sizes;
  if (!input || !inputs || !sizes) {
    link->lost = true;
    std::free(input);
    return;
  }
  inputs[link->count] = input;
  sizes[link->count++] = bytes;
}

void* copy_of(const void* data, size_t bytes) {
  void* copy = std::malloc(bytes + 1);
  if (copy && bytes > 0)
    std::memcpy(copy, data, bytes);
  return copy;
}

void* contents_of(const char* path, size_t* bytes) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  struct stat status{};
  void* contents = nullptr;
  if (file >= 0 && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    *bytes = static_cast<size_t>(status.st_size);
    contents = std::malloc(*bytes + 1);
    for (size_t at = 0; contents && at < *bytes;) {
      const ssize_t some = ::read(file, static_cast<char*>(contents) + at, *bytes - at);
      if (some <= 0) {
        std::free(contents);
        contents = nullptr;
      } else
        at += static_cast<size_t>(some);
    }
  }
  if (file >= 0)
    ::close(file);
  return contents;
}

// The function that gives the cubin whose size this one gives: of the same version.
Stand* cubin_of(const Stand& size) {
  char name[64];
  const char* word = std::strstr(size.symbol, "Size");
  const auto before = static_cast<size_t>(word - size.symbol);
  if (std::strlen(size.symbol) >= sizeof name)
    return nullptr;
  std::memcpy(name, size.symbol, before);
  std::strcpy(name + before, word + std::strlen("Size"));
  return stand_named(name);
}

// Attaches what there is to the link's cubin, the first time.
void keep(Link& link, Stand& size, size_t bytes) {
  Stand* stand = cubin_of(size);
  const auto get = stand ? reinterpret_cast<decltype(&nvJitLinkGetLinkedCubin)>(stand->found()) : nullptr;
  const auto keep_ptx = reinterpret_cast<KeepPtx>(dlsym(RTLD_DEFAULT, "cuLemmaKeepPtx"));
  void* cubin = get && keep_ptx ? std::malloc(bytes) : nullptr;
  if (cubin && get(link.handle, cubin) == 0 &&
      keep_ptx(cubin, bytes, link.count, link.inputs, link.bytes, &link.kept, &link.kept_bytes) != 0)
    link.kept = nullptr;
  std::free(cubin);
}

template <class Function>
Function* theirs_of(Stand& stand, Function*) {
  return reinterpret_cast<Function*>(stand.found());
}

int stand_in_Create(Stand& stand, void** handle, uint32_t count, const char** options) {
  const auto theirs = theirs_of(stand, &nvJitLinkCreate);
  if (!theirs)
    return kInvalidInput;
  int status = with_lines(count, options, [&](size_t n, const char* const* all) {
    return theirs(handle, static_cast<uint32_t>(n), const_cast<const char**>(all));
  });
  if (status != 0)
    status = theirs(handle, count, options);
  if (status == 0 && handle)
    remember(*handle);
  return status;
}

int stand_in_AddData(Stand& stand, void* handle, int type, const void* data, size_t bytes, const char* name) {
  const auto theirs = theirs_of(stand, &nvJitLinkAddData);
  const int status = theirs ? theirs(handle, type, data, bytes, name) : kInvalidInput;
  if (status == 0)
    add_input(handle, copy_of(data, bytes), bytes);
  return status;
}

int stand_in_AddFile(Stand& stand, void* handle, int type, const char* file) {
  const auto theirs = theirs_of(stand, &nvJitLinkAddFile);
  const int status = theirs ? theirs(handle, type, file) : kInvalidInput;
  if (status == 0) {
    size_t bytes = 0;
    void* contents = contents_of(file, &bytes);
    add_input(handle, contents, bytes);
  }
  return status;
}

int stand_in_GetLinkedCubinSize(Stand& stand, void* handle, size_t* bytes) {
  const auto theirs = theirs_of(stand, &nvJitLinkGetLinkedCubinSize);
  const int status = theirs ? theirs(handle, bytes) : kInvalidInput;
  if (status != 0 || !bytes)
    return status;
  const Locked locked;
  Link* link = find(handle);
  if (link && !link->kept && !link->lost && link->count > 0)
    keep(*link, stand, *bytes);
  if (link && link->kept)
    *bytes = link->kept_bytes;
  return status;
}

int stand_in_GetLinkedCubin(Stand& stand, void* handle, void* cubin) {
  {
    const Locked locked;
    if (Link* link = find(handle); link && link->kept && cubin) {
      std::memcpy(cubin, link->kept, link->kept_bytes);
      return 0;
    }
  }
  const auto theirs = theirs_of(stand, &nvJitLinkGetLinkedCubin);
  return theirs ? theirs(handle, cubin) : kInvalidInput;
}

int stand_in_Destroy(Stand& stand, void** handle) {
  if (handle) {
    const Locked locked;
    forget(*handle);
  }
  const auto theirs = theirs_of(stand, &nvJitLinkDestroy);
  return theirs ? theirs(handle) : kInvalidInput;
}

} // namespace
} // namespace lemma::preload

using namespace lemma::preload;

#define ARGUMENTS_Create handle, count, options
#define ARGUMENTS_AddData handle, type, data, bytes, name
#define ARGUMENTS_AddFile handle, type, file
#define ARGUMENTS_GetLinkedCubinSize handle, bytes
#define ARGUMENTS_GetLinkedCubin handle, cubin
#define ARGUMENTS_Destroy handle
#define DEFINE(name, symbol)                                                                                 \
  EXPORTED int symbol PARAMETERS_##name {                                                                    \
    return stand_in_##name(stand_of(reinterpret_cast<void*>(symbol)), ARGUMENTS_##name);                     \
  }
EACH_LINK_NAME(DEFINE)
