// Bounds of programs. See bounds.h.
#include "nvgpu/bounds.h"

#include "nvgpu/late_init.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <mutex>
#include <vector>

namespace lemma::nvgpu {

using namespace mlir;

namespace {

constexpr unsigned kStackBytes = 1u << 28; // address space; memory only as far as it is used

// One pass over the text that knows strings, comments and brackets, and no more of the language.
class TextCheck {
public:
  explicit TextCheck(std::string_view text) : text_(text) {}

  std::optional<TextProblem> run() {
    while (at_ < text_.size() && !problem_)
      step();
    return problem_;
  }

private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void step() {
    const char c = peek();
    if (c == '"')
      return skip_string();
    if (c == '/' && peek(1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return;
    }
    if (!std::isspace(static_cast<unsigned char>(c))) {
      minus_ = c == '-' ? minus_ + 1 : 0;
      number_ = std::isxdigit(static_cast<unsigned char>(c)) || c == 'x' || c == '?' ? number_ + 1 : 0;
    }
    if (minus_ > kMaxNesting)
      return stop(fmt::format("more than {} minus signs in a row", kMaxNesting));
    if (number_ > kMaxNumber)
      return stop(fmt::format("a number or a shape of more than {} digits", kMaxNumber));
    if (c == '\n' && open_.empty() && expanded_ > 0)
      end_definition();
    if ((c == '#' || c == '!') && (std::isalpha(static_cast<unsigned char>(peek(1))) || peek(1) == '_'))
      return alias();
    if (c == '(' || c == '[' || c == '{' || (c == '<' && peek(1) != '='))
      open(c);
    else if (c == ')' || c == ']' || c == '}')
      close(c == ')' ? '(' : c == ']' ? '[' : '{');
    else if (c == '>' && at_ > 0 && text_[at_ - 1] != '-' && peek(1) != '=') // no arrow, no comparison
      if (!open_.empty() && open_.back() == '<')
        open_.pop_back();
    expanded_ += !defined_.empty() && !std::isspace(static_cast<unsigned char>(c));
    ++at_;
  }

  void skip_string() {
    const size_t begin = at_;
    for (++at_; at_ < text_.size() && peek() != '"' && peek() != '\n'; ++at_)
      at_ += peek() == '\\';
    ++at_;
    expanded_ += defined_.empty() ? 0 : at_ - begin;
  }

  void open(char bracket) {
    open_.push_back(bracket);
    if (open_.size() > kMaxNesting)
      stop(fmt::format("more than {} brackets are open here: so deep a nesting is not parsed", kMaxNesting));
  }

  // Brackets that do not match are the parser's to complain about.
  void close(char bracket) {
    const auto match = std::find(open_.rbegin(), open_.rend(), bracket);
    if (match != open_.rend())
      open_.erase(std::prev(match.base()), open_.end());
  }

  // "#name" or "!name": its definition, if "=" follows, else its text in place of it.
  void alias() {
    const size_t begin = at_;
    do
      ++at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) || (peek() && std::strchr("_$.", peek())));
    const llvm::StringRef name(text_.data() + begin, at_ - begin);
    size_t next = at_;
    while (next < text_.size() && std::isspace(static_cast<unsigned char>(text_[next])))
      ++next;
    if (open_.empty() && next < text_.size() && text_[next] == '=' && text_.substr(next, 2) != "==") {
      defined_ = name;
      at_ = next + 1;
      return;
    }
    const auto known = aliases_.find(name);
    const uint64_t bytes = known == aliases_.end() ? name.size() : known->second;
    (defined_.empty() ? total_ : expanded_) += bytes;
    if (expanded_ > kMaxAliasText || total_ > kMaxAliasText + kMaxAliasGrowth * text_.size()) {
      at_ = begin;
      stop("with its aliases put in, the program would be too long");
    }
  }

  // At the first end of a line outside of brackets.
  void end_definition() {
    aliases_[defined_] = expanded_;
    defined_ = {};
    expanded_ = 0;
  }

  void stop(std::string text) {
    const auto line =
        static_cast<uint32_t>(std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at_), '\n'));
    const size_t begin = at_ == 0 ? text_.npos : text_.rfind('\n', at_ - 1);
    problem_ = {line + 1, static_cast<uint32_t>(begin == text_.npos ? at_ + 1 : at_ - begin),
                std::move(text)};
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::vector<char> open_;
  size_t minus_ = 0;                  // signs in a row: the parser recurses for each
  size_t number_ = 0;                 // digits and 'x' in a row: the parser takes the cube of their number
  llvm::StringMap<uint64_t> aliases_; // bytes, others put in
  llvm::StringRef defined_;           // the alias whose definition this is
  uint64_t expanded_ = 0;             // bytes of that definition so far
  uint64_t total_ = 0;                // of all aliases that were used outside of definitions
  std::optional<TextProblem> problem_;
};

// Saturates.
int64_t product(ArrayRef<int64_t> sizes, int64_t first = 1) {
  int64_t all = first;
  for (const int64_t size : sizes)
    if (!ShapedType::isDynamic(size) && llvm::MulOverflow(all, size, all))
      return INT64_MAX;
  return all;
}

int64_t element_bytes(Type type) {
  if (type.isIntOrFloat())
    return static_cast<int64_t>(llvm::divideCeil(type.getIntOrFloatBitWidth(), 8));
  if (const auto complex = dyn_cast<ComplexType>(type))
    return 2 * element_bytes(complex.getElementType());
  if (const auto vector = dyn_cast<VectorType>(type))
    return product(vector.getShape(), element_bytes(vector.getElementType()));
  return 8;
}

