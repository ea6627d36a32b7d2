"""The statements of random_kernels.py: each function takes values of the maker's pool, emits lines, and adds a value to the pool.

A function that finds no operand of its kind does nothing, and another one is tried. The tables name the functions of tl and of libdevice
by the types of their operands.
"""

from random_kernels import BYTES, FLOATS, FP8, INTEGERS, made, numel

F32_64 = ("float32", "float64")
NUMBERS = INTEGERS + FLOATS
WORDS = ("int32", "uint32", "int64", "uint64")

# Of f32 and f64 alike.
LIBDEVICE_UNARY = (
    "sin cos tan exp exp10 exp2 cosh sinh tanh atan asin acos log log2 log10 log1p acosh asinh atanh expm1 cbrt rcbrt j0 j1 y0 y1 erf erfinv"
    " erfc erfcx erfcinv normcdf normcdfinv lgamma tgamma rint nearbyint round trunc ceil floor logb cyl_bessel_i0 cyl_bessel_i1 sinpi cospi"
    " rsqrt sqrt abs rcp_rn rcp_rz rcp_rd rcp_ru sqrt_rn sqrt_rz sqrt_rd sqrt_ru"
).split()
LIBDEVICE_F32 = "fast_sinf fast_cosf fast_log2f fast_logf fast_expf fast_tanf fast_exp10f fast_log10f saturatef cospi rsqrt_rn".split()
LIBDEVICE_BINARY = (
    "atan2 hypot rhypot fmod remainder pow fdim copysign nextafter add_rn add_rz add_rd add_ru mul_rn mul_rz mul_rd mul_ru div_rn div_rz"
    " div_rd div_ru"
).split()
LIBDEVICE_BINARY_F32 = "fast_dividef fast_powf sub_rn sub_rz sub_rd sub_ru".split()
LIBDEVICE_TERNARY = "fma fma_rn fma_rz fma_rd fma_ru norm3d rnorm3d".split()
LIBDEVICE_CONVERT = [
    (f"{a}2{b}_{r}", *types)
    for a, b, *types in (
        ("float", "int", "float32", "int32"), ("float", "uint", "float32", "uint32"), ("float", "ll", "float32", "int64"),
        ("float", "ull", "float32", "uint64"), ("int", "float", "int32", "float32"), ("uint", "float", "uint32", "float32"),
        ("ll", "float", "int64", "float32"), ("ull", "float", "uint64", "float32"), ("double", "float", "float64", "float32"),
        ("double", "int", "float64", "int32"), ("double", "uint", "float64", "uint32"), ("double", "ll", "float64", "int64"),
        ("ll", "double", "int64", "float64"), ("ull", "double", "uint64", "float64"), ("double", "ull", "float64", "uint64"),
    )
    for r in ("rn", "rz", "rd", "ru")
]  # fmt: skip
LIBDEVICE_INTEGER = {
    "int32": ("clz 1", "popc 1", "ffs 1", "brev 1", "mulhi 2", "mul24 2", "hadd 2", "rhadd 2", "byte_perm 3", "sad 3"),
    "int64": ("clz 1", "popc 1", "ffs 1", "brev 1", "mulhi 2"),
    "uint32": ("mulhi 2", "mul24 2", "hadd 2", "rhadd 2", "sad 3"),
    "uint64": ("mulhi 2",),
}
TL_UNARY = "exp exp2 log log2 sin cos sqrt rsqrt erf floor ceil abs".split()
ASM = {  # text, constraints, operands of 32 bits, result
    "lop3": ("lop3.b32 $0, $1, $2, $3, 0x{:x};", 3, "int32"), "prmt": ("prmt.b32 $0, $1, $2, $3;", 3, "int32"),
    "dp4a": ("dp4a.s32.u32 $0, $1, $2, $3;", 3, "int32"), "shf": ("shf.l.wrap.b32 $0, $1, $2, $3;", 3, "int32"),
    "bfe": ("bfe.s32 $0, $1, $2, $3;", 3, "int32"), "bfind": ("bfind.u32 $0, $1;", 1, "int32"), "mad": ("mad.lo.s32 $0, $1, $2, $3;", 3, "int32"),
    "vabsdiff4": ("vabsdiff4.u32.u32.u32.add $0, $1, $2, $3;", 3, "int32"), "max_s16x2": ("max.s16x2 $0, $1, $2;", 2, "int32"),
    "hfma": ("fma.rn.f16x2 $0, $1, $2, $3;", 3, "int32"), "bfma": ("fma.rn.bf16x2 $0, $1, $2, $3;", 3, "int32"),
    "e4m3": ("{{ .reg .b16 h; cvt.rn.satfinite.e4m3x2.f32 h, $1, $2; cvt.u32.u16 $0, h; }}", 2, "float32"),
    "halves": ("cvt.rn.f16x2.f32 $0, $1, $2;", 2, "float32"), "tf32": ("cvt.rna.tf32.f32 $0, $1;", 1, "float32"),
    "tanh": ("tanh.approx.f16x2 $0, $1;", 1, "int32"), "ex2": ("ex2.approx.f16x2 $0, $1;", 1, "int32"),
}  # fmt: skip


