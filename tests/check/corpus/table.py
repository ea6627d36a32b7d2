"""What a planted bug is: kernel, id, name, edits of its PTX (edit.py), and the lines that a finding must name.

`at`: a selector of edit.py, or several in a list: the finding names a line of each. " | " between selectors: a line of
either. They are looked up in the edited PTX, so a line that was taken out cannot be named. Ids race.*, async.*
and wgmma.* must be found by the default run, the others may need --explore 8.
"""

from dataclasses import dataclass

IDS = (
    "race.shared race.cluster race.global race.scope race.weak race.mixed-size race.proxy async.unwaited "
    "wgmma.inflight wgmma.wait wgmma.fence wgmma.warps "
    "tcgen05.alloc tcgen05.address tcgen05.pair tcgen05.descriptor tcgen05.fence race.tensor "
    "mbarrier.init mbarrier.plain mbarrier.count mbarrier.tx mbarrier.phase mbarrier.inval "
    "barrier.divergent barrier.count barrier.id "
    "warp.mask warp.aligned warp.setmaxnreg warp.elect warp.griddepcontrol "
    "cluster.start cluster.exit cluster.arrive memory.undefined memory.bounds memory.lifetime"
).split()


@dataclass
class Bug:
    name: str
    base: str
    id: str
    edits: list
    at: list
    others: list  # ids that are as right: of an access and a copy that nothing orders either may come first, for one
    is_note: bool = False  # the hardware does what was meant, and the ISA does not say so: a note will do

    @property
    def by_default(self):
        return self.id.split(".")[0] in ("race", "async", "wgmma")


bugs = []


def bug(base, id, name, edits, at, is_note=False):
    edits = edits if isinstance(edits, list) else [edits]
    name = f"{base}.{name}"
    id, *others = id.split("|")
    assert id in IDS and name not in {b.name for b in bugs}, name
    bugs.append(Bug(name, base, id, edits, [at] if isinstance(at, str) else at, others, is_note))


fines = []


def fine(base, name, edits):
    fines.append((f"{base}.{name}", base, edits if isinstance(edits, list) else [edits]))
