"""Files that mean harm and are made rather than kept: bytes, huge numbers, and families of them. CASES: one test a name."""

import dataclasses
import pathlib
import random
import struct

import hostile_memory

ROOT = pathlib.Path(__file__).resolve().parents[2]
HUGE_BYTES = 1 << 40  # of a file that has no blocks


@dataclasses.dataclass
class Call:
    """One call of the lemma tool, or of lemma-record. %d in `args` is the folder that holds `files`; a number there is the size of a file that
    is nothing but zeros."""

    args: str
    files: dict
    exit: str = "2"  # a number, "nonzero" or "any"
    says: str = ""
    needs_mlir: bool = False
    input: object = None  # of the process's memory (hostile_memory.Area) and its program's path: the text of standard input
    prints: object = None  # what standard output is; None: anything
    leaves: dict = dataclasses.field(default_factory=dict)  # what files of the folder hold afterwards


# --- Tensor maps as JSON ---

MAP_KERNEL = b""".version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128]) {
  .reg .b64 %m; .reg .pred %p; .reg .b32 %t;
  .shared .align 1024 .b8 s[32768];
  .shared .align 8 .b64 bar;
  mbarrier.init.shared.b64 [bar], 1;
  mov.b64 %m, map;
  cvta.param.u64 %m, %m;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%m, {0, 0}], [bar];
  mov.b32 %t, 0;
  ret;
}
"""
GOOD_MAP = {
    "arg": "1",
    "type": '"f32"',
    "dims": "[32, 32]",
    "strides_bytes": "[128]",
    "box": "[8, 8]",
    "element_strides": "[1, 1]",
    "interleave": '"none"',
    "swizzle": '"none"',
    "oob_fill": '"zeros"',
    "l2_promotion": '"none"',
}
MAP_ARGS = "run %d/map.ptx --grid 1 --block 1 --arg tmap=@%d/map.json --arg buf=4096"


def with_map(text, exit="2", says="map.json"):
    return Call(MAP_ARGS, {"map.ptx": MAP_KERNEL, "map.json": text}, exit, says)


def map_text(**changed):
    keys = {**GOOD_MAP, **changed}
    return "{" + ", ".join(f'"{key}": {value}' for key, value in keys.items()) + "}"


JSON_BODIES = {
    "empty": b"",
    "blanks": b" " * 100000,
    "zeros": bytes(4096),
    "noise": random.Random(1).randbytes(4096),
    "truncated": map_text()[:40],
    "two": map_text() * 2,
    "null": b"null",
    "list": b"[" + b"0," * 100000 + b"0]",
    "number": b"1" + b"0" * 100000,
    "exponent": b"1e999999999",
    "string": b'"' + b"x" * 1000000 + b'"',
    "string_without_end": b'"' + b"\\" * 1000000,
    "no_utf8": b'{"\xff\xfe": "\xc0\x80"}',
    "half_a_surrogate": b'{"\\ud800": 1}',
    "byte_order_mark": b"\xef\xbb\xbf{}",
    "control_characters_in_a_key": map_text(**{"\\u001b[31m\\u0007\\u0000": "1"}),
    "control_characters_in_a_word": map_text(swizzle='"\\u001b[2J"'),
    "deep_lists": b"[" * 1000000,
    "deep_objects": b'{"a":' * 1000000,
    "deep_inside": map_text(dims="[" * 15 + "]" * 15),
    "many_keys": "{" + ",".join(f'"k{i}": {i}' for i in range(100000)) + "}",
}
JSON_VALUES = ["null", "true", "-1", "1.5", "18446744073709551616", '"x"', "{}", "[]", "[[1]]", "[null, -1]", "[1e300, 1]"]
HUGE_LIST = "[" + "1," * 1000000 + "1]"


def json_calls():
    for body in JSON_BODIES.values():
        yield with_map(body)
    for key in GOOD_MAP:
        for value in JSON_VALUES:
            legal = (key, value) == ("element_strides", "[]")
            yield with_map(map_text(**{key: value}), exit="0" if legal else "nonzero", says="arg|map")
    for key in ("dims", "strides_bytes", "box", "element_strides"):
        for value in (HUGE_LIST, "[0, 0]", "[18446744073709551615, 18446744073709551615]", "[1, 1, 1, 1, 1, 1]"):
            yield with_map(map_text(**{key: value}), exit="nonzero", says="arg|map")
    yield with_map(map_text(im2col='{"lower": [-129], "upper": [128], "channels_per_pixel": -1, "pixels_per_column": 0}'))
    yield with_map(map_text(im2col='{"lower": [], "upper": [], "channels_per_pixel": 1, "pixels_per_column": 1}'))
    yield with_map(HUGE_BYTES)


# --- Tensor maps as bytes ---