# ---- element by element


def arithmetic(m):
    a = m.some(NUMBERS)
    b = m.like(a)
    if a.type in FLOATS:
        op = m.one("+", "-", "*", "/", "maximum", "minimum", "fma", "clamp", "%")
        if op in "+-*":
            return m.let(f"{a.name} {op} {b}", a.type, a.shape)
        if op == "/" or (op == "%" and a.type not in F32_64):  # of 16 bits: computed and left in f32
            a, b = m.cast(a, a.type if a.type in F32_64 else "float32"), b
            return m.let(f"({a.name} / {b}).to(tl.{a.type})", a.type, a.shape)
        if op == "%":
            return m.let(f"{a.name} % {b}", a.type, a.shape)
        if op in ("maximum", "minimum"):
            nan = m.one("", "", ", propagate_nan=tl.PropagateNan.ALL")
            return m.let(f"tl.{op}({a.name}, {b}{nan})", a.type, a.shape)
        if op == "clamp":
            return m.let(f"tl.clamp({a.name}, tl.full([], -{m.one(1, 2, 0.5)}, tl.{a.type}), tl.full([], {m.one(1, 3, 0.25)}, tl.{a.type}))", a.type, a.shape)
        return m.let(f"tl.fma({a.name}, {m.like(a)} + tl.zeros_like({a.name}), {b} + tl.zeros_like({a.name}))", a.type, a.shape)
    bits = 8 * BYTES[a.type]
    op = m.one("+", "-", "*", "&", "|", "^", "<<", ">>", "//", "%", "maximum", "minimum", "umulhi")
    if op in ("<<", ">>"):
        b = f"({b} & {bits - 1}).to(tl.{a.type})"
    elif op in ("//", "%"):
        b = f"(({b} & 63) + 1).to(tl.{a.type})"
    elif op in ("maximum", "minimum"):
        return m.let(f"tl.{op}({a.name}, {b})", a.type, a.shape)
    elif op == "umulhi":
        a = m.cast(a, m.one(*WORDS))
        return m.let(f"tl.umulhi({a.name}, {m.like(a)} + tl.zeros_like({a.name}))", a.type, a.shape)
    return m.let(f"({a.name} {op} {b}).to(tl.{a.type})", a.type, a.shape)


def unary(m):
    a = m.some(NUMBERS)
    if a.type in INTEGERS:
        return m.let(m.one(f"~{a.name}", f"-{a.name}", f"tl.abs({a.name})") if a.type[0] == "i" else f"~{a.name}", a.type, a.shape)
    name = m.one(*TL_UNARY, "sigmoid", "sqrt_rn", "neg")
    if name == "neg":
        return m.let(f"-{a.name}", a.type, a.shape)
    if name == "abs":
        return m.let(f"tl.abs({a.name})", a.type, a.shape)
    a = m.cast(a, "float32" if name == "sqrt_rn" or a.type not in F32_64 else a.type)
    return m.let(f"tl.{name}({a.name})", a.type, a.shape)


def division(m):
    a = m.some(("float32",))
    return m.let(f"tl.{m.one('fdiv', 'div_rn')}({a.name}, {m.like(a)} + tl.zeros_like({a.name}))", a.type, a.shape)


