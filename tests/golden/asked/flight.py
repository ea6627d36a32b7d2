#!/usr/bin/env python3
"""Kernels that touch registers of wgmma in flight, each a form of its own.

Writes flight_NAME.ptx and .cubin here (ptxas in PATH), flight.list for ask, and flight_warnings.txt: what ptxas says of each. All of A
and B are ones and accumulators are 1, so that every product adds 16. ptxas 13.0 leaves out some of products that repeat each other
(2 of 24 in f32, 5 in f16), so results are compared with those of `right`, which waits.
"""

N = 24
def regs(p, n): return ', '.join(f'%{p}{i}' for i in range(n))
def mma(acc='f', n=64, a='%da', reps=N, b='%db', scale='1'):
    ty = {'f': 'f32', 'g': 'f32', 'h': 'f16', 'e': 'f16'}[acc]
    cnt = n // 2 if ty == 'f32' else n // 4
    t = 'wgmma.mma_async.sync.aligned.m64n%dk16.%s.f16.f16 {%s}, %s, %s, %s, 1, 1%s;\n' % (n, ty, regs(acc, cnt), a, b, scale, ', 0, 0' if a == '%da' else ', 0')
    return t * reps
FENCE = 'wgmma.fence.sync.aligned;\n'
COMMIT = 'wgmma.commit_group.sync.aligned;\n'
def wait(n=0): return f'wgmma.wait_group.sync.aligned {n};\n'
def last(acc): return 31 if acc in 'fg' else 15
def st(acc, off=0):
    l = last(acc)
    return f'st.global.v4.b32 [%out+{off}], {{%{acc}0, %{acc}1, %{acc}{l-1}, %{acc}{l}}};\n'
def move(acc, op='mov.b32 {d}, {s};'):
    l = last(acc)
    return '\n'.join(op.format(d=f'%c{i}', s=f'%{acc}{r}') for i, r in enumerate((0, 1, l - 1, l))) + '\n'