def forged_map_calls():
    choose = random.Random(2)
    for body in (bytes(128), b"\xff" * 128, *(choose.randbytes(128) for _ in range(12))):
        yield Call(
            "run %d/map.ptx --grid 1 --block 1 --arg bytes=@%d/map.bin",
            {"map.ptx": MAP_KERNEL, "map.bin": body},
            "1",
            "tensor map",
        )
    for body in (b"", bytes(127), bytes(129), bytes(1 << 20), HUGE_BYTES):
        yield Call("run %d/map.ptx --grid 1 --block 1 --arg bytes=@%d/map.bin", {"map.ptx": MAP_KERNEL, "map.bin": body}, "nonzero", "map")


# --- .npy ---

COPY_KERNEL = b""".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b64 %p; .reg .b32 %v;
  ld.param.u64 %p, [p];
  ld.global.u32 %v, [%p];
  st.global.u32 [%p], %v;
  ret;
}
"""


def npy(header, data=b"", magic=b"\x93NUMPY", version=b"\x01\x00", length=None):
    header = header.encode("latin-1")
    length = len(header) if length is None else length
    return magic + version + (struct.pack("<H", length & 0xFFFF) if version[0] == 1 else struct.pack("<I", length)) + header + data


def header(descr="'<f4'", order="False", shape="(4,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


NPY_BODIES = {
    "empty": b"",
    "magic_only": b"\x93NUMPY",
    "other_magic": npy(header(), bytes(16), magic=b"\x93NUMPX"),
    "version_0": npy(header(), bytes(16), version=b"\x00\x00"),
    "version_255": npy(header(), bytes(16), version=b"\xff\xff"),
    "length_beyond_the_file": npy(header(), bytes(16), length=65535),
    "length_of_4_gib": npy(header(), bytes(16), version=b"\x02\x00", length=0xFFFFFFFF),
    "length_0": npy(header(), bytes(16), length=0),
    "no_dictionary": npy("[1, 2]", bytes(16)),
    "dictionary_without_end": npy(header()[:-2], bytes(16)),
    "deep_dictionary": npy("{" * 60000, bytes(16)),
    "string_without_end": npy("{'descr': '<f4", bytes(16)),
    "no_shape": npy("{'descr': '<f4', 'fortran_order': False}", bytes(16)),
    "unknown_key": npy("{'\x1b[31m': 1}", bytes(16)),
    "fortran_order": npy(header(order="True", shape="(2, 2)"), bytes(16)),
    "order_of_neither": npy(header(order="Maybe"), bytes(16)),
    "objects": npy(header(descr="'|O'"), b"\x80\x04\x95\x10\x00\x00\x00"),
    "structured": npy(header(descr="[('a', '<f4')]"), bytes(16)),
    "big_endian": npy(header(descr="'>f4'"), bytes(16)),
    "elements_of_0_bytes": npy(header(descr="'<f0'"), bytes(16)),
    "elements_of_3_bytes": npy(header(descr="'<f3'"), bytes(12)),
    "elements_of_2_to_the_64_bytes": npy(header(descr="'<V18446744073709551616'"), bytes(16)),
    "elements_of_many_bytes": npy(header(descr="'|V18446744073709551615'", shape="(1,)"), bytes(16)),
    "control_characters": npy(header(descr="'\x1b[2J\x07'"), bytes(16)),
    "size_overflows": npy(header(shape="(4294967296, 4294967296)"), bytes(16)),
    "bytes_overflow": npy(header(shape="(4611686018427387905,)"), bytes(4)),
    "size_of_2_to_the_64": npy(header(shape="(18446744073709551616,)"), bytes(16)),
    "negative_size": npy(header(shape="(-4,)"), bytes(16)),
    "size_is_no_number": npy(header(shape="(x,)"), bytes(16)),
    "shape_is_no_tuple": npy(header(shape="4"), bytes(16)),
    "many_dimensions": npy(header(shape="(" + "2," * 20000 + ")"), bytes(16)),
    "truncated": npy(header(), bytes(15)),
    "no_data": npy(header()),
    "more_than_it_says": npy(header(), bytes(17)),
    "noise": b"\x93NUMPY\x01\x00" + random.Random(3).randbytes(4096),
}


def npy_calls():
    files = {"copy.ptx": COPY_KERNEL}
    for body in NPY_BODIES.values():
        yield Call("run %d/copy.ptx --grid 1 --block 1 --arg in=%d/x.npy", {**files, "x.npy": body}, "2", "x.npy")
    yield Call("run %d/copy.ptx --grid 1 --block 1 --arg in=%d/x.npy", {**files, "x.npy": HUGE_BYTES}, "2", "x.npy")
    # Legal, and not what the kernel, the comparison or the product needs.
    empty = npy(header(shape="(0, 18446744073709551615)"))
    yield Call("run %d/copy.ptx --grid 1 --block 1 --arg in=%d/x.npy", {**files, "x.npy": empty}, "1", "out of bounds|outside")
    yield Call(
        "run %d/copy.ptx --grid 1 --block 1 --arg out=%d/y.npy:16 --arg expect=%d/x.npy", {**files, "x.npy": empty}, "1", "expected 0"
    )
    product = "mma mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 %d/x.npy %d/x.npy"
    for shape in ("(0, 18446744073709551615)", "(18446744073709551615, 0)", "()", "(0, 0, 0)"):
        yield Call(product, {"x.npy": npy(header(descr="'<f2'", shape=shape), bytes(2 if shape == "()" else 0))}, "2", "x.npy")
    for name in ("objects", "size_overflows", "truncated", "noise"):
        yield Call(product, {"x.npy": NPY_BODIES[name]}, "2", "x.npy")


# --- Arguments that are numbers ---


def number_calls():
    for spec in (
        "buf=18446744073709551615",
        "buf=18446744073709551616",
        "buf=-1",
        "buf=1152921504606846976",
        "out=%d/y.npy:18446744073709551615",
        "out=%d/y.npy:f64[4294967296,4294967296]",
        "out=%d/y.npy:f64[2305843009213693953]",
        "out=%d/y.npy:f32[1,1",
        "out=%d/y.npy:[4]",
        "u32=4294967296",
        "f32=1e999",
        "in=%d",
        "tmap=@/dev/zero",
        "expect=%d/copy.ptx",
    ):
        yield Call(f"run %d/copy.ptx --grid 1 --block 1 --arg {spec}", {"copy.ptx": COPY_KERNEL}, "nonzero", "arg|memory|argument")


# --- PTX that is none ---


def ptx_calls():
    whole = (ROOT / "examples/gemm_mma/gemm_mma.ptx").read_bytes()
    bodies = [whole[: len(whole) * i // 24] for i in range(24)]
    choose = random.Random(4)
    bodies += [b"", bytes(100000), choose.randbytes(100000), b"\xef\xbb\xbf" + b"/*" * 100000, b"\x7fELF" + bytes(4096)]
    bodies += [b"(" * 100000, b"." * 100000, b'"' + b"x" * 100000, b"//" + b"x" * 1000000, HUGE_BYTES]
    for body in bodies:
        yield Call("verify %d/x.ptx", {"x.ptx": body}, "nonzero", "x.ptx")
        yield Call("run %d/x.ptx --grid 1 --block 1", {"x.ptx": body}, "nonzero", "x.ptx|kernel")


# --- MLIR without host code ---

MLIR_KERNEL = """module attributes {{gpu.container_module}} {{
  gpu.module @m [#nvvm.target<chip = "sm_90a">] {{
    gpu.func @k({arguments}) kernel {{
      {body}
      gpu.return
    }}
  }}
}}
"""


def mlir(body="", arguments=""):
    return MLIR_KERNEL.format(body=body, arguments=arguments).encode()


MLIR_BODIES = {
    "empty": b"",
    "zeros": bytes(4096),
    "noise": random.Random(5).randbytes(4096),
    "truncated": mlir()[:120],
    "deep_regions": b"module {" * 100000,
    "deep_attributes": b'"a.b"() {x = ' + b"[" * 100000,
    "deep_types": mlir(arguments="%a: " + "tuple<" * 100000),
    "deep_affine": b"#m = affine_map<(d0) -> (" + b"(" * 100000,
    "huge_integer_type": mlir(arguments="%a: i99999999"),
    "huge_memref": mlir(arguments="%a: memref<9223372036854775807x9223372036854775807xf32>"),
    "too_huge_memref": mlir(arguments="%a: memref<99999999999999999999999xf32>"),
    "huge_vector": mlir(body="%c = arith.constant dense<1.0> : vector<4294967296x4294967296xf32>"),
    "huge_rank": mlir(arguments="%a: memref<" + "1x" * 100000 + "f32>"),
    "huge_constant": mlir(body="%c = arith.constant " + "9" * 100000 + " : i64"),
    "no_utf8": mlir(body='"\xff\xfe\x1b[31m"() : () -> ()'),
    "unknown_operation": mlir(body='"evil.\\1B[31m"() : () -> ()'),
    "huge_accumulator": mlir(arguments="%a: !nvgpu.warpgroup.accumulator<fragmented = vector<9999999999x9999999999xf32>>"),
    "huge_map": mlir(
        arguments="%a: !nvgpu.tensormap.descriptor<tensor = memref<9999999999x9999999999xf16, 3>, swizzle = swizzle_128b, "
        "l2promo = none, oob = zero, interleave = none>"
    ),
}


def mlir_calls():
    for body in MLIR_BODIES.values():
        yield Call("compile %d/x.mlir", {"x.mlir": body}, "nonzero", "x.mlir|no gpu.module", needs_mlir=True)
    yield Call("compile %d/x.mlir", {"x.mlir": HUGE_BYTES}, "2", "x.mlir", needs_mlir=True)


# --- Recorded bits ---

RECORD = (ROOT / "tests/golden/sm_90a/carry.json").read_text()
CHECK = "lemma-record --check %d --filter carry/add.cc.u32"


def record_calls():
    kept = (ROOT / "tests/golden/sm_90a/carry.bin.zst").read_bytes()
    for text in ("", "null", "[" * 1000000, RECORD[:300], '{"stamp": 1}', '{"stamp": {}, "cases": []}', bytes(1000)):
        yield Call(CHECK, {"carry.json": text, "carry.bin.zst": kept}, "1", "carry.json")
    whole = '"kept":[256,0]'
    assert whole in RECORD
    for place in ("[256,18446744073709551615]", "[256,18446744073709549568]", "[18446744073709551615,0]"):
        files = {"carry.json": RECORD.replace(whole, '"kept":' + place), "carry.bin.zst": kept}
        yield Call(CHECK, files, "any", "carry")
        yield Call("lemma-record --trim %d --out %d/out --filter carry/add.cc.u32", files, "any", "")
    for text in ('"kept":[]', '"kept":null', '"kept":["a","b"]', '"kept":[1e99,-1]'):
        yield Call(CHECK, {"carry.json": RECORD.replace(whole, text), "carry.bin.zst": kept}, "any", "carry")
    # A frame that says that it holds 4 GiB.
    bomb = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 32) + b"\x01\x00\x00"
    for body in (b"", kept[:-5], bytes(100), random.Random(6).randbytes(1000), bomb, HUGE_BYTES):
        yield Call(CHECK, {"carry.json": RECORD, "carry.bin.zst": body}, "1", "carry.bin.zst")


# --- Fatbins, cubins, executables ---


def fatbin(payload, unpacked_bytes, flags=0x8011, count=1):
    entry = struct.pack("<HHIQIIHHIIIQQQ", 1, 0x101, 64, len(payload), len(payload), 0, 0, 9, 90, 0, 0, flags, 0, unpacked_bytes) + payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, count * len(entry)) + count * entry


def zstd_of_one_byte(byte, blocks):
    """A frame of blocks of 128 KiB, four bytes each."""
    block = lambda last: ((1 << 17) << 3 | 1 << 1 | last).to_bytes(3, "little") + byte
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", blocks << 17) + block(0) * (blocks - 1) + block(1)


def elf(machine, section_offset, sections, section_bytes=64):
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 0, section_offset, 90, 64, 0, 0, section_bytes, sections, 1)
    return head + bytes(256)