// From the first byte to behind the last, whatever the strides; INT64_MAX: more than can be said.
int64_t span_bytes(ShapedType type) {
  const int64_t bytes = element_bytes(type.getElementType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  const auto memref = dyn_cast<MemRefType>(type);
  if (!memref || failed(memref.getStridesAndOffset(strides, offset)))
    return product(type.getShape(), bytes);
  const auto magnitude = [](int64_t n) { return ShapedType::isDynamic(n) ? 0 : n < 0 ? -(n + 1) + 1 : n; };
  int64_t span = 1;
  if (llvm::AddOverflow(span, std::max<int64_t>(0, magnitude(offset)), span))
    return INT64_MAX;
  for (const auto& [size, stride] : llvm::zip_equal(memref.getShape(), strides)) {
    int64_t reach = 0;
    if (ShapedType::isDynamic(size) || size == 0)
      continue;
    if (stride == INT64_MIN + 1 ||
        llvm::MulOverflow(size - 1, std::max<int64_t>(0, magnitude(stride)), reach) ||
        llvm::AddOverflow(span, reach, span))
      return INT64_MAX;
  }
  int64_t all = 0;
  return llvm::MulOverflow(span, bytes, all) ? INT64_MAX : all;
}

// What is too much about one type, its parts not looked into; empty: nothing.
std::string wrong_with(Type type) {
  if (const auto integer = dyn_cast<IntegerType>(type); integer && integer.getWidth() > kMaxIntegerBits)
    return fmt::format("integers of more than {} bits are not compiled", kMaxIntegerBits);
  const auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank())
    return {};
  if (shaped.getRank() > kMaxRank)
    return fmt::format("{} dimensions; legal: at most {}", shaped.getRank(), kMaxRank);
  if (mlir::isa<VectorType>(type))
    return product(shaped.getShape()) <= kMaxVectorElements
               ? ""
               : fmt::format("a vector, accumulator or fragment of more than {} elements is not compiled",
                             kMaxVectorElements);
  return span_bytes(shaped) <= kMaxMemrefBytes
             ? ""
             : fmt::format("more than {} bytes, which no process can address", kMaxMemrefBytes);
}

std::string shown(Type type) {
  constexpr size_t kMostShown = 200;
  std::string text;
  llvm::raw_string_ostream(text) << type;
  if (text.size() > kMostShown)
    text = text.substr(0, kMostShown) + "...";
  return text;
}

LogicalResult check_global(memref::GlobalOp global) {
  if (span_bytes(global.getType()) <= kMaxGlobalBytes)
    return success();
  return global.emitOpError() << "has more than " << kMaxGlobalBytes
                              << " bytes; allocate so much memory instead";
}

} // namespace

std::optional<TextProblem> check_text(std::string_view text) {
  return TextCheck(text).run();
}

LogicalResult check_sizes(ModuleOp program) {
  Type wrong;
  std::string why;
  AttrTypeWalker walker; // remembers what it has seen
  walker.addWalk([&](Type type) {
    why = wrong_with(type);
    if (why.empty())
      return WalkResult::advance();
    wrong = type;
    return WalkResult::interrupt();
  });
  const WalkResult result = program.walk<WalkOrder::PreOrder>([&](Operation* op) {
    const auto walk = [&](auto part) { return walker.walk(part).wasInterrupted(); };
    bool stopped = walk(Attribute(op->getAttrDictionary()));
    for (const Type type : op->getResultTypes())
      stopped = stopped || walk(type);
    for (Region& region : op->getRegions())
      for (Block& block : region)
        for (const Type type : block.getArgumentTypes())
          stopped = stopped || walk(type);
    if (stopped)
      op->emitOpError() << "has the type " << shown(wrong) << ": " << why;
    if (const auto global = dyn_cast<memref::GlobalOp>(op); global && !stopped)
      stopped = failed(check_global(global));
    return stopped ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {

// What LLVM's last fatal error was; written and read by the one thread that run_guarded() has let in.
std::string fatal_error;

// LLVM would print the reason and end the process.
void leave_on_fatal_error(void*, const char* reason, bool) {
  fatal_error = reason;
  if (llvm::CrashRecoveryContext* context = llvm::CrashRecoveryContext::GetCurrent())
    context->HandleExit(1);
}

std::string reason_of(const llvm::CrashRecoveryContext& context) {
  constexpr int kSignalBase = 128;
  const int signal = context.RetCode - kSignalBase;
  return !fatal_error.empty() ? fatal_error : signal > 0 ? strsignal(signal) : "no signal";
}

} // namespace

Result<void, Error> run_guarded(const std::string& program, const std::function<void()>& f) {
  static std::mutex one_at_a_time; // LLVM's targets and options are the process's
  const std::scoped_lock lock(one_at_a_time);
  initialize_llvm();
  // For good: handlers of signals are the process's, and another thread's HostGuard may stand on these. A
  // signal that no thread of ours recovers from does what it did before.
  llvm::CrashRecoveryContext::Enable();
  const llvm::ScopedFatalErrorHandler handler(leave_on_fatal_error);
  fatal_error.clear();
  llvm::CrashRecoveryContext context;
  const bool done = context.RunSafelyOnNewStack([&] { f(); }, kStackBytes);
  if (done)
    return {};
  return fail(Error{
      .kind = ErrorKind::internal,
      .text = fmt::format("internal error: MLIR or LLVM crashed on {} ({})", program, reason_of(context)),
      .messages = {}});
}

std::optional<std::string> run_recovered(const std::function<void()>& f) {
  fatal_error.clear();
  llvm::CrashRecoveryContext context;
  if (context.RunSafely([&] { f(); }))
    return std::nullopt;
  return reason_of(context);
}

} // namespace lemma::nvgpu