def libdevice(m):
    kind = m.one("unary", "unary", "unary", "f32", "binary", "binary_f32", "ternary", "convert", "convert", "integer", "integer", "ldexp", "test", "bits")
    same = lambda v: f"({m.like(v)} + tl.zeros_like({v.name}))"  # a tensor of that shape
    if kind in ("unary", "f32"):
        a = m.some(F32_64 if kind == "unary" else ("float32",))
        return m.let(f"libdevice.{m.one(*(LIBDEVICE_UNARY if kind == 'unary' else LIBDEVICE_F32))}({a.name})", a.type, a.shape)
    if kind in ("binary", "binary_f32"):
        a = m.some(F32_64 if kind == "binary" else ("float32",))
        name = m.one(*(LIBDEVICE_BINARY if kind == "binary" else LIBDEVICE_BINARY_F32))
        return m.let(f"libdevice.{name}({a.name}, {same(a)})", a.type, a.shape)
    if kind == "ternary":
        a = m.some(F32_64)
        return m.let(f"libdevice.{m.one(*LIBDEVICE_TERNARY)}({a.name}, {same(a)}, {same(a)})", a.type, a.shape)
    if kind == "convert":
        name, given, result = m.one(*LIBDEVICE_CONVERT)
        a = m.some((given,))
        return m.let(f"libdevice.{name}({a.name}).to(tl.{result})", result, a.shape)
    if kind == "integer":
        a = m.some(tuple(LIBDEVICE_INTEGER))
        name, operands = m.one(*LIBDEVICE_INTEGER[a.type]).split()
        rest = "".join(f", {same(a)}" for _ in range(int(operands) - 1))
        third = f", ({same(a)}).to(tl.uint32)" if name == "sad" else None
        rest = f", {same(a)}{third}" if third else rest
        return m.let(f"libdevice.{name}({a.name}{rest}).to(tl.int32)", "int32", a.shape) if name in ("clz", "popc", "ffs") else m.let(
            f"libdevice.{name}({a.name}{rest}).to(tl.{a.type})", a.type, a.shape)  # fmt: skip
    if kind == "ldexp":
        a = m.some(F32_64)
        b = m.some(("int32",), shape=a.shape)
        return m.let(f"libdevice.{m.one('ldexp', 'scalbn')}({a.name}, {b.name} % 64)", a.type, a.shape)
    if kind == "test":
        a = m.some(F32_64)
        name = m.one("isnan", "signbit", "isinf", "ilogb")
        return m.let(f"libdevice.{name}({a.name}).to(tl.int32)", "int32", a.shape)
    a = m.some(("float64",))
    return m.let(f"libdevice.{m.one('double2hiint', 'double2loint')}({a.name})", "int32", a.shape)


def cast(m):
    a = m.pick(NUMBERS + FP8 + ("int1",))
    if a is None:
        return None
    if a.type not in FP8 and a.type != "int1" and m.chance(0.2):
        to = m.one(*[t for t in NUMBERS if BYTES[t] == BYTES[a.type] and t != a.type] or [a.type])
        return m.let(f"{a.name}.to(tl.{to}, bitcast=True)", to, a.shape)
    to = m.one(*NUMBERS, *FLOATS, *FP8, *FP8)
    if to in FP8:
        a = m.cast(a, m.one("float32", "float16", "bfloat16"))
        # Triton 3.6 rounds to fp8 from f32 alone to zero.
        how = ', fp_downcast_rounding="rtz"' if a.type == "float32" and to == "float8e5" and m.chance(0.15) else ""
        return m.cast(a, to, how)
    if a.type == "float32" and to in ("float16", "bfloat16"):
        return m.cast(a, to, m.one("", ', fp_downcast_rounding="rtz"'))
    return m.cast(a, to)


def where(m):
    a = m.some(NUMBERS)
    c = m.some(NUMBERS, shape=a.shape)
    if c is a and m.chance(0.7):
        c = m.load(a.type, a.shape) if a.shape else c
    condition = f"({c.name} {m.one('<', '>', '<=', '>=', '==', '!=')} {m.like(c)})"
    if m.chance(0.25):
        return m.let(condition, "int1", a.shape)
    if m.chance(0.3):
        condition = f"({condition} {m.one('&', '|', '^')} ({m.offsets(a.shape)} {m.one('<', '>')} {m.below(numel(a.shape)) if a.shape else 1}))"
    return m.let(f"tl.where({condition}, {a.name}, {m.like(a)})", a.type, a.shape)


def inline_asm(m):
    name = m.one(*ASM)
    text, operands, type = ASM[name]
    a = m.some((type,))
    if not a.shape:
        return None
    text = text.format(m.below(256))
    given = ", ".join([a.name] + [f"({m.like(a)} + tl.zeros_like({a.name}))" for _ in range(operands - 1)])
    constraints = "=r" + (",f" if type == "float32" else ",r") * operands
    return m.let(f'tl.inline_asm_elementwise("{text}", "{constraints}", [{given}], dtype=tl.int32, is_pure=True, pack=1)', "int32", a.shape)


