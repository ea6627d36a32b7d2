// Signals of host code.
//
// The handler runs on a stack of its own, since the program's may be used up. It finds the host function by
// the pc, or, when that lies elsewhere (libc's abort, a copy of the runtime's), by the innermost return
// address on the stack that points into host code. The message is made without allocating and kept where a
// second signal finds it: only then come the parts that may themselves fail in a process that is no longer
// whole.
#include "nvgpu/host_code.h"

#include "support/printable.h"

#include "llvm/Support/Memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <string_view>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace lemma::nvgpu {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};
constexpr size_t kHandlerStackBytes = size_t{1} << 20;
constexpr uintptr_t kNearStackEnd = uintptr_t{1} << 20;
constexpr unsigned kSecondsToEnd = 2;

// Text of a fixed size, for a handler.
class Line {
public:
  Line& operator<<(std::string_view text) {
    const size_t bytes = std::min(text.size(), sizeof text_ - 1 - size_);
    std::memcpy(text_ + size_, text.data(), bytes);
    size_ += bytes;
    return *this;
  }
  Line& hex(uintptr_t value) {
    *this << "0x";
    for (int shift = 60; shift >= 0; shift -= 4)
      *this << std::string_view("0123456789abcdef" + (value >> shift & 15), 1);
    return *this;
  }
  const char* text() const { return text_; }
  size_t size() const { return size_; }

private:
  char text_[4096] = {};
  size_t size_ = 0;
};

// What the handler reads; made before any signal.
struct Guarded {
  std::string program;
  std::vector<HostFunction> functions; // sorted; names printable
  std::vector<CodeMemory::Range> code;
  std::function<void(const std::string&)> stopped;
  uintptr_t stack_low = 0, stack_high = 0; // of the thread, down to where it was when the guard began
  void* handler_stack = nullptr;
  stack_t old_stack = {};
  Line message;
  bool said = false;
};

// Whose guard is whose. A handler may neither allocate nor wait, and a thread_local of a library that was
// opened at run time is allocated when a thread first touches it; so this is a list, whose links stay.
struct Slot {
  std::atomic<pthread_t> thread = {};
  std::atomic<Guarded*> state = nullptr; // null: free
  Slot* next = nullptr;
};
std::atomic<Slot*> slots = nullptr;

Slot* slot_of_this_thread() {
  for (Slot* slot = slots; slot; slot = slot->next)
    if (slot->state && pthread_equal(slot->thread, pthread_self()))
      return slot;
  return nullptr;
}

// Of this thread; null: it has none.
Guarded* guarded() {
  const Slot* slot = slot_of_this_thread();
  return slot ? slot->state.load() : nullptr;
}

std::atomic<Guarded*> ending = nullptr; // the one whose process ends

// Handlers are the process's: the first guard sets them, the last takes them away.
std::mutex handlers_mutex; // of what follows, not for handlers
int guards = 0;
std::array<struct sigaction, kSignals.size()> old_actions = {};

void write_message(const Line& line) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.text(), line.size());
}

const HostFunction* function_at(uintptr_t address) {
  const auto inside = [&](const CodeMemory::Range& range) {
    return range.begin <= address && address < range.end;
  };
  if (std::none_of(guarded()->code.begin(), guarded()->code.end(), inside))
    return nullptr;
  const auto after = std::upper_bound(guarded()->functions.begin(), guarded()->functions.end(), address,
                                      [](uintptr_t at, const HostFunction& f) { return at < f.begin; });
  return after == guarded()->functions.begin() ? nullptr : &*std::prev(after);
}

struct Registers {
  uintptr_t pc = 0, sp = 0;
};

Registers registers_of([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  return {static_cast<uintptr_t>(registers[REG_RIP]), static_cast<uintptr_t>(registers[REG_RSP])};
#elif defined(__aarch64__)
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
  return {registers.pc, registers.sp};
#else
  return {};
#endif
}

// The innermost caller on the stack.
const HostFunction* caller_above(uintptr_t sp) {
  constexpr uintptr_t kWord = sizeof(uintptr_t);
  for (uintptr_t at = (std::max(sp, guarded()->stack_low) + kWord - 1) / kWord * kWord;
       at + kWord <= guarded()->stack_high; at += kWord) {
    uintptr_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(at), kWord);
    if (const HostFunction* function = function_at(word))
      return function;
  }
  return nullptr;
}

bool is_stack_overflow(int signal, uintptr_t address, uintptr_t sp) {
  const uintptr_t distance = address < sp ? sp - address : address - sp;
  return signal == SIGSEGV && distance < kNearStackEnd && address < guarded()->stack_low + kNearStackEnd;
}

std::string_view name_of(int signal) {
  switch (signal) {
  case SIGSEGV:
    return "SIGSEGV";
  case SIGBUS:
    return "SIGBUS";
  case SIGILL:
    return "SIGILL";
  case SIGFPE:
    return "SIGFPE";
  case SIGTRAP:
    return "SIGTRAP";
  default:
    return "SIGABRT";
  }
}

void describe(Line& line, int signal, uintptr_t address, uintptr_t sp) {
  if (is_stack_overflow(signal, address, sp)) {
    line << "the stack is used up (recursion without an end, or a large memref.alloca)";
  } else if (signal == SIGSEGV || signal == SIGBUS) {
    line << "no memory that may be accessed so, at address ";
    line.hex(address);
  } else if (signal == SIGFPE) {
    line << "division of an integer by zero, or its result does not fit";
  } else if (signal == SIGABRT) {
    line << "abort was called";
  } else {
    line << "a trap, or an illegal instruction";
  }
}

