// What two accesses that nothing orders are called, and what would order them. See checker.h.
#include "check/checker.h"
#include "check/edits.h"
#include "check/value.h"
#include "isa/effects.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/exec.h"
#include "vgpu/memory/place.h"
#include "vgpu/memory/racing_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>

namespace lemma::check {

using vgpu::AsyncGroup;
using vgpu::AsyncKind;
using vgpu::Proxy;

namespace {

// What is there now.
std::vector<std::byte> bytes_of(const vgpu::MemoryPlace& place, size_t bytes) {
  std::vector<std::byte> found(bytes);
  vgpu::copy_racing(found.data(), place.host, bytes);
  return found;
}

// "stores 4 bytes", "atomically updates 4 bytes (relaxed.gpu)", "tensor load writes, in the async proxy".
std::string deed(const Record& record) {
  if (record.asynchronous)
    return fmt::format("{} {}{}", to_string(record.kind), record.writes ? "writes" : "reads",
                       record.proxy == Proxy::async ? ", in the async proxy" : "");
  const std::string order = record.is_strong() && !record.mbarrier
                                ? fmt::format(" ({}.{})", vgpu::to_string(record.order.semantics),
                                              vgpu::to_string(record.order.scope))
                                : "";
  return fmt::format("{} {} bytes{}",
                     record.atomic   ? "updates"
                     : record.writes ? "writes"
                                     : "reads",
                     record.bytes, order);
}

const char* scope_that_reaches(Distance distance) {
  return distance == kSameGpu ? "gpu" : distance == kSameCluster ? "cluster" : "cta";
}

Spot spot_of(const Record& record) {
  return {record.code, record.instruction};
}

// Of two strong accesses, those whose scope does not reach the other's thread.
std::string too_narrow(const Record& a, const Record& b) {
  const Distance distance = distance_between(a, b);
  const bool of_a = !includes(a.order.scope, distance), of_b = !includes(b.order.scope, distance);
  const std::string name = opcode_text(spot_of(of_a ? a : b));
  return of_a && of_b && opcode_text(spot_of(b)) != name ? "both" : name;
}

// What a thread has to do after it has issued the operation, so that others, so far away, may touch its
// memory, as `access` does; nullopt: it itself. `committed`: the operation is in a group.
Advice completion_of(const Record& operation, std::optional<Distance> distance, bool committed,
                     const Record& access) {
  // Of other CTAs no barrier is known that they all come to.
  const auto by = [&](const char* text) {
    std::vector<Remedy> remedies;
    if (!distance || *distance == kSameCta)
      remedies.push_back({.kind = Remedy::Kind::wait,
                          .text = text,
                          .at = spot_of(access),
                          .from = spot_of(operation),
                          .together = distance ? Together::cta : Together::thread,
                          .then = distance ? barrier_of(Together::cta).text : ""});
    return remedies;
  };
  const std::string then = !distance ? ""
                           : *distance == kSameCta
                               ? ", then a barrier towards the others"
                               : fmt::format(", then a release (scope .{}) that the others acquire",
                                             scope_that_reaches(*distance));
  switch (operation.group) {
  case AsyncGroup::cp_async:
    return {fmt::format("{} by the issuing thread{}",
                        committed ? "cp.async.wait_group (or wait_all)"
                                  : "cp.async.commit_group and wait_group (or wait_all)",
                        then),
            by("cp.async.wait_all;")};
  case AsyncGroup::wgmma:
    return {fmt::format("wgmma.commit_group and wgmma.wait_group{}",
                        distance ? ", then a barrier or an mbarrier arrival towards the others" : ""),
            by("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;")};
  case AsyncGroup::bulk:
    return {fmt::format("cp.async.bulk.commit_group and wait_group{} by the issuing thread{}",
                        operation.writes ? " (without .read)" : ".read", then),
            by(operation.writes ? "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;"
                                : "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;")};
  case AsyncGroup::tensor_st: // by the rules of tensor memory
  case AsyncGroup::none:
    break;
  }
  if (operation.kind == AsyncKind::tensor_mma || operation.kind == AsyncKind::tensor_cp)
    return "tcgen05.commit behind it, and a wait on its mbarrier (mbarrier.try_wait until it is true)";
  return "a wait on the mbarrier that the operation completes on (mbarrier.try_wait until it is true)";
}

// Global: as the program has it; shared: in the CTA's window.
uint64_t address_of(const vgpu::MemoryPlace& place) {
  return (place.allocation ? place.allocation->base : 0) + place.offset;
}

bool is_written(const vgpu::MemoryPlace& place, uint64_t bytes) {
  if (place.is_shared()) {
    const auto begin = place.cta->shared_written.begin() + static_cast<ptrdiff_t>(place.offset);
    return std::find(begin, begin + static_cast<ptrdiff_t>(bytes), 0) ==
           begin + static_cast<ptrdiff_t>(bytes);
  }
  return !place.allocation->init || place.allocation->init->all_set(place.offset, bytes);
}

} // namespace

struct Checker::Verdict {
  const char* id;
  std::string message;
  Advice fix;
  bool is_note = false;
};

namespace {

// How far the two threads are from each other: what orders those that are the farthest orders all.
constexpr uint8_t kSameWarp = 0, kOtherWarp = 1;

uint8_t width_between(const Record& a, const Record& b) {
  const Distance distance = distance_between(a, b);
  return distance == kSameCta && a.warp == b.warp
             ? kSameWarp
             : static_cast<uint8_t>(kOtherWarp + static_cast<uint8_t>(distance));
}

} // namespace

// How far the thread that has issued the operation is with it.
struct Checker::Progress {
  enum { unknown, uncommitted, waited_for_fewer, complete } state = unknown;
  std::string wait = {}; // "cp.async.wait_group 1"
};

Checker::Progress Checker::progress_of(const ClusterState& cluster, const Record& operation, int lane) {
  if (operation.cluster != cluster.id || operation.group == AsyncGroup::none)
    return {};
  const WarpKnowledge& issuer =
      cluster.warps[operation.cta_rank * cluster.warps_per_cta + operation.warp].knowledge;
  const LaneGroups* const lanes = operation.group == AsyncGroup::cp_async ? issuer.copies.get()
                                  : operation.group == AsyncGroup::bulk   ? issuer.bulk.get()
                                                                          : nullptr;
  const GroupsOfThread& groups = lanes ? lanes->lanes[static_cast<size_t>(lane)] : issuer.products;
  const bool is_read = operation.group == AsyncGroup::bulk && !operation.writes;
  if ((is_read ? groups.read : groups.done) >= operation.epoch)
    return {Progress::complete};
  if (groups.open <= operation.epoch)
    return {Progress::uncommitted};
  if (groups.waited <= operation.epoch)
    return {};
  const char* const wait =
      operation.group == AsyncGroup::cp_async ? "cp.async.wait_group"
      : operation.group == AsyncGroup::bulk
          ? (groups.waited_for_reads ? "cp.async.bulk.wait_group.read" : "cp.async.bulk.wait_group")
          : "wgmma.wait_group";
  return {Progress::waited_for_fewer, fmt::format("{} {}", wait, groups.waited_but)};
}

// Of two threads: the one has read what the other, or its CTA, has written strongly.
Checker::Attempt Checker::attempt(const Visit& visit, const Record& earlier, int earlier_lane, int lane) {
  const LaneGroup& group = visit.accessor.warp.knowledge.group_of(lane);
  for (const Knowledge& seen : group.seen)
    if (seen.known.covers(earlier.cluster, earlier.agent, earlier_lane, earlier.epoch))
      return {group.fenced_narrowly ? Attempt::narrow : Attempt::relaxed, group.seen_by, true};
  Attempt best;
  // Of several the most telling: too narrow, written by the thread of the access, read by this one, the
  // first.
  std::tuple<bool, bool, bool, bool> rank;
  const ClusterState::Hearsay& hearsay = visit.cluster.hearsay[visit.accessor.record.cta_rank];
  const size_t count = hearsay.heard.size();
  for (size_t i = 0; i < count; ++i) {
    const Heard& heard = hearsay.heard[(hearsay.next + i) % count];
    const bool is_own = heard.agent == visit.accessor.warp.knowledge.agent();
    const bool follows =
        is_own || group.knowledge.known.covers_any(visit.cluster.id, heard.agent, heard.epoch);
    if (!follows || !heard.knew->clock().covers(earlier.cluster, earlier.agent, earlier_lane, earlier.epoch))
      continue;
    const std::tuple its(heard.narrow,
                         heard.writer_cluster == earlier.cluster && heard.writer == earlier.agent, is_own,
                         heard.by.write.instruction &&
                             !isa::effects_of(heard.by.write.ptx().opcode).has(isa::effect::reduces));
    if (best.kind != Attempt::none && its <= rank)
      continue;
    best = {heard.narrow ? Attempt::narrow : Attempt::relaxed, {heard.by}, heard.is_released};
    rank = its;
  }
  return best;
}

namespace {

// What mends synchronization that two threads have, and that does not order them. If its scope is too narrow,
// it is between CTAs.
Advice mended(bool narrow, bool is_released, const std::vector<SyncPair>& by, Distance distance,
              const Record& earlier, const Record& later) {
  const std::string scope = scope_that_reaches(std::max(distance, kSameCluster));
  using Kind = Remedy::Kind;
  std::vector<Remedy> remedies;
  const auto add = [&](Kind kind, const Spot& at, const Record& access) {
    if (at.instruction)
      remedies.push_back({.kind = kind, .text = scope, .at = at, .from = spot_of(access)});
  };
  for (const SyncPair& pair : by) {
    if (narrow || !is_released)
      add(narrow ? Kind::widen_release : Kind::release, pair.write, earlier);
    add(narrow ? Kind::widen_acquire : Kind::acquire, pair.read, later);
  }
  if (narrow)
    return {
        fmt::format("scope .{} for the release and for the acquire, and for the fences beside them", scope),
        std::move(remedies)};
  const std::string release = "a release after the first (.release on the write or arrival that the other "
                              "sees, or fence.acq_rel before that)";
  const std::string acquire = "an acquire before the second (.acquire on the read or wait that sees it, or "
                              "fence.acq_rel after that)";
  return {is_released ? acquire + "; the release is there" : release + " and " + acquire,
          std::move(remedies),
          {},
          "the access before the write that the other sees, or a write behind it with a release"};
}

// What orders two threads that have nothing. Those that wait for each other by something else need not all
// come to a barrier at that place.
Advice order_between(Distance distance, Roles roles, const Record& earlier, const Record& later) {
  if (distance == kSameGpu)
    return "a release by the one (fence or .release, scope .gpu) that the other acquires";
  const Together together = distance == kSameCta ? Together::cta : Together::cluster;
  std::string words = fmt::format("{} between them", barrier_of(together).words);
  if (roles == Roles::arrivals)
    words += fmt::format(", or an arrival{} after the first that the second waits for",
                         distance == kSameCta ? "" : " (.release.cluster)");
  if (roles == Roles::flags)
    words += "; or, if a lock or a flag is to order the two, bar.warp.sync before it is handed on and after "
             "it was taken";
  if (roles == Roles::flags || (roles == Roles::arrivals && distance == kSameCluster))
    return words;
  return {std::move(words), {meeting(together, spot_of(earlier), spot_of(later))}};
}

} // namespace

namespace {

Advice order_within_warp(const Record& earlier, const Record& later) {
  return {fmt::format("{} between them", barrier_of(Together::warp).words),
          {meeting(Together::warp, spot_of(earlier), spot_of(later))}};
}

Advice without_nc(const Record& load) {
  std::string opcode = opcode_text(spot_of(load));
  if (const size_t nc = opcode.find(".nc"); nc != opcode.npos)
    opcode.erase(nc, 3);
  return {"ld.global without .nc", {{.kind = Remedy::Kind::order, .text = opcode, .at = spot_of(load)}}};
}

// The access with a scope that includes the other's thread.
Remedy reaching(const Record& access, Distance distance) {
  const bool reaches = includes(access.order.scope, distance);
  return {.kind = Remedy::Kind::order,
          .text = reaches ? opcode_text(spot_of(access))
                          : with_order(spot_of(access), "", scope_that_reaches(distance)),
          .at = spot_of(access)};
}

// Of the tensor map that the operation uses.
std::string map_fence(const Spot& operation) {
  const SourceText& source = *operation.code->module->source;
  for (const ptx::Operand& operand : operation.ptx().operands)
    if (operand.kind == ptx::OperandKind::address && operand.elems.size() > 1)
      return fmt::format("fence.proxy.tensormap::generic.acquire.gpu [{}], 128;",
                         source.slice(operand.elems[0].range));
  return "";
}

Advice with_map_fence(const Record& operation) {
  return {"fence.proxy.tensormap::generic.acquire by the thread that uses it, after the synchronization that "
          "orders the change",
          {{.kind = Remedy::Kind::before, .text = map_fence(spot_of(operation)), .at = spot_of(operation)}}};
}

Advice with_proxy_fence(const Record& operation) {
  return {"fence.proxy.async between the two, by the thread of the access or after the synchronization that "
          "orders it",
          {{.kind = Remedy::Kind::before, .text = "fence.proxy.async;", .at = spot_of(operation)}}};
}

Advice with_init_fence(const Record& init) {
  return {
      "fence.mbarrier_init.release.cluster after the initialization, or .release and .acquire on what the "
      "two threads synchronize by",
      {{.kind = Remedy::Kind::behind, .text = "fence.mbarrier_init.release.cluster;", .at = spot_of(init)}}};
}

// The narrower of two with the type of the other: "ld.relaxed.gpu.u32" for "ld.relaxed.gpu.u8", if the
// register has room.
std::vector<Remedy> as_wide(const Record& narrow, uint32_t bytes) {
  const Spot spot = spot_of(narrow);
  const ptx::Instruction& instruction = spot.ptx();
  const isa::Effects does = isa::effects_of(instruction.opcode);
  const bool loads = is_load(does);
  if ((!loads && !is_store(does)) || instruction.operands.size() != 2)
    return {};
  const ptx::Operand& data = instruction.operands[loads ? 0 : 1];
  const int bits = 8 * static_cast<int>(bytes);
  if (data.kind != ptx::OperandKind::reg || data.component >= 0 ||
      isa::bits_of(narrow.code->function->registers[data.reg].type) < bits)
    return {};
  std::string opcode = opcode_text(spot_of(narrow));
  const std::string was = std::to_string(8 * narrow.bytes);
  if (!opcode.ends_with(was))
    return {};
  opcode.replace(opcode.size() - was.size(), was.size(), std::to_string(bits));
  return {{.kind = Remedy::Kind::order, .text = opcode, .at = spot_of(narrow)}};
}

Advice with_scopes(const Record& earlier, const Record& later, Distance distance) {
  return {fmt::format("scope .{} on {}", scope_that_reaches(distance), too_narrow(earlier, later)),
          {reaching(earlier, distance), reaching(later, distance)}};
}

// Of a strong and a weak access: a barrier where all come to one, else another opcode of the weak one, which
// orders what else it may hand on.
Advice strengthened(const Record& earlier, const Record& later, Distance distance) {
  const Record& weak = later.is_strong() ? earlier : later;
  std::vector<Remedy> barrier;
  if (distance != kSameGpu)
    barrier = {meeting(distance == kSameCluster     ? Together::cluster
                       : earlier.warp == later.warp ? Together::warp
                                                    : Together::cta,
                       spot_of(earlier), spot_of(later))};
  std::vector<Remedy> order{
      {.kind = Remedy::Kind::order,
       .text = with_order(spot_of(weak), weak.writes ? "release" : "acquire", scope_that_reaches(distance)),
       .at = spot_of(weak)}};
  return {"a strong access (.relaxed with a scope; .release and .acquire, if it hands other data on), or "
          "synchronization between them",
          barrier.empty() ? order : barrier, order};
}

} // namespace

Roles Checker::roles(const ClusterState& cluster) const {
  if (polls_shared_)
    return Roles::flags;
  return std::any_of(cluster.mbarriers.begin(), cluster.mbarriers.end(),
                     [](const auto& entry) { return entry.second.alive; }) ||
                 std::any_of(cluster.barriers.begin(), cluster.barriers.end(),
                             [](const auto& entry) { return entry.first.second != 0; })
             ? Roles::arrivals
             : Roles::none;
}

// The earlier access, or the later one, is of an operation that is not known to be complete.
Checker::Verdict Checker::judge_unwaited(const Visit& visit, const Record& earlier, int earlier_lane,
                                         int lane, const Attempt& attempt) {
  const Record& later = visit.accessor.record;
  const Distance distance = visit.accessor.distance(earlier);
  std::optional<Advice> tried;
  if (attempt.kind != Attempt::none)
    tried =
        mended(attempt.kind == Attempt::narrow, attempt.is_released, attempt.by, distance, earlier, later);
  const std::string issued =
      fmt::format("a {} is issued that {} this", to_string(later.kind), later.writes ? "writes" : "reads");
  if (!earlier.asynchronous) { // in another order of the two it is the case below
    const Advice completion = completion_of(later, distance, true, earlier);
    Advice order(fmt::format("a barrier, or an mbarrier, between the two; or, if the access is meant to "
                             "come after the operation, {}",
                             completion.words),
                 completion.remedies);
    return {
        "async.unwaited",
        fmt::format("{}, and nothing orders it after {}", issued, earlier.writes ? "the write" : "the read"),
        tried ? *tried : order};
  }
  const Progress progress = progress_of(visit.cluster, earlier, earlier_lane);
  std::string message = fmt::format("{} while a {} that {} it is not known to be complete",
                                    later.asynchronous ? issued
                                    : later.writes     ? "memory is written"
                                                       : "memory is read",
                                    to_string(earlier.kind), earlier.writes ? "writes" : "reads");
  if (progress.state == Progress::waited_for_fewer)
    message += fmt::format(": {} since then does not wait for it", progress.wait);
  if (progress.state == Progress::complete)
    message += ": the thread that has issued it has waited for it, and nothing orders this after that wait";
  if (tried)
    return {"async.unwaited", std::move(message), *tried};
  if (progress.state == Progress::complete)
    return {"async.unwaited", std::move(message),
            distance == kSameCta
                ? Advice("a barrier between that wait and this", {{.kind = Remedy::Kind::handed,
                                                                   .text = barrier_of(Together::cta).text,
                                                                   .at = spot_of(later),
                                                                   .from = spot_of(earlier),
                                                                   .together = Together::cta}})
                : fmt::format("a release after that wait (scope .{}) that this thread acquires",
                              scope_that_reaches(distance))};
  const bool of_one_warp = distance == kSameCta && earlier.warp == later.warp;
  const bool of_one_thread = of_one_warp && earlier_lane == lane;
  Advice fix = completion_of(earlier, of_one_thread ? std::nullopt : std::optional(distance),
                             progress.state != Progress::uncommitted, later);
  if (!later.asynchronous && later.writes && !earlier.writes && !of_one_warp)
    fix.words +=
        "; or, if the operation is meant to read what is written here, a barrier between this and its issue";
  return {"async.unwaited", std::move(message), std::move(fix)};
}

// A tensor map, which was changed in the generic proxy: a fence is missing, or does not reach the other
// thread.
Checker::Verdict Checker::judge_map(const Visit& visit, const Record& earlier, int earlier_lane, int lane) {
  const MapClocks& maps = visit.accessor.warp.knowledge.group_of(lane).knowledge.mapped;
  const Distance distance = visit.accessor.distance(earlier);
  const auto is_released = [&](Distance reach) {
    return maps.is_released(reach, earlier.cluster, earlier.agent, earlier_lane, earlier.epoch);
  };
  const auto is_acquired = [&](Distance reach) {
    const Clock* clock = maps.of(visit.accessor.map, reach);
    return clock && clock->covers(earlier.cluster, earlier.agent, earlier_lane, earlier.epoch);
  };
  if (!is_released(distance) && is_released(kSameCta))
    return {"race.scope",
            "a tensor map is used that was changed in the generic proxy, and its release fence is too narrow",
            fmt::format("fence.proxy.tensormap::generic.release of scope .{}", scope_that_reaches(distance))};
  const std::string release = "fence.proxy.tensormap::generic.release after the change, before the "
                              "synchronization that orders it";
  const bool has_acquire = maps.of(visit.accessor.map, kSameCta) != nullptr;
  if (!is_released(distance) && has_acquire)
    return {
        "race.proxy",
        "a tensor map is used that was changed in the generic proxy, without a release fence of its proxy",
        release};
  if (is_acquired(kSameCta))
    return {"race.scope",
            "a tensor map is used that was changed in the generic proxy, and the acquire fence is too narrow",
            fmt::format("fence.proxy.tensormap::generic.acquire of scope .{}", scope_that_reaches(distance))};
  const char* message = "a tensor map is used that was changed in the generic proxy, without a proxy fence";
  if (!is_released(distance))
    return {"race.proxy", message, release + "; and " + with_map_fence(visit.accessor.record).words};
  return {"race.proxy", message, with_map_fence(visit.accessor.record)};
}

// The kinds of disorder, the most telling first.
Checker::Verdict Checker::judge(const Visit& visit, const Record& earlier, int earlier_lane, int lane,
                                bool in_words) const {
  const Accessor& now = visit.accessor;
  const Record& later = now.record;
  const Distance distance = now.distance(earlier);
  const bool known = now.is_known(earlier, earlier_lane, lane);
  const auto between = [&] {
    return !in_words ? Advice("")
           : distance == kSameCta && earlier.warp == later.warp
               ? order_within_warp(earlier, later)
               : order_between(distance, roles(visit.cluster), earlier, later);
  };
  if (later.nc || earlier.nc)
    return {"race.weak",
            "ld.global.nc reads data that this kernel writes: it may see old data, whatever orders the two",
            !in_words    ? Advice("")
            : known      ? without_nc(later.nc ? later : earlier)
            : earlier.nc ? between()
                         : without_nc(later).and_also(between())};
  const Attempt attempt = Checker::attempt(visit, earlier, earlier_lane, lane);
  if ((earlier.asynchronous || later.asynchronous) && !known)
    return in_words ? judge_unwaited(visit, earlier, earlier_lane, lane, attempt)
                    : Verdict{"async.unwaited", "", ""};
  if (later.proxy == Proxy::tensormap && known)
    return judge_map(visit, earlier, earlier_lane, lane);
  if (later.asynchronous && later.proxy == Proxy::async)
    return {"race.proxy",
            fmt::format("a {} {} what was {} in the generic proxy, without a proxy fence",
                        to_string(later.kind), later.writes ? "overwrites" : "reads",
                        earlier.writes ? "written" : "read"),
            in_words ? with_proxy_fence(later) : "",
            // The ISA does not say in which proxy these two write, nor in which one objects are invalidated.
            later.kind == AsyncKind::st_async || later.kind == AsyncKind::red_async || earlier.initializes};
  if (earlier.initializes || later.initializes)
    return {"mbarrier.init",
            "an mbarrier object is initialized or invalidated, and used, with nothing that orders the two",
            !in_words ? Advice("")
            : attempt.kind == Attempt::relaxed && distance != kSameGpu
                ? with_init_fence(earlier.initializes ? earlier : later)
                : order_between(std::min(distance, kSameCluster), Roles::none, earlier, later),
            // A wait has its answer before its thread arrives anywhere, and the ISA does not say what more an
            // invalidation needs.
            later.initializes && !earlier.writes && attempt.kind == Attempt::relaxed};
  if (earlier.mbarrier != later.mbarrier)
    return {"mbarrier.plain",
            "the memory of an mbarrier object is accessed as plain memory",
            {"mbarrier instructions alone, from its mbarrier.init to its mbarrier.inval",
             without(spot_of(earlier.mbarrier ? later : earlier))}};
  const bool both_write = earlier.writes && later.writes;
  const std::string accesses = both_write ? "writes" : "a read and a write";
  if (later.is_strong() && earlier.is_strong()) {
    if (later.bytes != earlier.bytes)
      return {"race.mixed-size",
              "strong accesses of different sizes overlap: they are not ordered",
              {"accesses of one size, or synchronization between them",
               in_words ? as_wide(later.bytes < earlier.bytes ? later : earlier,
                                  std::max(later.bytes, earlier.bytes))
                        : std::vector<Remedy>{}}};
    return {"race.scope",
            fmt::format("{} whose scopes do not include each other's thread",
                        both_write ? "strong writes" : "a strong read and a strong write"),
            in_words ? with_scopes(earlier, later, distance) : ""};
  }
  if (later.is_strong() != earlier.is_strong())
    return {"race.weak",
            later.atomic || earlier.atomic ? "an atomic operation and a weak access that nothing orders"
                                           : "a strong and a weak access that nothing orders",
            !in_words                       ? Advice("")
            : attempt.kind == Attempt::none ? strengthened(earlier, later, distance)
                                            : mended(attempt.kind == Attempt::narrow, attempt.is_released,
                                                     attempt.by, distance, earlier, later)
                                                  .or_strong(strengthened(earlier, later, distance).or_else)};
  if (attempt.kind == Attempt::narrow)
    return {"race.scope", fmt::format("{} that synchronize with too narrow a scope", accesses),
            in_words ? mended(true, false, attempt.by, distance, earlier, later) : ""};
  if (attempt.kind == Attempt::relaxed)
    return {"race.weak", fmt::format("{} that only relaxed or volatile accesses order", accesses),
            in_words ? mended(false, attempt.is_released, attempt.by, distance, earlier, later) : ""};
  const char* id = !visit.place.is_shared() ? "race.global"
                   : distance == kSameCta   ? "race.shared"
                                            : "race.cluster";
  return {id, fmt::format("{} that nothing orders", accesses), between()};
}

Dim3 Checker::cta_of(const Record& record) const {
  const Dim3& grid = launch_->config.grid;
  const Dim3& size = launch_->config.cluster;
  const auto coordinates = [](uint64_t linear, const Dim3& of) {
    return Dim3{static_cast<uint32_t>(linear % of[0]), static_cast<uint32_t>(linear / of[0] % of[1]),
                static_cast<uint32_t>(linear / of[0] / of[1])};
  };
  const Dim3 cluster = coordinates(record.cluster, {grid[0] / size[0], grid[1] / size[1], grid[2] / size[2]});
  const Dim3 within = coordinates(record.cta_rank, size);
  Dim3 cta{};
  for (size_t i = 0; i < 3; ++i)
    cta[i] = cluster[i] * size[i] + within[i];
  return cta;
}

// The piece of the same execution that has accessed the place last.
std::optional<int> Checker::earlier_piece(const Visit& visit, uint64_t offset) {
  if (!visit.access)
    return {};
  for (LaneMask before = visit.access->pieces & ((LaneMask{1} << visit.piece) - 1); before != 0;) {
    const int piece = std::bit_width(before) - 1;
    before &= ~(LaneMask{1} << piece);
    const uint64_t begin = visit.access->offset(piece);
    if (offset >= begin && offset < begin + visit.access->piece_bytes)
      return piece;
  }
  return {};
}

CheckedAccess Checker::describe(const Record& record, int lane) const {
  const bool whole = record.kind == AsyncKind::wgmma && record.asynchronous;
  return described(statement_of(record, whole ? -1 : lane), deed(record));
}

// Its value: what a store has in registers; of other accesses what is there now.
CheckedAccess Checker::describe_later(const Visit& visit, int lane) const {
  const Record& record = visit.accessor.record;
  CheckedAccess access = describe(record, lane);
  access.address = address_of(visit.place);
  if (!visit.access || record.mbarrier)
    return access;
  std::vector<std::byte> value;
  if (record.writes && !record.atomic)
    value = written_value(*visit.x, *visit.access, visit.piece);
  else if (is_written(visit.place, visit.bytes))
    value = bytes_of(visit.place, visit.bytes);
  if (!value.empty())
    access.value = value_text(value, *record.code, record.instruction);
  return access;
}

// Its address follows from what of it overlaps, since accesses are aligned; its value is what stands there,
// if nobody else can have changed that since.
CheckedAccess Checker::describe_earlier(const Visit& visit, const Cell& cell, uint64_t offset,
                                        Records::Id id) const {
  const Records& records = records_of(visit);
  const Record& record = records[Records::record_of(id)];
  CheckedAccess access = describe(record, Records::lane_of(id));
  if (record.asynchronous || !std::has_single_bit(record.bytes) || record.bytes > 16)
    return access;
  vgpu::MemoryPlace place = visit.place;
  place.offset = offset & ~uint64_t{record.bytes - 1u};
  place.host += static_cast<ptrdiff_t>(place.offset - visit.place.offset); // it may lie before
  access.address = address_of(place);
  if (record.mbarrier)
    return access;
  if (Records::record_of(id) == visit.number) // perhaps of this execution
    if (const std::optional<int> piece = earlier_piece(visit, offset)) {
      if (const std::vector<std::byte> value = written_value(*visit.x, *visit.access, *piece); !value.empty())
        access.value = value_text(value, *record.code, record.instruction);
      return access;
    }
  // Others on this host thread have done what they have told.
  const bool is_done = record.cluster == visit.cluster.id || launch_->workers == 1;
  const bool is_last = id == cell.write
                           ? cell.since == 0 || !writes_since(visit, cell)
                           : !record.writes && !writes_since(visit, cell) &&
                                 (!cell.write || !records[Records::record_of(cell.write)].asynchronous);
  if (is_done && is_last && visit.shadow->granule(offset) == record.bytes && is_written(place, record.bytes))
    access.value = value_text(bytes_of(place, record.bytes), *record.code, record.instruction);
  return access;
}

// Strong writes to the cell since its last weak one.
bool Checker::writes_since(const Visit& visit, const Cell& cell) const {
  const bool global = !visit.place.is_shared();
  if (cell.since & Cell::kSet)
    return (global ? global_sets_ : visit.cluster.sets)[cell.since & ~Cell::kSet].writers > 0;
  return cell.since && records_of(visit)[Records::record_of(cell.since)].writes;
}

// Both are writes. Of one execution of an instruction, the pieces are compared; else what it writes with what
// is there.
bool Checker::writes_the_same(const Visit& visit, uint64_t offset, const Record& earlier) const {
  if (!visit.access || earlier.asynchronous)
    return false;
  const std::vector<std::byte> now = written_value(*visit.x, *visit.access, visit.piece);
  if (now.empty())
    return false;
  if (const std::optional<int> piece = earlier_piece(visit, offset))
    return visit.access->offset(*piece) == visit.place.offset &&
           written_value(*visit.x, *visit.access, *piece) == now;
  return now == bytes_of(visit.place, now.size());
}

void Checker::conflict(Visit& visit, const Cell& cell, uint64_t offset, Records::Id earlier_id, int lane) {
  if (visit.access)
    visit.place = visit.access->access.at(visit.access->offset(visit.piece) - visit.access->access.offset);
  const Record& earlier = records_of(visit)[Records::record_of(earlier_id)];
  const int earlier_lane = Records::lane_of(earlier_id);
  const Record& later = visit.accessor.record;
  if (is_observed(visit, offset, earlier, earlier_lane, lane))
    return;
  const bool same = later.writes && earlier.writes && writes_the_same(visit, offset, earlier);
  const Verdict kind = judge(visit, earlier, earlier_lane, lane, false);
  const uint8_t width = width_between(earlier, later);
  const Key key = defect_key(kind.id, kind.is_note || same, earlier.instruction, later.instruction);
  if (is_reported(key, width)) // most are
    return;
  Verdict verdict = judge(visit, earlier, earlier_lane, lane, true);
  if (Records::record_of(earlier_id) == visit.number && earlier_piece(visit, offset))
    verdict.fix = "one lane alone, places of their own, or an atomic operation: both are of one execution of "
                  "one instruction";
  if (same) {
    verdict.is_note = true;
    verdict.message = "unordered writes of the same value";
  }
  const auto finding = [&] {
    const uint64_t first = std::max(offset, visit.place.offset);
    return Finding{
        .id = verdict.id,
        .is_note = verdict.is_note,
        .message = verdict.message,
        .memory = launch_->program->describe(visit.place.at(first - visit.place.offset), *launch_->entry),
        .access = describe_later(visit, lane),
        .earlier = describe_earlier(visit, cell, offset, earlier_id),
        .fix = {}};
  };
  if (verdict.is_note || !holds(visit, earlier_id, key, width, finding, verdict.fix))
    report(key, width, finding(), verdict.fix);
}

Checker::Key Checker::defect_key(const std::string& id, bool is_note, vgpu::InstId one, vgpu::InstId other) {
  return {id + (is_note ? " (note)" : ""), std::min(one, other), std::max(one, other)};
}

bool Checker::is_reported(const Key& key, uint8_t width) {
  const std::lock_guard lock(findings_mutex_);
  const auto found = found_.find(key);
  if (found == found_.end() || found->second.width < width)
    return false;
  ++found->second.finding.count;
  return true;
}

void Checker::report(const Key& key, uint8_t width, Finding finding, Advice advice) {
  const std::lock_guard lock(findings_mutex_);
  Found& kept = found_[key];
  finding.fix = advice.words;
  finding.barrier = advice.barrier();
  finding.count = kept.finding.count + 1;
  if (kept.finding.count == 0 || kept.width < width)
    kept = {std::move(finding), std::move(advice), width};
  else
    ++kept.finding.count;
}

void Checker::report(Finding finding, Advice advice, vgpu::InstId one, vgpu::InstId other) {
  const Key key = defect_key(finding.id, finding.is_note, one, other);
  report(key, 0, std::move(finding), std::move(advice));
}

} // namespace lemma::check
