"""Sparse tensors as what they are made of: dense ones."""

from __future__ import annotations

import torch

_COMPRESSED = {
    torch.sparse_csr: ("crow_indices", "col_indices"),
    torch.sparse_bsr: ("crow_indices", "col_indices"),
    torch.sparse_csc: ("ccol_indices", "row_indices"),
    torch.sparse_bsc: ("ccol_indices", "row_indices"),
}
# Operators that change only how the parts are put together, or compute on the values by others.
WITHOUT_A_KERNEL = frozenset(
    """
    _coalesced_ _dimI _dimV _indices _nnz _sparse_coo_tensor_with_dims _sparse_coo_tensor_with_dims_and_tensors _values ccol_indices clone
    col_indices copy_ copy_sparse_to_sparse_ crow_indices dense_dim empty.memory_format empty_like indices is_coalesced permute
    resize_ resize_as_sparse_ row_indices sparse_dim sparse_resize_ sparse_resize_and_clear_ unsqueeze values zero_ zeros.out
    """.split()
)


def is_sparse(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.sparse_coo or tensor.layout in _COMPRESSED


def parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    return [*(getattr(tensor, name)() for name in _COMPRESSED[tensor.layout]), tensor.values()]


def of_parts(like: torch.Tensor, made_of: list[torch.Tensor]) -> torch.Tensor:
    """With the layout and the size of a tensor. The parts are not looked at: their bytes may not be there yet."""
    if like.layout == torch.sparse_coo:
        how = {"is_coalesced": like.is_coalesced(), "check_invariants": False}
        return torch.sparse_coo_tensor(*made_of, like.size(), device=made_of[0].device, **how)
    return torch.sparse_compressed_tensor(*made_of, like.size(), layout=like.layout, device=made_of[0].device, check_invariants=False)