// A signal while the process ends, or it takes too long. On any thread.
void on_last_signal(int) {
  const Guarded* ended = ending;
  if (!ended->said)
    write_message(ended->message);
  _exit(1);
}

[[noreturn]] void end_process() {
  if (Guarded* nobody = nullptr; !ending.compare_exchange_strong(nobody, guarded()))
    for (;;)
      pause(); // another thread does
  struct sigaction last = {};
  last.sa_handler = on_last_signal;
  last.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (const int signal : kSignals)
    sigaction(signal, &last, nullptr);
  sigaction(SIGALRM, &last, nullptr);
  sigset_t all;
  sigfillset(&all);
  sigdelset(&all, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
  alarm(kSecondsToEnd);
  std::fflush(stdout); // the program's output before what is said about its end
  if (guarded()->stopped)
    guarded()->stopped(std::string(guarded()->message.text(), guarded()->message.size()));
  else
    write_message(guarded()->message);
  guarded()->said = true;
  std::fflush(stdout);
  _exit(1);
}

// Not a program's: what was there before gets it. Where that is no handler, the instruction runs again and
// traps again.
void as_before(int signal, siginfo_t* info, void* context) {
  const auto at = static_cast<size_t>(std::find(kSignals.begin(), kSignals.end(), signal) - kSignals.begin());
  const struct sigaction& old = old_actions[at];
  if ((old.sa_flags & SA_SIGINFO) != 0) {
    old.sa_sigaction(signal, info, context);
  } else if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) {
    old.sa_handler(signal);
  } else {
    sigaction(signal, &old, nullptr);
    if (info->si_code <= 0)
      raise(signal); // somebody sent it
  }
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const Registers registers = registers_of(context);
  const HostFunction* function = guarded() ? function_at(registers.pc) : nullptr;
  const HostFunction* caller = guarded() && !function ? caller_above(registers.sp) : nullptr;
  if (!function && !caller) {
    as_before(signal, info, context);
    return;
  }
  Line& line = guarded()->message;
  line << guarded()->program << ": fault[" << name_of(signal) << "]: " << (function ? "" : "in what ")
       << "host function " << (function ? function->name : caller->name) << (function ? ": " : " called: ");
  describe(line, signal, reinterpret_cast<uintptr_t>(info->si_addr), registers.sp);
  line << "\n  note: host code runs natively, in the process itself: lemma does not check what it does\n";
  end_process();
}

} // namespace

// --- CodeMemory

llvm::sys::MemoryBlock CodeMemory::allocateMappedMemory(llvm::SectionMemoryManager::AllocationPurpose purpose,
                                                        size_t bytes, const llvm::sys::MemoryBlock* near,
                                                        unsigned flags, std::error_code& error) {
  const llvm::sys::MemoryBlock block = llvm::sys::Memory::allocateMappedMemory(bytes, near, flags, error);
  const auto begin = reinterpret_cast<uintptr_t>(block.base());
  if (!error && purpose == llvm::SectionMemoryManager::AllocationPurpose::Code)
    code_.push_back({begin, begin + block.allocatedSize()});
  return block;
}

std::error_code CodeMemory::protectMappedMemory(const llvm::sys::MemoryBlock& block, unsigned flags) {
  return llvm::sys::Memory::protectMappedMemory(block, flags);
}

std::error_code CodeMemory::releaseMappedMemory(llvm::sys::MemoryBlock& block) {
  return llvm::sys::Memory::releaseMappedMemory(block);
}

// --- HostGuard

HostGuard::HostGuard(const std::string& program, std::vector<HostFunction> functions,
                     std::vector<CodeMemory::Range> code, std::function<void(const std::string&)> stopped) {
  auto* state = new Guarded;
  state->program = printable(program);
  state->functions = std::move(functions);
  for (HostFunction& function : state->functions)
    function.name = printable(function.name);
  std::sort(state->functions.begin(), state->functions.end(),
            [](const HostFunction& a, const HostFunction& b) { return a.begin < b.begin; });
  state->code = std::move(code);
  state->stopped = std::move(stopped);
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* low = nullptr;
    size_t bytes = 0;
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    state->stack_low = reinterpret_cast<uintptr_t>(low);
    state->stack_high = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  }
  state->handler_stack =
      mmap(nullptr, kHandlerStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (state->handler_stack != MAP_FAILED) {
    const stack_t stack = {.ss_sp = state->handler_stack, .ss_flags = 0, .ss_size = kHandlerStackBytes};
    sigaltstack(&stack, &state->old_stack);
  }
  const std::scoped_lock lock(handlers_mutex);
  Slot* slot = slots;
  while (slot && slot->state)
    slot = slot->next;
  if (!slot) {
    slot = new Slot; // for ever: a handler may be looking
    slot->next = slots;
    slots = slot;
  }
  slot->thread = pthread_self();
  slot->state = state;
  if (guards++ != 0)
    return;
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], &action, &old_actions[i]);
}

HostGuard::~HostGuard() {
  {
    const std::scoped_lock lock(handlers_mutex);
    if (--guards == 0)
      for (size_t i = 0; i < kSignals.size(); ++i)
        sigaction(kSignals[i], &old_actions[i], nullptr);
  }
  Slot* slot = slot_of_this_thread();
  const std::unique_ptr<Guarded> state(slot->state.exchange(nullptr));
  if (state->handler_stack != MAP_FAILED) {
    sigaltstack(&state->old_stack, nullptr);
    munmap(state->handler_stack, kHandlerStackBytes);
  }
}

} // namespace lemma::nvgpu