def map_elementwise(m):
    a = m.some(("int32", "float32"))
    if not a.shape:
        return None
    if a.type == "int32":
        body = ["if a > b:", "    r = a - b", "else:", "    r = a ^ (b << 1)", "return r"]
    else:
        body = ["r = a", "if a < b:", "    r = tl.exp(a)", "return r * b"]
    f = m.helper(("a", "b"), body)
    return m.let(f"tl.map_elementwise({f}, {a.name}, {m.like(a)} + tl.zeros_like({a.name}))", a.type, a.shape)


def random_numbers(m):
    shape = m.one(*m.pool).shape
    if not shape:
        return None
    name = m.one("rand", "randint", "randn")
    seed = m.number(m.below(1 << 30))
    return m.let(f"tl.{name}({seed}, pid * {numel(shape)} + {m.offsets(shape)})", "int32" if name == "randint" else "float32", shape)


# ---- across elements


def combine(m, type):
    """The name of a helper that makes one of two."""
    if type in INTEGERS:
        return m.helper(("a", "b"), [m.one("return a * b", "return (a ^ b) + (a & b)", "return tl.maximum(a, b) - (a & 1)", "return a * 3 + b")])
    return m.helper(("a", "b"), [m.one("return a * b", "return a + b * 0.5", "return tl.maximum(a, -b)", "return tl.where(a > b, a - b, b)")])


def without(shape, axis):
    return shape[:axis] + shape[axis + 1 :]


def reduction(m):
    a = m.some(NUMBERS, rank=(1, 2, 3))
    if a is None:
        return None
    axis = m.below(len(a.shape))
    shape, keep = without(a.shape, axis), ""
    if m.chance(0.15):
        shape, keep = a.shape[:axis] + (1,) + a.shape[axis + 1 :], ", keep_dims=True"
    kind = m.one("sum", "sum", "max", "min", "argmax", "argmin", "both", "custom", "custom", "xor_sum", "welford", "all", "reduce_or")
    if kind in ("xor_sum", "reduce_or") and a.type in FLOATS:
        a = m.cast(a, "int32")
    if kind in ("xor_sum", "reduce_or"):
        return m.let(f"tl.{kind}({a.name}, axis={axis}{keep})", a.type, shape)
    if kind == "all":
        return m.let(f"tl.{m.one('sum', 'max', 'min')}({a.name}).to(tl.{a.type})", a.type, ())
    if kind in ("sum", "max", "min"):
        return m.let(f"tl.{kind}({a.name}, axis={axis}{keep}).to(tl.{a.type})", a.type, shape)
    if kind in ("argmax", "argmin"):
        left = m.one("", ", tie_break_left=False") if a.type in INTEGERS else ""
        return m.let(f"tl.{kind}({a.name}, axis={axis}{keep}{left})", "int32", shape)
    if kind == "both":
        x, i = m.name(), m.name()
        m.emit(f"{x}, {i} = tl.{m.one('max', 'min')}({a.name}, axis={axis}, return_indices=True)")
        m.let(i, "int32", without(a.shape, axis))
        return m.let(f"{x}.to(tl.{a.type})", a.type, without(a.shape, axis))
    if kind == "welford":
        a = m.cast(a, "float32")
        f = m.helper(("m0", "s0", "n0", "m1", "s1", "n1"), ["d, n = m1 - m0, n0 + n1", "w = n1 / n", "return m0 + d * w, s0 + s1 + d * d * n0 * w, n"])
        mean, spread, number = m.name(), m.name(), m.name()
        one = f"tl.zeros_like({a.name})"
        m.emit(f"{mean}, {spread}, {number} = tl.reduce(({a.name}, {one}, {one} + 1.0), {axis}, {f})")
        m.let(spread, "float32", without(a.shape, axis))
        return m.let(mean, "float32", without(a.shape, axis))
    return m.let(f"tl.reduce({a.name}, {axis}, {combine(m, a.type)}{keep})", a.type, shape)


def scan(m):
    a = m.some(NUMBERS, rank=(1, 2), size=2048)
    if a is None:
        return None
    axis = m.below(len(a.shape))
    reverse = m.one("", ", reverse=True")
    name = m.one("cumsum", "cumprod", "custom", "custom", "pair")
    if name == "custom":
        return m.let(f"tl.associative_scan({a.name}, {axis}, {combine(m, a.type)}{reverse})", a.type, a.shape)
    if name == "pair":
        f = m.helper(("a0", "b0", "a1", "b1"), ["return a0 * a1, b0 * a1 + b1"])
        x, y = m.name(), m.name()
        m.emit(f"{x}, {y} = tl.associative_scan(({a.name}, {m.like(a)} + tl.zeros_like({a.name})), {axis}, {f}{reverse})")
        return m.let(f"({x} + {y}).to(tl.{a.type})", a.type, a.shape)
    return m.let(f"tl.{name}({a.name}, axis={axis}{reverse}).to(tl.{a.type})", a.type, a.shape)


