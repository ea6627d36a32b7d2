#!/usr/bin/env python3
"""Kernels that access memory past its end: an allocation's, and a CTA's shared memory.

Writes bounds.ptx, shared.ptx and past_end.list for ask here.
"""

H = '.version 8.6\n.target sm_90a\n.address_size 64\n'
lst = open('past_end.list', 'w')
gl = open('bounds.ptx', 'w'); gl.write(H)
done = set()
def g(op, off):
    n = f'{op}_{"m" if off < 0 else "p"}{abs(off)}'
    if n not in done:
        done.add(n)
        ins = {'ld': 'ld.global.u32 %r, [%a];', 'st': 'mov.u32 %r, 7; st.global.u32 [%a], %r;', 'red': 'mov.u32 %r, 1; red.global.add.u32 [%a], %r;'}[op]
        gl.write(f'.visible .entry {n}(.param .u64 p_in, .param .u64 p_out) {{ .reg .b64 %o, %a; .reg .b32 %r; ld.param.u64 %o, [p_out]; add.s64 %a, %o, {off}; {ins} st.global.u64 [%o], %o; st.global.u32 [%o+8], %r; ret; }}\n')
    return n
for size in (1024, 1000, 65536, 2 << 20, (3 << 20)):
    for past in (0, 4, 508, 512, 4092, 65532, (1 << 20), (2 << 20) - 70000, (2 << 20), (2 << 20) + 4096, (4 << 20), (32 << 20)):
        off = ((size + past) + 3) // 4 * 4
        for op in ('st', 'ld'):
            n = g(op, off); lst.write(f'bounds_{size}_{past}_{op} bounds.cubin {n} 1 0 {size} 0\n')
    for before in (4, 512, 4096, 1 << 20, 2 << 20, 4 << 20):
        n = g('st', -before); lst.write(f'bounds_{size}_before{before}_st bounds.cubin {n} 1 0 {size} 0\n')
gl.close()
sh = open('shared.ptx', 'w'); sh.write(H + '.extern .shared .align 16 .b8 dyn[];\n')
def s(name, decl, base, op, off):
    ins = {'ld': f'ld.shared.u32 %r, [%s+{off}];', 'st': f'mov.u32 %r, 7; st.shared.u32 [%s+{off}], %r; ld.shared.u32 %r, [%s+{off}];', 'ldv4': f'ld.shared.v4.u32 {{%r, %r1, %r2, %r3}}, [%s+{off}];', 'gld': f'cvt.u64.u32 %a, %s; cvta.shared.u64 %a, %a; ld.u32 %r, [%a+{off}];'}[op]
    sh.write(f'.visible .entry {name}(.param .u64 p_in, .param .u64 p_out) {{ {decl} .reg .b64 %o, %a; .reg .b32 %r, %r1, %r2, %r3, %s; ld.param.u64 %o, [p_out]; mov.u32 %s, {base}; {ins} st.global.u32 [%o], %r; st.global.u32 [%o+4], %s; ret; }}\n')
i = 0
for dyn in (0, 4, 28, 100, 128, 1000, 1024, 5000):
    for past in (0, 4, 96, 100, 124, 128, 256, 1024):
        end = (dyn + 127) // 128 * 128
        for off in sorted({(dyn + 3) // 4 * 4 + past, end - 4 + past, end + past}):
            for op in ('ld', 'st') + (('gld',) if dyn in (28, 1000) else ()):
                n = f's{i}'; i += 1
                s(n, '', 'dyn', op, off); lst.write(f'shared_dyn{dyn}_{op}_{off} shared.cubin {n} 1 {dyn} 64 0\n')
for st in (4, 28, 100, 128, 1000):
    for off in (st, 124, 128, 252, 256, 1020, 1024, 2048):
        if off < st: continue
        n = f's{i}'; i += 1
        s(n, f'.shared .align 4 .b8 x[{st}];', 'x', 'ld', off // 4 * 4); lst.write(f'shared_static{st}_ld_{off} shared.cubin {n} 1 0 64 0\n')
for off in (16, 20, 24, 112, 128): 
    n = f's{i}'; i += 1
    s(n, '', 'dyn', 'ldv4', off // 16 * 16); lst.write(f'shared_dyn28_ldv4_{off // 16 * 16} shared.cubin {n} 1 28 64 0\n')
sh.close()