STC = 'st.global.v4.b32 [%out], {%c0, %c1, %c2, %c3};\n'
def program(body, funcs=''):
    return f'''.version 8.6
.target sm_90a
.address_size 64
{funcs}
.visible .entry k(.param .u64 p_in, .param .u64 p_out) .maxntid 128 {{
  .shared .align 1024 .b8 tile[8192];
  .reg .b64 %in, %out, %da, %db; .reg .b32 %t, %tile, %s, %r<8>, %f<32>, %g<32>, %h<32>, %e<32>, %c<8>, %a<4>, %i, %one; .reg .pred %p, %q; .reg .b16 %x<8>; .reg .b64 %w<4>;
  ld.param.u64 %in, [p_in]; ld.param.u64 %out, [p_out];
  mov.u32 %t, %tid.x; mul.wide.u32 %w0, %t, 32; add.u64 %out, %out, %w0;
  mov.u32 %tile, tile; mad.lo.u32 %s, %t, 16, %tile;
  ld.global.b32 %r0, [%in];
  mov.b32 %r1, %r0; mov.b32 %r2, %r0; mov.b32 %r3, %r0;
  st.shared.v4.b32 [%s], {{%r0, %r1, %r2, %r3}};
  st.shared.v4.b32 [%s+2048], {{%r0, %r1, %r2, %r3}};
  shr.u32 %r4, %tile, 4; cvt.u64.u32 %da, %r4; or.b64 %da, %da, 0x1000080000; add.u64 %db, %da, 128;
  mov.b32 %one, 0x3f800000;
''' + ''.join(f'  mov.b32 %f{i}, %one; mov.b32 %g{i}, %one;\n' for i in range(32)) + ''.join(f'  mov.b32 %h{i}, %r0; mov.b32 %e{i}, %r0;\n' for i in range(16)) + '''
  mov.b32 %a0, %r0; mov.b32 %a1, %r0; mov.b32 %a2, %r0; mov.b32 %a3, %r0; mov.b32 %c0, 0; mov.b32 %c1, 0; mov.b32 %c2, 0; mov.b32 %c3, 0;
  setp.lt.u32 %q, %t, 64;
  fence.proxy.async; bar.sync 0;
''' + body + '  ret;\n}\n'
CASES = {}
def add(name, body, funcs=''): CASES[name] = program(body, funcs)
PASS = '''.func (.param .b32 r0) pass(.param .b32 p0) { .reg .b32 %x; ld.param.b32 %x, [p0]; st.param.b32 [r0], %x; ret; }
.func nothing(.param .b64 p0) { .reg .b64 %x; ld.param.b64 %x, [p0]; st.global.u32 [%x], 5; ret; }
.func waits() { wgmma.wait_group.sync.aligned 0; ret; }
'''
for acc in 'fh':
    o = 'g' if acc == 'f' else 'e'
    B = FENCE + mma(acc)
    ADD = 'add.f32 {d}, {s}, %one;' if acc == 'f' else 'add.f16x2 {d}, {s}, %r0;'
    n = lambda x: f'{x}_{"f32" if acc == "f" else "f16"}'
    add(n('right'), B + COMMIT + wait() + st(acc))
    add(n('mov_after_commit'), B + COMMIT + move(acc) + wait() + STC)
    add(n('mov_before_commit'), B + move(acc) + COMMIT + wait() + STC)
    add(n('mov_and_use'), B + COMMIT + move(acc) + wait() + STC + FENCE + mma(acc, reps=1) + COMMIT + wait() + st(acc, 16))
    add(n('mov_back'), B + COMMIT + move(acc) + wait() + f'mov.b32 %{acc}0, %c0; add.u32 %c0, %c0, 0;\n' + FENCE + mma(acc, reps=1) + COMMIT + wait() + STC + st(acc, 16))
    add(n('add_after_commit'), B + COMMIT + move(acc, ADD) + wait() + STC)
    add(n('add_before_commit'), B + move(acc, ADD) + COMMIT + wait() + STC)
    add(n('st_after_commit'), B + COMMIT + st(acc) + wait())
    add(n('st_before_commit'), B + st(acc) + COMMIT + wait())
    add(n('st_no_wait'), B + COMMIT + st(acc))
    add(n('st_no_commit'), B + wait() + st(acc))
    add(n('st_no_commit_no_wait'), B + st(acc))
    add(n('wait1_one'), B + COMMIT + wait(1) + st(acc))
    two = B + COMMIT + mma(o) + COMMIT
    add(n('wait1_two_right'), two + wait(1) + st(acc) + wait() + st(o, 16))
    add(n('wait1_two_st'), two + wait(1) + st(o))
    add(n('wait1_two_mov'), two + wait(1) + move(o) + wait() + STC)
    add(n('wait1_two_add'), two + wait(1) + move(o, ADD) + wait() + STC)
    add(n('two_commit_one'), B + mma(o) + COMMIT + wait(1) + st(acc) + st(o, 16))
    add(n('two_second_uncommitted'), B + COMMIT + mma(o) + wait(0) + st(acc) + st(o, 16))
    add(n('overwrite'), B + COMMIT + f'mov.b32 %{acc}0, 0; mov.b32 %{acc}1, 0;\n' + wait() + st(acc))
    add(n('overwrite_add'), B + COMMIT + (f'add.f32 %{acc}0, %{acc}0, %one;\n' if acc == 'f' else f'add.f16x2 %{acc}0, %{acc}0, %r0;\n') + wait() + st(acc))
    add(n('overwrite_next'), B + COMMIT + f'mov.b32 %{acc}0, 0; mov.b32 %{acc}1, 0;\n' + FENCE + mma(acc) + COMMIT + wait() + st(acc))
    add(n('fence_after_write_missing'), FENCE + move(acc) + (f'add.f32 %{acc}0, %{acc}0, %one;\n' if acc == 'f' else f'add.f16x2 %{acc}0, %{acc}0, %r0;\n') + mma(acc) + COMMIT + wait() + st(acc))
    add(n('fence_none'), (f'add.f32 %{acc}0, %{acc}0, %one;\n' if acc == 'f' else f'add.f16x2 %{acc}0, %{acc}0, %r0;\n') + mma(acc) + COMMIT + wait() + st(acc))
    add(n('fence_between_missing'), B + COMMIT + wait() + (f'add.f32 %{acc}0, %{acc}0, %one;\n' if acc == 'f' else f'add.f16x2 %{acc}0, %{acc}0, %r0;\n') + mma(acc) + COMMIT + wait() + st(acc))
    add(n('other_shape'), B + COMMIT + FENCE + mma(acc, n=32) + COMMIT + wait() + st(acc))
    add(n('other_shape_no_fence'), B + mma(acc, n=32) + COMMIT + wait() + st(acc))
    add(n('branch'), B + COMMIT + (f'setp.gt.f32 %p, %{acc}0, 0f43C00000;\n' if acc == 'f' else f'setp.gt.u32 %p, %{acc}0, 0x5e005e00;\n') + wait() + 'selp.b32 %c0, 1, 2, %p;\n' + STC)
    add(n('branch_taken'), B + COMMIT + (f'setp.gt.f32 %p, %{acc}0, 0f43C00000;\n' if acc == 'f' else f'setp.gt.u32 %p, %{acc}0, 0x5e005e00;\n') + '@%p bra YES;\nmov.b32 %c0, 2; bra NEXT;\nYES: mov.b32 %c0, 1;\nNEXT:\n' + wait() + STC)
    add(n('guarded_mov'), B + COMMIT + move(acc, '@%q mov.b32 {d}, {s};') + wait() + STC)
    add(n('shfl'), B + COMMIT + move(acc, 'shfl.sync.idx.b32 {d}, {s}, 3, 31, 0xffffffff;') + wait() + STC)
    add(n('cvt'), B + COMMIT + move(acc, 'cvt.rzi.s32.f32 {d}, {s};' if acc == 'f' else '{{ .reg .b16 %l, %u; mov.b32 {{%l, %u}}, {s}; cvt.rzi.s32.f16 {d}, %u; }}') + wait() + STC)
    add(n('unpack'), B + COMMIT + move(acc, '{{ .reg .b16 %l, %u; mov.b32 {{%l, %u}}, {s}; mov.b32 {d}, {{%l, %u}}; }}') + wait() + STC)
    add(n('sts'), B + COMMIT + f'st.shared.b32 [%s+4096], %{acc}0;\n' + wait() + 'ld.shared.b32 %c0, [%s+4096];\n' + STC)
    add(n('fence_then_st'), B + COMMIT + FENCE + st(acc) + wait())
    add(n('bar_then_st'), B + COMMIT + 'bar.sync 0;\n' + st(acc) + wait())
    add(n('call_pass'), B + COMMIT + f'{{ .param .b32 pa; .param .b32 ra; st.param.b32 [pa], %{acc}0; call (ra), pass, (pa); ld.param.b32 %c0, [ra]; }}\n' + wait() + STC, PASS)
    add(n('call_nothing'), B + COMMIT + '{ .param .b64 pa; st.param.b64 [pa], %out; call nothing, (pa); }\n' + wait() + st(acc), PASS)
    add(n('call_waits'), B + COMMIT + 'call waits;\n' + st(acc), PASS)
    loop = lambda x: 'mov.u32 %i, 0;\nLOOP:\n' + x + 'add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra LOOP;\n'
    SUM = f'add.f32 %c0, %c0, %{acc}0;\n' if acc == 'f' else f'add.u32 %c0, %c0, %{acc}0;\n'
    add(n('loop_add_no_wait'), loop(B + COMMIT + SUM) + wait() + STC)
    add(n('loop_add_wait1'), loop(B + COMMIT + wait(1) + SUM) + wait() + STC)
    add(n('loop_next_iteration'), loop(f'mov.b32 %c1, %{acc}0;\n' + B + COMMIT) + wait() + STC + st(acc, 16))
    add(n('loop_carried'), loop(B + COMMIT + wait(1)) + wait() + st(acc))
    add(n('exit_in_flight'), st(acc) + B + COMMIT)
    add(n('a_overwritten'), FENCE + mma(acc, a='{%a0, %a1, %a2, %a3}') + 'mov.b32 %a0, 0; mov.b32 %a1, 0; mov.b32 %a2, 0; mov.b32 %a3, 0;\n' + COMMIT + wait() + st(acc) + 'st.global.b32 [%out+16], %a0;\n')
    add(n('a_overwritten_committed'), FENCE + mma(acc, a='{%a0, %a1, %a2, %a3}') + COMMIT + 'mov.b32 %a0, 0; mov.b32 %a1, 0; mov.b32 %a2, 0; mov.b32 %a3, 0;\n' + FENCE + mma(acc, a='{%a0, %a1, %a2, %a3}', reps=1) + COMMIT + wait() + st(acc))
    add(n('a_read'), FENCE + mma(acc, a='{%a0, %a1, %a2, %a3}') + COMMIT + 'add.u32 %c0, %a0, %a1;\n' + wait() + st(acc, 16) + STC)
    add(n('a_loaded'), FENCE + mma(acc, a='{%a0, %a1, %a2, %a3}') + COMMIT + 'ld.shared.v4.b32 {%a0, %a1, %a2, %a3}, [%s];\n xor.b32 %a0, %a0, %a1;\n' + wait() + st(acc) + 'st.global.b32 [%out+16], %a0;\n')
