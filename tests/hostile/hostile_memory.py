"""Ways to read host memory, or to write it: each of PATTERNS, an access of its own handler, at each of PLACES, where the kernel has
nothing. calls(pattern): a kernel a place, how its launch has to end, and what it leaves behind.

A kernel stores what it has read to its output, and `--keep-outputs` has that written after a fault, too: it holds what a legal access
gives, or zeros. Its input is an output as well, and stays as it was. The places of host memory are those that the process has, as
/proc says of it while it waits for the kernel's text."""

import dataclasses
import functools
import struct

IN_BYTES = 4097  # so that an aligned access at the last byte has one byte inside, whatever its size
OUT_BYTES = 1024
SHARED_BEGIN, SHARED_BYTES = 1024, 4096
SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW = 1 << 40, 2 << 40, 3 << 40
PARAM_BYTES = 16
LOCAL_BYTES = 256
INPUT = bytes(range(1, 256)) * 16 + b"\xee" * (IN_BYTES - 255 * 16)
LANES = 32

KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 values);
.extern .func (.param .b64 block) malloc(.param .b64 bytes);
.extern .func free(.param .b64 block);
.shared .align 1024 .b8 s[{shared}];
.func (.reg .b64 %address) of_a_frame() {{
  .local .align 16 .b8 frame[4096];
  mov.u64 %address, frame;
  ret;
}}
.visible .entry k(.param .u64 in, .param .u64 out) .reqntid {lanes} {{
  .local .align 16 .b8 own[{local}];
  .reg .b64 %in, %out, %a, %b, %l, %x<8>;
  .reg .b32 %t, %s, %r<8>;
  .reg .pred %p, %odd, %first, %last;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %x0, %t, 32;
  add.u64 %out, %out, %x0;
  mov.u32 %s, s;
  and.b32 %r0, %t, 1;
  setp.eq.u32 %odd, %r0, 1;
  setp.eq.u32 %first, %t, 0;
  setp.eq.u32 %last, %t, 31;
  mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0;
  mov.b64 %x0, 0; mov.b64 %x1, 0;
{own_words}
  // %b: the place; %a: each lane's address, by the pattern; %l: where it may be.
{place}
{lanes_text}
{access}
  st.global.v4.u32 [%out], {{%r0, %r1, %r2, %r3}};
  st.global.v2.u64 [%out+16], {{%x0, %x1}};
  ret;
}}
"""

# --- Patterns ---

# Lanes' addresses, by the place's and the bytes of an element; `beyond`: the place is past an end, so the last lane has it.


def one_place(bytes, beyond):
    return "  mov.b64 %a, %b;"


def side_by_side(bytes, beyond):
    first = -(LANES - 1) * bytes if beyond else 0
    return f"  mul.wide.u32 %x2, %t, {bytes};\n  add.s64 %a, %b, {first};\n  add.u64 %a, %a, %x2;"


def odd_lanes(bytes, beyond):
    """The others are where they may be."""
    return f"  mul.wide.u32 %x2, %t, {max(bytes, 16)};\n  add.u64 %a, %l, %x2;\n  @%odd mov.b64 %a, %b;"


@dataclasses.dataclass
class Pattern:
    space: str  # "global": no windows; "generic", "shared", "local", "const"
    bytes: int  # of an access, aligned to as many
    lanes: object
    access: str
    says: str = ""  # of every wrong place; else by the place
    verb: str = "read"
    idle: bool = False  # lanes at the place are not active: nothing is wrong
    named_bytes: int = 0  # in messages, where they are not `bytes`
    prints: bool = False  # the text at the place; none is at address 0


WAIT = """  WAIT:
  mbarrier.try_wait.parity.shared.b64 %p, [%s], 0;
  @!%p bra WAIT;
"""
BARRIER = """  @%first mbarrier.init.shared.b64 [%s], 1;
  @%first mbarrier.expect_tx.relaxed.cta.shared.b64 [%s], 64;
  bar.sync 0;