def sort(m):
    a = m.some(NUMBERS, rank=(1, 2), size=512)
    if a is None:
        return None
    if m.chance(0.3) and a.shape[-1] >= 4:
        k = m.one(2, a.shape[-1] // 2)
        return m.let(f"tl.topk({a.name}, {k})", a.type, a.shape[:-1] + (k,))
    return m.let(f"tl.sort({a.name}, descending={m.one('True', 'False')})", a.type, a.shape)


def gather(m):
    a = m.some(NUMBERS, rank=(1, 2), size=1024)
    if a is None:
        return None
    axis = m.below(len(a.shape))
    index = m.some(("int32", "uint32", "int16"), shape=a.shape)
    return m.let(f"tl.gather({a.name}, ({index.name} & {a.shape[axis] - 1}).to(tl.int32), axis={axis})", a.type, a.shape)


def histogram(m):
    a = m.some(("int32",), rank=(1, 2), size=1024)
    if a is None:
        return None
    bins = m.one(16, 32, 64, 128)
    flat = f"tl.reshape({a.name}, [{numel(a.shape)}])"
    mask = f", mask=({flat} & 256) == 0" if m.chance(0.4) else ""
    return m.let(f"tl.histogram(({flat} >> 3) & {bins - 1}, {bins}{mask})", "int32", (bins,))


def shape(m):
    a = m.pick(NUMBERS + FP8, rank=(1, 2, 3))
    if a is None:
        return None
    kind = m.one("reshape", "trans", "flip", "join", "interleave", "broadcast", "ravel", "split", "cat", "softmax")
    if kind in ("join", "interleave", "cat", "softmax", "flip") and a.type in FP8:
        a = m.cast(a, "float32")
    if kind == "softmax" and len(a.shape) <= 2:
        a = m.cast(a, "float32")
        return m.let(f"tl.softmax({a.name}, {m.below(len(a.shape))})", a.type, a.shape)
    if kind == "reshape" and numel(a.shape) >= 4:
        first = m.one(*[f for f in (2, 4, 8, 16, 32) if f < numel(a.shape)])
        to = m.one((first, numel(a.shape) // first), (numel(a.shape) // first, first))
        return m.let(f"tl.reshape({a.name}, {made(to)})", a.type, to)
    if kind == "trans" and len(a.shape) > 1:
        order = list(range(len(a.shape)))
        axis = m.below(len(order) - 1)
        order[axis], order[-1] = order[-1], order[axis]
        return m.let(f"tl.permute({a.name}, {made(order)})", a.type, [a.shape[i] for i in order])
    if kind == "flip" and numel(a.shape) <= 1024:
        return m.let(f"tl.flip({a.name}, {m.below(len(a.shape))})", a.type, a.shape)
    if kind in ("join", "interleave") and numel(a.shape) <= 2048 and len(a.shape) < 3:
        to = a.shape + (2,) if kind == "join" else a.shape[:-1] + (2 * a.shape[-1],)
        return m.let(f"tl.{kind}({a.name}, {m.like(a)} + tl.zeros_like({a.name}))", a.type, to)
    if kind == "split" and a.shape[-1] >= 4:
        rest = a.shape[:-1] + (a.shape[-1] // 2, 2)
        x, y = m.name(), m.name()
        m.emit(f"{x}, {y} = tl.split(tl.reshape({a.name}, {made(rest)}))")
        m.let(x, a.type, rest[:-1])
        return m.let(y, a.type, rest[:-1])
    if kind == "broadcast" and len(a.shape) < 3 and numel(a.shape) <= 512:
        n = m.one(2, 4, 8)
        return m.let(f"tl.broadcast_to({a.name}[None, {', '.join(':' * len(a.shape))}], {made((n, *a.shape))})", a.type, (n, *a.shape))
    return m.let(f"tl.ravel({a.name})", a.type, (numel(a.shape),))


# ---- memory


def load(m):
    like = m.one(*m.pool)
    return m.load(m.one(*INTEGERS, *FLOATS, *FLOATS, *FP8), like.shape) if like.shape else None


def atomic(m):
    """Commuting ones to few places, or any to places that one element has for itself, with what was there."""
    a = m.some(("int32", "uint32", "int64", "uint64"), size=2048)
    if a is None:
        return None
    size = numel(a.shape)
    rest = m.one("", ', sem="relaxed"', ', sem="acquire"', ', sem="release"') + m.one("", ', scope="gpu"', ', scope="sys"')
    where = m.name("o")
    if m.chance(0.5):
        bins = m.one(8, 64)
        kinds = ("add", "xor", "and", "or", "max", "min")
        kind = m.one(*kinds, "floats", "floats")
        m.emit(f"{where} = ({m.offsets(a.shape)}) * {m.one(1, 3, 5)} % {bins}")
        mask = f", mask=({a.name} & 3) != 1" if m.chance(0.4) else ""
        value = a
        if kind == "floats":  # sums of small whole numbers have no rounding
            kind = "add"
            type = m.one("float32", "float64", "float16", "bfloat16")
            value = m.cast(m.let(f"({a.name} & 1).to(tl.int32)", "int32", a.shape), type)
            if size * m.grid // bins > 200 and type in ("float16", "bfloat16"):
                return None
        pointer = m.argument("z", value.type, bins, fill="zero" if value.type in FLOATS else "bits", written=True)
        m.emit(f"tl.atomic_{kind}({pointer} + {where}, {value.name}{mask}{rest})")
        return a
    kind = m.one("add", "xor", "and", "or", "max", "min", "xchg", "cas", "floats")
    m.emit(f"{where} = pid * {size} + {m.offsets(a.shape)}")
    type = m.one("float32", "float64") if kind == "floats" else a.type
    a = m.cast(a, type)
    pointer = m.argument("z", type, m.grid * size, fill="small", written=True)
    if kind == "cas":
        return m.let(f"tl.atomic_cas({pointer} + {where}, {a.name} & 3, {a.name} + 1{rest})", type, a.shape)
    mask = f", mask={where} % {m.one(2, 3, 5)} != 0" if kind != "xchg" and m.chance(0.3) else ""
    kind = m.one("add", "max", "min") if kind == "floats" else kind
    old = m.let(f"tl.atomic_{kind}({pointer} + {where}, {a.name}{mask}{rest})", type, a.shape)
    if mask:  # what a masked element returns is nothing
        return m.let(f"tl.where({mask[7:]}, {old.name}, tl.zeros_like({old.name}))", type, a.shape)
    return old


def descriptor_atomic(m):
    a = m.some(("int32", "uint32", "uint64", "float16", "bfloat16", "float32"), rank=(2,), size=4096)
    if a is None or a.shape[1] * BYTES[a.type] < 16 or max(a.shape) > 256:
        return None
    rows, columns = a.shape
    kind = "add" if a.type in FLOATS or m.chance(0.4) else m.one("min", "max") if a.type in WORDS else "add"
    if a.type in ("int32", "uint32") and m.chance(0.3):
        kind = m.one("and", "or", "xor")
    pointer, descriptor = m.argument("z", a.type, m.grid * rows * columns, fill="small", written=True), m.name("d")
    m.emit(f"{descriptor} = tl.make_tensor_descriptor({pointer}, [{m.grid * rows}, {columns}], [{columns}, 1], {made(a.shape)})")
    m.emit(f"{descriptor}.atomic_{kind}([pid * {rows}, 0], {a.name})")
    return a


# ---- control


def loop(m):
    """A value carried through a loop of a few statements, which may load."""
    a = m.some(NUMBERS, size=4096)
    if a is None:
        return None
    carried = m.name("c")
    m.emit(f"{carried} = {a.name}")
    count = m.one("2", "3", m.number(1 + m.below(5)), m.number(1 + m.below(5)))
    options = [f"num_stages={m.one(1, 2, 3, 4)}"] if m.chance(0.4) else []
    if m.chance(0.15):
        options.append("loop_unroll_factor=2")
    if m.chance(0.15):
        options.append("flatten=True")
    i = m.name("i")
    kind = m.one("range", "range", "range", "static", "while", "if")
    if kind == "static":
        m.emit(f"for {i} in tl.static_range({m.one(2, 3)}):")
    elif kind == "while":
        m.emit(f"{i} = 0")
        m.emit(f"while {i} < {count}:")
    elif kind == "if":
        m.emit(f"{i} = pid + {count}")
        m.emit(f"if {i} % 2 == 0:")
    else:
        m.emit(f"for {i} in tl.range({', '.join(['0', count, *options])}):")
    before, m.indent = len(m.pool), m.indent + 1
    inside = m.let(carried, a.type, a.shape)
    if m.chance(0.5) and a.shape and kind != "if":
        size = numel(a.shape)
        pointer = m.argument("x", a.type, 8 * size, fill="unit" if a.type in FLOATS else "bits")
        index = f"({i} + pid) % 8 * {size} + {m.offsets(a.shape)}"
        x = m.let(f"tl.load({pointer} + {index})", a.type, a.shape)
        inside = m.let(f"({inside.name} {m.one('+', '-', '*')} {x.name}).to(tl.{a.type})", a.type, a.shape)
    for _ in range(m.one(1, 1, 2, 3)):
        m.one(arithmetic, arithmetic, unary, where, cast, libdevice, reduction, scan, shape)(m)
    last = [v for v in (inside, *m.pool[before:]) if v.shape == a.shape][-1]
    if m.chance(0.3):
        last = m.let(f"{last.name}.to(tl.{a.type}) + {inside.name}", a.type, a.shape)
    m.emit(f"{carried} = {last.name}.to(tl.{a.type})")
    if kind == "while":
        m.emit(f"{i} += 1")
    del m.pool[before:]
    m.indent -= 1
    return m.let(carried, a.type, a.shape)


# ---- products

#: Types of A and B, of the accumulator, and precisions.
PRODUCTS = (
    ("float16", "float32", ""), ("float16", "float16", ""), ("float16", "float16", ""), ("float16", "float16", ""), ("bfloat16", "float32", ""),
    ("bfloat16", "float32", ""), ("float32", "float32", "tf32"), ("float32", "float32", "ieee"), ("float32", "float32", "tf32x3"),
    ("float32", "float32", "bf16x3"), ("int8", "int32", ""), ("float8e5", "float32", ""), ("float8e4nv", "float32", ""),
    ("float8e5", "float16", ""), ("float64", "float64", ""),
)  # fmt: skip


class Operand:
    """How one operand of a product comes from memory, a block of (rows, depth) at a time."""

    def __init__(self, m, type, rows, depth, depths, fill):
        self.m, self.type, self.rows, self.depth = m, type, rows, depth
        total = depths * depth
        self.across = m.chance(0.3)  # stored with the rows together
        self.pointer = m.argument("a", type, rows * m.grid * total, fill=fill)
        shape = (total, rows * m.grid) if self.across else (rows * m.grid, total)
        block = (depth, rows) if self.across else (rows, depth)
        self.how = m.one("pointer", "pointer", "descriptor")
        if block[1] * BYTES[type] < 16 or max(block) > 256:
            self.how = "pointer"
        if self.how == "descriptor":
            self.name = m.name("d")
            m.emit(f"{self.name} = tl.make_tensor_descriptor({self.pointer}, {made(shape)}, [{shape[1]}, 1], {made(block)})")
            return
        self.name = m.name("p")
        stride = (1, shape[1]) if self.across else (shape[1], 1)
        m.emit(f"{self.name} = {self.pointer} + (PID * {rows} + tl.arange(0, {rows})[:, None]) * {stride[0]} + tl.arange(0, {depth})[None, :] * {stride[1]}")
        self.step, self.limit = depth * stride[1], None
        if m.chance(0.35):
            self.limit = m.number(m.limit(total))

    def place(self, pid):
        """Writes the number of the block of rows into what has been emitted."""
        self.m.lines = [line.replace("PID", pid) for line in self.m.lines]
        self.pid = pid

    def load(self, i):
        m = self.m
        if self.how == "descriptor":
            at = (f"{i} * {self.depth}", f"{self.pid} * {self.rows}") if self.across else (f"{self.pid} * {self.rows}", f"{i} * {self.depth}")
            text = f"{self.name}.load([{at[0]}, {at[1]}])" + (".T" if self.across else "")
        else:
            mask = f", mask=tl.arange(0, {self.depth})[None, :] + {i} * {self.depth} < {self.limit}, other=0.0" if self.limit else ""
            text = f"tl.load({self.name} + {i} * {self.step}{mask})"
        return m.let(text, self.type, (self.rows, self.depth))


def product(m, num_stages):
    """A loop of tl.dot over K, as matrix products of Triton are written."""
    type, sum, precision = m.one(*PRODUCTS)
    rows, columns = m.one(16, 32, 64, 64, 64, 128), m.one(16, 32, 32, 64)
    depth = m.one(16, 32, 64) if type in ("float16", "bfloat16", "float32") else m.one(32, 64) if type != "float64" else 16
    if type == "float64":
        rows, columns = m.one(16, 32, 64), m.one(16, 32)
    depths = m.one(1, 2, 3, 4, 5, 6)
    fill = m.one("unit", "unit", "unit", "wide", "small", "bits") if type not in INTEGERS else "bits"
    m.grid = m.one(1, 2, 2)
    a, b = Operand(m, type, rows, depth, depths, fill), Operand(m, type, columns, depth, depths, fill if fill != "bits" else "unit")
    a.place("pid")
    b.place("0")
    shape = (rows, columns)
    acc = m.name("c")
    m.emit(f"{acc} = tl.zeros({made(shape)}, tl.{sum})" if m.chance(0.8) else f"{acc} = tl.full({made(shape)}, 3, tl.{sum})")
    options = []
    if m.chance(0.7):
        options.append(f"num_stages={m.one(1, 2, 3, 4)}")
    for option, p in (("disallow_acc_multi_buffer=True", 0.15), ("loop_unroll_factor=2", 0.1), ("flatten=True", 0.1), ("warp_specialize=True", 0.1)):
        if m.chance(p):
            options.append(option)
    i, count = m.name("i"), m.one(str(depths), m.number(depths), m.number(depths))
    m.emit(f"for {i} in tl.range({', '.join(['0', count, *options])}):")
    before, m.indent = len(m.pool), m.indent + 1
    left = a.load(i)
    right = b.load(i)
    extra = m.one("", "", "", "", "scale", "left", "twice", "part")
    if extra == "left" and type not in FP8:  # A has passed registers
        left = m.let(f"({left.name} {m.one('+', '*')} {3 if type in INTEGERS else 0.5}).to(tl.{type})", type, left.shape)
    precision_text = f', input_precision="{precision}"' if precision else ""
    if type in FP8 and sum == "float32" and m.chance(0.4):
        precision_text = f", max_num_imprecise_acc={m.one(0, 32, 64)}"
    text = f"tl.dot({left.name}, {right.name}.T{{}}{precision_text}, out_dtype=tl.{sum})"
    if extra == "scale" and sum in FLOATS:
        m.emit(f"{acc} = ({acc} * 0.75).to(tl.{sum})")
    if extra == "part":
        m.emit(f"{acc} += " + text.format(""))
    else:
        m.emit(f"{acc} = " + text.format(f", {acc}"))
        if extra == "twice":
            m.emit(f"{acc} = " + text.format(f", {acc}"))
    m.indent -= 1
    del m.pool[before:]
    value = m.let(acc, sum, shape)
    if m.chance(0.3) and sum in ("float16", "float32") and type in ("float16", "bfloat16") and columns in (16, 32, 64):  # as attention does
        p = m.cast(value, type)
        w = m.load(type, (columns, m.one(16, 32)), "unit")
        out = m.one("float32", sum) if type == "float16" else "float32"
        return m.let(f"tl.dot({p.name}, {w.name}, out_dtype=tl.{out})", out, (rows, w.shape[1]))
    return value


def scaled_product(m):
    """tl.dot_scaled, which Hopper computes in bf16."""
    rows, columns, depth = m.one(32, 64, 128), m.one(32, 64), m.one(64, 128)
    kinds = m.one(("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e4m3", "bf16"), ("bf16", "e5m2"))
    types = {"e4m3": "float8e4nv", "e5m2": "float8e5", "bf16": "bfloat16"}
    a = m.load(types[kinds[0]], (rows, depth), "unit")
    b = m.load(types[kinds[1]], (depth, columns), "unit")
    scales = []
    for extent, kind in ((rows, kinds[0]), (columns, kinds[1])):
        if kind == "bf16":
            scales.append("None")
            continue
        x = m.load("uint8", (extent, depth // 32), "small")
        scales.append(m.let(f"(({x.name} & 7) + 124).to(tl.uint8)", "uint8", x.shape).name)
    return m.let(f'tl.dot_scaled({a.name}, {scales[0]}, "{kinds[0]}", {b.name}, {scales[1]}, "{kinds[1]}")', "float32", (rows, columns))


STATEMENTS = (
    (arithmetic, 8), (unary, 5), (division, 1), (libdevice, 5), (cast, 5), (where, 3), (inline_asm, 2), (map_elementwise, 1), (random_numbers, 1),
    (reduction, 4), (scan, 2), (sort, 1.5), (gather, 1.5), (histogram, 1), (shape, 4), (load, 1.5), (atomic, 2), (descriptor_atomic, 1), (loop, 2.5),
    (scaled_product, 0.3),
)  # fmt: skip


def statement(m):
    total = sum(weight for _, weight in STATEMENTS)
    for _ in range(20):
        at = m.random.random() * total
        for make, weight in STATEMENTS:
            at -= weight
            if at < 0:
                break
        if make(m) is not None:
            return