add('as_a', FENCE + mma('h') + COMMIT + FENCE + mma('f', a='{%h0, %h1, %h2, %h3}', reps=1) + COMMIT + wait() + st('f'))
add('as_a_no_fence', FENCE + mma('h') + COMMIT + mma('f', a='{%h0, %h1, %h2, %h3}', reps=1) + COMMIT + wait() + st('f'))
add('as_a_wait', FENCE + mma('h') + COMMIT + wait() + FENCE + mma('f', a='{%h0, %h1, %h2, %h3}', reps=1) + COMMIT + wait() + st('f'))
add('as_a_wait1', FENCE + mma('h') + COMMIT + mma('g') + COMMIT + wait(1) + FENCE + mma('f', a='{%h0, %h1, %h2, %h3}', reps=1) + COMMIT + wait() + st('f'))
if __name__ == '__main__':
    import subprocess
    lst = open('flight.list', 'w'); warn = open('flight_warnings.txt', 'w')
    def build(item):
        name, text = item
        open(f'flight_{name}.ptx', 'w').write(text)
        return name, subprocess.run(['ptxas', '-arch=sm_90a', f'flight_{name}.ptx', '-o', f'flight_{name}.cubin'], capture_output=True, text=True)
    for item in CASES.items():
        name, p = build(item)
        print(name, p.returncode, (p.stdout + p.stderr).strip().replace('\n', ' | ')[:300], file=warn)
        lst.write(f'flight_{name} flight_{name}.cubin k 128 0 4096 0\n')