"""
READ_SHARED = "  ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%s+1024];"

PATTERNS = {
    "byte": Pattern("global", 1, one_place, "  @%last ld.global.u8 %r0, [%a];"),
    "vector": Pattern("generic", 16, one_place, "  ld.v4.u32 {%r0, %r1, %r2, %r3}, [%a];"),
    "side_by_side": Pattern("global", 4, side_by_side, "  ld.global.u32 %r0, [%a];"),
    "scattered": Pattern("generic", 8, odd_lanes, "  ld.u64 %x0, [%a];"),
    "idle_lanes": Pattern("generic", 4, odd_lanes, "  @!%odd ld.u32 %r0, [%a];", idle=True),
    "store": Pattern("global", 8, odd_lanes, "  st.global.v2.u32 [%a], {%t, %t};", verb="write"),
    "atomic": Pattern("generic", 8, side_by_side, "  atom.cas.b64 %x0, [%a], %x0, %x1;", verb="atomic access"),
    "copy": Pattern(
        "global",
        16,
        odd_lanes,
        "  mad.lo.u32 %s, %t, 16, %s;\n  cp.async.cg.shared.global [%s+1024], [%a], 16;\n  cp.async.wait_all;\n" + READ_SHARED,
    ),
    "bulk_load": Pattern(
        "global",
        16,
        one_place,
        BARRIER
        + "  @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s+1024], [%a], 64, [%s];\n"
        + "  @%first mbarrier.arrive.shared.b64 _, [%s];\n"
        + WAIT
        + READ_SHARED,
        named_bytes=64,
    ),
    "bulk_store": Pattern(
        "global",
        16,
        one_place,
        "  @%first st.shared.v4.u32 [%s], {1, 2, 3, 4};\n"
        "  @%first cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%a], [%s], 16;\n"
        "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;",
        verb="write|atomic access",
    ),
    "matrix": Pattern("shared", 16, odd_lanes, "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%a];"),
    "wmma": Pattern(
        "generic",
        32,
        one_place,
        "  .reg .b32 %w<8>;\n"
        "  wmma.load.a.sync.aligned.row.m16n16k16.f16 {%w0, %w1, %w2, %w3, %w4, %w5, %w6, %w7}, [%a], 16;\n"
        "  mov.b32 %r0, %w0; mov.b32 %r1, %w1; mov.b32 %r2, %w2; mov.b32 %r3, %w3;",
    ),
    "local": Pattern("local", 8, side_by_side, "  ld.local.v2.u32 {%r0, %r1}, [%a];"),
    "constant": Pattern("const", 4, one_place, "  ld.const.u32 %r0, [%a];"),
    "barrier": Pattern("shared", 8, one_place, "  @%last mbarrier.arrive.shared.b64 %x0, [%a];", verb="atomic access|read|write"),
    "hint": Pattern("global", 128, odd_lanes, "  prefetch.global.L2 [%a];\n  @%last discard.global.L2 [%a], 128;", verb="write"),
    # The sum of register and offset wraps at 2^64.
    "index": Pattern("generic", 4, side_by_side, "  add.s64 %a, %a, -2147483647;\n  ld.u32 %r0, [%a+2147483647];"),
    "tensor_map": Pattern(
        "generic",
        64,
        one_place,
        BARRIER
        + "  @%first cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%s+1024], [%a, {%r0, %r0}], [%s];\n"
        + READ_SHARED,
        named_bytes=128,
    ),
    "text": Pattern(
        "generic",
        1,
        one_place,
        "  { .param .b64 format; .param .b64 values; .param .b32 r; st.param.b64 [format], %a; st.param.b64 [values], %a;\n"
        "  @%last call (r), vprintf, (format, values); }",
        prints=True,
    ),
    "texture": Pattern(
        "global",
        1,
        one_place,
        "  tex.2d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%a, {%r0, %r0}];",
        says="the handle 0x[0-9a-f]+ is that of no texture",
    ),
}

# --- Places ---

# Of the process, as /proc calls them; a pattern takes one.
HOST_ADDRESS = "HOST_ADDRESS"  # in a text, until it is known
AREAS = ("the tool", "its data", "[heap]", "[stack]", "a library", "[vdso]")


@dataclasses.dataclass
class Area:
    begin: int
    end: int
    may_write: bool
    path: str


def address_in(areas, wanted, tool):
    """Of a page that the process has mapped; `tool`: the path of its program."""
    is_it = {
        "the tool": lambda area: area.path == tool,
        "its data": lambda area: area.path == tool and area.may_write,
        "a library": lambda area: ".so" in area.path,
    }.get(wanted, lambda area: area.path == wanted)
    area = next((area for area in areas if is_it(area)), areas[0])
    return area.end - 4096 if wanted == "[stack]" else area.begin


# Each: what sets %b, whether it is past an end, and what is said in each space.
def in_every_space(outside, own="the end of the lane's local memory", rank="it names CTA rank"):
    return {"global": outside, "generic": outside, "const": outside, "local": own, "shared": rank}


def null(pattern, index):
    return "  mov.b64 %b, 0;", False, in_every_space("a null pointer", rank="of the CTA's shared memory are the system's")


def before(pattern, index):
    return f"  sub.u64 %b, %in, {pattern.bytes};", False, in_every_space("bytes before arg 0")


def past_end(pattern, index):
    offset = IN_BYTES - 1 if pattern.bytes > 1 else IN_BYTES
    return f"  add.u64 %b, %in, {offset};", True, in_every_space("lie past the end|at the end of arg 0")


def gap(pattern, index):
    return "  add.u64 %b, %in, 524288;", False, in_every_space("bytes past the end of arg 0")


def window(pattern, index):
    """A window of the generic address space that is none of this space, or an end of what is in one."""
    shared_end = SHARED_BEGIN + SHARED_BYTES
    places = {
        "global": [
            (SHARED_WINDOW + SHARED_BEGIN, False, "a generic address of shared memory"),
            (LOCAL_WINDOW, False, "a generic address of local memory"),
            (PARAM_WINDOW, False, "a generic address of the kernel's parameters"),
        ],
        "generic": [
            (SHARED_WINDOW, False, "of the CTA's shared memory are the system's"),
            (SHARED_WINDOW + shared_end, True, "the end of the CTA's shared memory"),
            (SHARED_WINDOW + (1 << 24), False, "it names CTA rank 1 of a cluster of 1 CTA"),
            (SHARED_WINDOW + (1 << 32) - 32 * pattern.bytes, False, "it names CTA rank 255 of a cluster of 1 CTA"),
            (LOCAL_WINDOW + (1 << 24) - 32 * pattern.bytes, False, "past the end of the lane's local memory"),
            (PARAM_WINDOW + (PARAM_BYTES + pattern.bytes - 1) // pattern.bytes * pattern.bytes, True, "the end of the kernel's parameters"),
        ],
        "shared": [(shared_end, True, "at the end of the CTA's shared memory"), (1 << 24, False, "it names CTA rank 1 of a cluster of 1 CTA")],
        "local": [((1 << 24) - 32 * pattern.bytes, True, "past the end of the lane's local memory")],
        "const": [(PARAM_WINDOW, False, "a generic address of the kernel's parameters")],
    }[pattern.space]
    address, beyond, says = places[index % len(places)]
    return f"  mov.b64 %b, {address:#x};", beyond, {pattern.space: says}


def wrap(pattern, index):
    """The last bytes of all; lanes side by side go on at 0."""
    bytes = 16 * pattern.bytes if pattern.lanes is side_by_side else pattern.bytes
    return f"  mov.b64 %b, -{bytes};", False, in_every_space("far from every allocation")


def gone(pattern, index):
    """What was freed; a frame of a function that has returned; memory of a CTA that is not there."""
    if pattern.space == "shared":
        return f"  mov.b64 %b, {(5 << 24) + SHARED_BEGIN:#x};", False, {"shared": "it names CTA rank 5 of a cluster of 1 CTA"}
    if pattern.space == "local":
        return "  call (%b), of_a_frame;", False, {"local": "at the end of the lane's local memory"}
    return """  mov.b64 %x2, 8192;
  { .param .b64 bytes; .param .b64 block; st.param.b64 [bytes], %x2; call (block), malloc, (bytes); ld.param.b64 %b, [block]; }
  { .param .b64 block; st.param.b64 [block], %b; call free, (block); }
  mov.b64 {%r0, %r1}, %b;
  shfl.sync.idx.b32 %r0, %r0, 0, 31, -1;
  shfl.sync.idx.b32 %r1, %r1, 0, 31, -1;
  mov.b64 %b, {%r0, %r1};
  add.u64 %b, %b, 1023;
  and.b64 %b, %b, -1024;
  mov.b32 %r0, 0; mov.b32 %r1, 0;""", False, in_every_space("which was freed")


def host(pattern, index):
    return f"  mov.b64 %b, {HOST_ADDRESS};", False, in_every_space("far from every allocation")


PLACES = (null, before, past_end, gap, window, wrap, gone, host)

# --- Both ---


def word_of_own(index):
    return 0x01010101 * (index + 1)


def outputs_of(pattern, place):
    """What a run leaves that ends well; None: it does not."""
    if pattern.idle:
        return b"".join(bytes(32) if lane % 2 else INPUT[16 * lane :][:4] + bytes(28) for lane in range(LANES))
    if pattern.prints and place is null:
        return bytes(OUT_BYTES)
    if pattern.space == "local" and place is null:
        return b"".join(struct.pack("<2I", word_of_own(2 * lane), word_of_own(2 * lane + 1)) + bytes(24) for lane in range(LANES))
    return None


def text_of(pattern, place, index):
    place_text, beyond, says = place(pattern, index)
    legal = {"shared": "  cvt.u64.u32 %l, %s;", "local": "  mov.u64 %l, own;"}.get(pattern.space, "  mov.b64 %l, %in;")
    own = [", ".join(str(word_of_own(word + i)) for i in range(4)) for word in range(0, LOCAL_BYTES // 4, 4)]
    text = KERNEL.format(
        shared=SHARED_BYTES,
        local=LOCAL_BYTES,
        lanes=LANES,
        own_words="\n".join(f"  st.local.v4.u32 [own+{16 * i}], {{{words}}};" for i, words in enumerate(own)),
        place=place_text,
        lanes_text=legal + "\n" + pattern.lanes(pattern.bytes, beyond),
        access=pattern.access,
    )
    return text, says[pattern.space]


def with_address(text, area, areas, tool):
    return text.replace(HOST_ADDRESS, hex(address_in(areas, area, tool)))


def calls(make_call, name):
    """make_call: hostile_files.Call."""
    pattern, index = PATTERNS[name], list(PATTERNS).index(name)
    for place in PLACES:
        text, says = text_of(pattern, place, index)
        outputs = outputs_of(pattern, place)
        count = pattern.named_bytes or pattern.bytes
        size = f"{count} byte{'s' * (count > 1)}"
        fault = pattern.says or f"({pattern.verb}) of {size} at [^ ]+ address 0x[0-9a-f]+ is out of bounds: .*({says})"
        is_host = place is host
        yield make_call(
            f"run {'-' if is_host else '%d/k.ptx'} --grid 1 --block {LANES} --keep-outputs --arg inout=%d/in.bin:%d/left.bin "
            f"--arg out=%d/out.bin:{OUT_BYTES}",
            {"in.bin": INPUT, **({} if is_host else {"k.ptx": text})},
            exit="0" if outputs else "1",
            says="" if outputs else fault,
            input=functools.partial(with_address, text, AREAS[index % len(AREAS)]) if is_host else None,
            prints="",
            leaves={"left.bin": INPUT, "out.bin": outputs or bytes(OUT_BYTES)},
        )


def cases(make_call):
    return {f"memory_{name}": functools.partial(calls, make_call, name) for name in PATTERNS}