def image_calls():
    for byte in (b" ", b"x", b"{"):
        yield Call("verify %d/x.fatbin", {"x.fatbin": fatbin(zstd_of_one_byte(byte, 2000), 2000 << 17)}, "1", "x.fatbin")
    for body in (
        fatbin(zstd_of_one_byte(b" ", 3000), 3000 << 17),
        fatbin(zstd_of_one_byte(b" ", 2), 1 << 62),
        fatbin(b"\xff" * 1000, 250_000, flags=0x2011),
        fatbin(b"\x10\x00\xff\xff" * 100, 1000, flags=0x2011),  # LZ4 that goes back before its beginning
        fatbin(zstd_of_one_byte(b" ", 2), 1 << 18, flags=0x11),
        fatbin(b"", 0, count=100_000)[:-1],
        elf(190, 64, 0xFFFF),
        elf(190, 1 << 63, 4),
        elf(62, 64, 0),
        elf(62, 64, 2, 40),
    ):
        for command in ("verify %d/x.fatbin", "link %d/x.fatbin", "run %d/x.fatbin --grid 1 --block 1"):
            yield Call(command, {"x.fatbin": body}, "nonzero", "x.fatbin: ")
    yield Call("verify %d/x.fatbin", {"x.fatbin": fatbin(b".version 9.0\n.target sm_90\n.address_size 64\n\x1b[31m", 0)}, "nonzero", "x.fatbin")
    yield Call("run %d/x.fatbin --grid 1 --block 1", {"x.fatbin": HUGE_BYTES}, "nonzero", "x.fatbin")


CASES = {
    "files_images": image_calls,
    "files_json": json_calls,
    "files_forged_map": forged_map_calls,
    "files_npy": npy_calls,
    "files_numbers": number_calls,
    "files_ptx": ptx_calls,
    "files_mlir": mlir_calls,
    "files_record": record_calls,
    **hostile_memory.cases(Call),
}
