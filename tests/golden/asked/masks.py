#!/usr/bin/env python3
"""Kernels whose lanes execute warp-wide instructions under membermasks that lack them.

Writes masks_FORM.ptx here, and masks.list for ask. tests/unit/vgpu/membermask_test.cc has the same kernels, with the masks in
memory: a change here is one there.
"""

FORMS = {
 'shfl_idx':  ('shfl.sync.idx.b32 %r|%p, %v, %x1, 31, {m};', 2),
 'shfl_up':   ('shfl.sync.up.b32 %r|%p, %v, 16, 0, {m};', 2),
 'shfl_up1':  ('shfl.sync.up.b32 %r|%p, %v, 1, 0, {m};', 2),
 'shfl_down': ('shfl.sync.down.b32 %r|%p, %v, 3, 31, {m};', 2),
 'shfl_bfly': ('shfl.sync.bfly.b32 %r|%p, %v, 16, 31, {m};', 2),
 'vote_all':  ('vote.sync.all.pred %p, %b, {m};', 3),
 'vote_allt': ('vote.sync.all.pred %p, %true16, {m};', 3),
 'vote_any':  ('vote.sync.any.pred %p, %b, {m};', 3),
 'vote_anyh': ('vote.sync.any.pred %p, %high, {m};', 3),
 'vote_uni':  ('vote.sync.uni.pred %p, %b, {m};', 3),
 'vote_unit': ('vote.sync.uni.pred %p, %true16, {m};', 3),
 'ballot':    ('vote.sync.ballot.b32 %r, %b, {m};', 1),
 'match_any': ('match.any.sync.b32 %r, %k, {m};', 1),
 'match_any64': ('match.any.sync.b64 %r, %k64, {m};', 1),
 'match_all': ('match.all.sync.b32 %r|%p, %k, {m};', 2),
 'match_allc': ('match.all.sync.b32 %r|%p, %h, {m};', 2),
 'match_all64': ('match.all.sync.b64 %r|%p, %h64, {m};', 2),
 'redux_add': ('redux.sync.add.u32 %r, %t, {m};', 1),
 'redux_min': ('redux.sync.min.s32 %r, %w, {m};', 1),
 'redux_max': ('redux.sync.max.u32 %r, %t, {m};', 1),
 'redux_and': ('redux.sync.and.b32 %r, %w, {m};', 1),
 'redux_or':  ('redux.sync.or.b32 %r, %bit, {m};', 1),
 'redux_xor': ('redux.sync.xor.b32 %r, %bit, {m};', 1),
 'bar_warp':  ('bar.warp.sync {m};', 0),
 'elect':     ('elect.sync %r|%p, {m};', 2),
}
CONST = [0xffffffff, 0x0000ffff, 0x00ff00ff, 0xfffffffe, 0x7fffffff, 0x1, 0x0, 0x80000000, 0xaaaaaaaa]
LANE = { # computes %m
 'below':   'shl.b32 %m, 1, %t; sub.u32 %m, %m, 1;',
 'others':  'shl.b32 %m, 1, %t; not.b32 %m, %m;',
 'swapped': 'setp.lt.u32 %q, %t, 16; selp.b32 %m, 0xffff0000, 0x0000ffff, %q;',
 'one_out': 'setp.eq.u32 %q, %t, 0; selp.b32 %m, 0xfffffffe, 0xffffffff, %q;',
 'zero5':   'setp.eq.u32 %q, %t, 5; selp.b32 %m, 0, 0xffffffdf, %q;',
 'other5':  'setp.eq.u32 %q, %t, 5; selp.b32 %m, 0x40, 0xffffffdf, %q;',
 'join5':   'setp.eq.u32 %q, %t, 5; selp.b32 %m, 0xffffffdf, 0xffffffdf, %q;',
 'halves':  'setp.lt.u32 %q, %t, 16; selp.b32 %m, 0x0000ffff, 0xffff0000, %q;',
 'half_lacks': 'setp.lt.u32 %q, %t, 16; selp.b32 %m, 0x0000fffe, 0xffff0000, %q;',
 'half_zero': 'setp.lt.u32 %q, %t, 16; selp.b32 %m, 0x0000ffff, 0, %q;',
}
def mask_text(kind):
    k, v = kind
    if k == 'c': return '', f'{v:#x}'
    if k == 'r': return f'ld.global.u32 %m, [%in]; xor.b32 %m, %m, {v ^ 0x3c003c00:#x};', '%m'
    return LANE[v], '%m'
DIVERGENT = [('c', 0xffff), ('c', 0x00ff), ('c', 0xff00), ('r', 0x00ff), ('r', 0xff00), ('c', 0), ('r', 0), ('c', 0xffff0000), ('r', 0xffff0000)]
def kernel(form, name, mask, where):
    text, kinds = FORMS[form]
    setup, m = mask_text(mask)
    ins = text.format(m=m)
    s = f'''.visible .entry {name}(.param .u64 p_in, .param .u64 p_out) {{
  .reg .b64 %in, %out, %k64, %h64; .reg .b32 %t, %v, %r, %m, %k, %h, %w, %bit, %x1, %z; .reg .pred %p, %q, %b, %true16, %high, %low;
  ld.param.u64 %in, [p_in]; ld.param.u64 %out, [p_out]; mov.u32 %t, %tid.x; mad.wide.u32 %out, %t, 4, %out;
  mad.lo.u32 %v, %t, 3, 100; xor.b32 %x1, %t, 1; rem.u32 %z, %t, 3; setp.ne.u32 %b, %z, 0;
  setp.lt.u32 %true16, %t, 16; setp.ge.u32 %high, %t, 16; shr.u32 %k, %t, 3; and.b32 %k, %k, 1; shr.u32 %h, %t, 4;
  cvt.u64.u32 %k64, %k; shl.b64 %k64, %k64, 33; cvt.u64.u32 %h64, %h; shl.b64 %h64, %h64, 33;
  sub.u32 %w, 17, %t; shl.b32 %bit, 1, %t; mov.u32 %r, 0xdead; setp.lt.u32 %low, %t, 16; setp.ne.u32 %p, %t, %t;
  {setup}
'''
    if where == 'branch': s += '  @!%low bra END;\n'
    s += ('  @%low ' if where == 'guard' else '  ') + ins + '\n'
    s += '  st.global.u32 [%out], %r;\n  selp.u32 %r, 1, 0, %p; st.global.u32 [%out+128], %r;\nEND:\n  ret;\n}\n'
    return s
def all_masks():
    for c in CONST: yield f'c{c:08x}', ('c', c), 'whole', 32
    for c in CONST: yield f'r{c:08x}', ('r', c), 'whole', 32
    for l in LANE: yield l, ('l', l), 'whole', 32
    yield 'c0000ffff_20', ('c', 0xffff), 'whole', 20
    for where in ('branch', 'guard'):
        for k, c in DIVERGENT: yield f'{where}_{k}{c:08x}', (k, c), where, 32
def main():
    lst = open('masks.list', 'w')
    for form in FORMS:
        f = open(f'masks_{form}.ptx', 'w')
        f.write('.version 8.6\n.target sm_90a\n.address_size 64\n')
        for name, mask, where, block in all_masks():
            n = f'{form}__{name}'
            f.write(kernel(form, n, mask, where))
            lst.write(f'{n} masks_{form}.cubin {n} {block} 0 256 0\n')
main()
