"""Bugs that show only where a thread sees a write later than it was made: fence.sc is missing, or is none, between a thread's own
write and its look at the other's. The default run finds them in schedules that give older values to strong loads."""

from edit import cut, move, sub, sub_every
from table import bug

# ---- two CTAs have the lock at once: each has written that it wants it, and looked before the other's write was there
ROW = "@read ld.global | @write st.global"
for K in ("lock_dekker", "lock_peterson"):
    bug(K, "race.global|race.weak", "fence_of_acq_rel", sub_every("@fence fence", ".sc", ".acq_rel"), ROW)
    bug(K, "race.global|race.weak", "no_fence", cut("@fence fence"), ROW)
    bug(K, "race.global|race.weak", "fence_before_it_wants", move("@fence fence", to_before="@want st"), ROW)
    bug(K, "race.global|race.weak|race.scope", "fence_sc_of_the_cta", sub_every("@fence fence", ".gpu", ".cta"), ROW)
K = "lock_dekker"
bug(K, "race.global|race.weak", "no_fence_again", cut("@fence_again fence"), ROW)

K = "lock_bakery"
bug(K, "race.global|race.weak", "fence_choose_of_acq_rel", sub("@fence_choose fence", ".sc", ".acq_rel"), ROW)
bug(K, "race.global|race.weak", "no_fence_when_it_chooses", cut("@fence_choose fence"), ROW)
bug(K, "race.global|race.weak", "fence_chosen_of_acq_rel", sub("@fence_chosen fence", ".sc", ".acq_rel"), ROW)
bug(K, "race.global|race.weak", "no_fence_when_it_has_chosen", cut("@fence_chosen fence"), ROW)

# ---- a job is taken that the owner has taken, and whose place is written again
K = "deque_steal"
JOB = "@write_job st.global | @read_job ld.global | @read_own ld.global"
bug(K, "race.global|race.weak", "no_fence_in_steal", cut("@fence_steal fence"), JOB)

# ---- a node is written while it is read
K = "hazard_pointers"
NODE = ["@write st | @write_second st", "@read ld"]
bug(K, "race.global|race.weak", "protects_with_acq_rel", sub("@fence_protect fence", ".sc", ".acq_rel"), NODE)
bug(K, "race.global|race.weak", "no_fence_when_it_protects", cut("@fence_protect fence"), NODE)
bug(K, "race.global|race.weak", "replaces_with_acq_rel", sub("@fence_replace fence", ".sc", ".acq_rel"), NODE)
bug(K, "race.global|race.weak", "no_fence_when_it_replaces", cut("@fence_replace fence"), NODE)
